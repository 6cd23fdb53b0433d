//! A plan file as JSON: the tool itself reads it.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use super::{error::ToolError, locate::Located};

/// What `tofu show -json` says of a plan file, run in the current directory, where the plan's
/// providers are. Sensitive values are in clear in it.
///
/// # Errors
/// *Run* where the tool cannot be started, *command* with its last lines where it refuses the file.
pub fn plan_json(tofu: &Located, plan: &Path) -> Result<Vec<u8>, ToolError> {
    let program = tofu.path.display().to_string();
    let output = Command::new(&tofu.path)
        .args(["show", "-json", "-no-color"])
        .arg(plan)
        .env("CHECKPOINT_DISABLE", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| ToolError::run(program.clone(), source))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last_lines = lines[lines.len().saturating_sub(12)..].join("\n");
    Err(ToolError::Command {
        program: format!("{program} show -json {}", plan.display()),
        status: output.status.to_string(),
        last_lines,
    })
}
