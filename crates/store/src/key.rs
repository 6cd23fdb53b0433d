//! The installation's key: a file that only its owner reads, tied to the database by a fingerprint.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use groundplan_ports::error::{ErrorKind, PortError, PortResult};
use groundplan_sealing::{Key, random_id};
use rusqlite::{Connection, OptionalExtension};

use crate::{
    database::{Database, Hint},
    directory::DataDirectory,
    failure::{Failure, explain_io},
};

/// Name of the key's file within the data directory.
const FILE: &str = "installation.key";

/// No key's file is longer.
const LONGEST: u64 = 4096;

/// The key of an installation, from `file` or, where none is given, from the data directory, where
/// it is made at first use. *Broken* where the file is missing or holds another key than the one
/// that sealed what the database has. Blocks.
pub fn installation_key(
    directory: &DataDirectory,
    database: &Database,
    file: Option<&Path>,
) -> PortResult<Key> {
    let own = file.is_none();
    let path = file.map_or_else(|| directory.path().join(FILE), Path::to_path_buf);
    database.write_blocking(Hint::Spare, move |db| find(db, &path, own))
}

/// Alone among all processes, because it runs in a writing transaction.
fn find(db: &Connection, path: &Path, own: bool) -> Result<Key, Failure> {
    let sealed_with = fingerprint(db)?;
    let key = match (read(path)?, &sealed_with) {
        (Some(key), _) => key,
        (None, Some(wanted)) => return Err(lost(db, path, wanted)?.into()),
        (None, None) if own => make(path)?,
        (None, None) => return Err(missing(path).into()),
    };
    let found = key.fingerprint();
    match sealed_with {
        None => {
            db.execute(
                "INSERT INTO installation (id, key_fingerprint) VALUES (1, ?1)",
                [&found],
            )?;
        }
        Some(wanted) if wanted != found => {
            return Err(another(db, path, &wanted, &found)?.into());
        }
        Some(_) => {}
    }
    Ok(key)
}

fn fingerprint(db: &Connection) -> Result<Option<String>, Failure> {
    let found = db
        .query_row("SELECT key_fingerprint FROM installation", (), |row| {
            row.get(0)
        })
        .optional()?;
    Ok(found)
}

/// The key in a file; `None` where there is no file.
fn read(path: &Path) -> PortResult<Option<Key>> {
    let explain = |error| explain_io("read the key file", path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(explain(error)),
    };
    let mode = file.metadata().map_err(explain)?.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(PortError::new(
            ErrorKind::Broken,
            format!(
                "others can read the key file `{}` (mode {mode:04o})",
                path.display()
            ),
        )
        .with_hint(format!("`chmod 600 {}`", path.display())));
    }
    let mut text = String::new();
    file.take(LONGEST)
        .read_to_string(&mut text)
        .map_err(explain)?;
    let key = Key::decode(&text).map_err(|error| {
        PortError::new(
            ErrorKind::Broken,
            format!("the key file `{}` holds no key", path.display()),
        )
        .with_hint("it is one line: 32 bytes in base64; put it back from a backup")
        .caused_by(error)
    })?;
    Ok(Some(key))
}

/// Makes a key and writes its file, whole or not at all.
fn make(path: &Path) -> PortResult<Key> {
    let key = Key::generate();
    let unfinished: PathBuf = path.with_extension(random_id());
    let write = || {
        let mut file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&unfinished)?;
        writeln!(file, "{}", key.encode())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    };
    let written = write();
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&unfinished);
    }
    written.map_err(|error| explain_io("write the key file", path, error))?;
    Ok(key)
}

fn missing(path: &Path) -> PortError {
    let shown = path.display();
    PortError::new(
        ErrorKind::Broken,
        format!("the key file `{shown}` is missing"),
    )
    .with_hint(format!(
        "make one with `(umask 077; head -c 32 /dev/urandom | base64 > {shown})`, or let \
         `GROUNDPLAN_KEY_FILE` unset: then one is made in the data directory"
    ))
}

fn lost(db: &Connection, path: &Path, wanted: &str) -> Result<PortError, Failure> {
    Ok(PortError::new(
        ErrorKind::Broken,
        format!(
            "the key file `{}` is missing; without key `{wanted}` {} cannot be read",
            path.display(),
            what_is_sealed(db)?
        ),
    )
    .with_hint(WAY_OUT))
}

fn another(db: &Connection, path: &Path, wanted: &str, found: &str) -> Result<PortError, Failure> {
    Ok(PortError::new(
        ErrorKind::Broken,
        format!(
            "`{}` holds the key `{found}`; without key `{wanted}` {} cannot be read",
            path.display(),
            what_is_sealed(db)?
        ),
    )
    .with_hint(WAY_OUT))
}

const WAY_OUT: &str = "put the file back from a backup, or name it with `GROUNDPLAN_KEY_FILE`; if it \
                       is lost, begin anew with another `--data-dir`";

fn what_is_sealed(db: &Connection) -> Result<String, Failure> {
    let count: i64 = db.query_row("SELECT count(*) FROM sealed", (), |row| row.get(0))?;
    Ok(match count {
        0 => "what running steps sealed".to_owned(),
        1 => "1 sensitive output".to_owned(),
        _ => format!("{count} sensitive outputs"),
    })
}
