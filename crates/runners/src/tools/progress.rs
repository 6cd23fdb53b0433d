//! What is told while tools are obtained. The library prints nothing.

use super::error::ToolError;

/// Something to show.
#[derive(Debug)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// Another process obtains tools; this one waits for it.
    WaitsForOther,
    /// A tool is being obtained in a way.
    Started {
        /// Which one.
        tool: &'a str,
        /// How.
        way: Way,
        /// From where: an address, a module, a package.
        from: &'a str,
    },
    /// Bytes arrived.
    Bytes {
        /// Which tool.
        tool: &'a str,
        /// How many so far.
        received: u64,
        /// How many there will be, where it is known.
        total: Option<u64>,
    },
    /// A line of the program that builds or installs.
    Line {
        /// Which tool.
        tool: &'a str,
        /// The line, without its newline.
        line: &'a str,
    },
    /// One way did not work; the next one is tried.
    NextWay {
        /// Which tool.
        tool: &'a str,
        /// Why.
        because: &'a ToolError,
    },
    /// A tool is in its place.
    Installed {
        /// Which one.
        tool: &'a str,
        /// Its version.
        version: &'a str,
    },
}

/// How a tool is obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From a release archive.
    Release,
    /// Built from Go modules; takes minutes.
    GoModules,
    /// From a Python index.
    PythonPackages,
}

/// What takes the progress.
pub type Tell<'a> = dyn FnMut(Progress<'_>) + Send + 'a;
