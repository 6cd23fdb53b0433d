//! Secrets of files keep the contract, and what only files can show.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use groundplan_ports::{
    error::{ErrorKind, PortError},
    secrets::{SecretRef, SecretScope, SecretSourceKind, SecretValue, Secrets},
};
use groundplan_sealing::Key;
use groundplan_store::FileSecrets;
use groundplan_testkit::{contract::secrets::Fixture, secrets_contract};

use crate::journal::OnDisk;

/// A data directory with its key, and files beside it.
struct Files {
    disk: OnDisk,
    key: Key,
}

impl Files {
    fn new() -> Self {
        Files {
            disk: OnDisk::new(),
            key: Key::generate(),
        }
    }

    fn write(&self, name: &str, mode: u32, text: &str) -> PathBuf {
        let path = self.disk.directory.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn read(&self, files: &[PathBuf]) -> Result<FileSecrets, PortError> {
        FileSecrets::read(files, self.disk.database(), self.key.clone())
    }

    /// What is said of a file of this content.
    fn refused(&self, text: &str) -> PortError {
        let file = self.write("refused.yaml", 0o600, text);
        let error = self.read(&[file]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("refused.yaml"), "{error}");
        assert!(error.hint.is_some(), "{error}");
        error
    }
}

const CREDENTIALS: &str = "\
apiVersion: v1
kind: Secret
metadata:
  name: git-credentials
type: Opaque
data:
  username: cm9ib3Q=
stringData:
  password: hunter2-hunter2
";

impl Fixture for Files {
    fn handle(&self) -> Arc<dyn Secrets> {
        let file = self.write("secrets.yaml", 0o600, CREDENTIALS);
        Arc::new(self.read(&[file]).unwrap())
    }
}

secrets_contract!(Files::new());

async fn value(secrets: &FileSecrets, namespace: &str, name: &str, key: &str) -> String {
    let kind = match name {
        "settings" => SecretSourceKind::ConfigMap,
        _ => SecretSourceKind::Secret,
    };
    let scope = SecretScope {
        namespace: namespace.to_owned(),
    };
    let reference = SecretRef {
        kind,
        name: name.to_owned(),
        key: Some(key.to_owned()),
    };
    match secrets.resolve(&scope, &reference).await {
        Ok(found) => String::from_utf8(found[0].value.expose().to_vec()).unwrap(),
        Err(error) => format!("{error}; {}", error.hint.as_deref().unwrap_or_default()),
    }
}

#[tokio::test]
async fn yaml_json_lists_and_both_encodings_are_read() {
    let files = Files::new();
    let yaml = files.write(
        "a.yaml",
        0o600,
        "kind: Secret\nmetadata: {name: a}\ndata:\n  wrapped: |\n    aHVu\n    dGVyMg==\n  both: b25l\n\
         stringData:\n  both: two\n  empty:\n---\nkind: ConfigMap\nmetadata: {name: settings}\n\
         data:\n  text: \"1.5\"\nbinaryData:\n  bytes: eA==\n",
    );
    let json = files.write(
        "b.json",
        0o600,
        r#"{"kind":"List","items":[{"kind":"Secret","metadata":{"name":"b"},"data":{"k":"eA=="}}]}"#,
    );
    let secrets = files.read(&[yaml, json]).unwrap();
    for (name, key, expected) in [
        ("a", "wrapped", "hunter2"),
        ("a", "both", "two"),
        ("a", "empty", ""),
        ("b", "k", "x"),
        ("settings", "text", "1.5"),
        ("settings", "bytes", "x"),
    ] {
        assert_eq!(
            value(&secrets, "default", name, key).await,
            expected,
            "{name} {key}"
        );
    }
}

#[tokio::test]
async fn namespace_of_the_run_goes_first_and_others_are_not_given() {
    let files = Files::new();
    let object = |namespace: &str, text: &str| {
        format!("kind: Secret\nmetadata: {{name: a{namespace}}}\nstringData: {{k: {text}}}\n---\n")
    };
    let text = [
        object("", "any"),
        object(", namespace: prod", "prod"),
        object(", namespace: test", "test"),
    ]
    .concat();
    let secrets = files.read(&[files.write("s", 0o600, &text)]).unwrap();
    assert_eq!(value(&secrets, "prod", "a", "k").await, "prod");
    assert_eq!(value(&secrets, "test", "a", "k").await, "test");
    assert_eq!(value(&secrets, "other", "a", "k").await, "any");

    let only = object(", namespace: prod", "prod");
    let secrets = files.read(&[files.write("s", 0o600, &only)]).unwrap();
    let said = value(&secrets, "test", "a", "k").await;
    assert!(
        said.contains("no key `k` of Secret `a` in namespace `test`"),
        "{said}"
    );
}

#[tokio::test]
async fn missing_names_come_with_the_nearest_one() {
    let files = Files::new();
    let secrets = files.read(&[files.write("s", 0o600, CREDENTIALS)]).unwrap();
    let said = value(&secrets, "default", "git-credential", "password").await;
    assert!(said.contains("`git-credentials` is there"), "{said}");
    let said = value(&secrets, "default", "git-credentials", "pasword").await;
    assert!(said.contains("`password` is there"), "{said}");
    let said = value(&secrets, "default", "git-credentials", "token").await;
    assert!(said.contains("`password`, `username`"), "{said}");
    let said = value(&secrets, "default", "settings", "token").await;
    assert!(
        said.contains("ConfigMap `settings`") && said.contains("--secrets"),
        "{said}"
    );
}

#[test]
fn file_with_a_secret_must_be_closed_to_others() {
    let files = Files::new();
    for mode in [0o640, 0o604, 0o620, 0o777] {
        let file = files.write("open.yaml", mode, CREDENTIALS);
        let error = files.read(std::slice::from_ref(&file)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
        assert!(error.message.contains("others can read it"), "{error}");
        let hint = error.hint.unwrap();
        assert!(
            hint.contains(&format!("chmod 600 {}", file.display())),
            "{hint}"
        );
    }
    let settings = "kind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n";
    let file = files.write("open.yaml", 0o644, settings);
    files.read(&[file]).unwrap();
}

#[test]
fn faults_name_the_line_and_never_the_value() {
    let files = Files::new();
    for (text, line, word) in [
        ("kind: Pod\nmetadata: {name: a}\n", "line 1", "`Pod`"),
        ("metadata: {name: a}\n", "line 1", "`kind`"),
        ("kind: Secret\nmetadata: {}\n", "line 1", "name"),
        (
            "kind: Secret\nmetadata: {name: a}\ndata:\n  k: hunter2!\n",
            "line 4",
            "`k`",
        ),
        (
            "kind: Secret\nmetadata: {name: a}\nstringData:\n  k: [hunter2]\n",
            "line 4",
            "`k`",
        ),
        (
            "kind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: 15\n",
            "line 4",
            "quotes",
        ),
        (
            "kind: Secret\nmetadata: {name: a}\nstringData:\n  k: *hunter2\n",
            "line 4",
            "quotes",
        ),
        (
            "kind: Secret\nmetadata: {name: a}\nstringData:\n  k: \"hunter2\n",
            "line",
            "not readable",
        ),
        ("", "", "not readable"),
        ("kind: Secret\0hunter2", "", "not readable"),
    ] {
        let error = files.refused(text);
        let said = format!("{error:?} {error} {}", error.hint.as_deref().unwrap());
        assert!(said.contains(line) && said.contains(word), "{text}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    let error = files.refused(&format!("{CREDENTIALS}---\n{CREDENTIALS}"));
    assert!(error.message.contains("given twice"), "{error}");
    assert!(
        error.message.contains("line 1 ") && error.message.contains("line 11"),
        "{error}"
    );
    let error = files.read(&[PathBuf::from("/no/such/file")]).unwrap_err();
    assert!(error.message.contains("/no/such/file"), "{error}");
}

#[tokio::test]
async fn sealed_values_lie_encrypted_and_bound_to_their_token() {
    let files = Files::new();
    let secrets = files.read(&[]).unwrap();
    let marker = "marker-4711-marker";
    let token = secrets.seal(&SecretValue::new(marker)).await.unwrap();
    assert!(token.starts_with("groundplan:sealed:"), "{token}");
    let mut files_read = 0;
    for file in every_file(files.disk.data().path()) {
        let bytes = fs::read(&file).unwrap();
        let found = bytes
            .windows(marker.len())
            .any(|window| window == marker.as_bytes());
        assert!(!found, "{} holds the value", file.display());
        files_read += 1;
    }
    assert!(files_read >= 3, "the database, its log and its index");

    let other_key = FileSecrets::read(&[], files.disk.database(), Key::generate()).unwrap();
    let error = other_key.open(&token).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Broken);
    assert!(error.message.contains(&token), "{error}");
    let unknown = format!("groundplan:sealed:{}", "a".repeat(26));
    let error = secrets.open(&unknown).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

fn every_file(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(every_file(&path)),
            false => files.push(path),
        }
    }
    files
}
