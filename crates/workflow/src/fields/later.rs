//! Fields that the printed table does not have: newer ones, and such as were removed but still
//! stand in many documents.

/// Where a field comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The printed table.
    Argo,
    /// A later release of Argo.
    NewIn {
        /// Its version.
        version: &'static str,
    },
    /// An earlier release; a newer one refuses the field.
    RemovedIn {
        /// The version that removed it.
        version: &'static str,
        /// What the reader does with it.
        fold: Fold,
    },
}

/// What becomes of a removed field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// Its value joins the list under this name.
    Into(&'static str),
    /// It has no meaning any more; this field took its place.
    Dropped(&'static str),
}

/// One field of the hand table.
pub(crate) struct LaterField {
    /// Type.
    pub(crate) owner: &'static str,
    /// Name.
    pub(crate) name: &'static str,
    /// What it takes, as in the printed table.
    pub(crate) shape: &'static str,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

const fn new(owner: &'static str, name: &'static str, shape: &'static str) -> LaterField {
    LaterField {
        owner,
        name,
        shape,
        origin: Origin::NewIn { version: "4.1" },
    }
}

const fn removed(
    owner: &'static str,
    name: &'static str,
    shape: &'static str,
    fold: Fold,
) -> LaterField {
    LaterField {
        owner,
        name,
        shape,
        origin: Origin::RemovedIn {
            version: "4.0",
            fold,
        },
    }
}

/// The hand table.
pub(crate) const LATER: &[LaterField] = &[
    new(
        "argo.WorkflowSpec",
        "executorPlugins",
        "list subtree argo.ExecutorPlugin",
    ),
    new(
        "argo.WorkflowSpec",
        "podResources",
        "core.ResourceRequirements",
    ),
    new(
        "argo.WorkflowSpec",
        "resourceClaims",
        "list subtree core.PodResourceClaim",
    ),
    new("argo.Template", "pendingTimeout", "string"),
    new("argo.Template", "podResources", "core.ResourceRequirements"),
    new(
        "argo.Template",
        "resourceClaims",
        "list subtree core.PodResourceClaim",
    ),
    removed(
        "argo.Synchronization",
        "mutex",
        "argo.Mutex",
        Fold::Into("mutexes"),
    ),
    removed(
        "argo.Synchronization",
        "semaphore",
        "argo.SemaphoreRef",
        Fold::Into("semaphores"),
    ),
    removed(
        "argo.CronWorkflowSpec",
        "schedule",
        "string",
        Fold::Into("schedules"),
    ),
    removed(
        "argo.WorkflowSpec",
        "podPriority",
        "int",
        Fold::Dropped("podPriorityClassName"),
    ),
];
