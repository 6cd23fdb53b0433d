//! Where the gate's own tools live: the user's cache, outside `target`.

use std::{env, path::PathBuf};

use crate::failure::{Failure, Outcome};

/// The folder of Groundplan in the user's cache.
pub(crate) fn folder() -> Outcome<PathBuf> {
    folder_of(
        env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
        env::home_dir(),
    )
}

/// By the rules of the XDG base directories: an `XDG_CACHE_HOME` that is not absolute is ignored.
fn folder_of(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Outcome<PathBuf> {
    xdg.filter(|path| path.is_absolute())
        .or_else(|| home.map(|home| home.join(".cache")))
        .map(|cache| cache.join("groundplan"))
        .ok_or_else(|| {
            Failure::new("no folder for the cache: `HOME` is not set")
                .hint("set `XDG_CACHE_HOME` to an absolute path")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_before_the_home_unless_it_is_relative() {
        let home = Some(PathBuf::from("/home/user"));
        let by = |xdg: Option<&str>| {
            folder_of(xdg.map(PathBuf::from), home.clone()).expect("a home is there")
        };
        assert_eq!(by(Some("/c")), PathBuf::from("/c/groundplan"));
        assert_eq!(by(Some("c")), PathBuf::from("/home/user/.cache/groundplan"));
        assert_eq!(by(None), PathBuf::from("/home/user/.cache/groundplan"));
        assert!(folder_of(None, None).is_err());
    }
}
