//! What stands for images, Kubernetes objects and claims when the documents are run here.

use std::{
    fs,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::table::Case;
use crate::failure::{Failure, Outcome};

/// A little program with the commands that the documents call: `echo TEXT [FILE]`, `cat FILE`,
/// `sleep N`, `exit [N]`, `assert_contains FILE TEXT`, `sh FILE`.
const ARGOSAY: &str = r#"#!/bin/sh
set -e
verb=${1-}
case $# in 0) ;; *) shift ;; esac
case $verb in
"") echo "hello argo" ;;
echo)
  case ${2-} in
  "") echo "$1" ;;
  *) mkdir -p "$(dirname "$2")"; echo "$1" >"$2" ;;
  esac ;;
cat) cat "$@" ;;
sleep) sleep "$1" ;;
exit) exit "${1-0}" ;;
assert_contains) grep -qF -- "$2" "$1" ;;
sh) sh "$1" ;;
*) echo "argosay: no command $verb" >&2; exit 64 ;;
esac
"#;

const COWSAY: &str = "#!/bin/sh\necho \"< $* >\"\n";

const PYTHON: &str = "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n";

/// Programs and the configuration that maps images to them.
#[derive(Debug)]
pub(super) struct StandIns {
    /// The machine configuration.
    pub(super) config: PathBuf,
    /// What this machine lacks for them.
    pub(super) missing: Vec<&'static str>,
}

/// Writes them into a folder.
pub(super) fn write(folder: &Path) -> Outcome<StandIns> {
    let programs = folder.join("programs");
    for (image, name, text) in [
        ("argosay", "argosay", ARGOSAY),
        ("cowsay", "cowsay", COWSAY),
        ("python", "python", PYTHON),
    ] {
        let path = programs.join(image).join(name);
        put(&path, text, 0o755)?;
    }
    let at = |name: &str| programs.join(name).display().to_string();
    let config = folder.join("config.yaml");
    let text = format!(
        "images:\n\
        \x20 \"argoproj/argosay:v1\": {{shell: busybox, tools: [{}]}}\n\
        \x20 \"argoproj/argosay:v2\": {{tools: [{argosay}], command: [argosay]}}\n\
        \x20 python: {{shell: busybox, tools: [{}]}}\n\
        \x20 debian: {{shell: system}}\n\
        \x20 ubuntu: {{shell: system}}\n\
        slots: 12\n",
        at("cowsay"),
        at("python"),
        argosay = at("argosay"),
    );
    put(&config, &text, 0o644)?;
    let needed = [
        ("/usr/bin/python3", "python3"),
        ("/usr/bin/bash", "bash"),
        ("/usr/bin/busybox", "busybox"),
        ("/usr/bin/bwrap", "bubblewrap"),
    ];
    let missing = needed
        .iter()
        .filter(|(path, _)| !Path::new(path).exists())
        .map(|(_, name)| *name)
        .collect();
    Ok(StandIns { config, missing })
}

/// Values of a case's secrets: our logs show `***` where the documents print them.
pub(super) fn secret_values(case: &Case, run: &Path) -> Vec<String> {
    let texts = case.library.iter().map(|name| run.join("lib").join(name));
    let texts = texts.filter_map(|path| fs::read_to_string(path).ok());
    texts
        .filter(|text| kind(text) == "Secret")
        .flat_map(|text| values(&text))
        .collect()
}

/// What stands behind the keys of `stringData`.
fn values(secret: &str) -> Vec<String> {
    let data = secret
        .lines()
        .skip_while(|line| *line != "stringData:")
        .skip(1);
    data.take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_once(": "))
        .map(|(_, value)| value.trim().to_owned())
        .collect()
}

/// The words of `run` that stand for the objects of a case's library.
pub(super) fn library_words(case: &Case, run: &Path, folder: &Path) -> Outcome<Vec<String>> {
    let mut words = Vec::new();
    let mut objects = String::new();
    for name in &case.library {
        let path = run.join("lib").join(name);
        let text = fs::read_to_string(&path)
            .map_err(|error| Failure::new(format!("cannot read `{}`: {error}", path.display())))?;
        match kind(&text) {
            "ConfigMap" | "Secret" => {
                objects.push_str("---\n");
                objects.push_str(&text);
            }
            "PersistentVolumeClaim" => {
                let claim = folder.join("claim");
                make(&claim)?;
                let of_name = text.lines().find_map(|line| line.strip_prefix("  name: "));
                words.push("--volume".to_owned());
                words.push(format!(
                    "{}={}",
                    of_name.unwrap_or_default(),
                    claim.display()
                ));
            }
            // Templates can be had by no option yet: the document itself is refused.
            _ => {}
        }
    }
    if !objects.is_empty() {
        let file = folder.join("objects.yaml");
        put(&file, &objects, 0o600)?;
        words.push("--secrets".to_owned());
        words.push(file.display().to_string());
    }
    Ok(words)
}

fn kind(text: &str) -> &str {
    text.lines()
        .find_map(|line| line.strip_prefix("kind: "))
        .unwrap_or_default()
        .trim()
}

/// Makes a folder with those above it.
pub(super) fn make(folder: &Path) -> Outcome {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("cannot make `{}`: {error}", folder.display())))
}

fn put(path: &Path, text: &str, mode: u32) -> Outcome {
    make(path.parent().unwrap_or(Path::new("/")))?;
    let write = || -> std::io::Result<()> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(mode);
        std::io::Write::write_all(&mut options.open(path)?, text.as_bytes())?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    };
    write().map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_secret_are_found() {
        let secret = "kind: Secret\nmetadata:\n  name: s\nstringData:\n  a: one\n  b: two\n";
        assert_eq!(values(secret), ["one", "two"]);
    }

    #[test]
    fn the_kind_of_an_object_is_found() {
        assert_eq!(
            kind("# a note\napiVersion: v1\nkind: ConfigMap\n"),
            "ConfigMap"
        );
        assert_eq!(kind("data: {}\n"), "");
    }
}
