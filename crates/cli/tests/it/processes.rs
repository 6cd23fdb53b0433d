//! Processes of this machine, and the binary while it runs.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, ExitStatus, Output},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::Place;

/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until a condition holds; fails the test where it never does.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "in time: {what}");
        // sleep: between two looks, and bounded
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The binary while it runs, its output in files. It is killed when dropped.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Place {
    /// Starts the binary with these words.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        self.start_with(words, &[])
    }

    /// The same with variables.
    pub(crate) fn start_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Running {
        let file = |name: &str| {
            let (path, file) = self.new_file(name);
            (path, file)
        };
        let ((stdout, out), (stderr, err)) = (file("stdout"), file("stderr"));
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        let child = command.stdout(out).stderr(err).spawn();
        Running {
            child: child.expect("the binary is there"),
            stdout,
            stderr,
        }
    }

    fn new_file(&self, name: &str) -> (PathBuf, File) {
        (0..)
            .map(|number| self.path(format!("{name}-{number}")))
            .find_map(|path| Some((path.clone(), File::create_new(path).ok()?)))
            .expect("there are numbers enough")
    }

    /// Directories of the steps that the runner has.
    pub(crate) fn steps(&self) -> Vec<PathBuf> {
        let below = |path: PathBuf| {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        below(self.data().join("steps"))
            .into_iter()
            .flat_map(below)
            .collect()
    }

    /// The living supervisor of the only step.
    pub(crate) fn supervisor(&self) -> i32 {
        let mut found = None;
        until("a step has a supervisor", || {
            found = self.steps().iter().find_map(|step| {
                let text = fs::read_to_string(step.join("supervisor")).ok()?;
                let pid = text.split(' ').next()?.parse().ok()?;
                is_alive(pid).then_some(pid)
            });
            found.is_some()
        });
        found.expect("it was found")
    }
}

impl Running {
    /// What it wrote to standard output so far.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stdout).expect("it is there")).into_owned()
    }

    /// What it wrote to standard error so far.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stderr).expect("it is there")).into_owned()
    }

    /// Waits until it wrote a text, to either stream.
    pub(crate) fn until_says(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Looked at before the output is read: nothing is written afterwards.
            let over = self.child.try_wait().expect("it is ours").is_some();
            let said = self.stdout() + &self.stderr();
            if said.contains(text) {
                return;
            }
            assert!(!over, "it ended before it said `{text}`:\n{said}");
            assert!(
                Instant::now() < deadline,
                "it says in time `{text}`:\n{said}"
            );
            // sleep: between two looks, and bounded
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Kills it without warning, and waits until it is gone.
    pub(crate) fn kill_9(mut self) {
        self.signal(Signal::KILL);
        self.child.wait().expect("it is ours");
    }

    /// Its number.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a small number")
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Output {
        Output {
            status: self.wait(),
            stdout: fs::read(&self.stdout).expect("it is there"),
            stderr: fs::read(&self.stderr).expect("it is there"),
        }
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status;
            }
            if Instant::now() >= deadline {
                panic!("it ends in time:\n{}{}", self.stdout(), self.stderr());
            }
            // sleep: between two looks, and bounded
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Place {
    /// Ends what a failed test left running.
    fn drop(&mut self) {
        let place = self.path("").display().to_string();
        // A step that loses its supervisor may be given another by a command that still runs.
        for _ in 0..5 {
            let left = of_place(&place);
            if left.is_empty() {
                return;
            }
            for pid in left.into_iter().filter_map(Pid::from_raw) {
                // It may be gone by now.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Processes that have to do with a place: by their arguments, mounts, or work directory.
fn of_place(place: &str) -> Vec<i32> {
    let ours = i32::try_from(std::process::id()).expect("a small number");
    let belongs = |pid: i32| {
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let cwd = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        holds(&read("cmdline"), place)
            || holds(&read("mountinfo"), place)
            || cwd.to_string_lossy().contains(place)
    };
    let all = processes().into_iter().map(|(pid, _)| pid);
    all.filter(|pid| *pid != ours && belongs(*pid)).collect()
}

/// Sends a signal to a process that lives.
pub(crate) fn send(pid: i32, signal: Signal) {
    let pid = Pid::from_raw(pid).expect("a process has a positive number");
    kill_process(pid, signal).expect("it lives");
}

/// Kills a process without warning, and waits until it is gone.
pub(crate) fn kill_9(pid: i32) {
    send(pid, Signal::KILL);
    until("a killed process is gone", || !is_alive(pid));
}

/// Whether a process lives and is no zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

/// Numbers and command lines of living processes, arguments separated by blanks.
pub(crate) fn processes() -> Vec<(i32, String)> {
    let entries = fs::read_dir("/proc").expect("there is /proc");
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            (is_alive(pid) && !line.is_empty()).then_some((pid, line))
        })
        .collect()
}

/// Processes outside every sandbox whose arguments or variables hold a text, with where.
pub(crate) fn outside_with(text: &str) -> Vec<(i32, &'static str)> {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let ours = namespace("self");
    let mut found = Vec::new();
    for (pid, _) in processes() {
        if namespace(&pid.to_string()) != ours {
            continue;
        }
        for part in ["cmdline", "environ"] {
            let bytes = fs::read(format!("/proc/{pid}/{part}")).unwrap_or_default();
            if holds(&bytes, text) {
                found.push((pid, part));
            }
        }
    }
    found
}

/// Files below a folder that hold a text.
pub(crate) fn files_with(folder: &std::path::Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("it is known");
        if kind.is_dir() {
            found.extend(files_with(&path, text));
        } else if kind.is_file() && holds(&fs::read(&path).unwrap_or_default(), text) {
            found.push(path);
        }
    }
    found
}

fn holds(bytes: &[u8], text: &str) -> bool {
    let text = text.as_bytes();
    bytes.windows(text.len()).any(|window| window == text)
}

/// Processes whose command line holds a text.
pub(crate) fn processes_with(text: &str) -> Vec<(i32, String)> {
    let mut found = processes();
    found.retain(|(_, line)| line.contains(text));
    found
}

/// Processes directly below another.
pub(crate) fn children(parent: i32) -> Vec<(i32, String)> {
    let is_child = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        stat.and_then(|stat| {
            let (_, rest) = stat.rsplit_once(')')?;
            rest.split_ascii_whitespace().nth(1)?.parse().ok()
        })
        .is_some_and(|found: i32| found == parent)
    };
    let mut found = processes();
    found.retain(|(pid, _)| is_child(*pid));
    found
}
