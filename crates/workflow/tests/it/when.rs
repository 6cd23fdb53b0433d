//! `when`: condition in, answer or Argo's message out.

use groundplan_workflow::expr::when::{self, BareWords};

#[track_caller]
fn check(text: &str, expected: Result<bool, &str>) {
    let found = when::evaluate(text).map_err(|error| error.to_string());
    assert_eq!(
        found.as_ref().copied().map_err(String::as_str),
        expected,
        "{text}"
    );
}

#[test]
fn conditions_hold_or_do_not() {
    for (text, expected) in [
        ("", true),
        ("heads == heads", true),
        ("'a b' == \"a b\"", true),
        ("'it\\'s' == \"it's\"", true),
        ("[a-b c] == 'a-b c'", true),
        ("12 > 9 && '12' < '9'", true),
        ("0x1F == 31 && .5 == 0.5 && 2 ** 3 == 8", true),
        ("1 + 2 * 3 == 7 && 7 % 4 == 3 && (1 | 6) == 7", true),
        ("foo =~ '^f.o$' && foo !~ 'x'", true),
        ("a in (a, b) && !(c in ('a', 'b'))", true),
        ("3 in (1, 2, 3)", true),
        ("true ? false : true", false),
        ("1 > 2 || 2 > 1 && 1 > 1", false),
        ("'2026-08-21' < '2026-08-22T00:00:00Z'", true),
        ("'2026-08-21 10:00' == '2026-08-21 10:00:00'", true),
        ("-1 < 0 && !false && ~0 == -1", true),
        ("'a' + 1 == 'a1'", true),
        ("ä == ä", true),
        ("'' == \"\"", true),
    ] {
        check(text, Ok(expected));
    }
}

#[test]
fn faults_are_told_in_the_words_of_argo() {
    for (text, expected) in [
        ("foo", "Expected boolean evaluation for 'foo'. Got foo"),
        ("1 + 1", "Expected boolean evaluation for '1 + 1'. Got 2"),
        (
            "true ? 1",
            "Expected boolean evaluation for 'true ? 1'. Got 1",
        ),
        (
            "a-b == c",
            "Failed to evaluate 'when' expresion 'a-b == c': Value 'a' cannot be used with the \
             modifier '-', it is not a number",
        ),
        (
            "a b == c",
            "Invalid 'when' expression 'a b == c': Cannot transition token types from VARIABLE \
             [a] to VARIABLE [b]",
        ),
        (
            "{{x}} == c",
            "Invalid 'when' expression '{{x}} == c': Invalid token: '{{' (hint: try wrapping the \
             affected expression in quotes (\"))",
        ),
        (
            "a ==",
            "Invalid 'when' expression 'a ==': Unexpected end of expression",
        ),
        (
            "(a == b",
            "Invalid 'when' expression '(a == b': Unbalanced parenthesis",
        ),
        (
            "'a == b",
            "Invalid 'when' expression ''a == b': Unclosed string literal",
        ),
        (
            "1.2.3 == a",
            "Invalid 'when' expression '1.2.3 == a': Unable to parse numeric value '1.2.3' to \
             float64\n",
        ),
        (
            "a && true",
            "Failed to evaluate 'when' expresion 'a && true': Value 'a' cannot be used with the \
             logical operator '&&', it is not a bool",
        ),
        (
            "1 > a",
            "Failed to evaluate 'when' expresion '1 > a': Value 'a' cannot be used with the \
             comparator '>', it is not a number",
        ),
    ] {
        check(text, Err(expected));
    }
}

#[test]
fn bare_words_are_unknown_in_a_schedule() {
    let error = when::evaluate_with("a == 'a'", BareWords::Unknown).expect_err("no variable");
    assert!(
        error.to_string().ends_with("No parameter 'a' found."),
        "{error}"
    );
    assert_eq!(when::evaluate_with("1 < 2", BareWords::Unknown), Ok(true));
}

#[test]
fn deep_and_long_conditions_are_errors_and_not_crashes() {
    for text in [
        format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        "true && ".repeat(100_000) + "true",
        "true ? 1 : ".repeat(100_000) + "1",
    ] {
        assert!(when::evaluate(&text).is_err());
    }
    check(&("true && ".repeat(400) + "true"), Ok(true));
}

#[test]
fn a_sensitive_value_decides_nothing() {
    for condition in ["'groundplan:sealed:abc' == 'prod'", "groundplan:sealed:abc"] {
        let fault = when::evaluate(condition).expect_err("of a token nothing is known");
        assert!(fault.to_string().contains("handed on whole"), "{fault}");
    }
}
