//! What is no plan, and what is said about it.

use groundplan_delivery::plan::read::{is_plan_file, read_plan};

#[track_caller]
fn check(bytes: impl AsRef<[u8]>, expect: &str) {
    let error = read_plan(bytes.as_ref()).unwrap_err();
    assert_eq!(error.to_string(), expect);
    assert!(!error.hint().is_empty());
}

#[test]
fn files_that_hold_no_json_are_named_as_what_they_are() {
    check("", "the plan is empty");
    check(" \n", "the plan is empty");
    check(b"PK\x03\x04rest", "this is a saved plan file, not its JSON");
    check(b"\xff\xfe{\0", "the plan is UTF-16 text, not UTF-8");
    check(
        "+ tofu show -json tfplan\n{}",
        "the plan is not JSON: it begins with `+ tofu show -json tfplan\\n{}`",
    );
    check(
        b"\x7fELF\x02",
        "the plan is not JSON: it begins with `\\u{7f}ELF\\u{2}`",
    );
    check("[]", "the plan is not JSON: it begins with `[]`");
    assert!(is_plan_file(b"PK\x03\x04rest"));
    assert!(!is_plan_file(b"{}"));
}

#[test]
fn broken_json_is_refused_with_its_place() {
    check(
        "{\"format_version\": \"1.2\",\n \"planned_values\": {",
        "the plan's JSON is broken at line 2, column 20: EOF while parsing an object",
    );
    check(
        "{\"format_version\": \"1.2\", \"planned_values\": {}}\n{}",
        "the plan's JSON is broken at line 2, column 1: trailing characters",
    );
    check(
        b"{\"format_version\": \"1.2\xff\"}",
        "the plan's JSON is broken at line 1, column 24: invalid unicode code point",
    );
}

#[test]
fn json_of_another_shape_is_refused_without_quoting_values() {
    check(
        r#"{"format_version": "1.2", "resource_changes": "hunter22"}"#,
        "the plan's JSON is not shaped like a plan at line 1, column 56: expected a sequence",
    );
    check(
        r#"{"format_version": "1.2", "resource_changes": [{"address": "a.b"}]}"#,
        "the plan's JSON is not shaped like a plan at line 1, column 65: missing field `change`",
    );
    check(
        r#"{"@level": "info"}"#,
        "the plan's JSON is not shaped like a plan at line 1, column 18: \
         missing field `format_version`",
    );
    check(
        r#"{"format_version": "1.2", "format_version": "1.2"}"#,
        "the plan's JSON is not shaped like a plan at line 1, column 42: \
         duplicate field `format_version`",
    );
}

#[test]
fn other_documents_of_the_tools_are_refused() {
    check(
        r#"{"format_version": "1.0", "values": {"root_module": {}}}"#,
        "this is the JSON of a state, not of a plan",
    );
    check(
        r#"{"format_version": "1.0"}"#,
        "the JSON holds no plan: `planned_values` and `resource_changes` are missing",
    );
}

#[test]
fn unknown_versions_are_refused() {
    for version in ["2.0", "0.3", "1", "1.x", "", "1.2\u{1b}"] {
        let text = serde_json::json!({"format_version": version, "planned_values": {}});
        let shown: String = version.chars().flat_map(char::escape_default).collect();
        let expect = format!("the plan has format version `{shown}`, which is not known");
        check(text.to_string(), &expect);
    }
    let later = r#"{"format_version": "1.17", "planned_values": {}, "news": 1}"#;
    assert!(read_plan(later.as_bytes()).is_ok());
}

#[test]
fn every_cut_off_plan_is_refused() {
    let text =
        r#"{"format_version": "1.2", "planned_values": {"a": [1, "ä\n"]}, "errored": false}"#;
    assert!(read_plan(text.as_bytes()).is_ok());
    for end in 0..text.len() {
        assert!(read_plan(&text.as_bytes()[..end]).is_err(), "{end}");
    }
}
