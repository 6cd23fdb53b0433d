//! `groundplan doctor`: this machine, examined.

use groundplan_runners::doctor::{Machine as Examined, Verdict, examine};

use crate::{
    arguments::Global,
    config::Machine,
    exit::Exit,
    failure::Failure,
    terminal::{
        self,
        style::{Paint, Style},
    },
};

/// Examines the machine and says how to repair it.
pub(crate) fn doctor(global: &Global) -> Result<Exit, Failure> {
    let machine = Machine::read(global)?;
    let checks = examine(&Examined {
        search: machine.search(),
        data_dir: machine.data_dir.value.clone(),
        now: std::time::SystemTime::now(),
        root: "/".into(),
    });
    let paint = Paint::for_stream(&std::io::stdout());
    let mut exit = Exit::Done;
    for check in checks {
        let (glyph, style) = match check.verdict {
            Verdict::Ok => ("✔", Style::Good),
            Verdict::Warning => ("!", Style::Warn),
            Verdict::Failure => {
                exit = Exit::Failed;
                ("✖", Style::Bad)
            }
        };
        terminal::line(format!(
            "{} {:<18} {}",
            paint.with(style, glyph),
            check.name,
            check.seen
        ));
        for line in &check.fix {
            terminal::line(format!("    {line}"));
        }
    }
    Ok(exit)
}
