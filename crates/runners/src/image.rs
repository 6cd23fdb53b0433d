//! Images of containers, as folders and tools of this machine: a process runner pulls nothing.

use std::{collections::BTreeMap, path::PathBuf};

/// What stands for an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageMapping {
    /// Tools that are found first on `PATH`, in this order.
    pub tools: Vec<ToolDir>,
    /// Files of this machine by the absolute path at which a step sees them, read-only.
    pub files: BTreeMap<String, PathBuf>,
    /// Variables of the image; the document's own come after them.
    pub env: BTreeMap<String, String>,
    /// Number of the user that the step believes to be; 0 is at home in `/root`.
    pub user: u32,
    /// Whose `sh` and small tools the step finds.
    pub shell: Shell,
    /// Directory of the image; `/` where none is given.
    pub working_dir: Option<String>,
    /// Program of the image, for documents that name none.
    pub command: Vec<String>,
}

/// A directory of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDir {
    /// The directory that is put on `PATH`.
    pub path: PathBuf,
    /// What must be visible for its programs to work, at the same place, read-only; the directory
    /// itself where nothing is given.
    pub show: Vec<PathBuf>,
}

/// Whose `sh` and small tools a step finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// This machine's.
    #[default]
    System,
    /// BusyBox's, as Alpine has: its `[` knows `==`, unlike the one of Debian's `sh`.
    BusyBox,
}

/// Mappings by pattern of the image's reference.
#[derive(Clone, Debug, Default)]
pub struct Images(BTreeMap<String, ImageMapping>);

impl Images {
    /// The images that need nothing but what this machine has: `alpine` and `busybox`.
    pub fn builtin() -> Self {
        let busybox = ImageMapping {
            shell: Shell::BusyBox,
            ..ImageMapping::default()
        };
        Images(BTreeMap::from([
            ("alpine".into(), busybox.clone()),
            ("busybox".into(), busybox),
        ]))
    }

    /// Adds a mapping, or replaces the one of the same pattern. `*` in a pattern stands for any text;
    /// one without tag or digest stands for all of them.
    pub fn insert(&mut self, pattern: impl Into<String>, mapping: ImageMapping) {
        self.0.insert(pattern.into(), mapping);
    }

    /// The mapping of the most exact pattern: the one with the most characters that are no `*`.
    pub fn find(&self, image: &str) -> Option<&ImageMapping> {
        self.0
            .iter()
            .filter(|(pattern, _)| matches(short(pattern), short(image)))
            .max_by_key(|(pattern, _)| {
                let pattern = short(pattern);
                pattern.len() - pattern.matches('*').count()
            })
            .map(|(_, mapping)| mapping)
    }

    /// What to say of an image that no pattern matches, with the lines to add.
    pub(crate) fn unknown(image: &str) -> String {
        let bare = without_tag(image);
        format!(
            "image `{image}` is not mapped to tools of this machine\n\
             hint: add to the machine configuration:\n\
             images:\n  \"{bare}\":\n    shell: system"
        )
    }
}

/// A reference without what Docker's own registry leaves out.
fn short(reference: &str) -> &str {
    let bare = reference
        .strip_prefix("docker.io/")
        .or_else(|| reference.strip_prefix("index.docker.io/"))
        .unwrap_or(reference);
    bare.strip_prefix("library/").unwrap_or(bare)
}

fn without_tag(reference: &str) -> &str {
    let bare = reference.split('@').next().unwrap_or(reference);
    match bare.rsplit_once(':') {
        // A colon before a slash is a registry's port.
        Some((name, tag)) if !tag.contains('/') => name,
        _ => bare,
    }
}

fn matches(pattern: &str, image: &str) -> bool {
    let bare = without_tag(image);
    let undigested = image.split('@').next().unwrap_or(image);
    [image, undigested, bare]
        .into_iter()
        .any(|form| glob(pattern.as_bytes(), form.as_bytes()))
}

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|skipped| glob(rest, &text[skipped..])),
        Some((first, rest)) => text
            .split_first()
            .is_some_and(|(byte, text)| byte == first && glob(rest, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(patterns: &[&str], image: &str) -> Option<String> {
        let mut images = Images::default();
        for pattern in patterns {
            let mapping = ImageMapping {
                working_dir: Some((*pattern).to_owned()),
                ..ImageMapping::default()
            };
            images.insert(*pattern, mapping);
        }
        images
            .find(image)
            .and_then(|mapping| mapping.working_dir.clone())
    }

    #[test]
    fn a_pattern_without_tag_stands_for_all_tags() {
        for image in [
            "alpine",
            "alpine:3.18",
            "docker.io/library/alpine:3.18",
            "alpine@sha256:00",
            "alpine:3@sha256:00",
        ] {
            assert_eq!(
                found(&["alpine"], image).as_deref(),
                Some("alpine"),
                "{image}"
            );
        }
        assert_eq!(found(&["alpine"], "example.org/alpine"), None);
        assert_eq!(found(&["alpine:3.18"], "alpine:3.19"), None);
    }

    #[test]
    fn a_port_is_no_tag() {
        let image = "registry.example.org:5000/tools/tofu";
        assert_eq!(found(&["registry.example.org"], image), None);
        assert!(found(&["registry.example.org:5000/tools/*"], image).is_some());
    }

    #[test]
    fn the_most_exact_pattern_wins() {
        let patterns = ["*", "ghcr.io/*", "ghcr.io/opentofu/opentofu:1.*"];
        assert_eq!(
            found(&patterns, "ghcr.io/opentofu/opentofu:1.12").as_deref(),
            Some("ghcr.io/opentofu/opentofu:1.*")
        );
        assert_eq!(found(&patterns, "ghcr.io/a").as_deref(), Some("ghcr.io/*"));
        assert_eq!(found(&patterns, "python:3").as_deref(), Some("*"));
    }
}
