//! `groundplan explain`: what a code of lint means.

use groundplan_workflow::lint::{CODES, Code};

use crate::{
    exit::Exit,
    failure::Failure,
    terminal::{
        self,
        style::{Paint, Style},
    },
};

/// Explains a code, or lists all of them.
pub(crate) fn explain(code: Option<&str>) -> Result<Exit, Failure> {
    let paint = Paint::for_stream(&std::io::stdout());
    let Some(wanted) = code else {
        for known in CODES {
            terminal::line(format!(
                "{:<28} {}",
                paint.with(Style::Strong, known.code),
                first_sentence(known)
            ));
        }
        return Ok(Exit::Done);
    };
    let Some(known) = CODES.iter().find(|known| known.code == wanted) else {
        let nearest = CODES.iter().max_by(|a, b| {
            strsim::jaro_winkler(wanted, a.code).total_cmp(&strsim::jaro_winkler(wanted, b.code))
        });
        let failure = Failure::user(format!("there is no code `{wanted}`"));
        return Err(match nearest {
            Some(nearest) => failure.with_hint(format!(
                "the nearest is `{}`; `groundplan explain` lists all",
                nearest.code
            )),
            None => failure,
        });
    };
    terminal::line(paint.with(Style::Strong, known.code));
    terminal::line(known.meaning);
    Ok(Exit::Done)
}

fn first_sentence(code: &Code) -> &'static str {
    code.meaning
        .split_inclusive(". ")
        .next()
        .unwrap_or_default()
        .trim_end()
}
