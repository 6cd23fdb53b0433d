//! Deleting what a step left, whatever permissions it gave it.

use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

/// Deletes a directory with everything in it. One that is not there is no error.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path);
            ignore_missing(fs::remove_dir_all(path))
        }
        result => ignore_missing(result),
    }
}

/// Gives ourselves the permission to delete from every directory. Nothing of the step lives any more,
/// so nobody can put a link in the way.
fn open_up(path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else {
        return;
    };
    if !found.is_dir() {
        return;
    }
    // What fails here shows when it is deleted.
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_up(&entry.path());
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
