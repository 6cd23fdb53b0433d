//! What a supervisor and process 1 are told. These values hold secrets: they go over standard input
//! only, never into a file, an argument or an environment.

use std::path::PathBuf;

use groundplan_ports::secrets::SecretValue;

use crate::wire::{Wire, WireError, wire_struct};

/// What a supervisor is told.
#[derive(Debug)]
pub(crate) struct Order {
    /// What to start; `None`: take up what an earlier supervisor started.
    pub(crate) start: Option<Start>,
    /// Secrets by name, to mask the step's output with.
    pub(crate) needles: Vec<(String, SecretValue)>,
    /// The installation's key as text, to seal sensitive outputs with.
    pub(crate) key: SecretValue,
}
wire_struct!(Order {
    start,
    needles,
    key
});

/// A step to start.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// [`Facts`](crate::step_dir::Facts) as JSON.
    pub(crate) facts: String,
    /// What process 1 is told.
    pub(crate) init: InitOrder,
    /// Our own program, for process 1.
    pub(crate) executable: PathBuf,
    /// The sandbox; `None`: an ordinary process.
    pub(crate) sandbox: Option<SandboxOrder>,
    /// Files to write before the step starts, below its scratch directories: path, mode, content.
    pub(crate) files: Vec<PlacedFile>,
    /// Directories to make before the step starts: one of ours, and a path below it that must not
    /// lead out of it.
    pub(crate) directories: Vec<(PathBuf, String)>,
    /// Most bytes of memory.
    pub(crate) memory_limit: Option<u64>,
    /// Most thousandths of a processor.
    pub(crate) cpu_limit_millis: Option<u64>,
    /// What to say in the log before the step starts.
    pub(crate) notices: Vec<String>,
}
wire_struct!(Start {
    facts,
    init,
    executable,
    sandbox,
    files,
    directories,
    memory_limit,
    cpu_limit_millis,
    notices,
});

/// What process 1 is told.
#[derive(Clone, Debug)]
pub(crate) struct InitOrder {
    /// Whether it is the first process of a namespace.
    pub(crate) sandboxed: bool,
    /// Program and arguments.
    pub(crate) argv: Vec<SecretValue>,
    /// The whole environment.
    pub(crate) env: Vec<(String, SecretValue)>,
    /// Directory to start in.
    pub(crate) working_dir: String,
}
wire_struct!(InitOrder {
    sandboxed,
    argv,
    env,
    working_dir,
});

/// How the sandbox is made.
#[derive(Clone, Debug)]
pub(crate) struct SandboxOrder {
    /// Bubblewrap.
    pub(crate) bubblewrap: PathBuf,
    /// User and group number within.
    pub(crate) user: u32,
    /// The user's home.
    pub(crate) home: String,
    /// Whether the network is cut off.
    pub(crate) offline: bool,
    /// Directory that stands for `/bin`, where it is not this machine's.
    pub(crate) bin: Option<PathBuf>,
    /// What appears beside the system's folders, parents before children.
    pub(crate) mounts: Vec<Mount>,
}
wire_struct!(SandboxOrder {
    bubblewrap,
    user,
    home,
    offline,
    bin,
    mounts,
});

/// Something that appears in the sandbox.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    /// Absolute path within.
    pub(crate) target: String,
    /// What is there.
    pub(crate) kind: MountKind,
}
wire_struct!(Mount { target, kind });

/// What appears in the sandbox.
#[derive(Clone, Debug)]
pub(crate) enum MountKind {
    /// A file or directory of this machine, read-only.
    ReadOnly(PathBuf),
    /// A file or directory of this machine.
    Writable(PathBuf),
    /// A read-only directory in memory with these files.
    Files(Vec<PlacedFile>),
    /// A read-only file in memory.
    File(PlacedFile),
    /// An empty directory, where there is none.
    Directory,
}

impl Wire for MountKind {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            MountKind::ReadOnly(path) => {
                0u8.put(out);
                path.put(out);
            }
            MountKind::Writable(path) => {
                1u8.put(out);
                path.put(out);
            }
            MountKind::Files(files) => {
                2u8.put(out);
                files.put(out);
            }
            MountKind::File(file) => {
                3u8.put(out);
                file.put(out);
            }
            MountKind::Directory => 4u8.put(out),
        }
    }

    fn take(input: &mut &[u8]) -> Result<Self, WireError> {
        Ok(match u8::take(input)? {
            0 => MountKind::ReadOnly(Wire::take(input)?),
            1 => MountKind::Writable(Wire::take(input)?),
            2 => MountKind::Files(Wire::take(input)?),
            3 => MountKind::File(Wire::take(input)?),
            4 => MountKind::Directory,
            _ => return Err(WireError),
        })
    }
}

/// A file with its content.
#[derive(Clone, Debug)]
pub(crate) struct PlacedFile {
    /// Where: below the directory that it belongs to, or absolute.
    pub(crate) path: String,
    /// Permission bits.
    pub(crate) mode: u32,
    /// What is in it.
    pub(crate) content: SecretValue,
}
wire_struct!(PlacedFile {
    path,
    mode,
    content,
});
