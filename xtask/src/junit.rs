//! The report that nextest leaves: how many tests passed, and which said that they did not run.

/// How a run of tests went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tests that passed and did what they are for.
    pub(crate) passed: usize,
    /// Tests that failed.
    pub(crate) failed: usize,
    /// Tests that passed but said `not run: …`; name and reason.
    pub(crate) not_run: Vec<String>,
}

impl Counts {
    /// Takes another's numbers in.
    pub(crate) fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.not_run.extend(other.not_run);
    }
}

/// Words with which a test says that it could not do what it is for; at the start of a line, or
/// after a name and a colon.
const NOT_RUN: &str = "not run: ";

/// Reads the report.
pub(crate) fn read(xml: &str) -> Counts {
    let mut counts = Counts::default();
    for case in xml.split("<testcase ").skip(1) {
        let case = case.split("</testcase>").next().unwrap_or(case);
        if case.contains("<failure") || case.contains("<error") {
            counts.failed += 1;
        } else if let Some(reason) = reason_not_run(case) {
            counts.not_run.push(format!("{}: {reason}", name(case)));
        } else {
            counts.passed += 1;
        }
    }
    counts
}

fn name(case: &str) -> String {
    let of = |key: &str| {
        let (_, after) = case.split_once(&format!("{key}=\""))?;
        after.split('"').next()
    };
    let parts = [of("classname"), of("name")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn reason_not_run(case: &str) -> Option<String> {
    let line = case.lines().find_map(|line| {
        let (before, reason) = line.split_once(NOT_RUN)?;
        let first = before.rsplit('>').next().unwrap_or(before).trim();
        (first.is_empty() || first.ends_with(':')).then_some(reason)
    })?;
    let reason = line.split("</system-").next().unwrap_or(line);
    Some(plain(reason.trim()))
}

fn plain(text: &str) -> String {
    let signs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    signs.iter().fold(text.to_owned(), |text, (name, sign)| {
        text.replace(name, sign)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="0">
    <testsuite name="groundplan-engine" tests="3" disabled="0" errors="0" failures="1">
        <testcase name="a_node_waits" classname="groundplan-engine" time="0.003">
        </testcase>
        <testcase name="cases_of_argo" classname="groundplan-engine::it" time="0.004">
            <system-err>not run: no folder `../shared` &amp; none given
</system-err>
        </testcase>
        <testcase name="a_node_fails" classname="groundplan-engine" time="0.003">
            <failure type="test failure">not run: never</failure>
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn passed_failed_and_not_run_are_told_apart() {
        let reason = "groundplan-engine::it cases_of_argo: no folder `../shared` & none given";
        let expected = Counts {
            passed: 1,
            failed: 1,
            not_run: vec![reason.to_owned()],
        };
        assert_eq!(read(REPORT), expected);
    }

    #[test]
    fn the_words_in_the_middle_of_a_line_do_not_count() {
        let case = "<testcase name=\"a\" classname=\"b\">\n<system-out>it was not run: so\n</system-out></testcase>";
        assert_eq!(read(case).passed, 1);
    }
}
