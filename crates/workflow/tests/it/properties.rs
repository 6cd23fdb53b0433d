//! What holds for any text and any value.

use groundplan_workflow::expr::depends::Depends;
use groundplan_workflow::expr::expression::Expression;
use groundplan_workflow::expr::items::{self, Item};
use groundplan_workflow::expr::scope::{Lookup, MapScope, Scope};
use groundplan_workflow::expr::tags::{self, Mode};
use groundplan_workflow::expr::{aggregate, go_json, when};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::moment;

/// Texts that look like the small languages more often than chance would have it.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{{"),
        Just("}}"),
        Just("{{="),
        Just("a"),
        Just("steps.a"),
        Just("."),
        Just("'"),
        Just("\""),
        Just("("),
        Just(")"),
        Just("["),
        Just("]"),
        Just("{"),
        Just("}"),
        Just("#"),
        Just("&&"),
        Just("||"),
        Just("!"),
        Just("=="),
        Just("in"),
        Just("not"),
        Just("?"),
        Just("??"),
        Just("?."),
        Just(":"),
        Just("|"),
        Just(","),
        Just("1"),
        Just("0x"),
        Just("1e"),
        Just("-"),
        Just("**"),
        Just(".."),
        Just("map"),
        Just("sprig.trim"),
        Just("\\"),
        Just("\\u"),
        Just("é"),
        Just("😀"),
        Just(" "),
        Just("let"),
        Just("="),
        Just(";"),
        Just("reduce"),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn values() -> MapScope {
    [("a", "1"), ("steps.a", "x")].into_iter().collect()
}

proptest! {
    #[test]
    fn no_text_makes_the_small_languages_panic(text in prop_oneof![pieces(), any::<String>()]) {
        let scope = values();
        for mode in [Mode::Allow, Mode::Forbid, Mode::Strict(&["steps"])] {
            let _ = tags::replace(&text, &scope, mode, &moment());
        }
        let _ = tags::scan(&text);
        let _ = when::evaluate(&text);
        let _ = Depends::parse(&text).map(|depends| depends.expand(|_| Default::default()));
        let _ = items::parse_with_param(&text);
        let _ = aggregate::results(&[&text]);
        if let Ok(expression) = Expression::parse(&text) {
            let _ = expression.required_names();
            let _ = expression.evaluate(&scope, &moment());
        }
    }

    #[test]
    fn a_value_arrives_unharmed_and_is_not_looked_at_again(value: String, before: String) {
        prop_assume!(!before.contains(['{', '}']));
        let mut scope = values();
        scope.set("v", value.clone());
        let text = format!("{before}{{{{v}}}}{{{{=v}}}}");
        let replaced = tags::replace(&text, &scope, Mode::Forbid, &moment()).expect("resolvable");
        prop_assert_eq!(replaced.text, format!("{before}{value}{value}"));
        let mut template = json!({"a": [text]});
        tags::replace_in_json(&mut template, &scope, Mode::Forbid, &moment()).expect("resolvable");
        prop_assert_eq!(&template["a"][0], &json!(format!("{before}{value}{value}")));
    }

    #[test]
    fn a_value_that_holds_tags_is_only_inserted(inner in pieces()) {
        let mut scope = values();
        let value = format!("{{{{{inner}}}}}");
        scope.set("v", value.clone());
        let replaced = tags::replace("{{v}}", &scope, Mode::Forbid, &moment()).expect("resolvable");
        prop_assert_eq!(replaced.text, value);
    }

    #[test]
    fn a_text_without_tags_stays(text: String) {
        prop_assume!(!text.contains("{{"));
        let replaced = tags::replace(&text, &values(), Mode::Forbid, &moment()).expect("no tag");
        prop_assert_eq!(replaced.text, text);
    }

    #[test]
    fn what_is_allowed_to_stay_stays_byte_for_byte(text in pieces()) {
        let empty = MapScope::new();
        if !text.contains("{{=")
            && let Ok(replaced) = tags::replace(&text, &empty, Mode::Allow, &moment())
        {
            prop_assert_eq!(replaced.text, text);
        }
    }

    #[test]
    fn a_quoted_text_reads_back(text: String) {
        let quoted = go_json::quote(&text);
        prop_assert_eq!(serde_json::from_str::<String>(&quoted).expect("JSON"), text.clone());
        prop_assert_eq!(go_json::compact(&quoted).expect("JSON"), quoted);
        let joined = aggregate::values(&[text.as_str(), "plain"]);
        prop_assert_eq!(serde_json::from_str::<Json>(&joined).expect("JSON"), json!([text, "plain"]));
    }

    #[test]
    fn items_survive_the_way_through_a_list(texts in prop::collection::vec(any::<String>(), 0..6)) {
        let list = serde_json::to_string(&texts).expect("JSON");
        let items = items::parse_with_param(&list).expect("a list");
        prop_assert_eq!(items.iter().map(Item::text).collect::<Vec<_>>(), texts.clone());
        for (item, text) in items.iter().zip(&texts) {
            let scope = item.scope();
            prop_assert_eq!(scope.get("item"), Lookup::Text(text));
        }
        for (index, item) in items.iter().enumerate() {
            prop_assert_eq!(items::index_of(&item.node_name("t", index)), index);
        }
    }

    #[test]
    fn the_json_scanner_agrees_with_the_decoder(text in "[\\[\\]{}:,\"a1e.\\-\\\\ntrue ]{0,12}") {
        let accepted = serde_json::from_str::<Json>(&text).is_ok();
        prop_assert_eq!(go_json::check(&text).is_ok(), accepted, "{}", text);
    }
}
