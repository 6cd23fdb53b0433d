//! Everything that is printed goes through here.

pub(crate) mod diagnostics;
mod live;
pub(crate) mod plain;
pub(crate) mod style;
pub(crate) mod tree;

use std::{
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

pub(crate) use live::{Live, LiveHandle};
pub(crate) use plain::{JsonLines, Plain};

use groundplan_engine::{node::Node, run::Run};

use crate::failure::Failure;
use style::{Paint, Style};

/// The first error that lost something of standard output.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Why something of standard output was lost, if it was. A closed pipe loses nothing: nobody
/// wants more.
pub(crate) fn lost() -> Option<&'static io::Error> {
    LOST.get()
}

fn written(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // The first one tells enough.
        let _ = LOST.set(error);
    }
}

/// Writes a line to standard output. A closed pipe ends the process's interest, not its work.
pub(crate) fn line(text: impl AsRef<str>) {
    written(writeln!(io::stdout().lock(), "{}", text.as_ref()));
}

/// Writes bytes to standard output as they are.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Writes a line to standard error.
pub(crate) fn note(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
}

/// Replaces the current line of standard error.
pub(crate) fn overwrite(text: &str) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "\r\x1b[K{text}").and_then(|()| err.flush());
}

/// A node's place within its run: its full name without the run's, which stands elsewhere.
pub(crate) fn path_of(run: &Run, node: &Node) -> String {
    let path = node.name.strip_prefix(run.name()).unwrap_or(&node.name);
    let path = path.strip_prefix('.').unwrap_or(path);
    style::harmless(if path.is_empty() { &node.name } else { path })
}

/// Prints a failure: what failed, the causes line by line, and the way out.
pub(crate) fn error(failure: &Failure) {
    let paint = Paint::for_stream(&io::stderr());
    note(format!(
        "{} {}",
        paint.with(Style::Bad, "error:"),
        failure.message()
    ));
    for cause in failure.causes() {
        for (place, text) in cause.lines().enumerate() {
            note(if place == 0 {
                format!("  because {text}")
            } else {
                format!("          {text}")
            });
        }
    }
    if let Some(hint) = failure.hint() {
        for (place, text) in hint.lines().enumerate() {
            let head = if place == 0 {
                paint.with(Style::Strong, "hint:")
            } else {
                "     ".to_owned()
            };
            note(format!("{head} {text}"));
        }
    }
}

/// Whether a person looks at standard output.
pub(crate) fn is_watched() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person can answer a question.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks a yes-or-no question; anything but yes is no.
pub(crate) fn ask(question: &str) -> bool {
    let _ = write!(io::stderr().lock(), "{question} [y/N] ");
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Columns and rows of the terminal; 80 by 24 where there is none.
pub(crate) fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    match size {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        Ok(_) | Err(_) => (80, 24),
    }
}
