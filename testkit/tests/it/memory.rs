//! Logs, blobs and secrets in memory.

mod logs {
    use std::sync::Arc;

    use groundplan_ports::logs::Logs;
    use groundplan_testkit::{contract::logs::Fixture, logs_contract, memory::MemoryLogs};

    struct InMemory(Arc<MemoryLogs>);

    impl Fixture for InMemory {
        fn handle(&self) -> Arc<dyn Logs> {
            Arc::<MemoryLogs>::clone(&self.0)
        }
    }

    logs_contract!(InMemory(Arc::default()));
}

mod blobs {
    use std::sync::Arc;

    use groundplan_ports::blobs::Blobs;
    use groundplan_testkit::{blobs_contract, contract::blobs::Fixture, memory::MemoryBlobs};

    struct InMemory(Arc<MemoryBlobs>);

    impl Fixture for InMemory {
        fn handle(&self) -> Arc<dyn Blobs> {
            Arc::<MemoryBlobs>::clone(&self.0)
        }
    }

    blobs_contract!(InMemory(Arc::default()));
}

mod secrets {
    use std::sync::Arc;

    use groundplan_ports::secrets::Secrets;
    use groundplan_testkit::{contract::secrets::Fixture, memory::MemorySecrets, secrets_contract};

    struct InMemory(Arc<MemorySecrets>);

    impl Fixture for InMemory {
        fn handle(&self) -> Arc<dyn Secrets> {
            Arc::<MemorySecrets>::clone(&self.0)
        }
    }

    secrets_contract!(InMemory(Arc::new(
        MemorySecrets::default()
            .with("git-credentials", "username", "robot")
            .with("git-credentials", "password", "hunter2-hunter2")
    )));
}
