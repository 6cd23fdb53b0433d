//! A folder in which a tool has the name that steps call it by.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use aws_lc_rs::digest::{SHA256, digest};

use super::{cache::Cache, error::ToolError, locate::Located};

/// What puts a tool on the `PATH` of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandDir {
    /// The folder for `PATH`.
    pub path: PathBuf,
    /// Files and folders that a sandbox must show, read-only and at the same path.
    pub needs: Vec<PathBuf>,
}

impl Located {
    /// The folder for the `PATH` of a step. It is the program's own where the program has the name
    /// that steps use; otherwise (Terraform for `tofu`, a configured `tofu-1.12`) one in the cache
    /// with a link of that name. Repeating it changes nothing.
    ///
    /// # Errors
    /// The cache cannot be written.
    pub fn command_dir(&self, cache: &Cache) -> Result<CommandDir, ToolError> {
        let name = self.tool.name();
        let mut needs = self.needs.clone();
        if let (Some(own), Some(folder)) = (self.path.file_name(), self.path.parent())
            && own == name
        {
            let path = folder.to_owned();
            return Ok(CommandDir { path, needs });
        }
        let folder = cache.aliases().join(key(&self.path));
        let link = folder.join(name);
        place(&self.path, &link).map_err(|source| ToolError::write(&link, source))?;
        needs.push(folder.clone());
        Ok(CommandDir {
            path: folder,
            needs,
        })
    }
}

/// The path itself decides, so that a link never changes once it is there.
fn key(path: &Path) -> String {
    let digest = digest(&SHA256, path.as_os_str().as_encoded_bytes());
    let bytes = &digest.as_ref()[..8];
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn place(program: &Path, link: &Path) -> io::Result<()> {
    if let Some(folder) = link.parent() {
        fs::create_dir_all(folder)?;
    }
    match symlink(program, link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{Place, Product, Tool};

    fn located(path: &str) -> Located {
        Located {
            tool: Tool::Tofu,
            product: Product::Terraform,
            path: PathBuf::from(path),
            version: None,
            place: Place::SearchPath,
            needs: vec![PathBuf::from(path)],
        }
    }

    #[test]
    fn a_program_of_another_name_gets_a_link_of_the_name_that_steps_use() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path());
        let first = located("/opt/a/terraform").command_dir(&cache).unwrap();
        assert_eq!(
            fs::read_link(first.path.join("tofu")).unwrap(),
            Path::new("/opt/a/terraform")
        );
        assert_eq!(
            first.needs,
            [PathBuf::from("/opt/a/terraform"), first.path.clone()]
        );
        let again = located("/opt/a/terraform").command_dir(&cache).unwrap();
        assert_eq!(again, first);
        let other = located("/opt/b/terraform").command_dir(&cache).unwrap();
        assert_ne!(other.path, first.path);
    }

    #[test]
    fn a_program_of_the_right_name_stays_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        let dir = located("/opt/bin/tofu").command_dir(&cache).unwrap();
        assert_eq!(dir.path, Path::new("/opt/bin"));
        assert_eq!(dir.needs, [PathBuf::from("/opt/bin/tofu")]);
        assert!(!cache.root().exists());
    }
}
