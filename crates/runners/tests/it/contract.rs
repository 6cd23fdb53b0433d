//! The contract of the port, in both isolations.

use std::sync::Arc;

use groundplan_engine::id::StepId;
use groundplan_ports::runner::{Isolation, MountSpec, Runner, StepSpec, VolumeSource};
use groundplan_testkit::contract::runner::Fixture;

use crate::machine::Machine;

impl Fixture for Machine {
    fn handle(&self) -> Arc<dyn Runner> {
        self.runner()
    }

    fn script(&self, script: &str) -> StepSpec {
        let mut spec = Machine::script(self, script);
        let folder = self.data_dir().join("outputs");
        std::fs::create_dir_all(&folder).expect("it is made");
        spec.main.mounts.push(MountSpec {
            volume: "outputs".into(),
            path: match self.isolation {
                Isolation::Sandbox => "/outputs".into(),
                Isolation::None => folder.to_string_lossy().into_owned(),
            },
            sub_path: String::new(),
            read_only: false,
        });
        let source = VolumeSource::Directory(folder);
        spec.volumes.insert("outputs".into(), source);
        spec
    }

    fn output_path(&self, step: &StepId) -> String {
        match self.isolation {
            // Below the step's own root, not in a volume.
            Isolation::Sandbox => format!("/tmp/out-{}", step.execution),
            Isolation::None => {
                let folder = self.data_dir().join("outputs");
                folder
                    .join(format!("out-{}", step.execution))
                    .to_string_lossy()
                    .into_owned()
            }
        }
    }
}

mod plain {
    use super::{Isolation, Machine};
    groundplan_testkit::runner_contract!(Machine::new(Isolation::None));
}

mod sandboxed {
    use super::{Isolation, Machine};
    groundplan_testkit::runner_contract!(Machine::new(Isolation::Sandbox));
}
