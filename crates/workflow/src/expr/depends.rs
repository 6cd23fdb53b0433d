//! `depends`: logic over the results of other tasks.
//!
//! `a && (b.Failed || c)`: an operand is a task's name, with or without one of its results. A bare
//! name means "went well": succeeded, skipped or daemoned, and what the task's `continueOn`
//! forgives. Names may hold hyphens and need no quotes.

mod order;
mod parse;

pub use order::{ancestors, sort};

use std::collections::BTreeSet;
use std::fmt;

/// What a task came to, as `depends` may ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskResult {
    /// Phase Succeeded.
    Succeeded,
    /// Phase Failed.
    Failed,
    /// Phase Error.
    Errored,
    /// Phase Skipped: its `when` was false, or its fan-out was empty.
    Skipped,
    /// Phase Omitted: its own `depends` was false.
    Omitted,
    /// It is a daemon and was started.
    Daemoned,
    /// At least one child of the fan-out succeeded.
    AnySucceeded,
    /// The fan-out has children and every one failed.
    AllFailed,
}

impl TaskResult {
    /// All of them, in the order Argo names them.
    pub const ALL: [TaskResult; 8] = [
        TaskResult::Succeeded,
        TaskResult::Failed,
        TaskResult::Errored,
        TaskResult::Skipped,
        TaskResult::Omitted,
        TaskResult::Daemoned,
        TaskResult::AnySucceeded,
        TaskResult::AllFailed,
    ];

    /// The word in a document.
    pub fn as_str(self) -> &'static str {
        match self {
            TaskResult::Succeeded => "Succeeded",
            TaskResult::Failed => "Failed",
            TaskResult::Errored => "Errored",
            TaskResult::Skipped => "Skipped",
            TaskResult::Omitted => "Omitted",
            TaskResult::Daemoned => "Daemoned",
            TaskResult::AnySucceeded => "AnySucceeded",
            TaskResult::AllFailed => "AllFailed",
        }
    }

    /// Whether only a fan-out can have it.
    pub fn needs_fan_out(self) -> bool {
        matches!(self, TaskResult::AnySucceeded | TaskResult::AllFailed)
    }
}

impl fmt::Display for TaskResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One operand, where it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The task's name.
    pub name: String,
    /// The result asked for; `None` for a bare name.
    pub result: Option<TaskResult>,
    /// Byte offset in the text.
    pub offset: usize,
    /// Length in bytes.
    pub length: usize,
}

/// What is wrong with a `depends`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct DependsError {
    /// What.
    pub kind: DependsErrorKind,
    /// Byte offset in the text.
    pub offset: usize,
}

/// The kinds of [`DependsError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DependsErrorKind {
    /// A result that does not exist.
    #[error("task result `{result}` for task `{task}` is invalid")]
    UnknownResult {
        /// The task.
        task: String,
        /// What was written after the dot.
        result: String,
        /// The result it is nearest to.
        nearest: Option<TaskResult>,
    },
    /// Something that does not belong there.
    #[error("unexpected `{0}` in `depends`")]
    Unexpected(String),
    /// The text ends too early.
    #[error("`depends` ends where a task name is expected")]
    UnexpectedEnd,
    /// A parenthesis without its partner.
    #[error("a parenthesis in `depends` is never closed")]
    Unclosed,
    /// More parentheses and negations than are followed.
    #[error("`depends` is nested too deeply")]
    TooDeep,
}

/// Parsed logic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Depends {
    text: String,
    tree: Tree,
    operands: Vec<Operand>,
}

/// The shape of the logic; `Operand` is an index into the operands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tree {
    Operand(usize),
    Literal(bool),
    Not(Box<Tree>),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Equal(Box<Tree>, Box<Tree>),
    Choose(Box<Tree>, Box<Tree>, Box<Tree>),
}

/// What a task's `continueOn` forgives; it widens its bare name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgiven {
    /// Phase Error.
    pub error: bool,
    /// Phase Failed.
    pub failed: bool,
}

/// Phase of a task's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Created, not started.
    Pending,
    /// Started.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended with a failure.
    Failed,
    /// Could not be done.
    Error,
    /// `when` was false or the fan-out empty.
    Skipped,
    /// `depends` was false.
    Omitted,
}

/// What `depends` needs to know of one task's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// Its phase.
    pub phase: Phase,
    /// Whether it is a daemon.
    pub daemoned: bool,
    /// Phases of its children where it is a fan-out's group node.
    pub children: Option<Vec<Phase>>,
    /// Whether all its hooks have ended.
    pub hooks_fulfilled: bool,
}

impl TaskState {
    /// A plain task without hooks.
    pub fn of(phase: Phase) -> Self {
        TaskState {
            phase,
            daemoned: false,
            children: None,
            hooks_fulfilled: true,
        }
    }

    /// Whether the task is done as far as its dependents are concerned.
    pub fn is_fulfilled(&self) -> bool {
        let ended = match self.phase {
            Phase::Succeeded | Phase::Failed | Phase::Error | Phase::Skipped | Phase::Omitted => {
                true
            }
            Phase::Pending | Phase::Running => false,
        };
        (ended || self.is_daemon_up()) && self.hooks_fulfilled
    }

    fn is_daemon_up(&self) -> bool {
        self.daemoned && self.phase != Phase::Pending
    }

    /// Whether the task came to `result`.
    pub fn came_to(&self, result: TaskResult) -> bool {
        match result {
            TaskResult::Succeeded => self.phase == Phase::Succeeded,
            TaskResult::Failed => self.phase == Phase::Failed,
            TaskResult::Errored => self.phase == Phase::Error,
            TaskResult::Skipped => self.phase == Phase::Skipped,
            TaskResult::Omitted => self.phase == Phase::Omitted,
            TaskResult::Daemoned => self.is_daemon_up(),
            TaskResult::AnySucceeded => self
                .children
                .iter()
                .flatten()
                .any(|phase| *phase == Phase::Succeeded),
            TaskResult::AllFailed => self.children.as_ref().is_some_and(|children| {
                !children.is_empty() && children.iter().all(|phase| *phase == Phase::Failed)
            }),
        }
    }
}

/// What follows for a task from its dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A dependency is not done yet.
    Wait,
    /// The logic holds.
    Run,
    /// The logic does not hold: the task is omitted.
    Omit,
}

impl Depends {
    /// Parses the text of `depends`. Blank text has no operands and always holds.
    pub fn parse(text: &str) -> Result<Depends, DependsError> {
        parse::parse(text)
    }

    /// The logic of a `dependencies` list: every one went well.
    pub fn all_of<S: AsRef<str>>(names: &[S]) -> Depends {
        let mut text = String::new();
        let mut operands = Vec::with_capacity(names.len());
        for name in names.iter().map(AsRef::as_ref) {
            if !operands.is_empty() {
                text.push_str(" && ");
            }
            operands.push(Operand {
                name: name.to_owned(),
                result: None,
                offset: text.len(),
                length: name.len(),
            });
            text.push_str(name);
        }
        let tree = Tree::All((0..operands.len()).map(Tree::Operand).collect());
        Depends {
            text,
            tree,
            operands,
        }
    }

    /// The text as written; for a list, its names joined by `&&`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The operands in the order written.
    pub fn operands(&self) -> &[Operand] {
        &self.operands
    }

    /// Names of the tasks depended on.
    pub fn names(&self) -> BTreeSet<&str> {
        self.operands
            .iter()
            .map(|operand| operand.name.as_str())
            .collect()
    }

    /// Names of tasks that must be fan-outs, because a result that only a fan-out has is asked for.
    pub fn fan_out_names(&self) -> BTreeSet<&str> {
        let needs = |operand: &&Operand| operand.result.is_some_and(TaskResult::needs_fan_out);
        self.operands
            .iter()
            .filter(needs)
            .map(|operand| operand.name.as_str())
            .collect()
    }

    /// The text with every bare name written out; `forgiven` tells a task's `continueOn`.
    pub fn expand(&self, forgiven: impl Fn(&str) -> Forgiven) -> String {
        let mut text = String::with_capacity(self.text.len() * 2);
        let mut done = 0;
        for operand in &self.operands {
            if operand.result.is_some() {
                continue;
            }
            text.push_str(&self.text[done..operand.offset]);
            done = operand.offset + operand.length;
            let name = &operand.name;
            text.push_str(&format!(
                "({name}.Succeeded || {name}.Skipped || {name}.Daemoned"
            ));
            let forgiven = forgiven(name);
            if forgiven.error {
                text.push_str(&format!(" || {name}.Errored"));
            }
            if forgiven.failed {
                text.push_str(&format!(" || {name}.Failed"));
            }
            text.push(')');
        }
        text.push_str(&self.text[done..]);
        text
    }

    /// What follows: waits until every named task is done (there is no short cut: `a || b` waits
    /// for both), then evaluates. `state` answers `None` for a task without a node.
    pub fn decide<'s>(
        &self,
        forgiven: impl Fn(&str) -> Forgiven,
        state: impl Fn(&str) -> Option<&'s TaskState>,
    ) -> Verdict {
        let mut holds = Vec::with_capacity(self.operands.len());
        for operand in &self.operands {
            let Some(task) = state(&operand.name).filter(|task| task.is_fulfilled()) else {
                return Verdict::Wait;
            };
            holds.push(match operand.result {
                Some(result) => task.came_to(result),
                None => went_well(task, forgiven(&operand.name)),
            });
        }
        if self.tree.evaluate(&holds) {
            Verdict::Run
        } else {
            Verdict::Omit
        }
    }
}

fn went_well(task: &TaskState, forgiven: Forgiven) -> bool {
    [
        TaskResult::Succeeded,
        TaskResult::Skipped,
        TaskResult::Daemoned,
    ]
    .into_iter()
    .any(|result| task.came_to(result))
        || (forgiven.error && task.came_to(TaskResult::Errored))
        || (forgiven.failed && task.came_to(TaskResult::Failed))
}

impl Tree {
    fn evaluate(&self, holds: &[bool]) -> bool {
        match self {
            Tree::Operand(index) => holds[*index],
            Tree::Literal(value) => *value,
            Tree::Not(inner) => !inner.evaluate(holds),
            Tree::All(parts) => parts.iter().all(|part| part.evaluate(holds)),
            Tree::Any(parts) => parts.iter().any(|part| part.evaluate(holds)),
            Tree::Equal(left, right) => left.evaluate(holds) == right.evaluate(holds),
            Tree::Choose(condition, yes, no) => {
                if condition.evaluate(holds) {
                    yes.evaluate(holds)
                } else {
                    no.evaluate(holds)
                }
            }
        }
    }
}
