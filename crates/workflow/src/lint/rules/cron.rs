//! Schedules: at least one, each well formed, and policies that exist.

use super::super::model::{At, Home};
use super::super::report::Report;
use crate::read::{Kind, NodeValue};

const POLICIES: [&str; 3] = ["Allow", "Forbid", "Replace"];

pub(super) fn check(home: &Home<'_>, report: &mut Report<'_>) {
    if home.read.kind != Kind::CronWorkflow {
        return;
    }
    let Some(spec) = home.root.get("spec") else {
        return;
    };
    let mut schedules = spec.list(&["schedules"]);
    schedules.extend(spec.get("schedule"));
    if schedules.is_empty() {
        report.error(
            "missing-schedule",
            &spec,
            "the schedule of the workflow is missing".to_owned(),
            Some("add `schedules: [\"0 6 * * 1-5\"]`".to_owned()),
        );
    }
    for schedule in &schedules {
        if let Some(text) = schedule.node.text()
            && let Err(fault) = line(text)
        {
            report.error(
                "invalid-schedule",
                schedule,
                format!("the schedule `{text}` cannot be read: {fault}"),
                Some(
                    "write minute, hour, day, month and weekday, such as `0 6 * * 1-5`".to_owned(),
                ),
            );
        }
    }
    policy(&spec, report);
    timezone(&spec, report);
    if let Some(seconds) = spec.get("startingDeadlineSeconds")
        && matches!(&seconds.node.value, NodeValue::Number(number) if number.as_i64().is_some_and(|n| n < 0))
    {
        report.error(
            "invalid-duration",
            &seconds,
            "`startingDeadlineSeconds` is negative".to_owned(),
            Some("write 0 or more".to_owned()),
        );
    }
}

fn policy(spec: &At<'_>, report: &mut Report<'_>) {
    if let Some(policy) = spec.text("concurrencyPolicy")
        && !POLICIES.contains(&policy)
    {
        report.error(
            "invalid-choice",
            &spec.place("concurrencyPolicy"),
            format!("`{policy}` is no `concurrencyPolicy`"),
            Some(format!("use one of `{}`", POLICIES.join("`, `"))),
        );
    }
}

/// The form only; whether the zone exists is known where zone data is at hand.
fn timezone(spec: &At<'_>, report: &mut Report<'_>) {
    let Some(zone) = spec.text("timezone") else {
        return;
    };
    let fits = zone
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '+'));
    if !fits {
        report.error(
            "invalid-timezone",
            &spec.place("timezone"),
            format!("`{zone}` is no time zone"),
            Some("use a name such as `Europe/Berlin` or `UTC`".to_owned()),
        );
    }
}

/// The five fields of a line, with their bounds and names.
const FIELDS: [(&str, u32, u32, &[&str]); 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day", 1, 31, &[]),
    (
        "month",
        1,
        12,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    (
        "weekday",
        0,
        6,
        &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    ),
];

const DESCRIPTORS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// Reads a schedule as the standard cron parser does.
fn line(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let text = match text
        .strip_prefix("TZ=")
        .or_else(|| text.strip_prefix("CRON_TZ="))
    {
        Some(rest) => match rest.split_once(' ') {
            Some((_, line)) => line.trim(),
            None => return Err("only a time zone is given".to_owned()),
        },
        None => text,
    };
    if let Some(duration) = text.strip_prefix("@every ") {
        return if is_duration(duration) {
            Ok(())
        } else {
            Err(format!("`{duration}` is no duration"))
        };
    }
    if text.starts_with('@') {
        return if DESCRIPTORS.contains(&text) {
            Ok(())
        } else {
            Err(format!("`{text}` is unknown"))
        };
    }
    let parts: Vec<&str> = text.split_whitespace().collect();
    if parts.len() != FIELDS.len() {
        return Err(format!("it has {} fields, not 5", parts.len()));
    }
    for (part, (name, low, high, names)) in parts.iter().zip(FIELDS) {
        for range in part.split(',') {
            if !is_range(range, low, high, names) {
                return Err(format!("`{range}` is no {name}"));
            }
        }
    }
    Ok(())
}

fn is_range(text: &str, low: u32, high: u32, names: &[&str]) -> bool {
    let (range, step) = match text.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (text, None),
    };
    if step.is_some_and(|step| step.parse::<u32>().map_or(true, |step| step == 0)) {
        return false;
    }
    if matches!(range, "*" | "?") {
        return true;
    }
    let value = |text: &str| {
        let text = text.to_ascii_lowercase();
        match names.iter().position(|name| *name == text) {
            Some(index) => u32::try_from(index).ok().map(|index| index + low),
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            None => None,
        }
    };
    let (from, to) = match range.split_once('-') {
        Some((from, to)) => (value(from), value(to)),
        None => (value(range), value(range)),
    };
    match (from, to) {
        (Some(from), Some(to)) => from >= low && to <= high && from <= to,
        _ => false,
    }
}

/// A duration such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (figures, tail) = rest.split_at(number);
        if figures.is_empty() || figures.parse::<f64>().is_err() {
            return false;
        }
        let unit = ["ns", "us", "µs", "ms", "s", "m", "h"]
            .into_iter()
            .filter(|unit| tail.starts_with(unit))
            .max_by_key(|unit| unit.len());
        let Some(unit) = unit else { return false };
        rest = &tail[unit.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn lines_are_read_as_the_standard_parser_reads_them() {
        for text in [
            "0 13 * * 1-5",
            "*/15 0-23/2 1,15 jan-DEC SUN",
            "@daily",
            "@every 1h30m",
            "CRON_TZ=UTC 0 1 * * *",
            "0 0 ? * ?",
        ] {
            assert_eq!(line(text), Ok(()), "{text}");
        }
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "* * * * 7",
            "5-1 * * * *",
            "*/0 * * * *",
            "@often",
            "@every",
            "@every x",
            "a * * * *",
            "* * * * * *",
        ] {
            assert!(line(text).is_err(), "{text}");
        }
    }
}
