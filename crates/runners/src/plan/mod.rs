//! From a [`StepSpec`] and what this machine has to what a supervisor is told.

mod places;

use std::path::{Path, PathBuf};

use groundplan_engine::report::StepOutcome;
use groundplan_ports::{
    runner::{CaptureResult, Isolation, MountSpec, Network, StepSpec, VolumeSource},
    secrets::SecretValue,
};

use self::places::{Place, places};
use crate::{
    image::{ImageMapping, Images, Shell},
    order::{InitOrder, Mount, MountKind, PlacedFile, SandboxOrder, Start},
    process::Options,
    step_dir::{Facts, ResultTake, StepDir, TakeFrom},
};

/// Where a script is placed in a sandbox, as Argo does.
const SCRIPT_DIR: &str = "/argo/staging";

/// Where our own files appear in a sandbox.
pub(crate) const OWN_DIR: &str = "/run/groundplan";

/// Where programs are looked for in a sandbox, after the image's tools.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables by which OpenTofu, Python, curl, git and others learn of certificate authorities.
const CA_VARIABLES: [&str; 6] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "AWS_CA_BUNDLE",
];

/// Names and values of every secret that a step's output must be masked with: those given, then
/// variables by their name, then files as `<volume>/<path>`; a value that was given is not named
/// again, since whoever takes the step up later gives it under the first name only.
pub(crate) fn needles(spec: &StepSpec) -> Vec<(String, SecretValue)> {
    let mut needles = spec.needles.clone();
    let is_given = |value: &SecretValue| {
        let mut given = spec.needles.iter();
        given.any(|(_, given)| given.expose() == value.expose())
    };
    for variable in &spec.main.env {
        if variable.secret && !is_given(&variable.value) {
            needles.push((variable.name.clone(), variable.value.clone()));
        }
    }
    for (volume, source) in &spec.volumes {
        let VolumeSource::Files(files) = source else {
            continue;
        };
        let secret = files.iter().filter(|file| file.secret);
        for file in secret.filter(|file| !is_given(&file.content)) {
            needles.push((format!("{volume}/{}", file.path), file.content.clone()));
        }
    }
    needles
}

/// What is to be done for a step, or why it cannot be started here.
pub(crate) fn plan(
    spec: &StepSpec,
    dir: &StepDir,
    options: &Options,
) -> Result<Start, StepOutcome> {
    if !spec.init.is_empty() || !spec.side.is_empty() {
        return Err(refused(
            "init containers and sidecars are not supported yet",
            "use a step of its own for what they do",
        ));
    }
    let mapping =
        options
            .images
            .find(&spec.main.image)
            .ok_or_else(|| StepOutcome::ImageFailure {
                message: Images::unknown(&spec.main.image),
            })?;
    let places = places(spec, dir, options)?;
    let planner = Planner {
        spec,
        options,
        mapping,
        places,
    };
    match spec.isolation {
        Isolation::Sandbox => planner.sandboxed(),
        Isolation::None => planner.plain(),
    }
}

fn refused(what: impl std::fmt::Display, hint: impl std::fmt::Display) -> StepOutcome {
    StepOutcome::StartFailure {
        message: format!("{what}\nhint: {hint}"),
    }
}

struct Planner<'a> {
    spec: &'a StepSpec,
    options: &'a Options,
    mapping: &'a ImageMapping,
    places: Vec<(&'a MountSpec, Place)>,
}

impl Planner<'_> {
    fn sandboxed(self) -> Result<Start, StepOutcome> {
        let spec = self.spec;
        let home = if self.mapping.user == 0 {
            "/root".to_owned()
        } else {
            "/home/user".to_owned()
        };
        let working_dir = self.working_dir("/");
        let mut argv = self.argv()?;
        let mut mounts = self.image_mounts();
        let mut directories = Vec::new();
        for (mount, place) in &self.places {
            let kind = match place {
                Place::Folder(folder, below) => {
                    directories.push((folder.clone(), below.clone()));
                    if mount.read_only {
                        MountKind::ReadOnly(folder.join(below))
                    } else {
                        MountKind::Writable(folder.join(below))
                    }
                }
                Place::Files(files) => MountKind::Files(files.clone()),
                Place::File(file) => MountKind::File(file.clone()),
            };
            let target = mount.path.clone();
            mounts.push(Mount { target, kind });
        }
        if let Some(source) = &spec.main.source {
            mounts.push(Mount {
                target: SCRIPT_DIR.into(),
                kind: MountKind::Files(vec![script_file("script".into(), source)]),
            });
            argv.push(SecretValue::new(format!("{SCRIPT_DIR}/script")));
        }
        if working_dir != "/" {
            mounts.push(Mount {
                target: working_dir.clone(),
                kind: MountKind::Directory,
            });
        }
        let bin = self.bin()?;
        let path = self.search_path(bin.as_ref().map(|_| "/bin"), SYSTEM_PATH);
        let ca = self
            .options
            .ca_bundle
            .as_ref()
            .map(|_| format!("{OWN_DIR}/ca.pem"));
        let env = self.env(&path, &home, None, ca.as_deref());
        Ok(Start {
            facts: self.facts(Vec::new())?,
            init: InitOrder {
                sandboxed: true,
                argv,
                env,
                working_dir,
            },
            executable: self.options.executable.clone(),
            sandbox: Some(SandboxOrder {
                bubblewrap: self.options.bubblewrap.clone(),
                user: self.mapping.user,
                home,
                offline: spec.network == Network::None,
                bin,
                mounts,
            }),
            files: Vec::new(),
            directories,
            memory_limit: spec.main.memory_limit,
            cpu_limit_millis: spec.main.cpu_limit_millis,
            notices: Vec::new(),
        })
    }

    fn plain(self) -> Result<Start, StepOutcome> {
        let spec = self.spec;
        if spec.network == Network::None {
            return Err(refused(
                "without a sandbox the network cannot be cut off",
                "run `groundplan doctor` to see what the sandbox lacks",
            ));
        }
        let scratch = self.options.scratch_dir(&spec.step);
        let home = scratch.join("home");
        let temporary = scratch.join("t");
        let mut directories: Vec<(PathBuf, String)> = [&scratch, &home, &temporary]
            .map(|path| (path.clone(), String::new()))
            .into();
        let mut files = Vec::new();
        for (mount, place) in &self.places {
            let real = match place {
                Place::Folder(folder, below) => {
                    directories.push((folder.clone(), below.clone()));
                    folder.join(below)
                }
                Place::Files(_) | Place::File(_) => scratch.join("volumes").join(&mount.volume),
            };
            if Path::new(&mount.path) != real {
                return Err(refused(
                    format!(
                        "without a sandbox volume `{}` cannot appear at `{}`",
                        mount.volume, mount.path
                    ),
                    format!(
                        "take the mount path from a parameter, and it becomes `{}`; or make the \
                         sandbox work: `groundplan doctor`",
                        real.display()
                    ),
                ));
            }
            match place {
                Place::Folder(..) => {}
                Place::Files(placed) => files.extend(placed.iter().map(|file| PlacedFile {
                    path: real.join(&file.path).to_string_lossy().into_owned(),
                    ..file.clone()
                })),
                Place::File(file) => files.push(PlacedFile {
                    path: real.to_string_lossy().into_owned(),
                    ..file.clone()
                }),
            }
        }
        let mut argv = self.argv()?;
        if let Some(source) = &spec.main.source {
            let path = scratch.join("script").to_string_lossy().into_owned();
            argv.push(SecretValue::new(path.clone()));
            files.push(script_file(path, source));
        }
        let bin = self.bin()?.map(|bin| bin.to_string_lossy().into_owned());
        let path = self.search_path(bin.as_deref(), &self.options.path);
        let ca = self
            .options
            .ca_bundle
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned());
        let home = home.to_string_lossy().into_owned();
        let env = self.env(&path, &home, Some(&temporary), ca.as_deref());
        let notices = self.plain_notices();
        let working_dir = self.working_dir(&home);
        Ok(Start {
            facts: self.facts(vec![scratch])?,
            init: InitOrder {
                sandboxed: false,
                argv,
                env,
                working_dir,
            },
            executable: self.options.executable.clone(),
            sandbox: None,
            files,
            directories,
            memory_limit: spec.main.memory_limit,
            cpu_limit_millis: spec.main.cpu_limit_millis,
            notices,
        })
    }

    fn plain_notices(&self) -> Vec<String> {
        self.mapping
            .files
            .keys()
            .map(|path| format!("without a sandbox the image's file `{path}` does not appear"))
            .collect()
    }

    fn argv(&self) -> Result<Vec<SecretValue>, StepOutcome> {
        let main = &self.spec.main;
        let command = if main.command.is_empty() {
            &self.mapping.command
        } else {
            &main.command
        };
        if command.is_empty() {
            return Err(refused(
                format!(
                    "the step names no command, and image `{}` has none here",
                    main.image
                ),
                "add `command` to the template, or to the image in the machine configuration",
            ));
        }
        Ok(command
            .iter()
            .chain(&main.args)
            .map(|word| SecretValue::new(word.as_str()))
            .collect())
    }

    fn working_dir(&self, default: &str) -> String {
        if !self.spec.main.working_dir.is_empty() {
            return self.spec.main.working_dir.clone();
        }
        let image = self.mapping.working_dir.as_deref();
        match self.spec.isolation {
            Isolation::Sandbox => image.unwrap_or(default).to_owned(),
            Isolation::None => default.to_owned(),
        }
    }

    /// The directory with BusyBox's programs, where the image has those.
    fn bin(&self) -> Result<Option<PathBuf>, StepOutcome> {
        match self.mapping.shell {
            Shell::System => Ok(None),
            Shell::BusyBox => self
                .options
                .busybox_dir()
                .map(Some)
                .map_err(|message| StepOutcome::ImageFailure { message }),
        }
    }

    /// What the image and the machine's configuration show in the sandbox.
    fn image_mounts(&self) -> Vec<Mount> {
        let options = self.options;
        let shown = |path: &PathBuf| Mount {
            target: path.to_string_lossy().into_owned(),
            kind: MountKind::ReadOnly(path.clone()),
        };
        let tools = self.mapping.tools.iter();
        let mut mounts: Vec<Mount> = tools
            .flat_map(|tool| match tool.show.as_slice() {
                [] => std::slice::from_ref(&tool.path),
                shown => shown,
            })
            .chain(&options.shown)
            .filter(|path| !path.starts_with("/usr"))
            .map(shown)
            .collect();
        mounts.extend(self.mapping.files.iter().map(|(target, source)| Mount {
            target: target.clone(),
            kind: MountKind::ReadOnly(source.clone()),
        }));
        if let Some(bundle) = &options.ca_bundle {
            mounts.push(Mount {
                target: format!("{OWN_DIR}/ca.pem"),
                kind: MountKind::ReadOnly(bundle.clone()),
            });
        }
        mounts
    }

    /// `PATH`: the image's tools, then BusyBox's programs where the image has those. A tool among
    /// the system's programs comes after these, or it would bring the system's shell with it.
    fn search_path(&self, busybox: Option<&str>, rest: &str) -> String {
        let is_of_system = |folder: &String| SYSTEM_PATH.split(':').any(|known| known == folder);
        let tools = self.mapping.tools.iter();
        let (system, own): (Vec<String>, Vec<String>) = tools
            .map(|tool| tool.path.to_string_lossy().into_owned())
            .partition(is_of_system);
        own.into_iter()
            .chain(busybox.map(str::to_owned))
            .chain(system)
            .chain([rest.to_owned()])
            .collect::<Vec<_>>()
            .join(":")
    }

    /// The whole environment: what the image brings, what reaches every step, then the document's.
    fn env(
        &self,
        path: &str,
        home: &str,
        temporary: Option<&Path>,
        ca: Option<&str>,
    ) -> Vec<(String, SecretValue)> {
        let mut env = vec![
            ("PATH".to_owned(), path.to_owned()),
            ("HOME".to_owned(), home.into()),
        ];
        if let Some(temporary) = temporary {
            let temporary = temporary.to_string_lossy().into_owned();
            env.push(("TMPDIR".into(), temporary));
        }
        if let Some(ca) = ca {
            env.extend(CA_VARIABLES.map(|name| (name.to_owned(), ca.to_owned())));
        }
        env.extend(self.options.env.iter().cloned());
        let image = self.mapping.env.iter();
        env.extend(image.map(|(name, value)| (name.clone(), value.clone())));
        let own = &self.spec.main.env;
        env.into_iter()
            .map(|(name, value)| (name, SecretValue::new(value)))
            .chain(own.iter().map(|own| (own.name.clone(), own.value.clone())))
            .collect()
    }

    fn facts(&self, scratch: Vec<PathBuf>) -> Result<String, StepOutcome> {
        let spec = self.spec;
        let facts = Facts {
            step: spec.step.clone(),
            node_name: spec.node_name.clone(),
            program: String::new(),
            working_dir: String::new(),
            sandboxed: spec.isolation == Isolation::Sandbox,
            deadline: spec.deadline,
            grace_millis: spec
                .grace
                .map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX)),
            result: match spec.capture_result {
                CaptureResult::No => ResultTake::No,
                CaptureResult::Plain => ResultTake::Plain,
                CaptureResult::Sensitive => ResultTake::Sensitive,
            },
            take: self.takes(&scratch)?,
            needles: needles(spec).into_iter().map(|(name, _)| name).collect(),
            scratch,
            cgroups: Vec::new(),
        };
        serde_json::to_string(&facts)
            .map_err(|error| refused(error, "this is a fault of Groundplan"))
    }

    /// Files to take as places of this machine.
    fn takes(&self, scratch: &[PathBuf]) -> Result<Vec<TakeFrom>, StepOutcome> {
        let take = |take: &groundplan_ports::runner::Take| {
            let (beneath, relative) = self.find(&take.path, scratch).ok_or_else(|| {
                refused(
                    format!(
                        "without a sandbox output `{}` cannot be taken from `{}`",
                        take.name, take.path
                    ),
                    "write it below a volume's mount path, or make the sandbox work: \
                     `groundplan doctor`",
                )
            })?;
            Ok(TakeFrom {
                name: take.name.clone(),
                path: take.path.clone(),
                beneath,
                relative,
                optional: take.optional,
                sensitive: take.sensitive,
            })
        };
        self.spec.take.iter().map(take).collect()
    }

    /// The directory that holds a path of the container, and the path below it.
    fn find(&self, path: &str, scratch: &[PathBuf]) -> Option<(PathBuf, String)> {
        for (mount, place) in self.places.iter().rev() {
            if let (Place::Folder(folder, below), Ok(rest)) =
                (place, Path::new(path).strip_prefix(&mount.path))
            {
                return Some((folder.join(below), rest.to_string_lossy().into_owned()));
            }
        }
        if self.spec.isolation == Isolation::Sandbox {
            let relative = path.trim_start_matches('/').to_owned();
            return Some((PathBuf::from("root"), relative));
        }
        let working_dir = (!self.spec.main.working_dir.is_empty())
            .then(|| PathBuf::from(&self.spec.main.working_dir));
        scratch.iter().chain(&working_dir).find_map(|folder| {
            let rest = Path::new(path).strip_prefix(folder).ok()?;
            Some((folder.clone(), rest.to_string_lossy().into_owned()))
        })
    }
}

fn script_file(path: String, source: &str) -> PlacedFile {
    PlacedFile {
        path,
        mode: 0o755,
        content: SecretValue::new(source),
    }
}
