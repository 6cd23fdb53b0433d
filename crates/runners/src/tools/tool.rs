//! The tools that steps and Groundplan itself call.

use std::fmt;

use super::version::Version;

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// OpenTofu, or Terraform where that is what the machine has.
    Tofu,
    /// The linter of configurations.
    Tflint,
    /// The security scanner.
    Checkov,
    /// git.
    Git,
    /// bubblewrap, the sandbox.
    Bwrap,
}

impl Tool {
    /// Every tool, in the order in which they are listed.
    pub const ALL: [Tool; 5] = [
        Tool::Tofu,
        Tool::Tflint,
        Tool::Checkov,
        Tool::Git,
        Tool::Bwrap,
    ];

    /// The tools that [`sync`](super::sync()) can obtain; the others come from the system.
    pub const OBTAINABLE: [Tool; 3] = [Tool::Tofu, Tool::Tflint, Tool::Checkov];

    /// The name that steps call it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tool::Tofu => "tofu",
            Tool::Tflint => "tflint",
            Tool::Checkov => "checkov",
            Tool::Git => "git",
            Tool::Bwrap => "bwrap",
        }
    }

    /// The tool of a name; `terraform` is another name of `tofu`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Tool> {
        match name {
            "terraform" => Some(Tool::Tofu),
            _ => Tool::ALL.into_iter().find(|tool| tool.name() == name),
        }
    }

    /// What needs it, as a short phrase.
    #[must_use]
    pub fn needed_by(self) -> &'static str {
        match self {
            Tool::Tofu => "every step that validates, plans or applies",
            Tool::Tflint => "lint steps",
            Tool::Checkov => "security scan steps",
            Tool::Git => "checkouts, and steps that clone",
            Tool::Bwrap => "the sandbox of every step",
        }
    }

    /// File names that are looked for, best first.
    pub(super) fn executables(self) -> &'static [&'static str] {
        match self {
            Tool::Tofu => &["tofu", "terraform"],
            Tool::Tflint => &["tflint"],
            Tool::Checkov => &["checkov"],
            Tool::Git => &["git"],
            Tool::Bwrap => &["bwrap"],
        }
    }

    /// The oldest version that works; `None` where any does.
    pub(super) fn minimum(self, product: Product) -> Option<Version> {
        match (self, product) {
            (Tool::Tofu, Product::Terraform) => Some(Version::new(1, 5, 0)),
            (Tool::Git, _) => Some(Version::new(2, 39, 0)),
            // The first with `--perms`.
            (Tool::Bwrap, _) => Some(Version::new(0, 5, 0)),
            _ => None,
        }
    }

    /// The version that is obtained; `None` for what comes from the system.
    #[must_use]
    pub fn pinned(self) -> Option<&'static str> {
        match self {
            Tool::Tofu => Some("1.12.6"),
            Tool::Tflint => Some("0.64.0"),
            Tool::Checkov => Some("3.3.30"),
            Tool::Git | Tool::Bwrap => None,
        }
    }

    /// The lines that get it.
    #[must_use]
    pub fn way_out(self) -> &'static str {
        match self {
            Tool::Tofu | Tool::Tflint | Tool::Checkov => "groundplan tools sync",
            Tool::Git => "sudo apt-get install git",
            Tool::Bwrap => "sudo apt-get install bubblewrap",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a program really is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    /// OpenTofu.
    OpenTofu,
    /// HashiCorp's Terraform, found where `tofu` was looked for.
    Terraform,
    /// The tool itself; there is only one of that name.
    Itself,
}

impl Product {
    /// Its name as people write it; `tool` names the tools of which there is only one.
    #[must_use]
    pub fn name(self, tool: Tool) -> &'static str {
        match self {
            Product::OpenTofu => "OpenTofu",
            Product::Terraform => "Terraform",
            Product::Itself => tool.name(),
        }
    }
}
