//! `groundplan tools`: what steps call, found or obtained.

use std::io::IsTerminal as _;

use groundplan_runners::tools::{
    Place, Progress, SyncOptions, Tool, ToolError, list,
    progress::Way,
    release::{self, Mirror},
    sync,
};

use crate::{
    arguments::{Global, Tools},
    config::Machine,
    exit::Exit,
    failure::Failure,
    terminal::{
        self,
        style::{Paint, Style, cut, harmless},
    },
};

/// Lists tools, or obtains them.
pub(crate) fn tools(global: &Global, command: Tools) -> Result<Exit, Failure> {
    let machine = Machine::read(global)?;
    match command {
        Tools::List => Ok(print_list(&machine)),
        Tools::Sync { from, offline } => {
            let from = from.as_deref().map(Mirror::from_argument);
            let failed = obtain(&machine, &OBTAINABLE, from, offline)?;
            Ok(if failed.is_empty() {
                Exit::Done
            } else {
                Exit::Failed
            })
        }
    }
}

/// The tools that can be obtained; the others come with the system.
pub(crate) const OBTAINABLE: [Tool; 3] = [Tool::Tofu, Tool::Tflint, Tool::Checkov];

fn print_list(machine: &Machine) -> Exit {
    let paint = Paint::for_stream(&std::io::stdout());
    let mut exit = Exit::Done;
    for listed in list(&machine.search()) {
        match &listed.found {
            Ok(found) => {
                let version = found
                    .version
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let place = match found.place {
                    Place::Configured => "machine configuration",
                    Place::Cache => "cache",
                    Place::SearchPath => "PATH",
                };
                let name = found.product.name(found.tool);
                let what = format!("{name:<10} {version:<10}");
                let at = format!("{} ({place})", found.path.display());
                terminal::line(format!("{} {what} {at}", paint.with(Style::Good, "✔")));
            }
            Err(error) => {
                exit = Exit::Failed;
                terminal::line(format!(
                    "{} {:<10} {error}",
                    paint.with(Style::Bad, "✖"),
                    listed.tool.name()
                ));
                if let Some(hint) = error.hint() {
                    terminal::line(format!("             {hint}"));
                }
            }
        }
        terminal::line(paint.with(
            Style::Faint,
            format!("             needed by {}", listed.needed_by),
        ));
    }
    exit
}

/// Obtains tools with progress on standard error. Answers those that could not be had, and why.
pub(crate) fn obtain(
    machine: &Machine,
    tools: &[Tool],
    from: Option<Mirror>,
    offline: bool,
) -> Result<Vec<(Tool, ToolError)>, Failure> {
    let options = SyncOptions {
        from,
        offline,
        releases: release::pinned(),
        ca_bundle: machine.ca_bundle.value.clone(),
        search_path: machine.search_path.clone(),
    };
    let mut shown = Shown::begin();
    let synced = sync(tools, &machine.cache, &options, &mut |progress| {
        shown.tell(&progress)
    })
    .map_err(|error| of(&error))?;
    shown.clear();
    let mut failed = Vec::new();
    for synced in synced {
        match synced.outcome {
            Ok(obtained) => {
                let how = if obtained.already {
                    "is there"
                } else {
                    "obtained"
                };
                terminal::note(format!(
                    "{:<8} {how}: {}",
                    synced.tool.name(),
                    obtained.program.display()
                ));
            }
            Err(error) => {
                terminal::error(&of(&error));
                failed.push((synced.tool, error));
            }
        }
    }
    Ok(failed)
}

fn of(error: &ToolError) -> Failure {
    let failure = Failure::of(error);
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Progress on one line of a terminal, or on lines.
struct Shown {
    paint: Paint,
    one_line: bool,
}

impl Shown {
    fn begin() -> Self {
        let stderr = std::io::stderr();
        Shown {
            paint: Paint::for_stream(&stderr),
            one_line: stderr.is_terminal(),
        }
    }

    fn tell(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::WaitsForOther => self.line("waiting for another process that obtains tools"),
            Progress::Started { tool, way, from } => {
                let how = match way {
                    Way::Release => "downloading the release",
                    Way::GoModules => "building from Go modules (takes minutes)",
                    Way::PythonPackages => "installing from Python packages",
                };
                self.line(&format!("{tool}: {how}, {from}"));
            }
            Progress::Bytes {
                tool,
                received,
                total,
            } => {
                let of = total
                    .map(|total| format!(" of {:.1}", mebibytes(total)))
                    .unwrap_or_default();
                self.passing(&format!("{tool}: {:.1}{of} MiB", mebibytes(*received)));
            }
            Progress::Line { tool, line } => self.passing(&format!("{tool}: {}", harmless(line))),
            Progress::NextWay { tool, because } => {
                self.line(&format!("{tool}: {because}; trying another way"))
            }
            Progress::Installed { tool, version } => {
                self.line(&format!("{tool} {version} is in its place"))
            }
            _ => {}
        }
    }

    fn line(&self, text: &str) {
        self.clear();
        terminal::note(self.paint.with(Style::Faint, text));
    }

    /// Something that the next thing may overwrite.
    fn passing(&self, text: &str) {
        if self.one_line {
            let (columns, _) = terminal::size();
            terminal::overwrite(
                &self
                    .paint
                    .with(Style::Faint, cut(text, columns.saturating_sub(1))),
            );
        }
    }

    fn clear(&self) {
        if self.one_line {
            terminal::overwrite("");
        }
    }
}

fn mebibytes(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rounded number is shown")]
    let bytes = bytes as f64;
    bytes / 1024.0 / 1024.0
}
