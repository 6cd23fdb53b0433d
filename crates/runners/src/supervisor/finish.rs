//! The end of a step: everything it printed is in the log, its outputs are taken, the report is
//! written, nothing of it lives.

use std::{collections::BTreeMap, io};

use base64::{Engine, engine::general_purpose::STANDARD};
use groundplan_engine::{
    action::StopReason,
    report::{StepEnd, StepOutcome, StepReport},
};
use groundplan_sealing::{Key, seal};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Signal,
};

use super::{
    Supervisor, cgroup,
    live::{How, Live},
    notice,
};
use crate::{
    init,
    log_file::LogWriter,
    processes,
    step_dir::{Facts, Report, ResultTake, StopRequest, TakeFrom, ToolEnd},
    take::{self, TakeError},
};

/// How long process 1 may take to end once it was released, in seconds.
const RELEASE_GRACE: i64 = 2;

/// What was taken.
#[derive(Default)]
struct Taken {
    result: Option<String>,
    parameters: BTreeMap<String, String>,
    sealed: BTreeMap<String, String>,
}

impl Supervisor {
    /// Ends a step whose tool has ended.
    pub(super) fn finish(&self, mut live: Live, how: How) -> io::Result<()> {
        if let Some(child) = &mut live.child {
            // Only bubblewrap's outer process may still live; it needs no waiting for.
            let _ = child.try_wait();
        }
        live.drain()?;
        let facts = live.facts.clone();
        let result = match facts.result {
            ResultTake::No => None,
            ResultTake::Plain | ResultTake::Sensitive => Some(live.out.tail(take::RESULT_LIMIT)?),
        };
        let report = self.report(&facts, how, result, &mut live.log)?;
        self.dir.write_json("report.pending", &report)?;
        self.release(&mut live)?;
        cgroup::remove(&facts.cgroups);
        self.publish()
    }

    /// Lets process 1 end.
    fn release(&self, live: &mut Live) -> io::Result<()> {
        live.tell(init::RELEASE);
        let Some(init) = &live.init else {
            return Ok(());
        };
        let mut fds = [PollFd::new(init, PollFlags::IN)];
        let patience = Timespec {
            tv_sec: RELEASE_GRACE,
            tv_nsec: 0,
        };
        loop {
            match poll(&mut fds, Some(&patience)) {
                Ok(0) => init.signal(Signal::KILL),
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(child) = &mut live.child {
            let _ = child.try_wait();
        }
        Ok(())
    }

    /// The last word on a step. `stdout` is the end of its standard output and whether there was more.
    pub(super) fn report(
        &self,
        facts: &Facts,
        how: How,
        stdout: Option<(Vec<u8>, bool)>,
        log: &mut LogWriter,
    ) -> io::Result<Report> {
        let stop = self.dir.stop()?;
        let mut outcome = outcome(facts, how, stop);
        let succeeded = matches!(how, How::Ended(ToolEnd::Exited(0), _));
        let taken = match self.take(facts, stdout, succeeded) {
            Ok(taken) => taken,
            Err(message) => {
                // How the tool ended says more where it did not end well.
                if outcome == StepOutcome::Exited {
                    outcome = StepOutcome::OutputFailure { message };
                } else {
                    notice(log, &message)?;
                }
                Taken::default()
            }
        };
        let (at, exit_code) = match how {
            How::Ended(ToolEnd::Exited(code), at) => (at, Some(code)),
            How::Ended(ToolEnd::Signaled(signal), at) => (at, Some(128 + signal)),
            How::Ended(ToolEnd::Failed(_) | ToolEnd::NoDirectory(_), at) => (at, None),
            How::Vanished => (processes::now(), None),
        };
        Ok(Report {
            report: StepReport::Ended(StepEnd {
                at,
                outcome,
                asked_to_stop: stop.is_some(),
                exit_code,
                result: taken.result,
                parameters: taken.parameters,
            }),
            sealed: taken.sealed,
        })
    }

    fn take(
        &self,
        facts: &Facts,
        stdout: Option<(Vec<u8>, bool)>,
        succeeded: bool,
    ) -> Result<Taken, String> {
        let mut taken = Taken::default();
        match (facts.result, stdout) {
            (ResultTake::No, _) => {}
            (_, None) if succeeded => {
                return Err("its standard output did not survive, so there is no result".into());
            }
            (_, None) => {}
            (wanted, Some((bytes, cut))) => {
                let bytes = if cut {
                    take::from_character(&bytes)
                } else {
                    &bytes
                };
                let value = take::without_newline(bytes);
                if wanted == ResultTake::Sensitive {
                    self.seal(facts, "result", value, &mut taken)?;
                } else {
                    self.refuse_secrets("result", value)?;
                    taken.result = Some(take::text(value));
                }
            }
        }
        for output in &facts.take {
            self.take_file(facts, output, succeeded, &mut taken)?;
        }
        Ok(taken)
    }

    fn take_file(
        &self,
        facts: &Facts,
        output: &TakeFrom,
        succeeded: bool,
        taken: &mut Taken,
    ) -> Result<(), String> {
        let bytes =
            match take::read_beneath(&self.dir.path().join(&output.beneath), &output.relative) {
                Ok(bytes) => bytes,
                Err(TakeError::Missing) if output.optional || !succeeded => return Ok(()),
                Err(error) => {
                    let (name, path) = (&output.name, &output.path);
                    return Err(format!(
                        "output `{name}` cannot be taken from `{path}`: {error}"
                    ));
                }
            };
        let value = take::without_newline(&bytes);
        if output.sensitive {
            return self.seal(facts, &output.name, value, taken);
        }
        self.refuse_secrets(&output.name, value)?;
        taken
            .parameters
            .insert(output.name.clone(), take::text(value));
        Ok(())
    }

    fn refuse_secrets(&self, output: &str, value: &[u8]) -> Result<(), String> {
        match self.needles.contains(value) {
            None => Ok(()),
            Some(secret) => Err(format!(
                "output `{output}` contains the value of secret `{secret}`\n\
                 hint: where that is meant, add `{output}` to the template's annotation \
                 `groundplan/sensitive-outputs`"
            )),
        }
    }

    fn seal(
        &self,
        facts: &Facts,
        name: &str,
        value: &[u8],
        taken: &mut Taken,
    ) -> Result<(), String> {
        let key = std::str::from_utf8(self.key.expose())
            .ok()
            .and_then(|text| Key::decode(text).ok())
            .ok_or_else(|| format!("sensitive output `{name}` cannot be sealed without a key"))?;
        let context = sealing_context(facts, name);
        let sealed = STANDARD.encode(seal(&key, &context, value));
        taken.sealed.insert(name.to_owned(), sealed);
        Ok(())
    }
}

/// What a sealed output is bound to.
pub(crate) fn sealing_context(facts: &Facts, name: &str) -> Vec<u8> {
    format!("step output {} {name}", facts.step).into_bytes()
}

fn outcome(facts: &Facts, how: How, stop: Option<StopRequest>) -> StepOutcome {
    if let (Some(stop), How::Ended(ToolEnd::Exited(_) | ToolEnd::Signaled(_), _) | How::Vanished) =
        (stop, how)
        && stop.reason == StopReason::Deadline
    {
        return StepOutcome::TimedOut;
    }
    match how {
        How::Ended(ToolEnd::Exited(137) | ToolEnd::Signaled(9), _)
            if cgroup::ran_out_of_memory(&facts.cgroups) =>
        {
            StepOutcome::OutOfMemory
        }
        How::Ended(ToolEnd::Exited(_), _) => StepOutcome::Exited,
        How::Ended(ToolEnd::Signaled(signal), _) => StepOutcome::Signaled { signal },
        How::Ended(ToolEnd::Failed(number), _) => StepOutcome::StartFailure {
            message: not_executed(&facts.program, number),
        },
        How::Ended(ToolEnd::NoDirectory(number), _) => StepOutcome::StartFailure {
            message: format!(
                "working directory `{}` cannot be entered: {}\n\
                 hint: check `workingDir` and where the volumes are mounted",
                facts.working_dir,
                io::Error::from_raw_os_error(number)
            ),
        },
        // Where we killed process 1, it could not say so.
        How::Vanished if stop.is_some() => StepOutcome::Signaled { signal: 9 },
        How::Vanished => StepOutcome::Lost,
    }
}

/// Why a program was not executed, by the system's error number, with the way out. Where the call
/// was refused before the system saw it, there is no number.
fn not_executed(program: &str, number: i32) -> String {
    let too_long = rustix::io::Errno::TOOBIG.raw_os_error();
    let (why, hint) = match number {
        0 => (
            "its name, an argument or a variable holds a NUL character".to_owned(),
            "hand the value over in a file: a volume, or the `source` of a `script`",
        ),
        _ if number == too_long => (
            "an argument or a variable is longer than the system takes (128 KiB)".to_owned(),
            "hand the value over in a file: a volume, or the `source` of a `script`",
        ),
        _ => (
            io::Error::from_raw_os_error(number).to_string(),
            "name a program that the image brings, or add its folder to the image's `tools` in the \
             machine configuration",
        ),
    };
    format!("program `{program}` cannot be executed: {why}\nhint: {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_executed_says_why_and_how_it_can_be() {
        let said = not_executed("sh", rustix::io::Errno::TOOBIG.raw_os_error());
        assert_eq!(
            said,
            "program `sh` cannot be executed: an argument or a variable is longer than the system \
             takes (128 KiB)\nhint: hand the value over in a file: a volume, or the `source` of a \
             `script`"
        );
        assert!(not_executed("sh", 0).contains("holds a NUL character"));
        let missing = not_executed("nothing", rustix::io::Errno::NOENT.raw_os_error());
        assert!(missing.contains("No such file or directory"), "{missing}");
        assert!(
            missing.contains("add its folder to the image's `tools`"),
            "{missing}"
        );
    }
}
