//! `depends`: logic and the states of tasks in, verdict or fault out.

use groundplan_workflow::expr::depends::{
    Depends, DependsErrorKind, Forgiven, Phase, TaskResult, TaskState, Verdict,
};

fn state(name: &str) -> Option<TaskState> {
    let phase = match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-') {
        "ok" => Phase::Succeeded,
        "bad" => Phase::Failed,
        "error" => Phase::Error,
        "skip" => Phase::Skipped,
        "omit" => Phase::Omitted,
        "run" => Phase::Running,
        _ => return None,
    };
    Some(TaskState::of(phase))
}

#[track_caller]
fn check(text: &str, expected: Verdict) {
    let depends = Depends::parse(text).expect(text);
    let names: Vec<_> = depends
        .names()
        .into_iter()
        .map(|name| (name, state(name)))
        .collect();
    let find = |name: &str| {
        names
            .iter()
            .find(|(known, _)| *known == name)
            .and_then(|(_, state)| state.as_ref())
    };
    assert_eq!(
        depends.decide(|_| Forgiven::default(), find),
        expected,
        "{text}"
    );
}

#[test]
fn logic_is_decided_once_every_task_is_done() {
    use Verdict::{Omit, Run, Wait};
    for (text, expected) in [
        ("", Run),
        ("ok", Run),
        ("skip", Run),
        ("omit", Omit),
        ("bad", Omit),
        ("ok || run", Wait),
        ("ok || nowhere", Wait),
        (
            "bad.Failed && error.Errored && skip.Skipped && omit.Omitted",
            Run,
        ),
        ("error.Failed", Omit),
        ("!bad and ok", Run),
        ("not bad and (ok or bad)", Run),
        ("bad || bad && ok || ok-1", Run),
        ("!(ok && ok-2.Succeeded)", Omit),
        ("ok == ok-1", Run),
        ("ok != ok-1", Omit),
        ("bad ? ok : bad.Failed", Run),
        ("ok.AnySucceeded", Omit),
        ("bad.AllFailed", Omit),
        ("ok && true", Run),
    ] {
        check(text, expected);
    }
}

#[test]
fn a_daemon_and_unfinished_hooks_are_seen() {
    let decide = |state: TaskState| {
        Depends::parse("a")
            .expect("a name")
            .decide(|_| Forgiven::default(), |_| Some(&state))
    };
    let daemon = TaskState {
        daemoned: true,
        ..TaskState::of(Phase::Running)
    };
    assert_eq!(decide(daemon.clone()), Verdict::Run);
    assert_eq!(
        decide(TaskState {
            phase: Phase::Pending,
            ..daemon
        }),
        Verdict::Wait
    );
    let hooked = TaskState {
        hooks_fulfilled: false,
        ..TaskState::of(Phase::Succeeded)
    };
    assert_eq!(decide(hooked), Verdict::Wait);
}

#[test]
fn what_continue_on_forgives_goes_well() {
    let decide = |forgiven, phase| {
        let state = TaskState::of(phase);
        Depends::all_of(&["a"]).decide(|_| forgiven, |_| Some(&state))
    };
    let failed = Forgiven {
        failed: true,
        error: false,
    };
    assert_eq!(decide(failed, Phase::Failed), Verdict::Run);
    assert_eq!(decide(failed, Phase::Error), Verdict::Omit);
}

#[test]
fn faults_are_told_with_their_place() {
    let fault = |text: &str| {
        let error = Depends::parse(text).expect_err(text);
        (error.offset, error.kind)
    };
    let unexpected = |text: &str| DependsErrorKind::Unexpected(text.to_owned());
    assert_eq!(fault("a &&"), (4, DependsErrorKind::UnexpectedEnd));
    assert_eq!(fault("a & b"), (2, unexpected("&")));
    assert_eq!(fault("a b"), (2, unexpected("b")));
    assert_eq!(fault("(a || b"), (0, DependsErrorKind::Unclosed));
    assert_eq!(fault("a)"), (1, unexpected(")")));
    assert_eq!(fault("a && {{x}}"), (5, unexpected("{")));
    let (offset, kind) = fault("ab.Suceeded");
    assert_eq!(offset, 3);
    let DependsErrorKind::UnknownResult {
        task,
        result,
        nearest,
    } = kind
    else {
        panic!("{kind:?}");
    };
    assert_eq!((task.as_str(), result.as_str()), ("ab", "Suceeded"));
    assert_eq!(nearest, Some(TaskResult::Succeeded));
}

#[test]
fn a_list_of_ten_thousand_names_is_no_burden() {
    let names: Vec<_> = (0..10_000).map(|index| format!("ok{index}")).collect();
    let depends = Depends::all_of(&names);
    let ok = TaskState::of(Phase::Succeeded);
    assert_eq!(
        depends.decide(|_| Forgiven::default(), |_| Some(&ok)),
        Verdict::Run
    );
    assert_eq!(
        Depends::parse(depends.text()).expect("logic").names().len(),
        10_000
    );
    assert!(Depends::parse(&"!".repeat(100_000)).is_err());
    assert!(Depends::parse(&"(".repeat(100_000)).is_err());
}
