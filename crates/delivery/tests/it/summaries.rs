//! Summaries and their text.

use groundplan_delivery::{
    plan::{
        json::Action,
        read::read_plan,
        summary::{Outcome, PlanSummary, summarize},
    },
    render::summary_text,
};
use serde_json::{Value, json};

fn summary_of(plan: &Value) -> PlanSummary {
    let text = plan.to_string();
    summarize(&read_plan(text.as_bytes()).unwrap())
}

fn plan(parts: Value) -> Value {
    let mut plan = json!({"format_version": "1.2", "planned_values": {}});
    let parts = parts.as_object().unwrap().clone();
    plan.as_object_mut().unwrap().extend(parts);
    plan
}

fn resource(address: &str, actions: Value) -> Value {
    json!({
        "address": address, "mode": "managed", "type": "a", "name": "b",
        "change": {"actions": actions, "before": null, "after": null},
    })
}

/// One of everything.
fn rich_plan() -> Value {
    let mut old = resource("aws_instance.old", json!(["delete"]));
    old["action_reason"] = json!("delete_because_no_resource_config");
    let mut deposed = resource("aws_lb.front", json!(["delete"]));
    deposed["deposed"] = json!("0a1b2c3d");
    let mut database = resource("aws_db.main", json!(["delete", "create"]));
    database["change"]["before"] = json!({"engine": "14", "id": "x", "tags": {"a": "1"}});
    database["change"]["after"] = json!({"engine": "15", "tags": {"a": "1"}});
    database["change"]["after_unknown"] = json!({"id": true, "tags": {}});
    database["change"]["replace_paths"] = json!([["engine"]]);
    let mut bucket = resource("module.logs.aws_bucket.this[\"eu\"]", json!(["update"]));
    bucket["change"]["before"] = json!({"acl": "private", "password": "old-hunter", "n": 1});
    bucket["change"]["after"] = json!({"acl": "public", "password": "new-hunter", "n": 1});
    bucket["change"]["after_sensitive"] = json!({"password": true});
    bucket["change"]["importing"] = json!({"id": "logs"});
    let mut moved = resource("aws_key.new", json!(["no-op"]));
    moved["previous_address"] = json!("aws_key.old");
    let mut data = resource("data.aws_ami.this", json!(["read"]));
    data["action_reason"] = json!("read_because_config_unknown");
    plan(json!({
        "terraform_version": "1.12.6",
        "resource_changes": [
            resource("aws_instance.new[0]", json!(["create"])),
            resource("aws_instance.new[1]", json!(["create"])),
            bucket, database, old, deposed, moved, data,
            resource("aws_lb.side", json!(["create", "delete"])),
            resource("aws_role.left", json!(["forget"])),
            resource("aws_role.again", json!(["forget", "create"])),
            resource("aws_odd.thing", json!(["renew"])),
            resource("aws_vpc.same", json!(["no-op"])),
        ],
        "output_changes": {
            "url": {"actions": ["update"], "before": "a", "after": "b"},
            "token": {"actions": ["create"], "after_sensitive": true},
            "same": {"actions": ["no-op"]},
        },
        "resource_drift": [{
            "address": "aws_vpc.same",
            "change": {
                "actions": ["update"],
                "before": {"tags": null, "size": 1},
                "after": {"tags": {"by": "hand"}, "size": 1},
            },
        }],
    }))
}

#[test]
fn every_kind_of_change_is_counted() {
    let summary = summary_of(&rich_plan());
    let counts = summary.counts;
    let got = [
        counts.create,
        counts.update,
        counts.delete,
        counts.delete_then_create,
        counts.create_then_delete,
        counts.forget_then_create,
        counts.forget,
        counts.other,
        counts.read,
        counts.no_op,
        counts.import,
        counts.moved,
        counts.sensitive,
    ];
    assert_eq!(got, [2, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 2]);
    assert_eq!((counts.replace(), counts.objects()), (3, 13));
    assert_eq!(summary.outcome(), Outcome::Changes);
    let addresses = summary.addresses();
    assert_eq!(
        addresses[&Action::Delete],
        ["aws_instance.old", "aws_lb.front"]
    );
    assert_eq!(
        addresses[&Action::Other("renew".to_owned())],
        ["aws_odd.thing"]
    );
}

#[test]
fn the_text_shows_dangers_first_and_no_values() {
    let text = summary_text(&summary_of(&rich_plan()));
    let expect = r#"Destroy (2)
  -   aws_instance.old  no longer in the configuration
  -   aws_lb.front      deposed object 0a1b2c3d

Replace (3)
  -/+ aws_db.main     engine (forces replacement), id (known later)
  +/- aws_lb.side
  ./+ aws_role.again

Forget, without destroying (1)
  .   aws_role.left

Update (1)
  ~   module.logs.aws_bucket.this["eu"]  imported; acl, password (sensitive)

Create (2)
  +   aws_instance.new[0]
  +   aws_instance.new[1]

Other (1)
  ?   aws_odd.thing  unknown action "renew"

State only (1)
  =   aws_key.new  moved from aws_key.old

Read during the apply (1)
  <=  data.aws_ami.this  depends on what is not known yet

Outputs (2)
  +   token  sensitive
  ~   url

Drift: not as it was left (1)
  ~   aws_vpc.same  tags

Plan: 2 to create, 1 to update, 3 to replace, 2 to destroy, 1 to import, 1 to move, 1 to forget, 1 of an unknown kind; 2 outputs to change; 1 object drifted.
"#;
    assert_eq!(text, expect);
    let shown = format!("{:?}", summary_of(&rich_plan()));
    assert!(!text.contains("hunter") && !shown.contains("hunter"));
}

#[test]
fn state_only_plans_need_an_apply() {
    let mut moved = resource("a.new", json!(["no-op"]));
    moved["previous_address"] = json!("a.old");
    let mut imported = resource("a.b", json!(["no-op"]));
    imported["change"]["importing"] = json!({"id": "x"});
    for change in [
        moved,
        imported,
        resource("a.b", json!(["forget"])),
        resource("a.b", json!(["create", "forget"])),
    ] {
        let summary = summary_of(&plan(json!({"resource_changes": [change]})));
        assert!(summary.needs_apply(), "{change}");
        assert_eq!(summary.outcome(), Outcome::Changes);
        assert!(summary_text(&summary).contains("  a."), "{change}");
    }
}

#[test]
fn no_changes_and_nothing_evaluated_and_failed_are_told_apart() {
    let same = summary_of(&plan(json!({
        "resource_changes": [resource("a.b", json!(["no-op"]))],
        "output_changes": {"x": {"actions": ["no-op"]}},
    })));
    assert_eq!(same.outcome(), Outcome::NoChanges);
    assert_eq!(
        summary_text(&same),
        "Plan: no changes; 1 object and 1 output compared.\n"
    );

    let nothing = summary_of(&plan(json!({"resource_changes": null})));
    assert_eq!(nothing.outcome(), Outcome::NothingEvaluated);
    assert_eq!(
        summary_text(&nothing),
        "Plan: nothing evaluated; there are no objects and no outputs to compare.\n"
    );

    let failed = summary_of(&plan(json!({
        "errored": true, "resource_changes": [resource("a.b", json!(["no-op"]))],
    })));
    assert_eq!(failed.outcome(), Outcome::Errored);
    assert_eq!(
        summary_text(&failed),
        "Planning failed: this is only a part of what would change.\n\n\
         Plan: failed, nothing can be applied.\n"
    );
}

#[test]
fn drift_alone_is_shown_and_is_no_change() {
    let drifted = json!({
        "address": "a.b",
        "change": {"actions": ["delete"], "before": {"x": 1}, "after": null},
    });
    let summary = summary_of(&plan(json!({"resource_drift": [drifted]})));
    assert_eq!(
        (summary.outcome(), summary.needs_apply()),
        (Outcome::NoChanges, false)
    );
    assert_eq!(
        summary_text(&summary),
        "Drift: not as it was left (1)\n  -   a.b  no longer there\n\nPlan: no changes; 1 object drifted.\n"
    );
}

#[test]
fn text_of_the_plan_cannot_break_the_layout() {
    let evil = "a.b[\"x\nDestroy (9)\u{1b}[2J`\u{202e}\"]";
    let mut change = resource(evil, json!(["update", evil]));
    change["previous_address"] = json!(format!("{evil}2"));
    change["deposed"] = json!(evil);
    change["change"]["before"] = json!({evil: 1});
    change["change"]["after"] = json!({evil: 2});
    let summary = summary_of(&plan(json!({
        "resource_changes": [change],
        "output_changes": {evil: {"actions": ["create"]}},
    })));
    let text = summary_text(&summary);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7, "{text}");
    assert!(
        text.chars()
            .all(|c| c == '\n' || !(c.is_control() || c == '`' || c == '\u{202e}'))
    );
    assert!(
        lines[1].contains(r#"a.b["x\nDestroy (9)\u{1b}[2J\u{60}\u{202e}"]"#),
        "{text}"
    );
}

#[test]
fn attributes_are_compared_whatever_the_white_space() {
    let text = br#"{"format_version": "1.2", "planned_values": {}, "resource_changes": [{
        "address": "a.b", "change": {"actions": ["update"],
            "before": {"same": {"k": [1, "x y\" z"]}, "n": 12345678901234567890123, "gone": 1},
            "after": {"same": {"k":[1,"x y\" z"]}, "n": 12345678901234567890124, "none": null}}}]}"#;
    let summary = summarize(&read_plan(text).unwrap());
    let names: Vec<&str> = summary.changes[0]
        .attributes
        .iter()
        .map(|a| &*a.name)
        .collect();
    assert_eq!(names, ["gone", "n"]);
}

#[test]
fn incomplete_plans_and_long_attribute_lists_say_so() {
    let before: serde_json::Map<String, Value> =
        (0..12).map(|n| (format!("k{n:02}"), json!(0))).collect();
    let mut change = resource("a.b", json!(["update"]));
    change["change"]["before"] = before.into();
    change["change"]["after"] = json!({});
    let summary = summary_of(&plan(
        json!({"resource_changes": [change], "complete": false}),
    ));
    let text = summary_text(&summary);
    assert!(text.starts_with("Incomplete: "), "{text}");
    assert!(text.contains("k06, k07 and 4 more\n"), "{text}");
}
