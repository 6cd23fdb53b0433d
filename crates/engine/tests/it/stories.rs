//! Stories: a document and what happens, and the transcript of what follows.

use std::collections::BTreeMap;

use groundplan_engine::{
    action::StepRequest,
    explain::{self, Obstacle},
    id::NodeId,
    input::Input,
    node::RunPhase,
    report::StepOutcome,
    sync::LockKey,
};
use groundplan_testkit::engine::{Outcome, World, tree_of};

const TWO_GROUPS: &str = "
metadata: {name: r}
spec:
  entrypoint: main
  arguments: {parameters: [{name: who, value: you}]}
  templates:
  - name: main
    steps:
    - - name: a
        template: leaf
        arguments: {parameters: [{name: p, value: '{{workflow.parameters.who}}'}]}
      - {name: b, template: leaf, arguments: {parameters: [{name: p, value: '{{item}}'}]}, withItems: [1, 2]}
    - - name: c
        template: leaf
        arguments: {parameters: [{name: p, value: '{{steps.a.outputs.parameters.o}} {{steps.b.outputs.parameters.o}}'}]}
  - name: leaf
    inputs: {parameters: [{name: p}]}
    outputs: {parameters: [{name: o, valueFrom: {path: /o}}]}
    container: {image: i, command: [say, '{{inputs.parameters.p}}']}
";

#[test]
fn groups_follow_one_another_and_hand_values_on() {
    let (mut world, run) = World::of(TWO_GROUPS);
    world.play(&mut |_: &_| Outcome::good());
    world.check();
    insta::assert_snapshot!(world.transcript());
    insta::assert_snapshot!(tree_of(world.run(&run)));
}

/// Plays a document; outcomes by display name, all others good. Gives the transcript and the tree.
fn story(yaml: &str, outcomes: &[(&str, Outcome)]) -> String {
    let (mut world, run) = World::of(yaml);
    world.play(&mut by_name(outcomes));
    world.check();
    format!("{}\n\n{}", world.transcript(), tree_of(world.run(&run)))
}

fn by_name(outcomes: &[(&str, Outcome)]) -> impl FnMut(&StepRequest) -> Outcome {
    let outcomes: BTreeMap<String, Outcome> = outcomes
        .iter()
        .map(|(name, outcome)| ((*name).to_owned(), outcome.clone()))
        .collect();
    move |request: &StepRequest| {
        let name = &request.node_name;
        let short = name
            .rsplit_once('.')
            .map_or(name.as_str(), |(_, last)| last);
        outcomes.get(short).cloned().unwrap_or_else(Outcome::good)
    }
}

const DIAMOND: &str = "
metadata: {name: r}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: leaf}
      - {name: b, template: leaf, depends: a}
      - {name: c, template: leaf, depends: a}
      - {name: d, template: leaf, depends: b && c}
  - {name: leaf, container: {image: i, command: [c]}}
";

#[test]
fn a_target_with_tags_is_settled_for_each_node() {
    let yaml = "
metadata: {name: r}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - name: d
        template: dag
        arguments: {parameters: [{name: to, value: '{{item}}'}]}
        withItems: [b, c a]
    - - {name: after, template: leaf}
  - name: dag
    inputs: {parameters: [{name: to}]}
    dag:
      target: '{{inputs.parameters.to}}'
      tasks:
      - {name: a, template: leaf}
      - {name: b, template: leaf, depends: a}
      - {name: c, template: leaf}
  - {name: leaf, container: {image: i, command: [c]}}
";
    let (mut world, run) = World::of(yaml);
    world.play(&mut |_: &_| Outcome::good());
    world.check();
    let started = world.actor(&run).started.iter();
    let started: Vec<&str> = started.map(|step| step.node_name.as_str()).collect();
    let dag = |item: &str, task: &str| format!("r[0].d({item}).{task}");
    let expected = [
        dag("0:b", "a"),
        dag("1:c a", "c"),
        dag("1:c a", "a"),
        dag("0:b", "b"),
        "r[1].after".to_owned(),
    ];
    assert_eq!(started, expected);
    assert_eq!(world.run(&run).phase(), RunPhase::Succeeded);
    let last = world.run(&run).node_named("r[1]").expect("the last group");
    for before in [dag("0:b", "b"), dag("1:c a", "c"), dag("1:c a", "a")] {
        let before = world.run(&run).node_named(&before).expect("a task");
        assert!(before.children.contains(&last.id), "{}", before.name);
    }
}

#[test]
fn a_template_may_name_its_nodes() {
    let yaml = "
metadata: {name: r}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - name: a
        template: leaf
        arguments: {parameters: [{name: p, value: '{{item}}'}]}
        withItems: [x, 'y!']
  - name: leaf
    annotations: {workflows.argoproj.io/display-name: 'of-{{inputs.parameters.p}}'}
    inputs: {parameters: [{name: p}]}
    container: {image: i, command: ['{{steps.name}}']}
";
    let (mut world, run) = World::of(yaml);
    world.play(&mut |_: &_| Outcome::good());
    world.check();
    let node = |name: &str| world.run(&run).node_named(name).expect("the node");
    assert_eq!(node("r[0].a(0:x)").display_name, "of-x");
    let wrong = node("r[0].a(1:y!)");
    assert_eq!(wrong.display_name, "a(1:y!)");
    assert_eq!(
        wrong.message,
        "displayName must match the regex ^[a-zA-Z0-9][a-zA-Z0-9-.]{0,61}[a-zA-Z0-9]$"
    );
    let started = world.actor(&run).started.first().expect("one step");
    let container = started.template.container.as_ref().expect("a container");
    assert_eq!(container.command[0].as_str(), "a(0:x)");
}

#[test]
fn fan_in_waits_for_all_parents() {
    let slow = [("c", Outcome::good().after(9))];
    insta::assert_snapshot!(story(DIAMOND, &slow));
}

#[test]
fn omission_cascades_and_fails_the_dag() {
    insta::assert_snapshot!(story(DIAMOND, &[("b", Outcome::exit(3))]));
}

#[test]
fn a_task_that_runs_after_a_failure_heals_the_branch() {
    let yaml = DIAMOND.replace("depends: b && c", "depends: b.Failed");
    insta::assert_snapshot!(story(&yaml, &[("b", Outcome::exit(3))]));
}

#[test]
fn a_group_fails_with_its_first_child_that_is_not_forgiven() {
    let yaml = "
metadata: {name: r}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: a, template: leaf, continueOn: {failed: true}}
      - {name: b, template: leaf, when: '1 == 2'}
      - {name: c, template: leaf}
      - {name: d, template: leaf}
    - - {name: never, template: leaf}
  - {name: leaf, container: {image: i, command: [c]}}
";
    let lost = Outcome::of(StepOutcome::Lost).after(4);
    let outcomes = [("a", Outcome::exit(1)), ("c", lost)];
    insta::assert_snapshot!(story(yaml, &outcomes));
}

#[test]
fn runs_take_turns_at_the_mutex_of_their_workflow() {
    let yaml = |name: &str, priority: i32| {
        format!(
            "
metadata: {{name: {name}}}
spec:
  entrypoint: leaf
  priority: {priority}
  synchronization: {{mutexes: [{{name: 'state-{{{{workflow.parameters.env}}}}'}}]}}
  arguments: {{parameters: [{{name: env, value: prod}}]}}
  templates:
  - {{name: leaf, container: {{image: i, command: [c]}}}}
"
        )
    };
    let mut world = World::default();
    for (name, priority) in [("a", 0), ("b", 0), ("c", 5)] {
        world.create(&yaml(name, priority));
        world.settle(&mut |_: &_| Outcome::good());
    }
    world.play(&mut |_: &_| Outcome::good());
    world.check();
    insta::assert_snapshot!(world.transcript());
}

#[test]
fn leaves_of_a_fan_out_take_turns_at_the_mutex_of_their_template() {
    let yaml = "
metadata: {name: r}
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: a, template: leaf, withItems: [x, y, z]}]]
  - name: leaf
    synchronization: {mutexes: [{name: m}]}
    container: {image: i, command: [c]}
";
    insta::assert_snapshot!(story(yaml, &[("a(0:x)", Outcome::exit(1))]));
}

#[test]
fn a_node_never_waits_for_a_lock_that_its_own_run_holds() {
    let yaml = "
metadata: {name: r}
spec:
  entrypoint: main
  synchronization: {mutexes: [{name: m}]}
  templates:
  - name: main
    steps: [[{name: a, template: leaf}]]
  - name: leaf
    synchronization: {mutexes: [{name: m}]}
    container: {image: i, command: [c]}
";
    insta::assert_snapshot!(story(yaml, &[]));
}

#[test]
fn a_deadline_stops_what_runs_and_ends_what_waits() {
    let yaml = "
metadata: {name: r}
spec:
  entrypoint: main
  activeDeadlineSeconds: 3
  templates:
  - name: main
    steps: [[{name: a, template: leaf}, {name: b, template: leaf}], [{name: c, template: leaf}]]
  - name: leaf
    synchronization: {mutexes: [{name: m}]}
    container: {image: i, command: [c]}
";
    let slow = [("a", Outcome::good().never())];
    insta::assert_snapshot!(story(yaml, &slow));
}

#[test]
fn a_stopped_run_keeps_its_lock_until_its_last_leaf_has_ended() {
    let yaml = "
metadata: {name: r}
spec:
  entrypoint: main
  synchronization: {mutexes: [{name: m}]}
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: leaf}
      - {name: b, template: leaf, depends: a}
  - {name: leaf, container: {image: i, command: [c]}}
";
    let (mut world, run) = World::of(yaml);
    let forever = [("a", Outcome::good().never())];
    let mut outcomes = by_name(&forever);
    world.play_until(2, &mut outcomes);
    world.tell(&run, Input::Stop);
    world.settle(&mut outcomes);
    let key = LockKey::mutex("default", "m");
    assert!(world.space.holder(&key).is_some());
    assert_eq!(world.run(&run).phase(), RunPhase::Running);
    world.play(&mut outcomes);
    assert!(world.space.holder(&key).is_none());
    world.check();
    insta::assert_snapshot!(world.transcript());
}

#[test]
fn explanations_name_what_is_in_the_way() {
    let yaml = "
metadata: {name: r}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: leaf}
      - {name: b, template: leaf}
      - {name: c, template: plain, depends: a && b}
  - name: leaf
    synchronization: {mutexes: [{name: m}]}
    container: {image: i, command: [c]}
  - {name: plain, container: {image: i, command: [c]}}
";
    let (mut world, run) = World::of(yaml);
    world.play_until(1, &mut |_: &_| Outcome::good().after(5));
    let run = world.run(&run);
    let why = |name: &str| explain::node(run, &NodeId::of("r", name));
    let since = run.node_named("r.a").expect("a").executions[0].started_at;
    assert_eq!(
        why("r.a"),
        Some(Obstacle::Tool {
            execution: 1,
            since: since.expect("it runs"),
        })
    );
    assert_eq!(
        why("r.b"),
        Some(Obstacle::Lock {
            key: LockKey::mutex("default", "m"),
            holder: format!("default/r/{}", NodeId::of("r", "r.a")),
            place: 1,
        })
    );
    assert_eq!(why("r"), Some(Obstacle::Nodes { count: 2 }));
    assert_eq!(
        explain::tasks_to_come(run, &NodeId::of("r", "r")),
        [(
            "c".to_owned(),
            Obstacle::Tasks {
                names: vec!["a".to_owned(), "b".to_owned()],
            }
        )]
    );
}
