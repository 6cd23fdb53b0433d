//! The configuration file, every fault at once.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use groundplan_runners::tools::Tool;
use groundplan_workflow::{
    diagnostic::{Diagnostic, Severity},
    read::{Limits, Node, NodeValue, SourceFile, trees},
};

use super::ImageSetting;
use crate::{failure::Failure, terminal::diagnostics};

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) images: BTreeMap<String, ImageSetting>,
    pub(super) tools: BTreeMap<Tool, PathBuf>,
    pub(super) network: Option<bool>,
    pub(super) ca_bundle: Option<PathBuf>,
    pub(super) allowed_host_paths: Option<Vec<PathBuf>>,
    pub(super) slots: Option<usize>,
}

/// Reads the file; one that is not there says nothing, unless a person named it.
pub(super) fn read(path: &Path, named: bool) -> Result<(Raw, bool), Failure> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => {
            return Ok((Raw::default(), false));
        }
        Err(error) => {
            return Err(Failure::user(format!(
                "cannot read the machine configuration `{}`",
                path.display()
            ))
            .because(error)
            .with_hint(
                "`--config` and `GROUNDPLAN_CONFIG` name the file; without them none is needed",
            ));
        }
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok((Raw::default(), true));
    }
    let source = SourceFile::new(path.display().to_string(), bytes);
    let (trees, diagnostics) = trees(&source, Limits::default());
    let mut reader = Reader {
        file: &source.name,
        diagnostics,
    };
    let raw = trees
        .first()
        .map(|tree| reader.machine(&tree.root))
        .unwrap_or_default();
    if reader.diagnostics.is_empty() {
        return Ok((raw, true));
    }
    let shown = diagnostics::text(&reader.diagnostics, std::slice::from_ref(&source));
    Err(Failure::user(format!(
        "the machine configuration `{}` has faults",
        path.display()
    ))
    .because(shown))
}

struct Reader<'a> {
    file: &'a str,
    diagnostics: Vec<Diagnostic>,
}

const KEYS: [&str; 6] = [
    "images",
    "tools",
    "network",
    "ca_bundle",
    "allowed_host_paths",
    "slots",
];
const IMAGE_KEYS: [&str; 7] = [
    "tools",
    "files",
    "env_vars",
    "user",
    "shell",
    "working_dir",
    "command",
];

impl Reader<'_> {
    fn machine(&mut self, root: &Node) -> Raw {
        let mut raw = Raw::default();
        self.map(root, "", &KEYS);
        for entry in root.entries() {
            let (value, path) = (&entry.value, entry.key.as_str());
            match path {
                "images" => {
                    for image in self.entries(value, path) {
                        let path = format!("images.\"{}\"", image.key);
                        raw.images
                            .insert(image.key.clone(), self.image(&image.value, &path));
                    }
                }
                "tools" => {
                    for tool in self.entries(value, path) {
                        self.tool(tool.key.as_str(), &tool.value, &mut raw.tools);
                    }
                }
                "network" => raw.network = self.boolean(value, path),
                "ca_bundle" => raw.ca_bundle = self.absolute(value, path),
                "allowed_host_paths" => {
                    let items = self.items(value, path).iter();
                    raw.allowed_host_paths =
                        Some(items.filter_map(|item| self.absolute(item, path)).collect());
                }
                "slots" => {
                    raw.slots = self.number(value, path).and_then(|number| {
                        let slots = usize::try_from(number).ok().filter(|slots| *slots > 0);
                        if slots.is_none() {
                            self.fault(value, path, "`slots` must be at least 1".to_owned(), None);
                        }
                        slots
                    });
                }
                _ => {}
            }
        }
        raw
    }

    fn image(&mut self, node: &Node, path: &str) -> ImageSetting {
        let mut image = ImageSetting::default();
        self.map(node, path, &IMAGE_KEYS);
        for entry in node.entries() {
            let (value, path) = (&entry.value, format!("{path}.{}", entry.key));
            match entry.key.as_str() {
                "tools" => {
                    image.tools = self.texts(value, &path);
                    self.known_tools(value, &path);
                }
                "files" => {
                    for file in self.entries(value, &path) {
                        image.files.extend(
                            self.absolute(&file.value, &path)
                                .map(|at| (file.key.clone(), at)),
                        );
                    }
                }
                "env_vars" => {
                    for variable in self.entries(value, &path) {
                        let text = self.text(&variable.value, &path);
                        image
                            .env_vars
                            .extend(text.map(|text| (variable.key.clone(), text)));
                    }
                }
                "user" => image.user = self.user(value, &path).unwrap_or_default(),
                "shell" => match self.text(value, &path).as_deref() {
                    Some("busybox") => image.busybox = true,
                    Some("system") | None => {}
                    Some(other) => {
                        let message = format!("`{other}` is no shell; it is `system` or `busybox`");
                        self.fault(value, &path, message, None);
                    }
                },
                "working_dir" => image.working_dir = self.text(value, &path),
                "command" => image.command = self.texts(value, &path),
                _ => {}
            }
        }
        image
    }

    fn user(&mut self, node: &Node, path: &str) -> Option<u32> {
        let number = self.number(node, path)?;
        let user = u32::try_from(number).ok();
        if user.is_none() {
            let message = format!("`{number}` is no user id");
            self.fault(
                node,
                path,
                message,
                Some("it is a number from 0".to_owned()),
            );
        }
        user
    }

    fn known_tools(&mut self, list: &Node, path: &str) {
        for item in list.items() {
            let serde_json::Value::String(tool) = item.to_json() else {
                continue;
            };
            let known = tool == "groundplan" || Tool::from_name(&tool).is_some();
            if !known && !tool.starts_with('/') {
                let hint = "a tool is one of those that `groundplan tools list` names, \
                            `groundplan`, or an absolute folder of programs";
                let message = format!("`{tool}` is no tool that is known here");
                self.fault(item, path, message, Some(hint.to_owned()));
            }
        }
    }

    fn tool(&mut self, name: &str, node: &Node, tools: &mut BTreeMap<Tool, PathBuf>) {
        let path = format!("tools.{name}");
        match Tool::from_name(name) {
            Some(tool) => tools.extend(self.absolute(node, &path).map(|at| (tool, at))),
            None => {
                let hint = "`groundplan tools list` names the tools that are known here";
                self.fault(
                    node,
                    &path,
                    format!("`{name}` is no known tool"),
                    Some(hint.to_owned()),
                );
            }
        }
    }

    /// Sees to it that a node is a map of known keys.
    fn map(&mut self, node: &Node, path: &str, keys: &[&str]) {
        self.entries(node, path);
        for entry in node.entries() {
            if !keys.contains(&entry.key.as_str()) {
                let nearest = nearest(&entry.key, keys);
                let hint = match nearest {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => format!("known here: {}", keys.join(", ")),
                };
                self.diagnostics.push(Diagnostic {
                    code: "unknown-key".to_owned(),
                    severity: Severity::Error,
                    message: format!("unknown key `{}`", entry.key),
                    file: self.file.to_owned(),
                    position: Some(entry.key_position),
                    path: path.to_owned(),
                    hint: Some(hint),
                });
            }
        }
    }

    fn entries<'n>(
        &mut self,
        node: &'n Node,
        path: &str,
    ) -> &'n [groundplan_workflow::read::Entry] {
        if !matches!(node.value, NodeValue::Map(_) | NodeValue::Null) {
            self.wrong(node, path, "a map");
        }
        node.entries()
    }

    fn items<'n>(&mut self, node: &'n Node, path: &str) -> &'n [Node] {
        if !matches!(node.value, NodeValue::List(_) | NodeValue::Null) {
            self.wrong(node, path, "a list");
        }
        node.items()
    }

    fn text(&mut self, node: &Node, path: &str) -> Option<String> {
        match node.to_json() {
            serde_json::Value::String(text) => Some(text),
            value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_)) => {
                Some(value.to_string())
            }
            serde_json::Value::Null
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => {
                self.wrong(node, path, "a text");
                None
            }
        }
    }

    fn texts(&mut self, node: &Node, path: &str) -> Vec<String> {
        let items = self.items(node, path);
        items
            .iter()
            .filter_map(|item| self.text(item, path))
            .collect()
    }

    fn boolean(&mut self, node: &Node, path: &str) -> Option<bool> {
        let value = node.to_json().as_bool();
        if value.is_none() {
            self.wrong(node, path, "true or false");
        }
        value
    }

    fn number(&mut self, node: &Node, path: &str) -> Option<i64> {
        let value = node.to_json().as_i64();
        if value.is_none() {
            self.wrong(node, path, "a whole number");
        }
        value
    }

    fn absolute(&mut self, node: &Node, path: &str) -> Option<PathBuf> {
        let text = self.text(node, path)?;
        if text.starts_with('/') {
            return Some(PathBuf::from(text));
        }
        self.fault(
            node,
            path,
            format!("`{text}` is not an absolute path"),
            None,
        );
        None
    }

    fn wrong(&mut self, node: &Node, path: &str, wanted: &str) {
        self.fault(
            node,
            path,
            format!("`{path}` must be {wanted}, and is {}", node.describe()),
            None,
        );
    }

    fn fault(&mut self, node: &Node, path: &str, message: String, hint: Option<String>) {
        self.diagnostics.push(Diagnostic {
            code: "wrong-value".to_owned(),
            severity: Severity::Error,
            message,
            file: self.file.to_owned(),
            position: Some(node.position),
            path: path.to_owned(),
            hint,
        });
    }
}

/// The known name that is closest to a wrong one, if any is close.
fn nearest<'k>(wrong: &str, known: &[&'k str]) -> Option<&'k str> {
    known
        .iter()
        .map(|name| (strsim::jaro_winkler(wrong, name), *name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
