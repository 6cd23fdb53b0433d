//! Support for tests of the engine: documents from text, runs played with scripted outcomes on a
//! virtual clock, and transcripts of what happened. Read first: [`World`].

mod outcome;
mod transcript;
mod world;

pub use outcome::{Outcome, Script, display_name};
pub use transcript::{line_of_action, line_of_event, tree_of};
pub use world::{Actor, World};

use groundplan_workflow::{
    read::{Kind, SourceFile, read_as},
    resolve::{ResolvedWorkflow, resolve},
};

/// The workflow of a document's text; it runs under its own name. Panics, with all faults, where
/// the text is no supported workflow.
pub fn resolved(yaml: &str) -> ResolvedWorkflow {
    match try_resolved(yaml) {
        Ok(workflow) => workflow,
        Err(faults) => panic!("the document does not resolve: {faults}"),
    }
}

/// The same; `Err` lists the faults.
pub fn try_resolved(yaml: &str) -> Result<ResolvedWorkflow, String> {
    let file = SourceFile::new("test.yaml", yaml);
    let found = read_as(&file, Some(Kind::Workflow));
    let Some(document) = found.documents.first() else {
        return Err(format!("{:?}", found.diagnostics));
    };
    let name = match document.metadata().name.as_str() {
        "" => document.metadata().generate_name.trim_end_matches('-'),
        name => name,
    };
    resolve(document, &[], name).map_err(|faults| {
        faults
            .iter()
            .map(|fault| fault.message.clone())
            .collect::<Vec<_>>()
            .join("; ")
    })
}
