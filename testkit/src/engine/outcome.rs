//! What scripted steps come to.

use std::collections::BTreeMap;

use groundplan_engine::{
    action::StepRequest,
    report::{StepEnd, StepOutcome},
    time::Timestamp,
};

/// What one step comes to, and how long it takes.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ends.
    pub outcome: StepOutcome,
    /// Exit code of its program.
    pub exit_code: Option<i32>,
    /// Standard output, handed on where it is asked for.
    pub result: String,
    /// Output parameters by name; `None` stands for a file that is missing. Those of the template
    /// that are not named here get `<name>@<display name>`.
    pub parameters: BTreeMap<String, Option<String>>,
    /// Whether nothing of it can be taken: neither result nor parameters.
    pub silent: bool,
    /// Seconds from the request to the end; `None` means it never ends by itself. It is seen
    /// running after one second, if it takes longer.
    pub seconds: Option<i64>,
}

impl Outcome {
    /// It goes well within two seconds.
    pub fn good() -> Self {
        Outcome {
            outcome: StepOutcome::Exited,
            exit_code: Some(0),
            result: String::new(),
            parameters: BTreeMap::new(),
            silent: false,
            seconds: Some(2),
        }
    }

    /// Its program exits with a code.
    pub fn exit(code: i32) -> Self {
        Outcome {
            exit_code: Some(code),
            ..Outcome::good()
        }
    }

    /// It ends in another way, without an exit code.
    pub fn of(outcome: StepOutcome) -> Self {
        Outcome {
            outcome,
            exit_code: None,
            ..Outcome::good()
        }
    }

    /// It takes so long.
    pub fn after(mut self, seconds: i64) -> Self {
        self.seconds = Some(seconds);
        self
    }

    /// It never ends by itself.
    pub fn never(mut self) -> Self {
        self.seconds = None;
        self
    }

    /// It prints this.
    pub fn printing(mut self, result: &str) -> Self {
        result.clone_into(&mut self.result);
        self
    }

    /// It writes this output.
    pub fn writing(mut self, name: &str, value: &str) -> Self {
        self.parameters
            .insert(name.to_owned(), Some(value.to_owned()));
        self
    }

    /// The report of its end.
    pub fn end(&self, request: &StepRequest, at: Timestamp, asked_to_stop: bool) -> StepEnd {
        let display = display_name(&request.node_name);
        let mut parameters = BTreeMap::new();
        for output in &request.template.outputs.parameters {
            let from_file = output
                .value_from
                .as_ref()
                .is_some_and(|from| from.path.is_some());
            if !from_file || self.silent {
                continue;
            }
            let value = match self.parameters.get(&output.name) {
                Some(value) => value.clone(),
                None => Some(format!("{}@{display}", output.name)),
            };
            if let Some(value) = value {
                parameters.insert(output.name.clone(), value);
            }
        }
        StepEnd {
            at,
            outcome: self.outcome.clone(),
            asked_to_stop,
            exit_code: self.exit_code,
            result: (request.capture_result && !self.silent).then(|| self.result.clone()),
            parameters,
        }
    }
}

/// The part of a node's full name that its template gave it, item included.
pub fn display_name(node_name: &str) -> &str {
    let mut depth = 0_u32;
    for (at, character) in node_name.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            '.' if depth == 0 => return &node_name[at + 1..],
            _ => {}
        }
    }
    node_name
}

/// What every step of a run comes to.
pub trait Script {
    /// The outcome of a step that is started now.
    fn outcome(&mut self, request: &StepRequest) -> Outcome;
}

impl<F: FnMut(&StepRequest) -> Outcome> Script for F {
    fn outcome(&mut self, request: &StepRequest) -> Outcome {
        self(request)
    }
}
