//! What the loop is made of.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use groundplan_ports::{
    blobs::Blobs,
    clock::Clock,
    logs::Logs,
    runner::Runner,
    secrets::{SecretValue, Secrets},
    store::{Owner, Store},
};

/// The ports that the loop uses.
#[derive(Clone)]
pub struct Ports {
    /// The journal.
    pub store: Arc<dyn Store>,
    /// What starts steps.
    pub runner: Arc<dyn Runner>,
    /// The archive of logs.
    pub logs: Arc<dyn Logs>,
    /// Large values.
    pub blobs: Arc<dyn Blobs>,
    /// Secrets and configuration values.
    pub secrets: Arc<dyn Secrets>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ports")
    }
}

/// How the loop works.
#[derive(Clone, Debug)]
pub struct Options {
    /// This process.
    pub owner: Owner,
    /// How long a lease lasts without being renewed.
    pub lease: Duration,
    /// Steps that may run at once in this process.
    pub slots: usize,
    /// Values of the variables handed to every step, by name.
    pub passed_variables: BTreeMap<String, SecretValue>,
    /// Longest time between two looks for inputs of others (`runs stop`, lock grants).
    pub poll: Duration,
}

/// The loop's parts. One value drives any number of runs.
#[derive(Clone, Debug)]
pub struct Controller {
    pub(crate) ports: Ports,
    pub(crate) options: Options,
}

impl Controller {
    /// A controller over ports.
    pub fn new(ports: Ports, options: Options) -> Self {
        Controller { ports, options }
    }

    /// The ports.
    pub fn ports(&self) -> &Ports {
        &self.ports
    }
}
