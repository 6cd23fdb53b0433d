//! The tools that the demo needs: found, or obtained.

use groundplan_runners::tools::{Located, Tool, ToolError, locate};

use super::narration;
use crate::{
    commands::tools::{OBTAINABLE, obtain},
    config::Machine,
    failure::Failure,
    terminal,
};

/// What there is of the tools, and what there is not.
pub(super) struct Kit {
    found: Vec<Located>,
    lacking: Vec<(Tool, String)>,
}

impl Kit {
    /// Looks for every tool and obtains those that are nowhere, with progress.
    pub(super) fn gather(machine: &Machine) -> Result<Self, Failure> {
        let search = machine.search();
        let missing: Vec<Tool> = OBTAINABLE
            .into_iter()
            .filter(|tool| matches!(locate(*tool, &search), Err(ToolError::Missing { .. })))
            .collect();
        let mut failed = Vec::new();
        if !missing.is_empty() {
            let names: Vec<&str> = missing.iter().map(|tool| tool.name()).collect();
            terminal::note(format!("obtaining {}, once", names.join(", ")));
            failed = obtain(machine, &missing, None, false)?;
        }
        let mut kit = Kit {
            found: Vec::new(),
            lacking: Vec::new(),
        };
        for tool in [Tool::Tofu, Tool::Tflint, Tool::Checkov, Tool::Git] {
            let known = failed.iter().find(|(name, _)| *name == tool);
            match (locate(tool, &search), known) {
                (Ok(found), _) => kit.found.push(found),
                // Why it could not be obtained says more than that it is missing.
                (Err(_), Some((_, error))) => kit.lacking.push((tool, error.to_string())),
                (Err(error), None) => kit.lacking.push((tool, error.to_string())),
            }
        }
        Ok(kit)
    }

    /// A tool that is there.
    pub(super) fn get(&self, tool: Tool) -> Option<&Located> {
        self.found.iter().find(|found| found.tool == tool)
    }

    /// Tells what there is.
    pub(super) fn tell(&self) {
        let found: Vec<String> = self
            .found
            .iter()
            .map(|found| match &found.version {
                Some(version) => format!("{} {version}", found.product.name(found.tool)),
                None => found.product.name(found.tool).to_owned(),
            })
            .collect();
        narration::fact("tools", &found.join(", "));
        for (tool, why) in &self.lacking {
            let first = why.lines().next().unwrap_or_default();
            narration::warn(&format!("{tool} could not be had: {first}"));
        }
    }

    /// Tasks of the pull-request document that cannot run, each with the tool that it lacks.
    pub(super) fn tasks_not_run(&self) -> Vec<(&'static str, Tool)> {
        [("lint", Tool::Tflint), ("scan", Tool::Checkov)]
            .into_iter()
            .filter(|(_, tool)| self.get(*tool).is_none())
            .collect()
    }
}
