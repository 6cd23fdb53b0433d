//! Which crate may know which, and what each may take from outside.
//!
//! The table [`ARROWS`] is the architecture's, and `docs/architecture.md` shows it. What a manifest
//! says is compared here; what code says is compared in [`code`].

pub(crate) mod code;

use crate::workspace::{DependencyKind, Member};

/// What one crate of ours may depend on.
#[derive(Debug)]
pub(crate) struct Arrows {
    /// Package name without the prefix `groundplan-`.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) layer: Layer,
    /// Crates of ours that it may use.
    pub(crate) uses: &'static [&'static str],
    /// Crates of ours that only its tests may use, besides the testkit.
    pub(crate) tests_use: &'static [&'static str],
}

/// The layers, from the inside out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Pure.
    Core,
    /// Traits and plain data.
    Boundary,
    /// A library of ours that edges share; no port of its own.
    Shared,
    /// Implementations of ports.
    Edge,
    /// The loop.
    Shell,
    /// What people meet.
    Face,
    /// Tests and the repository itself.
    Tooling,
}

impl Layer {
    /// Its word in the documents.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Layer::Core => "core",
            Layer::Boundary => "boundary",
            Layer::Shared => "shared",
            Layer::Edge => "edge",
            Layer::Shell => "shell",
            Layer::Face => "face",
            Layer::Tooling => "tooling",
        }
    }
}

const CORES: &[&str] = &["workflow", "engine", "delivery", "redaction"];
const PORTS_AND_CORES: &[&str] = &["ports", "workflow", "engine", "delivery", "redaction"];

/// Every crate with its arrows; a crate that is not here may not exist.
pub(crate) const ARROWS: &[Arrows] = &[
    arrows("workflow", Layer::Core, &[], &[]),
    arrows("engine", Layer::Core, &["workflow"], &[]),
    arrows("delivery", Layer::Core, &["workflow"], &[]),
    arrows("redaction", Layer::Core, &[], &[]),
    arrows("ports", Layer::Boundary, CORES, &[]),
    arrows("sealing", Layer::Shared, &[], &[]),
    arrows(
        "store",
        Layer::Edge,
        &[
            "ports",
            "workflow",
            "engine",
            "delivery",
            "redaction",
            "sealing",
        ],
        &[],
    ),
    arrows(
        "runners",
        Layer::Edge,
        &["ports", "workflow", "engine", "redaction", "sealing"],
        &[],
    ),
    arrows("forges", Layer::Edge, &["ports", "delivery"], &[]),
    arrows("controller", Layer::Shell, PORTS_AND_CORES, &["store"]),
    arrows(
        "cli",
        Layer::Face,
        &[
            "workflow",
            "engine",
            "delivery",
            "redaction",
            "ports",
            "sealing",
            "store",
            "runners",
            "forges",
            "controller",
        ],
        &[],
    ),
    arrows("testkit", Layer::Tooling, PORTS_AND_CORES, &[]),
    arrows("xtask", Layer::Tooling, &[], &[]),
];

const fn arrows(
    name: &'static str,
    layer: Layer,
    uses: &'static [&'static str],
    tests_use: &'static [&'static str],
) -> Arrows {
    Arrows {
        name,
        layer,
        uses,
        tests_use,
    }
}

/// All that a core may take from outside. An addition is a deliberate act: the crate must do no
/// input or output and read no clock, environment or random source in what we call of it.
const OUTSIDE_FOR_CORES: &[&str] = &[
    "aho-corasick",
    "base64",
    "granit-parser",
    "jiff",
    "memchr",
    "regex",
    "serde",
    "serde_json",
    "strsim",
    "thiserror",
];

/// Crates from outside that one crate of ours alone may use.
const WRAPPED: &[(&str, &[&str])] = &[
    ("axum", &["server"]),
    ("kube", &["kubernetes"]),
    ("reqwest", &["runners", "forges"]),
    ("rusqlite", &["store"]),
];

/// What a boundary may not take: anything with a wire or a disk behind it.
const NOT_FOR_THE_BOUNDARY: &[&str] = &["reqwest", "rusqlite", "rustix", "tempfile", "tokio"];

/// Every fault of the manifests, as sentences.
pub(crate) fn faults(members: &[Member]) -> Vec<String> {
    members
        .iter()
        .flat_map(|member| {
            [
                unknown_crate(member),
                forbidden_arrows(member),
                testkit_outside_tests(member),
                outside_crates_in_cores(member),
                outside_crates_in_the_boundary(member),
                outside_crates_elsewhere(member),
                another_licence(member),
            ]
            .concat()
        })
        .collect()
}

/// A crate needs a line in the table.
fn unknown_crate(member: &Member) -> Vec<String> {
    match arrows_of(member) {
        Some(_) => Vec::new(),
        None => vec![format!(
            "`{}` has no line in the table of crates: add it to `ARROWS` in xtask/src/layering.rs \
             with an ADR",
            member.name
        )],
    }
}

/// A crate may know only what its line allows.
fn forbidden_arrows(member: &Member) -> Vec<String> {
    let Some(allowed) = arrows_of(member) else {
        return Vec::new();
    };
    member
        .dependencies
        .iter()
        .filter_map(|dependency| Some((ours(&dependency.name)?, dependency.kind)))
        .filter(|(name, _)| *name != "testkit")
        .filter(|(name, kind)| {
            let in_tests = *kind == DependencyKind::Dev && allowed.tests_use.contains(name);
            !allowed.uses.contains(name) && !in_tests
        })
        .map(|(name, _)| format!("`{}` may not use `{name}`", member.name))
        .collect()
}

/// The testkit is for tests.
fn testkit_outside_tests(member: &Member) -> Vec<String> {
    member
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Dev)
        .filter(|dependency| ours(&dependency.name) == Some("testkit"))
        .map(|_| format!("`{}` uses the testkit outside its tests", member.name))
        .collect()
}

/// A core takes from outside only what is listed.
fn outside_crates_in_cores(member: &Member) -> Vec<String> {
    if layer_of(member) != Some(Layer::Core) {
        return Vec::new();
    }
    outside(member)
        .filter(|name| !OUTSIDE_FOR_CORES.contains(name))
        .map(|name| format!("the core `{}` may not use `{name}`", member.name))
        .collect()
}

/// The boundary has no wire and no disk.
fn outside_crates_in_the_boundary(member: &Member) -> Vec<String> {
    if layer_of(member) != Some(Layer::Boundary) {
        return Vec::new();
    }
    outside(member)
        .filter(|name| NOT_FOR_THE_BOUNDARY.contains(name))
        .map(|name| format!("the boundary `{}` may not use `{name}`", member.name))
        .collect()
}

/// A heavy or telling crate stays behind the one that wraps it.
fn outside_crates_elsewhere(member: &Member) -> Vec<String> {
    let own = short(&member.name);
    outside(member)
        .filter_map(|name| WRAPPED.iter().find(|(wrapped, _)| *wrapped == name))
        .filter(|(_, by)| !by.contains(&own))
        .map(|(name, by)| {
            format!(
                "`{}` uses `{name}`, which only {} may",
                member.name,
                by.join(" and ")
            )
        })
        .collect()
}

/// One licence for all.
fn another_licence(member: &Member) -> Vec<String> {
    match member.license.as_deref() {
        Some("Apache-2.0") => Vec::new(),
        _ => vec![format!(
            "`{}` does not take the workspace's licence",
            member.name
        )],
    }
}

fn outside(member: &Member) -> impl Iterator<Item = &str> {
    member
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Dev)
        .map(|dependency| dependency.name.as_str())
        .filter(|name| ours(name).is_none())
}

fn arrows_of(member: &Member) -> Option<&'static Arrows> {
    ARROWS.iter().find(|line| line.name == short(&member.name))
}

fn layer_of(member: &Member) -> Option<Layer> {
    arrows_of(member).map(|line| line.layer)
}

fn short(name: &str) -> &str {
    name.strip_prefix("groundplan-").unwrap_or(name)
}

fn ours(name: &str) -> Option<&str> {
    name.strip_prefix("groundplan-")
        .or_else(|| (name == "xtask").then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn member(name: &str, uses: &[(&str, DependencyKind)]) -> Member {
        Member {
            name: name.to_owned(),
            license: Some("Apache-2.0".to_owned()),
            dependencies: uses
                .iter()
                .map(|(name, kind)| Dependency {
                    name: (*name).to_owned(),
                    kind: *kind,
                })
                .collect(),
            benches: Vec::new(),
        }
    }

    fn check(name: &str, uses: &[(&str, DependencyKind)], expected: &[&str]) {
        assert_eq!(faults(&[member(name, uses)]), expected);
    }

    use DependencyKind::{Build, Dev, Normal};

    #[test]
    fn allowed_arrows_pass() {
        check(
            "groundplan-runners",
            &[
                ("groundplan-ports", Normal),
                ("groundplan-testkit", Dev),
                ("reqwest", Normal),
            ],
            &[],
        );
        check("groundplan-controller", &[("groundplan-store", Dev)], &[]);
    }

    #[test]
    fn an_edge_may_not_know_another() {
        let faults = ["`groundplan-runners` may not use `store`"];
        check(
            "groundplan-runners",
            &[("groundplan-store", Normal)],
            &faults,
        );
        check("groundplan-runners", &[("groundplan-store", Dev)], &faults);
    }

    #[test]
    fn the_two_machines_may_not_know_each_other() {
        check(
            "groundplan-engine",
            &[("groundplan-delivery", Normal)],
            &["`groundplan-engine` may not use `delivery`"],
        );
        check(
            "groundplan-delivery",
            &[("groundplan-engine", Build)],
            &["`groundplan-delivery` may not use `engine`"],
        );
    }

    #[test]
    fn what_tests_may_use_the_crate_may_not() {
        check(
            "groundplan-controller",
            &[("groundplan-store", Normal)],
            &["`groundplan-controller` may not use `store`"],
        );
    }

    #[test]
    fn the_testkit_is_for_tests() {
        check(
            "groundplan-controller",
            &[("groundplan-testkit", Normal)],
            &["`groundplan-controller` uses the testkit outside its tests"],
        );
    }

    #[test]
    fn a_core_takes_nothing_unlisted_from_outside() {
        check(
            "groundplan-workflow",
            &[("tokio", Normal), ("serde", Normal), ("proptest", Dev)],
            &["the core `groundplan-workflow` may not use `tokio`"],
        );
    }

    #[test]
    fn the_boundary_has_no_wire_and_no_disk() {
        check(
            "groundplan-ports",
            &[("rustix", Normal)],
            &["the boundary `groundplan-ports` may not use `rustix`"],
        );
    }

    #[test]
    fn sql_stays_in_the_store() {
        check("groundplan-store", &[("rusqlite", Normal)], &[]);
        check(
            "groundplan-cli",
            &[("rusqlite", Normal)],
            &["`groundplan-cli` uses `rusqlite`, which only store may"],
        );
    }

    #[test]
    fn a_crate_needs_a_line_in_the_table() {
        let faults = faults(&[member("groundplan-extras", &[])]);
        assert!(
            faults[0].starts_with("`groundplan-extras` has no line"),
            "{faults:?}"
        );
    }

    #[test]
    fn another_licence_is_a_fault() {
        let mut other = member("groundplan-store", &[]);
        other.license = None;
        let expected = ["`groundplan-store` does not take the workspace's licence"];
        assert_eq!(faults(&[other]), expected);
    }

    #[test]
    fn the_arrows_have_no_cycle_and_point_inwards() {
        // A line may use only lines above it, so there is an order and no cycle.
        for (at, line) in ARROWS.iter().enumerate() {
            for used in line.uses {
                let place = ARROWS.iter().position(|other| other.name == *used);
                assert!(
                    place.is_some_and(|place| place < at),
                    "{} uses {used}",
                    line.name
                );
            }
        }
    }

    #[test]
    fn no_edge_is_allowed_another_edge() {
        let layer = |name: &str| {
            ARROWS
                .iter()
                .find(|line| line.name == name)
                .map(|line| line.layer)
        };
        for line in ARROWS.iter().filter(|line| line.layer == Layer::Edge) {
            for used in line.uses.iter().chain(line.tests_use) {
                assert_ne!(layer(used), Some(Layer::Edge), "{} uses {used}", line.name);
            }
        }
    }
}
