//! Expressions: text and scope in, JSON or message out.

use groundplan_workflow::expr::expression::{Expression, Moment};
use groundplan_workflow::expr::scope::MapScope;

use crate::{moment, scope};

fn evaluate(text: &str, scope: &MapScope, moment: &Moment) -> String {
    let value = Expression::parse(text).and_then(|parsed| parsed.evaluate(scope, moment));
    match value {
        Ok(value) => value.to_json().unwrap_or_else(|error| error.to_string()),
        Err(error) => format!("{}: {error}", error.offset),
    }
}

#[track_caller]
fn check(text: &str, scope: &MapScope, expected: &str) {
    assert_eq!(evaluate(text, scope, &moment()), expected, "{text}");
}

fn inputs() -> MapScope {
    let mut scope = scope(&[
        ("inputs.parameters.n", "41"),
        ("inputs.parameters.name", "  web  "),
        ("inputs.parameters.a-b", "hyphen"),
        (
            "inputs.parameters.json",
            r#"[{"name":"a","v":1},{"name":"b","v":3}]"#,
        ),
        ("steps.flip-coin.outputs.result", "heads"),
        ("lastRetry.exitCode", "2"),
        ("workflow.status", "Failed"),
    ]);
    scope.set_absent("steps.gone.outputs.parameters.msg");
    scope
}

#[test]
fn what_people_write_in_workflows_is_understood() {
    for (text, expected) in [
        ("asInt(inputs.parameters.n) + 1", "42"),
        ("asFloat(inputs.parameters.n) / 2", "20.5"),
        ("sprig.trim(inputs.parameters.name)", "\"web\""),
        (
            "sprig.replace('w', 'v', sprig.upper('w')) + inputs.parameters['a-b']",
            "\"Whyphen\"",
        ),
        ("jsonpath(inputs.parameters.json, '$[1].name')", "\"b\""),
        (
            "jsonpath(inputs.parameters.json, '$[?(@.v > 1)].name')",
            "[\"b\"]",
        ),
        (
            "jsonpath(inputs.parameters.json, \"$..name\")",
            "[\"a\",\"b\"]",
        ),
        (
            "toJson(map(fromJSON(inputs.parameters.json), {#.name}))",
            "\"[\\\"a\\\",\\\"b\\\"]\"",
        ),
        (
            "filter(fromJSON(inputs.parameters.json), .v > 1)",
            "[{\"name\":\"b\",\"v\":3}]",
        ),
        (
            "filter(fromJSON(inputs.parameters.json), {.v > 1})[0].name",
            "\"b\"",
        ),
        (
            "map(fromJSON(inputs.parameters.json), {.name})",
            "[\"a\",\"b\"]",
        ),
        (
            "inputs.parameters.json | fromJSON() | map(.name) | join(',')",
            "\"a,b\"",
        ),
        (
            "steps['flip-coin'].outputs.result == 'heads' ? 'yes' : 'no'",
            "\"yes\"",
        ),
        (
            "lastRetry.exitCode != \"2\" || asInt(lastRetry.exitCode) >= 2",
            "true",
        ),
        ("workflow.status matches 'Fail|Error'", "true"),
        (
            "workflow.status in ['Failed', 'Error'] and not (1 > 2)",
            "true",
        ),
        (
            "'x' not in ['a'] && 'web' startsWith 'w' && 'web' endsWith 'b'",
            "true",
        ),
        (
            "steps.gone.outputs.parameters.msg ?? 'fallback'",
            "\"fallback\"",
        ),
        ("get(fromJSON('{}'), 'type') ?? 'always'", "\"always\""),
        ("fromJSON('{}').a?.b.c ?? 'cut short'", "\"cut short\""),
        ("let x = asInt(inputs.parameters.n); x * x", "1681"),
        ("reduce([1, 2, 3], {#acc + #}, 10)", "16"),
        ("if 1 > 2 { 'a' } else { 'b' }", "\"b\""),
        (
            "sprig.dig('a', 'b', 'else', fromJSON('{\"a\":{\"b\":1}}'))",
            "1",
        ),
        (
            "sprig.ternary('yes', 'no', true) + sprig.default('d', '')",
            "\"yesd\"",
        ),
        (
            "sprig.regexReplaceAll('a(x*)b', '-ab-axxb-', '${1}W')",
            "\"-W-xxW-\"",
        ),
        ("sprig.int('12') + sprig.add(1, '2')", "15"),
        (
            "sprig.trunc(-2, 'abcdef') + sprig.b64enc('hi')",
            "\"efaGk=\"",
        ),
        ("2 ** 3 ** 2 - 7 % 4", "509"),
        ("-2 ** 2", "-4"),
        ("[1, 2, 3][-1] + len('äöü') + [1,2,3,4][1:3][0]", "8"),
        ("1..3 | map(# * 2) | sum()", "12"),
        ("'a' + `b\\n` + \"\\u00e9\\n\"", "\"ab\\\\né\\n\""),
        ("{\"b\": 1, a: [nil, true]}", "{\"a\":[null,true],\"b\":1}"),
        (
            "all([1, 2], # > 0) && none([1], # > 1) && one([1, 2], # == 2)",
            "true",
        ),
        ("sortBy([{n: 2}, {n: 1}], .n)[0].n", "1"),
        ("1 + 1 // a remark", "2"),
    ] {
        check(text, &inputs(), expected);
    }
}

#[test]
fn faults_name_what_and_where() {
    for (text, expected) in [
        ("unknown + 1", "0: unknown name unknown"),
        ("1 + unknown.x", "4: unknown name unknown"),
        ("foo(1)", "0: unknown function foo"),
        ("1 +", "3: unexpected end of expression"),
        ("(1", "2: unexpected end of expression"),
        ("'open", "0: literal not terminated"),
        (
            "1 + 'a'",
            "2: invalid operation: + (mismatched types int and string)",
        ),
        (
            "1 ? 2 : 3",
            "0: non-bool expression (type int) used as condition",
        ),
        ("inputs.parameters.n.x", "19: cannot fetch x from string"),
        ("workflow?.nothing.x", "17: cannot fetch x from <nil>"),
        ("workflow.nothing.x", "16: cannot fetch x from <nil>"),
        ("upper(1)", "0: invalid arguments of upper: (int)"),
        (
            "asInt('x')",
            "0: strconv.ParseInt: parsing \"x\": invalid syntax",
        ),
        (
            "sprig.env('HOME')",
            "0: function sprig.env with arguments (string) does not exist or is not supported yet",
        ),
        ("1..10000000", "1: memory budget exceeded"),
        ("repeat('x', 100000000)", "0: memory budget exceeded"),
    ] {
        check(text, &inputs(), expected);
    }
}

#[test]
fn a_runaway_nest_of_closures_ends() {
    let text = "map(1..900, {map(1..900, {map(1..900, 1)})})";
    assert!(evaluate(text, &MapScope::new(), &moment()).ends_with("expression takes too long"));
}

#[test]
fn deep_and_long_expressions_are_errors_and_not_crashes() {
    for text in [
        "(".repeat(100_000),
        "-".repeat(100_000) + "1",
        "1 + ".repeat(100_000) + "1",
        format!("a{}", ".b".repeat(100_000)),
        "[".repeat(100_000),
        "true ? 1 : ".repeat(100_000) + "2",
    ] {
        let found = evaluate(&text, &MapScope::new(), &moment());
        assert!(
            found.ends_with("expression is nested too deeply"),
            "{found}"
        );
    }
    check(&("1 + ".repeat(200) + "1"), &MapScope::new(), "201");
}

#[test]
fn now_is_the_turns_time_and_spans_are_computed() {
    for (text, expected) in [
        ("now()", "\"2026-08-21T12:34:56Z\""),
        ("now().Format('2006-01-02 15:04')", "\"2026-08-21 12:34\""),
        (
            "sprig.date('Mon, 02 Jan 2006', now())",
            "\"Fri, 21 Aug 2026\"",
        ),
        (
            "(now() - date('2026-08-21T11:34:56Z')).Seconds() > 3599",
            "true",
        ),
        ("now() - duration('1h30m') < now()", "true"),
        ("date('2026-01-31 10:00:00').Unix()", "1769853600"),
        (
            "string(duration('90m') + duration('1.5s'))",
            "\"1h30m1.5s\"",
        ),
        (
            "date('21.08.26 07:05 PM', '02.01.06 03:04 PM').Hour()",
            "19",
        ),
        ("duration('90')", "0: time: missing unit in duration \"90\""),
    ] {
        check(text, &MapScope::new(), expected);
    }
}

#[test]
fn random_values_come_from_the_seed_and_nothing_else() {
    let at = |seed, text| evaluate(text, &MapScope::new(), &Moment { seed, ..moment() });
    let text = "sprig.randAlphaNum(20) + sprig.uuidv4()";
    assert_eq!(at(1, text), at(1, text));
    assert_ne!(at(1, text), at(2, text));
    assert_ne!(at(1, "sprig.uuidv4()"), at(1, "sprig.uuidv4() + ''"));
    let number: i64 = at(3, "sprig.randInt(5, 8)").parse().expect("a number");
    assert!((5..8).contains(&number));
    let uuid = at(
        4,
        "sprig.uuidv4() matches '^\"?[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'",
    );
    assert_eq!(uuid, "true");
}

#[test]
fn names_that_an_expression_needs_are_known_before_it_runs() {
    let needs = |text: &str| {
        let parsed = Expression::parse(text).expect(text);
        parsed
            .required_names()
            .into_iter()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        needs("inputs.parameters['a-b'] + item?.x + (steps.a.outputs.result ?? 'x')"),
        "inputs inputs.parameters inputs.parameters.a-b item steps"
    );
    assert_eq!(needs("let x = a; map(b, {# + x + .c}) | len()"), "a b");
    assert_eq!(needs("sprig.trim('x') + toJson({k: v})"), "v");
}

#[test]
fn a_variable_shadows_a_function_but_does_not_hide_it() {
    check(
        "len + string(len('abc'))",
        &scope(&[("len", "x")]),
        "\"x3\"",
    );
}

#[test]
fn a_sensitive_value_is_handed_on_whole_or_not_at_all() {
    let scope = scope(&[
        ("inputs.parameters.key", "groundplan:sealed:abc"),
        ("inputs.parameters.name", "web"),
    ]);
    let whole = "\"web:groundplan:sealed:abc\"";
    check(
        "inputs.parameters.name + ':' + inputs.parameters.key",
        &scope,
        whole,
    );
    for text in [
        "inputs.parameters.key == 'prod'",
        "sprig.upper(inputs.parameters.key)",
        "inputs.parameters.key[0:20]",
        "len(inputs.parameters.key)",
        "inputs.parameters['key'] contains 'prod'",
    ] {
        let given = evaluate(text, &scope, &moment());
        assert!(given.contains("handed on whole"), "{text}: {given}");
    }
}
