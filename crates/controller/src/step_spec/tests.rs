//! Tests of what becomes of a template in a `StepSpec`.

use groundplan_engine::id::{NodeId, RunId, StepId};
use groundplan_ports::runner::VolumeSource;

use super::*;

fn secret(name: &str, key: Option<&str>) -> SecretRef {
    SecretRef {
        kind: SecretSourceKind::Secret,
        name: name.to_owned(),
        key: key.map(str::to_owned),
    }
}

fn value(key: &str, value: &str) -> ResolvedSecret {
    ResolvedSecret {
        key: key.to_owned(),
        value: SecretValue::new(value),
    }
}

fn request(template: serde_json::Value) -> StepRequest {
    StepRequest {
        step: StepId {
            run: RunId("run".to_owned()),
            node: NodeId("node".to_owned()),
            execution: 1,
        },
        node_name: "test.a".to_owned(),
        template: serde_json::from_value(template).expect("a template"),
        volumes: Vec::new(),
        capture_result: false,
        deadline: None,
        timeout_seconds: None,
    }
}

const NOW: Timestamp = Timestamp(1_000_000);

fn context<'a>(
    workflow: &'a WorkflowSpec,
    settings: &'a RunSettings,
    secrets: &'a SecretSet,
) -> StepContext<'a> {
    StepContext {
        workflow,
        settings,
        secrets,
        now: NOW,
    }
}

fn compiled(
    template: serde_json::Value,
    spec: serde_json::Value,
    settings: &RunSettings,
    secrets: &SecretSet,
) -> Result<StepSpec, Unspecifiable> {
    let workflow: WorkflowSpec = serde_json::from_value(spec).expect("a specification");
    let mut request = request(template);
    request.volumes.clone_from(&workflow.volumes);
    step_spec(&request, &context(&workflow, settings, secrets))
}

fn env(spec: &StepSpec) -> Vec<(String, String, bool)> {
    let text = |value: &SecretValue| String::from_utf8_lossy(value.expose()).into_owned();
    spec.main
        .env
        .iter()
        .map(|env| (env.name.clone(), text(&env.value), env.secret))
        .collect()
}

#[test]
fn variables_are_looked_up_expanded_and_overridden_in_kubernetes_order() {
    let secrets = SecretSet {
        references: BTreeMap::from([
            (secret("s", Some("k")), vec![value("k", "hush")]),
            (secret("all", None), vec![value("A", "1"), value("B", "2")]),
        ]),
        passed_variables: BTreeMap::from([("GIT_COMMIT".to_owned(), SecretValue::new("abc"))]),
        sealed: Vec::new(),
    };
    let template = serde_json::json!({"name": "t", "container": {
    "image": "i", "command": ["run", "$(X)", "$$(X)", "$(UNKNOWN)"],
    "envFrom": [{"prefix": "P_", "secretRef": {"name": "all"}}],
    "env": [
        {"name": "X", "value": "plain"},
        {"name": "Y", "value": "$(X)-$(P_A)"},
        {"name": "K", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "X", "value": "last"},
    ]}});
    let spec = compiled(
        template,
        serde_json::json!({}),
        &RunSettings::default(),
        &secrets,
    )
    .expect("it compiles");
    let expected = [
        ("GIT_COMMIT", "abc", false),
        ("P_A", "1", true),
        ("P_B", "2", true),
        ("Y", "plain-1", false),
        ("K", "hush", true),
        ("X", "last", false),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, value, secret)| ((*name).to_owned(), (*value).to_owned(), *secret))
        .collect();
    assert_eq!(env(&spec), expected);
    assert_eq!(spec.main.command, ["run", "last", "$(X)", "$(UNKNOWN)"]);
}

#[test]
fn every_secret_of_the_run_is_masked_in_every_step_and_ordinary_variables_are_not() {
    let secrets = SecretSet {
        references: BTreeMap::from([
            (secret("s", Some("k")), vec![value("k", "hush")]),
            (
                SecretRef {
                    kind: SecretSourceKind::ConfigMap,
                    name: "c".to_owned(),
                    key: None,
                },
                vec![value("x", "open")],
            ),
        ]),
        passed_variables: BTreeMap::from([
            ("MY_TOKEN".to_owned(), SecretValue::new("tok")),
            ("AWS_REGION".to_owned(), SecretValue::new("eu")),
        ]),
        sealed: vec![("token-1".to_owned(), SecretValue::new("sealed"))],
    };
    let names: Vec<String> = needles(&secrets)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["s/k", "MY_TOKEN", "token-1"]);
}

#[test]
fn a_sealed_output_is_handed_on_whole() {
    let secrets = SecretSet {
        sealed: vec![("<t1>".to_owned(), SecretValue::new("real"))],
        ..SecretSet::default()
    };
    let template = serde_json::json!({"name": "t", "script": {
        "image": "i", "command": ["sh"], "source": "use <t1>", "env": [{"name": "V", "value": "x<t1>"}]}});
    let spec = compiled(
        template,
        serde_json::json!({}),
        &RunSettings::default(),
        &secrets,
    )
    .expect("it compiles");
    assert_eq!(spec.main.source.as_deref(), Some("use real"));
    assert_eq!(env(&spec), [("V".to_owned(), "xreal".to_owned(), true)]);
}

#[test]
fn volumes_come_from_the_person_first_then_from_claims_then_from_the_document() {
    let settings = RunSettings {
        volumes: BTreeMap::from([
            ("given".to_owned(), "/given".into()),
            ("pvc".to_owned(), "/pvc".into()),
        ]),
        allowed_host_paths: vec!["/srv".into()],
        ..RunSettings::default()
    };
    let mount = |name: &str| serde_json::json!({"name": name, "mountPath": format!("/{name}")});
    let template = serde_json::json!({"name": "t", "container": {"image": "i", "volumeMounts": [
        mount("given"), mount("claim"), mount("empty"), mount("host"), mount("named")]}});
    let spec = serde_json::json!({
    "volumeClaimTemplates": [{"metadata": {"name": "claim"}}],
    "volumes": [
        {"name": "empty", "emptyDir": {}},
        {"name": "host", "hostPath": {"path": "/srv/data"}},
        {"name": "named", "persistentVolumeClaim": {"claimName": "pvc"}},
    ]});
    let spec = compiled(template, spec, &settings, &SecretSet::default()).expect("it compiles");
    let kinds: BTreeMap<&str, String> = spec
        .volumes
        .iter()
        .map(|(name, source)| {
            let kind = match source {
                VolumeSource::Directory(path) => path.display().to_string(),
                VolumeSource::Claim(claim) => format!("claim {claim}"),
                VolumeSource::Empty => "empty".to_owned(),
                VolumeSource::Files(files) => format!("{} files", files.len()),
            };
            (name.as_str(), kind)
        })
        .collect();
    let expected = [
        ("claim", "claim claim"),
        ("empty", "empty"),
        ("given", "/given"),
        ("host", "/srv/data"),
        ("named", "/pvc"),
    ];
    assert_eq!(
        kinds,
        expected.map(|(name, kind)| (name, kind.to_owned())).into()
    );
}

#[test]
fn what_cannot_be_specified_says_what_to_do() {
    let cases = [
        (
            serde_json::json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}),
            serde_json::json!({}),
            "volume `v` is mounted but nowhere declared; give it with `--volume v=DIR`",
        ),
        (
            serde_json::json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}),
            serde_json::json!({"volumes": [{"name": "v", "hostPath": {"path": "/srv/../etc"}}]}),
            "host path `/srv/../etc` may not be mounted; allow it in the machine configuration under `allowed_host_paths`",
        ),
        (
            serde_json::json!({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}),
            serde_json::json!({}),
            "secret `s` has no key `k`; give it with `--secrets FILE`",
        ),
        (
            serde_json::json!({"resources": {"limits": {"memory": "lots"}}}),
            serde_json::json!({}),
            "`lots` is no quantity for limit `memory`",
        ),
    ];
    let settings = RunSettings {
        allowed_host_paths: vec!["/srv".into()],
        ..RunSettings::default()
    };
    for (container, spec, message) in cases {
        let template = serde_json::json!({"name": "t", "container": container});
        let refused =
            compiled(template, spec, &settings, &SecretSet::default()).expect_err(message);
        assert_eq!(refused.to_string(), message);
    }
}

#[test]
fn outputs_with_a_default_may_be_missing_and_annotated_ones_are_sealed() {
    let template = serde_json::json!({
    "name": "t",
    "metadata": {"annotations": {"groundplan/sensitive-outputs": "token, result"}},
    "container": {"image": "i"},
    "outputs": {"parameters": [
        {"name": "token", "valueFrom": {"path": "/t"}},
        {"name": "count", "valueFrom": {"path": "/c", "default": "0"}},
    ]}});
    let mut request = request(template);
    request.capture_result = true;
    let (workflow, settings, secrets) = (
        WorkflowSpec::default(),
        RunSettings::default(),
        SecretSet::default(),
    );
    let spec = step_spec(&request, &context(&workflow, &settings, &secrets)).expect("it compiles");
    let take = |name: &str, path: &str, optional, sensitive| Take {
        name: name.to_owned(),
        path: path.to_owned(),
        optional,
        sensitive,
    };
    assert_eq!(
        spec.take,
        [
            take("token", "/t", false, true),
            take("count", "/c", true, false)
        ]
    );
    assert_eq!(spec.capture_result, CaptureResult::Sensitive);
}

#[test]
fn the_earlier_of_run_deadline_and_own_time_ends_a_step() {
    let (workflow, settings, secrets) = (
        WorkflowSpec::default(),
        RunSettings::default(),
        SecretSet::default(),
    );
    let mut request = request(serde_json::json!({"name": "t", "container": {"image": "i"}}));
    let deadlines = [
        (None, None, None),
        (Some(2_000_000), None, Some(2_000_000)),
        (None, Some(10), Some(1_010_000)),
        (Some(1_005_000), Some(10), Some(1_005_000)),
        (Some(2_000_000), Some(10), Some(1_010_000)),
    ];
    for (run, own, expected) in deadlines {
        request.deadline = run.map(Timestamp);
        request.timeout_seconds = own;
        let spec =
            step_spec(&request, &context(&workflow, &settings, &secrets)).expect("it compiles");
        assert_eq!(spec.deadline, expected.map(Timestamp));
    }
}
