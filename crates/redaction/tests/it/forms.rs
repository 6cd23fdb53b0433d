//! Each form in which a value may be printed.

use std::io::Write;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use groundplan_redaction::Needles;
use proptest::prelude::*;

use crate::{check, mask, needles};

#[test]
fn a_value_becomes_three_stars() {
    check(&["hunter22"], "password=hunter22;", "password=***;");
    check(&["hunter22"], "hunter22hunter22", "******");
}

#[test]
fn values_under_five_characters_pass_and_are_named() {
    let needles = Needles::new([("pin", "1234"), ("word", "äöüß"), ("long", "12345")]).unwrap();
    assert_eq!(needles.unmasked_names(), ["pin", "word"]);
    assert_eq!(needles.names().collect::<Vec<_>>(), ["long"]);
    assert_eq!(
        mask(&needles, "äöüß 1234 12345".as_bytes()),
        "äöüß 1234 ***".as_bytes()
    );
}

#[test]
fn white_space_around_a_value_is_no_part_of_it() {
    check(&["\n hunter22 \n"], "password=hunter22;", "password=***;");
    let needles = Needles::new([("pin", "12\n\n\n\n"), ("none", ""), ("blank", " \n")]).unwrap();
    assert_eq!(needles.unmasked_names(), ["pin"]);
}

#[test]
fn each_line_of_a_value_is_masked_alone() {
    let key = "-----BEGIN KEY-----\r\nMIIEvQIBADAN\r\n  Bgkqhkig==\nend\n";
    check(&[key], "x MIIEvQIBADAN y Bgkqhkig== end", "x *** y *** end");
    check(&[key], &format!("<{}>", key.trim_end()), "<***>");
}

#[test]
fn overlapping_values_become_one_mask() {
    check(&["abcdefg", "efghijk"], "-abcdefghijk-", "-***-");
    check(&["abcdefg", "bcdef"], "-abcdefg-abcdef-", "-***-a***-");
    check(&["aaaaa"], "aaaaaaaaaaaaaaaa aaaa", "*** aaaa");
}

#[test]
fn an_inner_value_is_masked_when_the_outer_one_does_not_come() {
    check(&["bcdef", "abcdefghi"], "abcdefgh", "a***gh");
}

#[test]
fn json_forms_are_masked() {
    let secret = "a\"b\\c\nd<e>&f/gäh\u{1}";
    for text in [
        r#"a\"b\\c\nd<e>&f/gäh\u0001"#,
        r#"a\"b\\c\nd\u003ce\u003e\u0026f/gäh\u0001"#,
        r#"a\"b\\c\nd<e>&f/g\u00e4h\u0001"#,
        r#"a\"b\\c\nd<e>&f\/gäh\u0001"#,
        r#"a\\\"b\\\\c\\nd<e>&f/gäh\\u0001"#,
    ] {
        check(
            &[secret],
            &format!("{{\"k\":\"{text}\"}}"),
            "{\"k\":\"***\"}",
        );
    }
    check(&["p${a}%{b}"], "\"p$${a}%%{b}\"", "\"***\"");
}

#[test]
fn url_forms_are_masked() {
    for text in [
        "p%40ss%20w%C3%B6rd%2F%2B!",
        "p%40ss+w%C3%B6rd%2F%2B%21",
        "p%40ss%20w%c3%b6rd/%2b%21",
        "p@ss%20w%C3%B6rd%2F+%21",
    ] {
        check(
            &["p@ss wörd/+!"],
            &format!("https://u:{text}@h"),
            "https://u:***@h",
        );
    }
}

#[test]
fn shell_traces_are_masked() {
    check(&["it's me"], r"+ echo 'it'\''s me'", "+ echo '***'");
    check(&["it's me"], r#"+ echo 'it'"'"'s me'"#, "+ echo '***'");
}

#[test]
fn wrapped_base64_is_masked() {
    let secret: String = ('a'..='z').cycle().take(200).collect();
    let encoded = STANDARD.encode(&secret);
    for width in [64, 76] {
        let lines: Vec<_> = encoded.as_bytes().chunks(width).collect();
        let text = String::from_utf8(lines.join(&b'\n')).unwrap();
        check(&[&secret], &format!("{text}\n"), "***\n");
    }
}

#[test]
fn contains_names_the_value_in_every_form() {
    let needles = Needles::new([("one", "hunter22"), ("two", "s3cr3t!")]).unwrap();
    assert_eq!(needles.contains(b"nothing here"), None);
    assert_eq!(needles.contains(b"x hunter22"), Some("one"));
    assert_eq!(
        needles.contains(b"733363723374 73336372337421"),
        Some("two")
    );
    assert_eq!(Needles::none().contains(b"hunter22"), None);
}

#[test]
fn debug_shows_names_and_no_values() {
    let needles = Needles::new([("one", "hunter22")]).unwrap();
    let shown = format!(
        "{needles:?} {:?}",
        groundplan_redaction::Masker::new(&needles)
    );
    assert!(
        shown.contains("one") && !shown.contains("hunter22"),
        "{shown}"
    );
}

#[test]
fn too_long_values_are_refused_by_name() {
    let long = vec![b'x'; 5 << 20];
    let error = Needles::new([("short", b"12345".to_vec()), ("big", long)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "secret values are too long to be masked: the longest is `big` with 5242880 bytes"
    );
}

/// Values that would be found in every other text, or in the mask itself, say nothing.
fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[ -)+-~]{6,40}".prop_map(String::into_bytes),
        "[a-c\"\\\\\n<&/ä'$%{]{6,20}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 8..30),
    ]
    .prop_filter("something is left", |value| {
        value.trim_ascii().len() >= 6 && !value.contains(&b'*')
    })
}

fn url_encoded(value: &[u8]) -> String {
    value.iter().map(|byte| format!("%{byte:02X}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn base64_at_any_place_is_masked(
        value in value(),
        before in prop::collection::vec(any::<u8>(), 0..9),
        after in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let value = value.trim_ascii();
        let needles = needles([value]);
        let whole = [&before, value, &after].concat();
        for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
            let masked = mask(&needles, engine.encode(&whole).as_bytes());
            let text = String::from_utf8(masked).unwrap();
            // What is left belongs to the bytes before and after, and at most one character each
            // that shares bits with the value.
            let left: usize = text.split("***").map(str::len).sum();
            let most = (before.len() * 8).div_ceil(6) + (after.len() * 8).div_ceil(6) + 3;
            prop_assert!(text.contains("***"), "{text}");
            prop_assert!(left <= most, "{text}: {left} > {most}");
        }
    }

    #[test]
    fn hex_and_json_and_url_forms_are_masked(value in value()) {
        let value = value.trim_ascii();
        let needles = needles([value]);
        let mut hex = Vec::new();
        for byte in value {
            write!(hex, "{byte:02x}").unwrap();
        }
        prop_assert_eq!(mask(&needles, &hex), b"***");
        prop_assert_eq!(mask(&needles, &hex.to_ascii_uppercase()), b"***");
        let json = serde_json::to_string(&String::from_utf8_lossy(value)).unwrap();
        prop_assert_eq!(mask(&needles, json.as_bytes()), b"\"***\"");
        prop_assert_eq!(mask(&needles, value), b"***");
        let form = url_form(value);
        prop_assert_eq!(mask(&needles, form.as_bytes()), b"***", "{}", form);
        prop_assert!(needles.contains(form.as_bytes()).is_some());
    }
}

/// A percent-encoding written apart from the product's.
fn url_form(value: &[u8]) -> String {
    value
        .iter()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(*byte).to_string()
            }
            _ => url_encoded(&[*byte]),
        })
        .collect()
}
