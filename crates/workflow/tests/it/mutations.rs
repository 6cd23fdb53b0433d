//! Reading and linting stand any text: they end, and every place they name is in it.

use groundplan_workflow::lint::{Options, Purpose, explain, lint_read};
use groundplan_workflow::read::{Part, SourceFile, read};
use groundplan_workflow::resolve::resolve;
use proptest::prelude::*;

const DOCUMENT: &str = "apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: a-}
spec:
  entrypoint: main
  arguments: &args
    parameters: [{name: p, value: 010}]
  synchronization: {mutex: {name: tf}}
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: leaf, arguments: *args}
      - name: b
        template: leaf
        depends: a && !a.Failed
        withItems: [1, {k: v}]
        arguments: {parameters: [{name: p, value: '{{tasks.a.outputs.parameters.o}} {{item}}'}]}
  - name: leaf
    inputs: {parameters: [{name: p, default: x}]}
    outputs: {parameters: [{name: o, valueFrom: {path: /o}}]}
    script:
      image: <your-image>
      command: [sh]
      source: |
        echo ${A:-{{inputs.parameters.p}}} \"$B\" > /workdir/x; ssh-add ~/.ssh/é
";

/// The document with some stretches cut out, doubled, or replaced.
fn mutated() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(""),
        Just(": "),
        Just("- "),
        Just("{{"),
        Just("}}"),
        Just("'"),
        Just("\""),
        Just("\n  "),
        Just("\t"),
        Just("&x "),
        Just("*x"),
        Just("<<: "),
        Just("$"),
        Just("é"),
        Just("[0]"),
        Just("null"),
    ];
    let cut = (0..DOCUMENT.len(), 0..40_usize, piece);
    proptest::collection::vec(cut, 1..6).prop_map(|cuts| {
        let mut text = DOCUMENT.to_owned();
        for (at, length, piece) in cuts {
            let floor = |at: usize| {
                (0..=at.min(text.len()))
                    .rev()
                    .find(|at| text.is_char_boundary(*at))
            };
            let (Some(start), Some(end)) = (floor(at), floor(at + length)) else {
                continue;
            };
            text.replace_range(start..end.max(start), piece);
        }
        text
    })
}

fn stands(text: &str) {
    let file = read(&SourceFile::new("a.yaml", text));
    for document in &file.documents {
        let _ = resolve(document, &[], "a-1");
    }
    let roots: Vec<_> = file
        .documents
        .iter()
        .map(|read| read.root.clone())
        .collect();
    for found in lint_read(&[file], &Options::new(Purpose::Lint)) {
        assert!(explain(&found.code).is_some(), "{}", found.code);
        if let Some(place) = found.position {
            let end = (place.offset + place.length) as usize;
            assert!(end <= text.len(), "{found:?}");
            assert!(text.is_char_boundary(place.offset as usize), "{found:?}");
        }
        let known = roots
            .iter()
            .any(|root| root.position_of(&found.path, Part::Value).is_some());
        assert!(
            known
                || found.path.is_empty()
                || found.path == "kind"
                || found.path.starts_with("spec"),
            "{found:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_mutated_document_is_read_and_linted(text in mutated()) {
        stands(&text);
    }

    #[test]
    fn any_text_is_read_and_linted(text in "(kind: Workflow\n)?[a-z:{}\\[\\]\"'&*!|> \n\t#-]{0,200}") {
        stands(&text);
    }
}
