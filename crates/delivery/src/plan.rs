//! OpenTofu's and Terraform's plans.

mod attributes;
pub mod json;
pub mod read;
pub mod summary;
