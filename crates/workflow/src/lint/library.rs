//! Stored workflows that references are resolved in.

use super::model::{At, Call, Home, Template};
use crate::read::{Kind, ReadDocument};

/// The documents that are known, with their templates.
#[derive(Debug)]
pub struct Library<'a> {
    homes: Vec<Home<'a>>,
}

/// What a call leads to.
pub(super) enum Target<'t, 'a> {
    /// A template, with the document that it stands in.
    Found(&'t Home<'a>, &'t Template<'a>),
    /// Nothing of this name.
    Undefined,
    /// A name that is made while the workflow runs.
    Dynamic,
    /// The call names nothing.
    Nothing,
}

impl<'a> Library<'a> {
    /// A library of these documents.
    pub fn of(documents: &[&'a ReadDocument]) -> Self {
        Library {
            homes: documents
                .iter()
                .filter(|read| {
                    matches!(
                        read.kind,
                        Kind::WorkflowTemplate | Kind::ClusterWorkflowTemplate
                    )
                })
                .map(|read| Home::of(read))
                .collect(),
        }
    }

    /// The stored workflow that a `workflowTemplateRef` or `templateRef` names.
    pub(super) fn stored(&self, reference: &At<'_>) -> Option<&Home<'a>> {
        let name = reference.text("name")?;
        let cluster = reference
            .node
            .get("clusterScope")
            .is_some_and(|node| node.to_json() == true);
        let kind = if cluster {
            Kind::ClusterWorkflowTemplate
        } else {
            Kind::WorkflowTemplate
        };
        self.homes
            .iter()
            .find(|home| home.read.kind == kind && home.read.metadata().name == name)
    }

    /// Every stored workflow.
    pub(super) fn homes(&self) -> impl Iterator<Item = &Home<'a>> {
        self.homes.iter()
    }

    /// Names of the stored workflows.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.homes
            .iter()
            .map(|home| home.read.metadata().name.as_str())
            .filter(|name| !name.is_empty())
    }

    /// What a call leads to, from a template of `home`.
    pub(super) fn target<'t>(&'t self, home: &'t Home<'a>, call: &'t Call<'a>) -> Target<'t, 'a> {
        if let Some(inline) = &call.inline {
            return Target::Found(home, inline);
        }
        if let Some(reference) = call.at.get("templateRef") {
            return self.reference(&reference);
        }
        match call.at.text("template") {
            None => Target::Nothing,
            Some(name) => match home.template(name) {
                Some(template) => Target::Found(home, template),
                None if super::model::is_dynamic(name) => Target::Dynamic,
                None => Target::Undefined,
            },
        }
    }

    /// What a `templateRef` leads to.
    pub(super) fn reference(&self, reference: &At<'_>) -> Target<'_, 'a> {
        let names = [reference.text("name"), reference.text("template")];
        let [Some(name), Some(template)] = names else {
            return Target::Nothing;
        };
        let found = self
            .stored(reference)
            .and_then(|home| Some((home, home.template(template)?)));
        match found {
            Some((home, template)) => Target::Found(home, template),
            None if super::model::is_dynamic(name) || super::model::is_dynamic(template) => {
                Target::Dynamic
            }
            None => Target::Undefined,
        }
    }
}
