//! Driving a run before a person's eyes, and obeying their signals.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use groundplan_controller::{Control, Controller, Ending};
use groundplan_engine::{id::RunId, node::RunPhase};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    sync::mpsc::{UnboundedSender, unbounded_channel},
};

pub(crate) use super::conclude::{failures, last_lines};
use super::{conclude::conclude, orphans, show::Shown};
use crate::{
    compose::Composition,
    exit::Exit,
    failure::Failure,
    terminal::{self, LiveHandle, style::duration},
};

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A tree, repainted.
    Live,
    /// Lines.
    Plain,
    /// A line for each step that ended.
    Brief,
    /// JSON lines.
    Json,
}

/// Drives a run to its end and says how it went.
pub(crate) fn drive(
    runtime: &Runtime,
    composition: &Composition,
    run: &RunId,
    look: Look,
) -> Result<Exit, Failure> {
    let exit = watch(runtime, composition, run, look)?;
    if exit == Exit::Detached {
        let history = runtime.block_on(composition.controller.history(&run.0))?;
        let passed = history.settings.passed_variables.iter();
        let passed: String = passed.map(|name| format!(" --pass-env {name}")).collect();
        terminal::note(format!(
            "run {} goes on without this process",
            history.row.name
        ));
        terminal::note(format!(
            "go on with it: groundplan run --resume {run}{passed}"
        ));
    } else if look != Look::Json {
        let history = runtime.block_on(composition.controller.history(&run.0))?;
        runtime.block_on(conclude(composition, run, &history.run))?;
    }
    Ok(exit)
}

/// Drives a run to its end before a person's eyes.
pub(crate) fn watch(
    runtime: &Runtime,
    composition: &Composition,
    run: &RunId,
    look: Look,
) -> Result<Exit, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let ending = runtime.block_on(async {
        let mut shown = Shown::begin(composition, look);
        let (controls, control) = unbounded_channel();
        let signals = tokio::spawn(obey_signals(
            controls,
            stopped.clone(),
            shown.handle(),
            run.clone(),
            composition.controller.clone(),
        ));
        let orphans = tokio::spawn(orphans::watch(
            composition.controller.clone(),
            run.clone(),
            shown.waiting(),
            shown.handle(),
        ));
        let ending = composition.controller.drive(run, control, &mut shown).await;
        signals.abort();
        orphans.abort();
        shown.end(matches!(ending, Ok(Ending::Finished))).await;
        ending
    });
    let ending = ending.map_err(|error| {
        let is_left_alone = !matches!(error, groundplan_controller::Error::Driven { .. });
        let failure = Failure::from(error);
        match is_left_alone {
            true => failure.and_hint(format!("then go on: groundplan run --resume {run}")),
            false => failure,
        }
    })?;
    if ending == Ending::Detached {
        return Ok(Exit::Detached);
    }
    let history = runtime.block_on(composition.controller.history(&run.0))?;
    Ok(
        match (history.run.phase(), stopped.load(Ordering::Relaxed)) {
            (RunPhase::Succeeded, _) => Exit::Done,
            (_, true) => Exit::Interrupted,
            (RunPhase::Pending | RunPhase::Running | RunPhase::Failed | RunPhase::Error, false) => {
                Exit::Failed
            }
        },
    )
}

/// Tells a person something beside what happens: below the tree where there is one.
pub(super) fn say(handle: Option<&LiveHandle>, text: String) {
    match handle {
        Some(handle) => handle.notice(text),
        None => terminal::note(text),
    }
}

async fn obey_signals(
    controls: UnboundedSender<Control>,
    stopped: Arc<AtomicBool>,
    handle: Option<LiveHandle>,
    run: RunId,
    controller: Controller,
) {
    let kinds = (
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    );
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)) =
        (signal(kinds.0), signal(kinds.1), signal(kinds.2))
    else {
        return;
    };
    let say = |text: String| say(handle.as_ref(), text);
    loop {
        let control = tokio::select! {
            _ = interrupt.recv() => {
                if stopped.swap(true, Ordering::Relaxed) {
                    say("killed; a state lock may remain: the next `tofu plan` names its ID and who holds it, and `tofu force-unlock ID` takes it away".to_owned());
                    Control::Kill
                } else {
                    let grace = grace(&controller, &run).await;
                    say(format!("stopping gracefully{grace}; Ctrl-C again kills (run {run})"));
                    Control::Stop
                }
            }
            _ = terminate.recv() => Control::Detach,
            _ = hangup.recv() => Control::Detach,
        };
        if controls.send(control).is_err() {
            return;
        }
    }
}

/// How long the steps of a run may take to stop, in words; empty where that cannot be read.
async fn grace(controller: &Controller, run: &RunId) -> String {
    let history = controller.history(&run.0).await;
    let millis = history.map(|history| i64::try_from(history.settings.grace_millis));
    match millis {
        Ok(Ok(millis)) => format!(", for at most {}", duration(millis)),
        Ok(Err(_)) | Err(_) => String::new(),
    }
}
