//! Reading a plan's JSON, and saying what is wrong with what is none.

use serde_json::error::Category;

use super::json::Plan;

/// Why bytes are not the JSON of a plan. Messages never quote values of the document.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ReadError {
    /// No bytes.
    #[error("the plan is empty")]
    Empty,
    /// A plan file, which is a zip archive.
    #[error("this is a saved plan file, not its JSON")]
    PlanFile,
    /// Text in two-byte characters.
    #[error("the plan is UTF-16 text, not UTF-8")]
    Utf16,
    /// Something else than a JSON object.
    #[error("the plan is not JSON: it begins with `{start}`")]
    NotJson {
        /// Its first characters, escaped.
        start: String,
    },
    /// JSON with a fault.
    #[error("the plan's JSON is broken at line {line}, column {column}: {fault}")]
    Syntax {
        /// Line from 1.
        line: usize,
        /// Column in bytes from 1; 0 at the end of a line.
        column: usize,
        /// What is wrong.
        fault: String,
    },
    /// JSON of another shape.
    #[error("the plan's JSON is not shaped like a plan at line {line}, column {column}: {fault}")]
    Shape {
        /// Line from 1.
        line: usize,
        /// Column in bytes from 1; 0 at the end of a line.
        column: usize,
        /// What is wrong.
        fault: String,
    },
    /// The JSON of a state.
    #[error("this is the JSON of a state, not of a plan")]
    State,
    /// A document with a version and nothing of a plan.
    #[error("the JSON holds no plan: `planned_values` and `resource_changes` are missing")]
    NoPlan,
    /// A later or unknown version of the format.
    #[error("the plan has format version `{version}`, which is not known")]
    Version {
        /// The version, escaped.
        version: String,
    },
}

impl ReadError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self {
            ReadError::Empty => "look at what the command that should have written it said",
            ReadError::PlanFile | ReadError::State => "write it with `tofu show -json PLANFILE`",
            ReadError::Utf16 => "PowerShell's `>` writes UTF-16; use `Out-File -Encoding utf8`",
            ReadError::NotJson { .. } => {
                "write it with `tofu show -json PLANFILE`; a wrapper around the tool may print \
                 lines of its own"
            }
            ReadError::Syntax { .. } => {
                "it may be cut off, or be the log of `plan -json`; write it with `tofu show -json \
                 PLANFILE`"
            }
            ReadError::Shape { .. } | ReadError::NoPlan => {
                "only the output of `tofu show -json PLANFILE` is read"
            }
            ReadError::Version { .. } => "versions 0.1, 0.2 and 1.x are read",
        }
    }
}

/// Whether bytes are a saved plan file, whose JSON the tool writes with `show -json`.
pub fn is_plan_file(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// Reads a plan's JSON. Values are borrowed from it.
///
/// # Errors
/// When it is not the whole JSON of a plan in a known version.
pub fn read_plan(bytes: &[u8]) -> Result<Plan<'_>, ReadError> {
    if is_plan_file(bytes) {
        return Err(ReadError::PlanFile);
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(ReadError::Utf16);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match bytes.trim_ascii_start().first() {
        None => return Err(ReadError::Empty),
        Some(b'{') => {}
        Some(_) => return Err(not_json(bytes)),
    }
    let plan: Plan<'_> = serde_json::from_slice(bytes).map_err(|error| broken(&error))?;
    check_version(&plan)?;
    if plan.planned_values.is_none() && plan.resource_changes.is_empty() {
        return Err(match plan.values {
            Some(_) => ReadError::State,
            None => ReadError::NoPlan,
        });
    }
    Ok(plan)
}

fn not_json(bytes: &[u8]) -> ReadError {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(160)]);
    ReadError::NotJson {
        start: text
            .trim_start()
            .chars()
            .take(40)
            .flat_map(char::escape_default)
            .collect(),
    }
}

fn check_version(plan: &Plan<'_>) -> Result<(), ReadError> {
    let (major, minor) = plan.format_version.split_once('.').unwrap_or_default();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if number(minor) && (major == "1" || (major == "0" && matches!(minor, "1" | "2"))) {
        return Ok(());
    }
    Err(ReadError::Version {
        version: plan
            .format_version
            .chars()
            .take(40)
            .flat_map(char::escape_default)
            .collect(),
    })
}

fn broken(error: &serde_json::Error) -> ReadError {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let place = format!(" at line {line} column {column}");
    let message = message.strip_suffix(&place).unwrap_or(&message);
    match error.classify() {
        // What was found is quoted from the document; what was expected is ours.
        Category::Data => ReadError::Shape {
            line,
            column,
            fault: match message.rsplit_once(", expected ") {
                Some((_, expected)) => format!("expected {expected}"),
                None => message.to_owned(),
            },
        },
        Category::Syntax | Category::Eof | Category::Io => ReadError::Syntax {
            line,
            column,
            fault: message.to_owned(),
        },
    }
}
