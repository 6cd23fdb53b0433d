//! The machine configuration: the only reader of environment variables and of the configuration
//! file. Raw and valid values are different types, and every fault is found at once.

mod file;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use groundplan_runners::tools::{Cache, Search, Tool};

use crate::{arguments::Global, failure::Failure};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody set it.
    Default,
    /// The configuration file.
    File,
    /// An environment variable or the command line.
    Call,
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    /// The value.
    pub(crate) value: T,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

impl<T> Setting<T> {
    fn or_default(set: Option<T>, default: T) -> Self {
        match set {
            Some(value) => Setting {
                value,
                origin: Origin::File,
            },
            None => Setting {
                value: default,
                origin: Origin::Default,
            },
        }
    }
}

/// What stands for an image, as the file says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImageSetting {
    /// Names of known tools (`tofu`, `tflint`, `checkov`, `git`, `groundplan`) and absolute folders.
    pub(crate) tools: Vec<String>,
    /// Files of this machine by the path at which steps see them.
    pub(crate) files: BTreeMap<String, PathBuf>,
    /// Variables.
    pub(crate) env_vars: BTreeMap<String, String>,
    /// User that steps believe to be.
    pub(crate) user: u32,
    /// Whether `sh` and small tools are BusyBox's.
    pub(crate) busybox: bool,
    /// Directory that programs start in.
    pub(crate) working_dir: Option<String>,
    /// Program for documents that name none.
    pub(crate) command: Vec<String>,
}

/// The valid configuration of this machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The file it was read from; it may not exist.
    pub(crate) file: PathBuf,
    /// Whether that file exists.
    pub(crate) file_exists: bool,
    /// Journal, logs, running steps.
    pub(crate) data_dir: Setting<PathBuf>,
    /// File of the installation's key, where it is not in the data directory.
    pub(crate) key_file: Option<PathBuf>,
    /// Obtained tools.
    pub(crate) cache: Cache,
    /// Images by pattern.
    pub(crate) images: BTreeMap<String, Setting<ImageSetting>>,
    /// Tools at fixed places.
    pub(crate) tools: BTreeMap<Tool, PathBuf>,
    /// Whether steps may reach the network.
    pub(crate) network: Setting<bool>,
    /// Certificates that steps trust beside the system's.
    pub(crate) ca_bundle: Setting<Option<PathBuf>>,
    /// Host paths that documents may mount.
    pub(crate) allowed_host_paths: Setting<Vec<PathBuf>>,
    /// Steps that may run at once.
    pub(crate) slots: Setting<usize>,
    /// `PATH` of this process.
    pub(crate) search_path: OsString,
    /// Proxy variables of this process, handed to every step.
    pub(crate) proxy: BTreeMap<String, String>,
}

impl Machine {
    /// Reads the configuration that the command line and the environment point to.
    ///
    /// # Errors
    /// Every fault of the file at once; no home directory and nothing said instead.
    pub(crate) fn read(global: &Global) -> Result<Self, Failure> {
        let file = match &global.config {
            Some(file) => file.clone(),
            None => directory("XDG_CONFIG_HOME", ".config")?.join("config.yaml"),
        };
        let (raw, file_exists) = file::read(&file, global.config.is_some())?;
        let data_dir = match &global.data_dir {
            Some(given) => Setting {
                value: absolute(given)?,
                origin: Origin::Call,
            },
            None => Setting {
                value: directory("XDG_DATA_HOME", ".local/share")?,
                origin: Origin::Default,
            },
        };
        let mut images: BTreeMap<String, Setting<ImageSetting>> = builtin_images();
        for (pattern, image) in raw.images {
            images.insert(
                pattern,
                Setting {
                    value: image,
                    origin: Origin::File,
                },
            );
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Machine {
            file,
            file_exists,
            data_dir,
            key_file: global.key_file.clone(),
            cache: cache()?,
            images,
            tools: raw.tools,
            network: Setting::or_default(raw.network, true),
            ca_bundle: match raw.ca_bundle {
                Some(path) => Setting {
                    value: Some(path),
                    origin: Origin::File,
                },
                None => Setting {
                    value: None,
                    origin: Origin::Default,
                },
            },
            allowed_host_paths: Setting::or_default(raw.allowed_host_paths, Vec::new()),
            slots: Setting::or_default(raw.slots, processors * 2),
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            proxy: proxy(),
        })
    }

    /// A program of `PATH` by name.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.search_path)
            .map(|folder| folder.join(name))
            .find(|path| path.is_absolute() && path.is_file())
    }

    /// Where tools are looked for.
    pub(crate) fn search(&self) -> Search {
        Search {
            configured: self.tools.clone(),
            cache: self.cache.clone(),
            search_path: self.search_path.clone(),
        }
    }
}

/// The images that are known without a configuration.
fn builtin_images() -> BTreeMap<String, Setting<ImageSetting>> {
    let busybox = ImageSetting {
        busybox: true,
        ..ImageSetting::default()
    };
    let tofu = ImageSetting {
        tools: ["tofu", "tflint", "checkov", "git", "groundplan"]
            .map(str::to_owned)
            .to_vec(),
        ..ImageSetting::default()
    };
    [
        ("alpine", busybox.clone()),
        ("busybox", busybox),
        ("groundplan/*", tofu),
    ]
    .into_iter()
    .map(|(pattern, value)| {
        (
            pattern.to_owned(),
            Setting {
                value,
                origin: Origin::Default,
            },
        )
    })
    .collect()
}

/// `$VARIABLE/groundplan`, else `$HOME/FALLBACK/groundplan`.
fn directory(variable: &str, fallback: &str) -> Result<PathBuf, Failure> {
    let set = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let base = match set {
        Some(base) => base,
        None => home(variable)?.join(fallback),
    };
    Ok(base.join("groundplan"))
}

fn home(variable: &str) -> Result<PathBuf, Failure> {
    std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .ok_or_else(|| {
            Failure::user("neither `HOME` nor `".to_owned() + variable + "` names a directory")
                .with_hint(format!("set `HOME`, or `{variable}` to an absolute path"))
        })
}

fn cache() -> Result<Cache, Failure> {
    let (cache_home, home) = (std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"));
    Cache::of_user(cache_home.as_deref(), home.as_deref()).ok_or_else(|| {
        Failure::user("neither `HOME` nor `XDG_CACHE_HOME` names a directory")
            .with_hint("set `HOME`")
    })
}

/// An absolute form of a path that a person gave.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| {
        Failure::user(format!("cannot make `{}` an absolute path", path.display())).because(error)
    })
}

fn proxy() -> BTreeMap<String, String> {
    [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "all_proxy",
    ]
    .into_iter()
    .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
    .collect()
}

/// The value of a variable that a person asked to hand on.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Whether the person minds colours (`NO_COLOR`) or the terminal cannot show them.
pub(crate) fn colours_wanted() -> bool {
    let unset = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    unset("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
