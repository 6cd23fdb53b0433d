//! The story: a pull request, its apply, a colleague, and a broken backend.

use groundplan_forges::git::BranchStart;

use super::{
    change, narration,
    scene::{Ended, ROOTS, Scene, variables_of},
};
use crate::{exit::Exit, failure::Failure, terminal::style::Style};

/// Something that must be as it is told.
pub(super) struct Expectation {
    /// What, as a phrase.
    pub(super) what: &'static str,
    /// Whether it was.
    pub(super) met: bool,
}

/// What a drift run says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drift {
    InSync,
    Drifted,
    Unknown,
}

/// Tells the whole story and answers what was expected of it.
pub(super) fn tell(scene: &Scene) -> Result<Vec<Expectation>, Failure> {
    narration::fact("folder", &scene.directory.display().to_string());
    if scene.sandbox {
        narration::fact("sandbox", "bubblewrap, one for each step");
    } else {
        narration::warn(
            "NO SANDBOX here: the demo's own steps run as ordinary processes of yours (see `groundplan doctor`)",
        );
    }
    before(scene)?;
    let reviewed = pull_request(scene)?;
    let in_sync = apply(scene, &reviewed)?;
    let drifted = colleague(scene)?;
    let unknown = broken_backend(scene)?;
    Ok(vec![in_sync, drifted, unknown])
}

/// A repository, and what it describes deployed.
fn before(scene: &Scene) -> Result<(), Failure> {
    narration::heading("1  An infrastructure repository, deployed");
    narration::say(
        "Three root modules on main. Each is applied once, so that there is something to change:",
    );
    scene.commit("Describe the shop")?;
    let checkout = scene.check_out("main", "first-apply")?;
    let applied = std::thread::scope(|scope| {
        let running = ROOTS.map(|root| {
            let checkout = &checkout;
            scope.spawn(move || scene.apply_by_hand(checkout, root, &[]))
        });
        running.map(|running| running.join().expect("an apply by hand does not panic"))
    });
    for (root, lines) in ROOTS.into_iter().zip(applied) {
        narration::quote(&format!("{root:<19} {}", completed(&lines?)));
    }
    Ok(())
}

/// The tool's own closing line.
fn completed(lines: &[String]) -> &str {
    lines
        .iter()
        .find(|line| line.starts_with("Apply complete"))
        .or(lines.last())
        .map_or("", String::as_str)
}

/// A change on a branch is validated and planned.
fn pull_request(scene: &Scene) -> Result<Ended, Failure> {
    narration::heading("2  A pull request");
    narration::say("A branch changes all three:");
    let switch = scene.repository.switch("change", BranchStart::New);
    scene.runtime.block_on(switch)?;
    change::make(&scene.directory.join("infrastructure"))?;
    let commit = scene.commit(change::MESSAGE)?;
    change::tell();
    narration::say("The document for pull requests checks and plans every root at that commit:");
    let ended = scene.run(
        "pull-request",
        &[("repository", scene.repository_path()), ("commit", commit)],
    )?;
    succeeded(scene, &ended, "the pull-request run")?;
    narration::say("");
    narration::say("What a reviewer reads, from the plans themselves:");
    for node in ended.run.nodes() {
        if let Some(summary) = node
            .outputs
            .parameter("summary")
            .filter(|_| node.call == "plan")
        {
            narration::quote("");
            summary.trim_end().lines().for_each(narration::quote);
        }
    }
    Ok(ended)
}

/// The reviewed plans are applied, the branch is merged, and reality is compared.
fn apply(scene: &Scene, reviewed: &Ended) -> Result<Expectation, Failure> {
    narration::heading("3  Applied as reviewed");
    narration::say("Exactly those plans, nothing is planned again:");
    let run = reviewed.run.name().to_owned();
    let ended = scene.run("apply", &[("reviewed-run", run)])?;
    succeeded(scene, &ended, "the apply run")?;
    let main = scene.repository.switch("main", BranchStart::Existing);
    scene.runtime.block_on(main)?;
    change::make(&scene.directory.join("infrastructure"))?;
    scene.commit(change::MESSAGE)?;
    narration::say("");
    narration::say("The branch is merged. Is what is deployed what main says?");
    let (ended, said) = compare(scene)?;
    let met = said == Some(Drift::InSync);
    conclude(
        scene,
        &ended,
        said,
        "every root was planned, and there is nothing to do",
    )?;
    Ok(Expectation {
        what: "drift after the apply says in sync",
        met,
    })
}

/// A colleague applies by hand with another variable.
fn colleague(scene: &Scene) -> Result<Expectation, Failure> {
    narration::heading("4  A colleague applies by hand");
    narration::say("In a checkout of the same main, with another variable; nobody is told:");
    let checkout = scene.check_out("main", "colleague")?;
    narration::command(&format!(
        "cd colleague/{0} && tofu apply -auto-approve -var-file={1} -var audit_retention_days=7",
        ROOTS[0],
        variables_of(ROOTS[0])
    ));
    let lines = scene.apply_by_hand(&checkout, ROOTS[0], &["-var", "audit_retention_days=7"])?;
    narration::quote(completed(&lines));
    let (ended, said) = compare(scene)?;
    let report = scene.log(&ended, "report")?;
    narration::say("");
    report.iter().for_each(|line| narration::quote(line));
    let named = report
        .iter()
        .any(|line| line.contains("terraform_data.audit_log") && line.contains("input"));
    let met = said == Some(Drift::Drifted) && named;
    conclude(
        scene,
        &ended,
        said,
        "applying main would undo what the colleague did; the resource and its attribute are named",
    )?;
    Ok(Expectation {
        what: "drift after the colleague's apply says drifted, and what",
        met,
    })
}

/// The backend breaks.
fn broken_backend(scene: &Scene) -> Result<Expectation, Failure> {
    narration::heading("5  The backend breaks");
    narration::say("The state of one root is cut off half-way, as by a full disk:");
    let state = scene.state(ROOTS[2]);
    let shown = state.strip_prefix(&scene.directory).unwrap_or(&state);
    narration::command(&format!("truncate -s 100 {}", shown.display()));
    let broken = |error: std::io::Error| {
        Failure::user(format!("cannot write `{}`", state.display())).because(error)
    };
    let whole = std::fs::read(&state).map_err(broken)?;
    let half = whole.get(..100).unwrap_or_default();
    std::fs::write(&state, half).map_err(broken)?;
    let (ended, said) = compare(scene)?;
    scene.show_failures(&ended)?;
    std::fs::write(&state, whole).map_err(broken)?;
    conclude(
        scene,
        &ended,
        said,
        "nothing is known of that root, which is not in sync; the run fails, so that somebody looks",
    )?;
    narration::say("The state is whole again.");
    Ok(Expectation {
        what: "drift with a broken backend says unknown",
        met: said == Some(Drift::Unknown),
    })
}

/// Runs the drift document and answers what it says.
fn compare(scene: &Scene) -> Result<(Ended, Option<Drift>), Failure> {
    let ended = scene.run("drift", &[("repository", scene.repository_path())])?;
    let report = ended.run.nodes().find(|node| node.call == "report");
    let said =
        report.and_then(
            |node| match (node.outputs.parameter("result"), node.outputs.exit_code) {
                (Some("in sync"), _) => Some(Drift::InSync),
                (Some("drifted"), _) => Some(Drift::Drifted),
                (Some("unknown"), _) | (None, Some(3)) => Some(Drift::Unknown),
                _ => None,
            },
        );
    // A run that failed has not said that all is well, whatever else it said.
    let said = match (said, ended.exit) {
        (Some(Drift::Unknown), _) | (_, Exit::Done) => said,
        _ => None,
    };
    Ok((ended, said))
}

fn conclude(
    scene: &Scene,
    ended: &Ended,
    said: Option<Drift>,
    meaning: &str,
) -> Result<(), Failure> {
    match said {
        Some(Drift::InSync) => narration::verdict(Style::Good, "in sync", meaning),
        Some(Drift::Drifted) => narration::verdict(Style::Warn, "drifted", meaning),
        Some(Drift::Unknown) => narration::verdict(Style::Bad, "unknown", meaning),
        None => {
            scene.show_failures(ended)?;
            narration::warn("the drift run said nothing");
        }
    }
    Ok(())
}

/// A run without which the story does not go on.
fn succeeded(scene: &Scene, ended: &Ended, what: &str) -> Result<(), Failure> {
    if ended.exit == Exit::Done {
        return Ok(());
    }
    scene.show_failures(ended)?;
    Err(
        Failure::user(format!("{what} failed, and should not")).with_hint(format!(
            "what there is stays in `{}`",
            scene.directory.display()
        )),
    )
}

/// What the person can do now.
pub(super) fn go_on(scene: &Scene, can_be_cleaned: bool) {
    narration::heading("Go on by hand");
    let directory = narration::quoted(&scene.directory.display().to_string());
    narration::command(&format!("cd {directory}"));
    narration::command("export GROUNDPLAN_DATA_DIR=\"$PWD/data\"");
    if let Some(folder) = scene.folder_for_path() {
        let folder = narration::quoted(&folder.display().to_string());
        narration::command(&format!("export PATH={folder}:\"$PATH\""));
    }
    narration::command("groundplan runs");
    narration::command("groundplan runs show apply");
    narration::command("groundplan logs pull-request plan");
    let repository = scene.repository_path();
    narration::command(&scene.command_line("drift", &[("repository", repository)]));
    narration::command("groundplan lint workflows");
    if can_be_cleaned {
        narration::command("groundplan demo --clean");
    }
}
