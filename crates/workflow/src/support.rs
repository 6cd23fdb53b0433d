//! What this machine does with each field of Argo's documents. No field is silently dropped: each
//! is supported, ignored with a notice that names it, or refused with a reason.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The answer for one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It means here what it means in Argo.
    Supported,
    /// It has no effect here; documents that use it run all the same.
    Ignored(Ignored),
    /// A document that uses it does not run here.
    Refused(Refused),
    /// It stands only within a field that is ignored or refused itself.
    Beneath,
}

/// Why a field has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ignored {
    /// Only a scheduler of machines can honour it.
    Scheduler,
    /// It belongs to a schedule; `run` starts the workflow once, at once.
    Schedule,
    /// A cluster writes it, no author.
    Cluster,
    /// It has no meaning for steps that are processes of this machine.
    Process,
}

impl Ignored {
    /// The notice, to be followed by the fields' names.
    pub fn notice(self) -> &'static str {
        match self {
            Ignored::Scheduler => "only a cluster can honour this, ignored here",
            Ignored::Schedule => "belongs to the schedule, ignored by `run`",
            Ignored::Cluster => "written by a cluster, ignored here",
            Ignored::Process => "without effect on the processes of this machine",
        }
    }
}

/// Why a document with this field does not run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is going to be supported.
    NotYet,
    /// It needs a cluster.
    NeedsCluster,
}

impl Refused {
    /// The reason, as the end of a sentence that begins with the field's name.
    pub fn reason(self) -> &'static str {
        match self {
            Refused::NotYet => "is not supported yet",
            Refused::NeedsCluster => "needs a Kubernetes cluster",
        }
    }
}

/// The answer for a field; `None` where the type has no such field.
pub fn support(owner: &str, field: &str) -> Option<Support> {
    let answers = ANSWERS.get(owner)?;
    answers.get(field).or_else(|| answers.get("*")).copied()
}

static ANSWERS: LazyLock<BTreeMap<&'static str, BTreeMap<&'static str, Support>>> =
    LazyLock::new(|| {
        let mut answers: BTreeMap<&str, BTreeMap<&str, Support>> = BTreeMap::new();
        for (owner, support, fields) in CATALOGUE {
            let of_type = answers.entry(owner).or_default();
            for field in fields.split_whitespace() {
                of_type.insert(field, *support);
            }
        }
        for owner in BENEATH.split_whitespace() {
            answers
                .entry(owner)
                .or_default()
                .insert("*", Support::Beneath);
        }
        answers
    });

const OK: Support = Support::Supported;
const SCHEDULER: Support = Support::Ignored(Ignored::Scheduler);
const SCHEDULE: Support = Support::Ignored(Ignored::Schedule);
const CLUSTER: Support = Support::Ignored(Ignored::Cluster);
const PROCESS: Support = Support::Ignored(Ignored::Process);
const LATER: Support = Support::Refused(Refused::NotYet);
const NEVER: Support = Support::Refused(Refused::NeedsCluster);

/// The catalogue: type, answer, fields.
const CATALOGUE: &[(&str, Support, &str)] = &[
    ("argo.Workflow", OK, "kind apiVersion metadata spec"),
    ("argo.Workflow", CLUSTER, "status"),
    ("argo.WorkflowTemplate", OK, "kind apiVersion metadata spec"),
    ("argo.ClusterWorkflowTemplate", OK, "kind apiVersion metadata spec"),
    ("argo.CronWorkflow", OK, "kind apiVersion metadata spec"),
    ("argo.CronWorkflow", CLUSTER, "status"),
    ("argo.CronWorkflowSpec", OK, "workflowSpec workflowMetadata"),
    (
        "argo.CronWorkflowSpec",
        SCHEDULE,
        "concurrencyPolicy suspend startingDeadlineSeconds successfulJobsHistoryLimit
         failedJobsHistoryLimit timezone stopStrategy schedules schedule when",
    ),
    (
        "argo.WorkflowSpec",
        OK,
        "templates entrypoint arguments volumes volumeClaimTemplates activeDeadlineSeconds priority
         synchronization",
    ),
    (
        "argo.WorkflowSpec",
        SCHEDULER,
        "serviceAccountName automountServiceAccountToken executor nodeSelector affinity tolerations
         imagePullSecrets dnsPolicy dnsConfig schedulerName podGC podPriorityClassName podPriority
         hostAliases podDisruptionBudget podMetadata",
    ),
    ("argo.WorkflowSpec", PROCESS, "hostNetwork securityContext"),
    (
        "argo.WorkflowSpec",
        LATER,
        "parallelism artifactRepositoryRef suspend onExit ttlStrategy podSpecPatch metrics shutdown
         workflowTemplateRef volumeClaimGC retryStrategy templateDefaults archiveLogs hooks
         workflowMetadata artifactGC podResources",
    ),
    ("argo.WorkflowSpec", NEVER, "executorPlugins resourceClaims"),
    (
        "argo.Template",
        OK,
        "name inputs outputs metadata steps container script dag volumes activeDeadlineSeconds
         failFast synchronization annotations",
    ),
    (
        "argo.Template",
        SCHEDULER,
        "nodeSelector affinity tolerations schedulerName priorityClassName serviceAccountName
         automountServiceAccountToken executor hostAliases",
    ),
    ("argo.Template", PROCESS, "securityContext"),
    (
        "argo.Template",
        LATER,
        "daemon containerSet resource suspend data http initContainers sidecars archiveLocation
         retryStrategy parallelism podSpecPatch metrics memoize timeout pendingTimeout podResources",
    ),
    ("argo.Template", NEVER, "plugin resourceClaims"),
    (
        "argo.WorkflowStep",
        OK,
        "name template arguments withItems withParam when continueOn",
    ),
    ("argo.WorkflowStep", LATER, "inline templateRef withSequence onExit hooks"),
    (
        "argo.DAGTask",
        OK,
        "name template arguments dependencies withItems withParam when continueOn depends",
    ),
    ("argo.DAGTask", LATER, "inline templateRef withSequence onExit hooks"),
    ("argo.DAGTemplate", OK, "target tasks failFast"),
    ("argo.Arguments", OK, "parameters"),
    ("argo.Arguments", LATER, "artifacts"),
    ("argo.Inputs", OK, "parameters"),
    ("argo.Inputs", LATER, "artifacts"),
    ("argo.Outputs", OK, "parameters"),
    ("argo.Outputs", LATER, "artifacts"),
    ("argo.Outputs", CLUSTER, "result exitCode"),
    ("argo.Parameter", OK, "name default value valueFrom enum description"),
    ("argo.Parameter", LATER, "globalName"),
    ("argo.ValueFrom", OK, "path parameter expression default"),
    ("argo.ValueFrom", LATER, "supplied configMapKeyRef"),
    ("argo.ValueFrom", NEVER, "jsonPath jqFilter event"),
    ("argo.ContinueOn", OK, "error failed"),
    ("argo.Synchronization", OK, "mutexes mutex"),
    ("argo.Synchronization", LATER, "semaphores semaphore"),
    ("argo.Mutex", OK, "name namespace"),
    ("argo.Mutex", LATER, "database"),
    ("argo.Metadata", OK, "annotations labels"),
    (
        "core.Container",
        OK,
        "name image command args workingDir envFrom env resources volumeMounts",
    ),
    ("core.Container", PROCESS, CONTAINER_WITHOUT_EFFECT),
    ("core.Container", LATER, CONTAINER_LATER),
    ("core.Container", NEVER, "volumeDevices"),
    (
        "argo.ScriptTemplate",
        OK,
        "name image command args workingDir envFrom env resources volumeMounts source",
    ),
    ("argo.ScriptTemplate", PROCESS, CONTAINER_WITHOUT_EFFECT),
    ("argo.ScriptTemplate", LATER, CONTAINER_LATER),
    ("argo.ScriptTemplate", NEVER, "volumeDevices"),
    ("core.EnvVar", OK, "name value valueFrom"),
    ("core.EnvVarSource", OK, "configMapKeyRef secretKeyRef"),
    ("core.EnvVarSource", LATER, "fieldRef resourceFieldRef"),
    ("core.EnvFromSource", OK, "prefix configMapRef secretRef"),
    ("core.SecretEnvSource", OK, "name optional"),
    ("core.ConfigMapEnvSource", OK, "name optional"),
    ("core.SecretKeySelector", OK, "name key optional"),
    ("core.ConfigMapKeySelector", OK, "name key optional"),
    ("core.VolumeMount", OK, "name readOnly mountPath subPath"),
    ("core.VolumeMount", PROCESS, "recursiveReadOnly mountPropagation"),
    ("core.VolumeMount", LATER, "subPathExpr"),
    ("core.ResourceRequirements", OK, "limits"),
    ("core.ResourceRequirements", SCHEDULER, "requests"),
    ("core.ResourceRequirements", NEVER, "claims"),
    (
        "core.Volume",
        OK,
        "name hostPath emptyDir secret persistentVolumeClaim configMap",
    ),
    ("core.Volume", LATER, "downwardAPI projected ephemeral image"),
    (
        "core.Volume",
        NEVER,
        "gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume cinder
         cephfs flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk
         portworxVolume scaleIO storageos csi",
    ),
    ("core.EmptyDirVolumeSource", PROCESS, "medium sizeLimit"),
    ("core.SecretVolumeSource", OK, "secretName items defaultMode optional"),
    ("core.ConfigMapVolumeSource", OK, "name items defaultMode optional"),
    ("core.KeyToPath", OK, "key path mode"),
    ("core.HostPathVolumeSource", OK, "path"),
    ("core.HostPathVolumeSource", PROCESS, "type"),
    ("core.PersistentVolumeClaimVolumeSource", OK, "claimName readOnly"),
    ("core.PersistentVolumeClaim", OK, "kind apiVersion metadata"),
    ("core.PersistentVolumeClaim", SCHEDULER, "spec"),
    ("core.PersistentVolumeClaim", CLUSTER, "status"),
    (
        "meta.ObjectMeta",
        OK,
        "name generateName namespace labels annotations",
    ),
    (
        "meta.ObjectMeta",
        CLUSTER,
        "selfLink uid resourceVersion generation creationTimestamp deletionTimestamp
         deletionGracePeriodSeconds ownerReferences finalizers managedFields",
    ),
];

const CONTAINER_WITHOUT_EFFECT: &str = "ports resizePolicy restartPolicy terminationMessagePath
    terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty";

const CONTAINER_LATER: &str = "livenessProbe readinessProbe startupProbe lifecycle";

/// Types that stand only within ignored or refused fields.
const BENEATH: &str = "
    argo.ArchiveStrategy argo.ArtGCStatus argo.Artifact argo.ArtifactGC argo.ArtifactLocation
    argo.ArtifactPaths argo.ArtifactRepository argo.ArtifactRepositoryRef
    argo.ArtifactRepositoryRefStatus argo.ArtifactoryArtifact argo.ArtifactoryArtifactRepository
    argo.AzureArtifact argo.AzureArtifactRepository argo.Backoff argo.BasicAuth argo.Cache
    argo.ClientCertAuth argo.Condition argo.ContainerNode argo.ContainerSetRetryStrategy
    argo.ContainerSetTemplate argo.Counter argo.CreateS3BucketOptions argo.CronWorkflowStatus
    argo.Data argo.DataSource argo.ExecutorConfig argo.GCSArtifact argo.GCSArtifactRepository
    argo.Gauge argo.GitArtifact argo.HDFSArtifact argo.HDFSArtifactRepository argo.HTTP
    argo.HTTPArtifact argo.HTTPAuth argo.HTTPBodySource argo.HTTPHeader argo.HTTPHeaderSource
    argo.Header argo.Histogram argo.LabelValueFrom argo.LifecycleHook argo.ManifestFrom
    argo.MemoizationStatus argo.Memoize argo.MetricLabel argo.Metrics argo.MutexHolding
    argo.MutexStatus argo.NodeFlag argo.NodeStatus argo.NodeSynchronizationStatus argo.OAuth2Auth
    argo.OAuth2EndpointParam argo.OSSArtifact argo.OSSArtifactRepository argo.OSSLifecycleRule
    argo.PluginArtifact argo.PluginArtifactRepository argo.PodGC argo.Prometheus argo.RawArtifact
    argo.ResourceTemplate argo.RetryAffinity argo.RetryStrategy argo.S3Artifact
    argo.S3ArtifactRepository argo.S3EncryptionOptions argo.SemaphoreHolding argo.SemaphoreRef
    argo.SemaphoreStatus argo.Sequence argo.StopStrategy argo.SuspendTemplate argo.SyncDatabaseRef
    argo.SynchronizationStatus argo.TTLStrategy argo.TarStrategy argo.TemplateRef
    argo.TransformationStep argo.UserContainer argo.VolumeClaimGC argo.WorkflowLevelArtifactGC
    argo.WorkflowMetadata argo.WorkflowStatus argo.WorkflowTemplateRef core.ContainerPort
    core.LocalObjectReference core.ResourceClaim
";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fields::{TABLE, struct_of};

    #[test]
    fn every_field_of_the_table_has_an_answer() {
        let missing: Vec<String> = TABLE
            .iter()
            .flat_map(|(owner, fields)| fields.iter().map(move |field| (*owner, field.name)))
            .filter(|(owner, field)| support(owner, field).is_none())
            .map(|(owner, field)| format!("{owner}.{field}"))
            .collect();
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn every_answer_is_for_a_field_of_the_table_and_stands_once() {
        let mut seen = BTreeSet::new();
        for (owner, _, fields) in CATALOGUE {
            let known = TABLE.get(owner).expect(owner);
            for field in fields.split_whitespace() {
                assert!(
                    known.iter().any(|known| known.name == field),
                    "{owner}.{field} is no field"
                );
                assert!(seen.insert((owner, field)), "{owner}.{field} stands twice");
            }
        }
        for owner in BENEATH.split_whitespace() {
            assert!(TABLE.contains_key(owner), "{owner} is no type");
            assert!(
                !CATALOGUE.iter().any(|(other, _, _)| *other == owner),
                "{owner} has answers of its own"
            );
        }
    }

    #[test]
    fn no_supported_field_leads_to_a_type_without_answers() {
        for (owner, fields) in TABLE.iter() {
            for field in fields {
                let Some(inner) = struct_of(&field.shape) else {
                    continue;
                };
                if support(owner, field.name) == Some(Support::Supported) {
                    assert_ne!(
                        support(inner, "any"),
                        Some(Support::Beneath),
                        "{owner}.{} leads to {inner}",
                        field.name
                    );
                }
            }
        }
    }
}
