//! Stories: a document and what happens, and the transcript of what follows.

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
