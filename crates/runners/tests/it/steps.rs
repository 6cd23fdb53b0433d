//! What a step does and finds.

use groundplan_engine::report::StepOutcome;
use groundplan_ports::{logs::Stream, runner::Isolation};

use crate::machine::{Machine, printed, run};

const BOTH: [Isolation; 2] = [Isolation::None, Isolation::Sandbox];

#[tokio::test]
async fn a_step_prints_and_ends_with_its_code() {
    for isolation in BOTH {
        let machine = Machine::new(isolation);
        let runner = machine.runner();
        let spec = machine.script("echo out; echo err >&2; exit 3");
        let step = spec.step.clone();
        let end = run(&runner, spec).await;
        assert_eq!(end.outcome, StepOutcome::Exited, "{isolation:?}");
        assert_eq!(end.exit_code, Some(3));
        assert_eq!(end.result.as_deref(), Some("out"));
        assert!(!end.asked_to_stop);
        assert_eq!(printed(&runner, &step, Stream::Stdout).await, "out\n");
        assert_eq!(printed(&runner, &step, Stream::Stderr).await, "err\n");
    }
}
