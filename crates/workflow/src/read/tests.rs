//! Behaviour of reading, from text to trees.

use serde_json::{Value, json};

use super::*;

fn read(text: &str) -> (Vec<Tree>, Vec<Diagnostic>) {
    trees(&SourceFile::new("a.yaml", text), Limits::default())
}

fn values(text: &str) -> Vec<Value> {
    let (trees, diagnostics) = read(text);
    assert_eq!(diagnostics, [], "in {text}");
    trees.iter().map(|tree| tree.root.to_json()).collect()
}

/// Code, line and column of each diagnostic.
fn faults(text: &str) -> Vec<(String, u32, u32)> {
    read(text)
        .1
        .into_iter()
        .map(|diagnostic| {
            let position = diagnostic.position.unwrap_or_default();
            (diagnostic.code, position.line, position.column)
        })
        .collect()
}

#[test]
fn several_documents_and_json_are_read() {
    assert_eq!(
        values("a: 1\n---\n---\nb: [yes, 'yes']\n...\n"),
        [json!({"a": 1}), json!({"b": [true, "yes"]})]
    );
    assert_eq!(
        values("{\n\t\"a\": \"\\ud83d\\ude00\\/\",\n\t\"b\": [1.5, null, true]\n}\n"),
        [json!({"a": "😀/", "b": [1.5, null, true]})]
    );
}

#[test]
fn keys_and_values_have_places() {
    let (trees, _) = read("spec:\n  templates:\n  - name: a\n    'ü b': {x: [1, 22]}\n");
    let root = &trees[0].root;
    let at = |path: &str, part| {
        let position = root.position_of(path, part).expect(path);
        (
            position.line,
            position.column,
            position.offset,
            position.length,
        )
    };
    assert_eq!(at("spec.templates[0].name", Part::Key), (3, 5, 23, 4));
    assert_eq!(at("spec.templates[0].name", Part::Value), (3, 11, 29, 1));
    assert_eq!(
        at("spec.templates[0][\"ü b\"].x[1]", Part::Value),
        (4, 20, 51, 2)
    );
    assert_eq!(root.position_of("spec.nothing", Part::Value), None);
}

#[test]
fn reading_goes_on_after_a_broken_document() {
    let (trees, diagnostics) = read("a: 1\nb: [1, 2\n---\nc: *none\nd: 2\n");
    assert_eq!(trees.len(), 2);
    assert!(!trees[0].complete);
    assert_eq!(trees[0].root.get("a").map(Node::to_json), Some(json!(1)));
    assert_eq!(trees[1].root.to_json(), json!({"c": null, "d": 2}));
    let codes: Vec<_> = diagnostics.iter().map(|d| d.code.as_str()).collect();
    assert_eq!(codes, ["invalid-yaml", "unknown-anchor"]);
}

#[test]
fn duplicate_keys_are_reported_and_the_last_counts() {
    let text = "a: 1\nb: 2\na: 3\n";
    assert_eq!(faults(text), [("duplicate-key".to_owned(), 3, 1)]);
    assert_eq!(read(text).0[0].root.to_json(), json!({"a": 3, "b": 2}));
}

#[test]
fn merge_keys_bring_their_entries() {
    assert_eq!(
        values("x: &x {a: 1}\nm:\n  <<: *x\n  b: 2\n")[0]["m"],
        json!({"b": 2, "a": 1})
    );
    assert_eq!(
        values("x: &x {a: 1}\nz: &z {c: 3}\nm:\n  <<: [*x, *z]\n")[0]["m"],
        json!({"a": 1, "c": 3})
    );
    assert_eq!(
        faults("x: &x {a: 1}\nm:\n  <<: *x\n  a: 2\n"),
        [("duplicate-key".to_owned(), 3, 3)]
    );
    assert_eq!(
        faults("m:\n  <<: 1\n"),
        [("invalid-merge".to_owned(), 2, 7)]
    );
    assert_eq!(values("m: <<\n")[0], json!({"m": "<<"}));
}

#[test]
fn unquoted_words_as_keys_become_booleans() {
    assert_eq!(values("on: 1\n010: 2\n")[0], json!({"true": 1, "8": 2}));
    assert_eq!(
        faults("? [a]\n: 1\n~: 2\n"),
        [
            ("invalid-key".to_owned(), 1, 3),
            ("invalid-key".to_owned(), 3, 1)
        ]
    );
}

#[test]
fn files_that_hold_no_text_are_refused() {
    let code = |bytes: &[u8]| {
        let (trees, diagnostics) = trees(&SourceFile::new("f", bytes), Limits::default());
        assert!(trees.is_empty());
        assert_eq!(diagnostics.len(), 1);
        diagnostics[0].code.clone()
    };
    assert_eq!(code(b""), "empty-file");
    assert_eq!(code(b"# only a remark\n"), "empty-file");
    assert_eq!(code(b"\x7fELF\x00\x01"), "binary-file");
    assert_eq!(code(b"a: \xff\xfe"), "binary-file");
    assert_eq!(code(b"\xff\xfea\x00"), "binary-file");
}

#[test]
fn an_alias_bomb_is_refused_soon() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = level - 1;
        text.push_str(&format!("a{level}: &a{level} ["));
        text.push_str(&vec![format!("*a{before}"); 9].join(", "));
        text.push_str("]\n");
    }
    let found = faults(&text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "document-too-large");
}

#[test]
fn deep_nesting_is_refused() {
    let text = "[".repeat(100_000);
    let found = faults(&text);
    assert_eq!(found[0].0, "invalid-yaml");
    let flat = format!("a: {}{}", "[".repeat(90), "]".repeat(90));
    assert_eq!(faults(&flat), []);
}

#[test]
fn an_alias_within_its_own_anchor_is_refused() {
    assert_eq!(
        faults("a: &a [*a]\n"),
        [("unknown-anchor".to_owned(), 1, 8)]
    );
}

#[test]
fn the_last_line_of_a_block_keeps_no_newline_that_was_not_there() {
    assert_eq!(values("a: |\n  x"), [json!({"a": "x"})]);
    assert_eq!(values("a: |\n  x\n"), [json!({"a": "x\n"})]);
}

#[test]
fn anchors_within_anchors_do_not_multiply() {
    let text = format!(
        "{}[{}]{}",
        (0..90)
            .map(|level| format!("[&a{level} "))
            .collect::<String>(),
        vec!["x"; 50_000].join(","),
        "]".repeat(90)
    );
    let found = faults(&text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "document-too-large");
}

#[test]
fn every_path_leads_to_its_place() {
    let (trees, _) = read("a.b: {'c d': [{e: 1}]}\n'': x\n'[0]': y\n\"q\\\"\": z\n");
    let root = &trees[0].root;
    for entry in root.entries() {
        let path = Path::root().key(&entry.key);
        assert_eq!(
            root.position_of(path.as_str(), Part::Value),
            Some(entry.value.position),
            "{path}"
        );
    }
    let path = Path::root().key("a.b").key("c d").index(0).key("e");
    assert_eq!(path.as_str(), "[\"a.b\"][\"c d\"][0].e");
    assert!(root.position_of(path.as_str(), Part::Key).is_some());
}
