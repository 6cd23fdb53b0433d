//! What the command costs as a person meets it: its start, and whole runs of a tool that does
//! nothing, against `make` and against bubblewrap started by hand.
//!
//! `GROUNDPLAN_BENCH_STEPS` sets how many steps the longest run has.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const GROUNDPLAN: &str = env!("CARGO_BIN_EXE_groundplan");
const TOOL: &str = "/bin/true";
/// How many tasks the graph has that is compared with `make`.
const TASKS: u32 = 1_000;
/// How often a start is measured.
const STARTS: u32 = 100;

fn main() {
    let folder = tempfile::tempdir().expect("a directory");
    let place = folder.path();
    start();
    against_make(place);
    against_bubblewrap(place);
    flat(place);
}

fn start() {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        theirs.push(time_of(Command::new(TOOL)));
        let mut version = Command::new(GROUNDPLAN);
        version.arg("--version");
        ours.push(time_of(version));
    }
    report(
        "groundplan --version",
        "true",
        median(ours),
        median(theirs),
        "\"over\": 10000000",
    );
}

fn against_make(place: &Path) {
    let mut makefile = String::from("all:");
    for task in 0..TASKS {
        write!(makefile, " t{task}").expect("a string takes everything");
    }
    makefile.push_str("\n%:\n\t@/bin/true\n");
    fs::write(place.join("Makefile"), makefile).expect("it is written");
    let mut make = Command::new("make");
    make.args(["-j2", "-C"]).arg(place);
    let theirs = time_of(make);
    let ours = time_of(run(place, &graph(), &["--no-sandbox"]));
    let bench = format!("a graph of {TASKS} tasks without sandbox");
    report(&bench, "make -j2", ours, theirs, "\"ratio\": 5.0");
}

fn against_bubblewrap(place: &Path) {
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..TASKS / 2 {
                    time_of(bare_bubblewrap());
                }
            });
        }
    });
    let theirs = began.elapsed();
    let ours = time_of(run(place, &graph(), &[]));
    let bench = format!("a graph of {TASKS} tasks in sandboxes");
    let baseline = format!("{TASKS} bare bubblewraps, two at a time");
    report(&bench, &baseline, ours, theirs, "\"ratio\": 2.0");
}

/// What a step costs in a short run and in a long one, beside the run's own beginning and end.
fn flat(place: &Path) {
    let most = std::env::var("GROUNDPLAN_BENCH_STEPS");
    let most: u32 = most.map_or(10_000, |most| most.parse().expect("a number"));
    let time = |steps: u32| time_of(run(place, &fan_out(steps), &["--no-sandbox"]));
    let short = time(10);
    let few = most / 10;
    let of_few = time(few).saturating_sub(short) / (few - 10);
    let of_most = time(most).saturating_sub(short) / (most - 10);
    report(
        &format!("a step of {most}"),
        &format!("a step of {few}"),
        of_most,
        of_few,
        "\"ratio\": 1.25",
    );
}

/// A run of a document in the data directory of the bench.
fn run(place: &Path, document: &str, options: &[&str]) -> Command {
    let file = place.join("document.yaml");
    fs::write(&file, document).expect("it is written");
    let mut command = Command::new(GROUNDPLAN);
    command
        .arg("run")
        .arg(file)
        .args(options)
        .env("GROUNDPLAN_DATA_DIR", place.join("data"))
        .env("XDG_CONFIG_HOME", place);
    command
}

/// Tasks that wait for nobody.
fn graph() -> String {
    let mut text = head();
    text.push_str("  - name: main\n    dag:\n      tasks:\n");
    for task in 0..TASKS {
        writeln!(text, "      - {{name: t{task}, template: leaf}}").expect("a string takes it");
    }
    text
}

fn fan_out(steps: u32) -> String {
    let items: Vec<String> = (0..steps).map(|item| item.to_string()).collect();
    format!(
        "{}  - name: main\n    steps:\n    - - {{name: many, template: leaf, withItems: [{}]}}\n",
        head(),
        items.join(", ")
    )
}

fn head() -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{generateName: bench-}}\n\
         spec:\n  entrypoint: main\n  templates:\n  - name: leaf\n    \
         container: {{image: alpine, command: [{TOOL}]}}\n"
    )
}

/// The namespaces and mounts of a step, by hand.
fn bare_bubblewrap() -> Command {
    let words = "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --cap-drop ALL \
                 --new-session --as-pid-1 --clearenv --ro-bind /usr /usr --symlink usr/bin /bin \
                 --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev \
                 --tmpfs /tmp";
    let mut command = Command::new("bwrap");
    command.args(words.split_ascii_whitespace()).arg(TOOL);
    command
}

/// How long a command takes, which must succeed.
fn time_of(mut command: Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let status = command.status().expect("it starts");
    let took = began.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn report(bench: &str, baseline: &str, ours: Duration, theirs: Duration, most: &str) {
    println!(
        "{{\"bench\": \"{bench}\", \"baseline\": \"{baseline}\", \"nanoseconds\": {}, \
         \"baseline_nanoseconds\": {}, \"most\": {{{most}}}}}",
        ours.as_nanos(),
        theirs.as_nanos()
    );
}
