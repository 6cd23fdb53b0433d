//! `groundplan demo`: a change's life on a real repository, with the real tools.

mod change;
mod examples;
mod narration;
mod place;
mod scene;
mod story;
mod tools;

use std::time::Instant;

use groundplan_runners::tools::Tool;

use crate::{
    arguments::{Demo, Global},
    config::Machine,
    exit::Exit,
    failure::Failure,
    terminal,
};

use scene::Scene;
use story::Expectation;
use tools::Kit;

/// Shows how it all works, or removes what that left.
pub(crate) fn demo(global: &Global, arguments: &Demo) -> Result<Exit, Failure> {
    let machine = Machine::read(global)?;
    if arguments.clean {
        return place::clean(&machine);
    }
    narration::say("A change of infrastructure, from pull request to production and after:");
    narration::say("a real repository, real tools, and nothing but this machine.");
    terminal::line("");
    let kit = Kit::gather(&machine)?;
    kit.tell();
    let without: Vec<String> = [Tool::Tofu, Tool::Git]
        .into_iter()
        .filter(|tool| kit.get(*tool).is_none())
        .map(|tool| tool.name().to_owned())
        .collect();
    if !without.is_empty() {
        let names = without.join(" and ");
        terminal::line(format!("not run: every step, as {names} could not be had"));
        return Ok(Exit::Failed);
    }
    let directory = place::choose(&machine, arguments.keep.as_deref())?;
    let start = Instant::now();
    let scene = Scene::set(&machine, directory, kit)?;
    let met = story::tell(&scene)?;
    Ok(close(&scene, &met, start, arguments))
}

/// The last lines: what was not as it should be, or was not run.
fn close(scene: &Scene, met: &[Expectation], start: Instant, arguments: &Demo) -> Exit {
    story::go_on(scene, arguments.keep.is_none());
    let seconds = start.elapsed().as_secs();
    let wrong: Vec<&str> = met
        .iter()
        .filter(|expectation| !expectation.met)
        .map(|expectation| expectation.what)
        .collect();
    let not_run: Vec<String> = scene
        .kit
        .tasks_not_run()
        .iter()
        .map(|(task, tool)| format!("{task} ({tool} could not be had)"))
        .collect();
    terminal::line("");
    if !wrong.is_empty() {
        narration::warn(&format!("not as it should be: {}", wrong.join("; ")));
    }
    if !not_run.is_empty() {
        narration::warn(&format!("not run: {}", not_run.join(", ")));
    }
    if wrong.is_empty() && not_run.is_empty() {
        narration::say(&format!(
            "Everything above ran, and ended as it should, in {seconds} s."
        ));
        Exit::Done
    } else {
        Exit::Failed
    }
}
