//! The live tree of a running run: repainted in place, a few times a second.

use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use groundplan_controller::{TurnView, Watcher};
use groundplan_engine::{evolve::evolve, id::NodeId, run::Run, time::Timestamp};

use super::{
    size,
    style::{Paint, Style, wrapped},
    tree::{Around, draw},
};

/// Time between two paintings.
const TICK: Duration = Duration::from_millis(120);

#[derive(Default)]
struct Model {
    run: Run,
    around: Around,
    /// Lines below the tree: what a person is to know now.
    notices: Vec<String>,
    painted: usize,
}

/// The live tree. Dropping it leaves the last painting on the screen.
pub(crate) struct Live {
    model: Arc<Mutex<Model>>,
    over: Arc<AtomicBool>,
    painter: Option<JoinHandle<()>>,
}

/// A handle for whoever has something to show in the tree.
#[derive(Clone)]
pub(crate) struct LiveHandle {
    model: Arc<Mutex<Model>>,
}

impl Live {
    /// Begins to paint. `now` tells the time.
    pub(crate) fn begin(now: impl Fn() -> Timestamp + Send + 'static) -> Self {
        let model = Arc::new(Mutex::new(Model::default()));
        let over = Arc::new(AtomicBool::new(false));
        let painter = std::thread::spawn({
            let (model, over) = (model.clone(), over.clone());
            move || {
                while !over.load(Ordering::Relaxed) {
                    paint(&model, now());
                    std::thread::park_timeout(TICK);
                }
                paint(&model, now());
            }
        });
        Live {
            model,
            over,
            painter: Some(painter),
        }
    }

    /// A handle to show things with.
    pub(crate) fn handle(&self) -> LiveHandle {
        LiveHandle {
            model: self.model.clone(),
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(painter) = self.painter.take() {
            painter.thread().unpark();
            // A painter that panicked has nothing more to paint.
            let _ = painter.join();
        }
    }
}

impl LiveHandle {
    /// Shows the last line that a leaf printed.
    pub(crate) fn last_line(&self, node: &NodeId, line: String) {
        locked(&self.model)
            .around
            .last_lines
            .insert(node.clone(), line);
    }

    /// Shows a line below the tree.
    pub(crate) fn notice(&self, text: String) {
        locked(&self.model).notices.push(text);
    }
}

impl Watcher for Live {
    /// Keeps a copy of the run by the same events, so that a turn costs what happened in it.
    fn turn(&mut self, view: &TurnView<'_>) {
        let mut model = locked(&self.model);
        if model.run.is_created() {
            for event in view.events {
                evolve(&mut model.run, event);
            }
        } else {
            model.run = view.run.clone();
        }
        model.around.waiting_for_slot = view.waiting_for_slot().take(MOST_SHOWN).cloned().collect();
    }
}

/// Leaves that are shown to wait for a slot; more do not fit on a screen.
const MOST_SHOWN: usize = 200;

fn locked(model: &Mutex<Model>) -> MutexGuard<'_, Model> {
    model.lock().unwrap_or_else(PoisonError::into_inner)
}

fn paint(model: &Mutex<Model>, now: Timestamp) {
    let mut model = locked(model);
    model.around.now = now;
    let colours = Paint::for_stream(&io::stdout());
    let (columns, rows) = size();
    let mut lines = draw(
        &model.run,
        &model.around,
        colours,
        columns.saturating_sub(1),
    );
    let notices: Vec<String> = model
        .notices
        .iter()
        .flat_map(|notice| wrapped(notice, columns.saturating_sub(1)))
        .collect();
    let room = rows.saturating_sub(2 + notices.len()).max(1);
    if lines.len() > room && !model.run.phase().is_finished() {
        let hidden = lines.len() - room + 1;
        lines.drain(..hidden);
        lines.insert(
            0,
            colours.with(Style::Faint, format!("… {hidden} lines above")),
        );
    }
    lines.extend(
        notices
            .iter()
            .map(|notice| colours.with(Style::Warn, notice)),
    );
    let mut text = String::new();
    if model.painted > 0 {
        text.push_str(&format!("\x1b[{}A", model.painted));
    }
    // A line that is wider than the window after all must not push the others down.
    text.push_str("\r\x1b[J\x1b[?7l");
    for line in &lines {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("\x1b[?7h");
    model.painted = lines.len();
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
