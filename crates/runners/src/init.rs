//! Process 1 of a step: keeps the step's pipes and memory files open, executes the tool, leaves
//! nothing of it alive, and writes how it ended.
//!
//! It is told what to do once, over the socket that is its standard input, and needs nobody
//! afterwards: when its supervisor dies, the tool goes on. It ends when a supervisor has taken all
//! output and says so.

use std::{
    fs::File,
    io::{self, IoSliceMut, Read, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::MetadataExt, net::UnixStream, process::CommandExt},
    },
    process::{Command, ExitCode, Stdio},
    sync::{Arc, atomic::AtomicBool},
};

use command_fds::{CommandFdExt, FdMapping};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg},
    process::{Pid, Signal, WaitOptions, WaitStatus},
};

use crate::{
    order::InitOrder,
    processes,
    step_dir::{Keeper, ToolEnd},
    wire::Wire,
};

/// The hidden subcommand that runs this.
pub const SUBCOMMAND: &str = "step-init";

/// What a supervisor writes to the control pipe: everything was taken, process 1 may end.
pub(crate) const RELEASE: u8 = b'r';

/// What a supervisor writes to the control pipe: kill the tool and all it started.
pub(crate) const KILL: u8 = b'k';

/// How many descriptors come with the order: see [`Kept`].
pub(crate) const DESCRIPTORS: usize = 11;

/// How often process 1 looks whether the step's directory is still there, once the tool has ended.
const ABANDONED: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

/// Signals that whoever started us may have ignored. A handler becomes the default again when the
/// tool is executed, an ignored signal would not.
const RESET: [i32; 13] = [
    signal_hook::consts::SIGHUP,
    signal_hook::consts::SIGINT,
    signal_hook::consts::SIGQUIT,
    signal_hook::consts::SIGTERM,
    signal_hook::consts::SIGUSR1,
    signal_hook::consts::SIGUSR2,
    signal_hook::consts::SIGALRM,
    signal_hook::consts::SIGTSTP,
    signal_hook::consts::SIGTTIN,
    signal_hook::consts::SIGTTOU,
    signal_hook::consts::SIGWINCH,
    signal_hook::consts::SIGXCPU,
    signal_hook::consts::SIGXFSZ,
];

/// Runs process 1. It exits with 0 whatever the tool did, and with 70 where it could do nothing.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error is a pipe to the supervisor; nobody else can be told.
            let _ = writeln!(io::stderr(), "process 1: {error}");
            ExitCode::from(70)
        }
    }
}

fn run() -> io::Result<()> {
    for signal in RESET {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let (children, bell) = UnixStream::pair()?;
    children.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, bell)?;
    // It fails where we lead a session already.
    let _ = rustix::process::setsid();
    let Some((message, descriptors)) = receive()? else {
        return Ok(());
    };
    let order = InitOrder::from_message(&message).map_err(io::Error::other)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let kept = Kept::take(descriptors)?;
    let mut one = ProcessOne {
        order,
        kept,
        children,
    };
    one.protect();
    one.run()
}

/// The order and its descriptors; `None` where the supervisor died before it gave one.
fn receive() -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let stdin = io::stdin();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 8];
    let received = recvmsg(
        stdin.as_fd(),
        &mut [IoSliceMut::new(&mut length)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL,
    )?;
    if received.bytes < length.len() || received.flags.contains(ReturnFlags::CTRUNC) {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
    let mut message = vec![0; length];
    match stdin.lock().read_exact(&mut message) {
        Ok(()) => Ok(Some((message, descriptors))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// What process 1 keeps open, in the order in which it is sent. Each pipe is kept at both ends, so
/// that neither side ever finds it broken.
struct Kept {
    status: File,
    control: File,
    control_writer: OwnedFd,
    bell_reader: OwnedFd,
    bell: File,
    out: [OwnedFd; 2],
    err: [OwnedFd; 2],
    memory: [OwnedFd; 2],
}

impl Kept {
    fn take(descriptors: Vec<OwnedFd>) -> io::Result<Self> {
        let all: [OwnedFd; DESCRIPTORS] = descriptors
            .try_into()
            .map_err(|_| io::Error::other("descriptors are missing"))?;
        let [
            status,
            control,
            control_writer,
            bell_reader,
            bell,
            out_reader,
            out,
            err_reader,
            err,
            memory_out,
            memory_err,
        ] = all;
        Ok(Kept {
            status: status.into(),
            control: control.into(),
            control_writer,
            bell_reader,
            bell: bell.into(),
            out: [out_reader, out],
            err: [err_reader, err],
            memory: [memory_out, memory_err],
        })
    }

    /// Where a later supervisor finds them.
    fn numbers(&self) -> [i32; 6] {
        [
            self.control_writer.as_raw_fd(),
            self.bell_reader.as_raw_fd(),
            self.out[0].as_raw_fd(),
            self.err[0].as_raw_fd(),
            self.memory[0].as_raw_fd(),
            self.memory[1].as_raw_fd(),
        ]
    }

    fn say(&mut self, lines: &str) -> io::Result<()> {
        self.status.write_all(lines.as_bytes())?;
        // A full bell has rung already.
        let _ = self.bell.write(b"!");
        Ok(())
    }
}

struct ProcessOne {
    order: InitOrder,
    kept: Kept,
    children: UnixStream,
}

impl ProcessOne {
    /// In a sandbox the tool runs as the same user; it has no business in what we keep.
    fn protect(&self) {
        if self.order.sandboxed {
            // Where it fails, the tool can only spoil its own log.
            let _ = rustix::process::set_dumpable_behavior(
                rustix::process::DumpableBehavior::NotDumpable,
            );
        } else {
            let own = rustix::process::getpid();
            let _ = rustix::process::set_child_subreaper(Some(own));
        }
    }

    fn run(&mut self) -> io::Result<()> {
        let keeper = Keeper {
            pid: rustix::process::getpid().as_raw_nonzero().get(),
            numbers: self.kept.numbers(),
        };
        let begun = format!("{}\nbegun {}\n", keeper.line(), processes::now().0);
        self.kept.say(&begun)?;
        self.kept.status.sync_data()?;
        let end = match self.execute() {
            Ok(tool) => {
                self.kept.say(&format!("running {tool}\n"))?;
                self.attend(tool)?
            }
            Err(error) => {
                let number = error.raw_os_error().unwrap_or(0);
                match std::env::set_current_dir(&self.order.working_dir) {
                    Ok(()) => ToolEnd::Failed(number),
                    Err(_) => ToolEnd::NoDirectory(number),
                }
            }
        };
        let at = processes::now().0;
        self.kept.say(&match end {
            ToolEnd::Exited(code) => format!("exited {code} {at}\n"),
            ToolEnd::Signaled(number) => format!("signaled {number} {at}\n"),
            ToolEnd::Failed(number) => format!("failed {number} {at}\n"),
            ToolEnd::NoDirectory(number) => format!("nowhere {number} {at}\n"),
        })?;
        self.wait_for_release()
    }

    /// Starts the tool and answers its process id.
    fn execute(&mut self) -> io::Result<i32> {
        let order = &self.order;
        let text = |value: &groundplan_ports::secrets::SecretValue| {
            std::ffi::OsStr::from_bytes(value.expose()).to_owned()
        };
        let (program, arguments) = order
            .argv
            .split_first()
            .ok_or_else(|| io::Error::from_raw_os_error(rustix::io::Errno::INVAL.raw_os_error()))?;
        let mut command = Command::new(text(program));
        command
            .args(arguments.iter().map(text))
            .env_clear()
            .envs(order.env.iter().map(|(name, value)| (name, text(value))))
            .current_dir(&order.working_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::from(self.kept.out[1].try_clone()?))
            .stderr(Stdio::from(self.kept.err[1].try_clone()?))
            .process_group(0);
        let kept = &self.kept;
        let mut inherited = Vec::new();
        if !order.sandboxed {
            // Should we be killed, the tool goes on and still has who reads its pipes, under the
            // same numbers.
            inherited.extend([&kept.out[0], &kept.err[0]]);
            inherited.extend(&kept.memory);
        }
        let mut mappings = Vec::new();
        for descriptor in inherited {
            mappings.push(FdMapping {
                parent_fd: descriptor.try_clone()?,
                child_fd: descriptor.as_raw_fd(),
            });
        }
        command.fd_mappings(mappings).map_err(io::Error::other)?;
        // The lock is inherited as it is.
        let tool = command.spawn()?;
        i32::try_from(tool.id()).map_err(io::Error::other)
    }

    /// Waits until the tool has ended and kills what it left behind.
    fn attend(&mut self, tool: i32) -> io::Result<ToolEnd> {
        let mut end = None;
        loop {
            while let Some((pid, status)) = reap(WaitOptions::NOHANG)? {
                if pid == tool {
                    end = tool_end(status);
                }
            }
            if let Some(end) = end {
                self.kill_all()?;
                return Ok(end);
            }
            let control = {
                let mut fds = [
                    PollFd::new(&self.children, PollFlags::IN),
                    PollFd::new(&self.kept.control, PollFlags::IN),
                ];
                match poll(&mut fds, None) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                fds[1].revents().contains(PollFlags::IN)
            };
            while matches!(self.children.read(&mut [0; 64]), Ok(read) if read > 0) {}
            if control && self.listen()? == KILL {
                self.kill(tool)?;
            }
        }
    }

    /// Kills the tool and all it started, whether or not it ended.
    fn kill(&mut self, tool: i32) -> io::Result<()> {
        if self.is_first() {
            kill_everybody()
        } else {
            for process in processes::descendants(rustix::process::getpid()) {
                process.signal(Signal::KILL);
            }
            let tool = Pid::from_raw(tool).expect("a process has a positive id");
            ignore_missing(rustix::process::kill_process(tool, Signal::KILL))
        }
    }

    /// Kills and reaps until nothing of the step is left but us.
    fn kill_all(&mut self) -> io::Result<()> {
        loop {
            if reap_all()? {
                return Ok(());
            }
            if self.is_first() {
                kill_everybody()?;
            } else {
                for process in processes::descendants(rustix::process::getpid()) {
                    process.signal(Signal::KILL);
                }
            }
            reap(WaitOptions::empty())?;
        }
    }

    /// Whether everybody we see is of the step.
    fn is_first(&self) -> bool {
        self.order.sandboxed && rustix::process::getpid() == Pid::INIT
    }

    /// Waits until a supervisor has taken everything, or nobody ever will: the step's directory is
    /// gone.
    fn wait_for_release(&mut self) -> io::Result<()> {
        loop {
            let mut fds = [PollFd::new(&self.kept.control, PollFlags::IN)];
            match poll(&mut fds, Some(&ABANDONED)) {
                Ok(0) if self.kept.status.metadata()?.nlink() == 0 => return Ok(()),
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) if self.listen()? == RELEASE => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next word of a supervisor.
    fn listen(&mut self) -> io::Result<u8> {
        let mut word = [0];
        self.kept.control.read_exact(&mut word)?;
        Ok(word[0])
    }
}

/// Kills every process of our namespace but us, who are its process 1.
fn kill_everybody() -> io::Result<()> {
    // The group of process 1 stands for "everybody" in kill(2).
    ignore_missing(rustix::process::kill_process_group(Pid::INIT, Signal::KILL))
}

fn ignore_missing(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// One child that ended; `None` where there is none.
fn reap(options: WaitOptions) -> io::Result<Option<(i32, WaitStatus)>> {
    loop {
        match rustix::process::wait(options) {
            Ok(Some((pid, status))) => return Ok(Some((pid.as_raw_nonzero().get(), status))),
            Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(None),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reaps every child that ended; whether no child is left.
fn reap_all() -> io::Result<bool> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Ok(false),
            Err(rustix::io::Errno::CHILD) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

fn tool_end(status: WaitStatus) -> Option<ToolEnd> {
    if let Some(code) = status.exit_status() {
        return Some(ToolEnd::Exited(code));
    }
    status.terminating_signal().map(ToolEnd::Signaled)
}
