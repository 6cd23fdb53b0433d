//! Tags: text and scope in, text or fault out.

use groundplan_workflow::expr::scope::{Layered, MapScope, Scope};
use groundplan_workflow::expr::tags::{self, Mode, TagKind};
use serde_json::json;

use crate::{moment, scope};

#[track_caller]
fn check(text: &str, scope: &dyn Scope, mode: Mode<'_>, expected: Result<&str, &str>) {
    let found = tags::replace(text, scope, mode, &moment());
    let found = found
        .map(|replaced| replaced.text)
        .map_err(|error| error.to_string());
    assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
}

fn values() -> MapScope {
    let mut scope = scope(&[
        ("a", "1"),
        ("which", "a"),
        ("inputs.parameters.a", "nested"),
        ("evil", "{{a}}"),
        ("quotes", "say \"hi\"\\\n\t\u{7}😀\u{e0067}"),
        ("steps.a.outputs.result", "done"),
    ]);
    scope.set_absent("steps.gone.outputs.parameters.p");
    scope
}

#[test]
fn tags_are_replaced_and_everything_else_stays() {
    for (text, expected) in [
        ("no tag", "no tag"),
        ("{{a}}{{ a }}-{{\ta\n}}", "11-1"),
        ("{{unknown}} {{a}}", "{{unknown}} 1"),
        ("{{evil}}", "{{a}}"),
        ("{{quotes}}", "say \"hi\"\\\n\t\u{7}😀\u{e0067}"),
        ("{{inputs.parameters.{{which}}}}", "{{inputs.parameters.a}}"),
        ("{{={'k': a}}}", "{{={'k': a}}}"),
        ("{{ =1 + 1}}", "{{ =1 + 1}}"),
        ("{{=1 + 1}}", "2"),
        ("{{=a == '1' ? evil : ''}}", "{{a}}"),
        ("{{=quotes}}", "say \"hi\"\\\n\t\u{7}😀\u{e0067}"),
        ("{{=unknown}}{{=1 +}}", "{{=unknown}}{{=1 +}}"),
        ("{{=nil}}", "{{=nil}}"),
        ("{{=retries + '1'}}", "{{=retries + '1'}}"),
        ("}} {{a}} }}", "}} 1 }}"),
        ("${{a}} {a} {{{a}}}", "$1 {a} {{{a}}}"),
    ] {
        check(text, &values(), Mode::Allow, Ok(expected));
    }
}

#[test]
fn what_cannot_be_resolved_is_told_apart() {
    let strict = Mode::Strict(&["steps", "tasks"]);
    let absent = "unable to substitute {{steps.gone.outputs.parameters.p}}: output is an absent \
                  optional (skipped/omitted node with no default)";
    for (text, mode, expected) in [
        ("{{b}}", Mode::Forbid, Err("failed to resolve {{b}}")),
        ("{{b}}", strict, Ok("{{b}}")),
        (
            "{{steps.b.outputs.result}}",
            strict,
            Err("failed to resolve {{steps.b.outputs.result}}"),
        ),
        ("{{stepsb}}", strict, Ok("{{stepsb}}")),
        (
            "{{steps.b.outputs.artifacts.x}}",
            strict,
            Ok("{{steps.b.outputs.artifacts.x}}"),
        ),
        (
            "{{=steps.b.id}}",
            strict,
            Err("failed to evaluate expression: steps.b.id is missing"),
        ),
        ("{{=steps.a.id ?? 'x'}}", strict, Ok("x")),
        (
            "{{=steps.b.id ?? 'x'}}",
            strict,
            Ok("{{=steps.b.id ?? 'x'}}"),
        ),
        (
            "{{steps.gone.outputs.parameters.p}}",
            Mode::Allow,
            Err(absent),
        ),
        (
            "{{=nil}}",
            Mode::Forbid,
            Err("failed to evaluate expression \"nil\""),
        ),
        (
            "{{a",
            Mode::Allow,
            Err("Cannot find end tag=\"}}\" in the template=\"{{a\" starting from \"a\""),
        ),
    ] {
        check(text, &values(), mode, expected);
    }
}

#[test]
fn what_stayed_is_named() {
    let text = "{{b}} {{a}} {{=c}} {{ b }}";
    let replaced = tags::replace(text, &values(), Mode::Allow, &moment()).expect("allowed");
    assert_eq!(
        replaced.unresolved.into_iter().collect::<Vec<_>>(),
        ["=c", "b"]
    );
}

#[test]
fn the_passes_of_argo_substitute_a_value_again() {
    let globals = scope(&[("workflow.name", "w")]);
    let locals = scope(&[("pod.name", "p")]);
    let inputs = scope(&[("inputs.parameters.x", "{{workflow.name}}")]);
    let first = Layered::new([&globals as &dyn Scope, &locals]);
    check(
        "{{inputs.parameters.x}}",
        &first,
        Mode::Allow,
        Ok("{{inputs.parameters.x}}"),
    );
    let second = Layered::new([&inputs as &dyn Scope]);
    check(
        "{{inputs.parameters.x}}",
        &second,
        Mode::Allow,
        Ok("{{workflow.name}}"),
    );
    check(
        "{{workflow.name}}",
        &first.with(&inputs),
        Mode::Allow,
        Ok("w"),
    );
}

#[test]
fn a_template_is_replaced_string_by_string() {
    let mut template = json!({
        "container": {"args": ["{{quotes}}", "{{ open", "x }}"], "n": 1, "b": true, "z": null},
        "{{which}}": "{{a}} {{unknown}}",
    });
    let left = tags::replace_in_json(&mut template, &values(), Mode::Allow, &moment());
    assert_eq!(
        left.expect("allowed").into_iter().collect::<Vec<_>>(),
        ["unknown"]
    );
    assert_eq!(
        template,
        json!({
            "container": {
                "args": ["say \"hi\"\\\n\t\u{7}😀\u{e0067}", "{{ open", "x }}"],
                "n": 1, "b": true, "z": null,
            },
            "a": "1 {{unknown}}",
        })
    );
}

#[test]
fn braces_that_are_never_closed_do_not_hide_the_tags_before_them() {
    let mut template = json!("{{a}} {{b");
    tags::replace_in_json(&mut template, &values(), Mode::Forbid, &moment()).expect("allowed");
    assert_eq!(template, json!("1 {{b"));
}

#[test]
fn scanning_finds_the_innermost_tags_and_their_places() {
    let text = "é {{ a }} {{x.{{b}}}} {{=c + 1}}";
    let tags = tags::scan(text).expect("closed");
    let shown: Vec<_> = tags
        .iter()
        .map(|tag| (tag.kind, tag.text, &text[tag.start..tag.end]))
        .collect();
    assert_eq!(
        shown,
        [
            (TagKind::Simple, "a", "{{ a }}"),
            (TagKind::Simple, "b", "{{b}}"),
            (TagKind::Expression, "c + 1", "{{=c + 1}}"),
        ]
    );
    assert_eq!(tags::scan("x {{a").expect_err("open").offset, 2);
}

#[test]
fn data_cannot_stand_in_a_text_but_in_an_expression() {
    let mut scope = MapScope::new();
    scope.set_data("item", json!({"name": "a", "list": [1, 2]}));
    check(
        "{{item}}",
        &scope,
        Mode::Allow,
        Err("failed to resolve {{item}} to string"),
    );
    check(
        "{{=item.list}} {{=item.name}}",
        &scope,
        Mode::Allow,
        Ok("[1,2] a"),
    );
}

#[test]
fn an_expression_that_looks_into_a_sensitive_value_does_not_stay() {
    let scope = scope(&[("inputs.parameters.key", "groundplan:sealed:abc")]);
    let fault = tags::replace(
        "{{=sprig.upper(inputs.parameters.key)}}",
        &scope,
        Mode::Allow,
        &moment(),
    )
    .expect_err("a later pass knows no more");
    assert!(fault.to_string().contains("handed on whole"), "{fault}");
}
