//! How a command ends: its exit code, and what is said about it.

use std::process::ExitCode;

use armarius_engine::Fatal;
use armarius_wire::client;
use armarius_wire::v1::Problem;

use crate::paper::{Ink, clean};

/// It was refused, or something went wrong.
const REFUSED: u8 = 1;
/// No server answers.
const UNREACHABLE: u8 = 3;
/// The key is missing, unknown or not enough.
const KEY: u8 = 4;

/// What was watched ended badly.
pub(crate) const ENDED_BADLY: u8 = 5;
/// The configuration cannot be used.
const CONFIG: u8 = 78;

/// The codes, for `--help`.
pub(crate) const CODES: &str = "\
Exit codes:
  0   done
  1   refused, or something went wrong
  2   the command line could not be read
  3   no server answers
  4   the key is missing, unknown or not enough
  5   what was watched failed or was cancelled
  65  the store contradicts itself; restore or repair
  69  the store cannot be used: held by another process, newer version
  70  the program broke a rule of its own; restart, and report it
  74  the disk did not keep what it was given; restart once
  78  the configuration file cannot be used";

/// A failure with what to do next and the code to exit with.
#[derive(Debug)]
pub(crate) struct Failure {
    sentence: String,
    hint: String,
    code: u8,
}

impl Failure {
    /// Something is not possible, and here is what to do.
    pub(crate) fn new(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), hint: hint.into(), code: REFUSED }
    }

    /// The configuration cannot be used.
    pub(crate) fn config(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: CONFIG, ..Self::new(sentence, hint) }
    }

    /// No server answers.
    pub(crate) fn unreachable(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: UNREACHABLE, ..Self::new(sentence, hint) }
    }

    /// What is stored contradicts itself.
    pub(crate) fn corrupt(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: armarius_engine::exit::CORRUPT, ..Self::new(sentence, hint) }
    }

    /// The store or the engine cannot go on.
    pub(crate) fn fatal(fatal: &Fatal, hint: impl Into<String>) -> Self {
        Self { sentence: fatal.sentence.clone(), hint: hint.into(), code: fatal.code }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Failure {}

/// One element of a bulk was refused.
pub(crate) fn refused(problem: Problem) -> anyhow::Error {
    client::Error::Refused(Box::new(problem)).into()
}

/// Says what went wrong, on stderr, and gives the code to exit with.
pub(crate) fn tell(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let ink = Ink::of_stderr();
    eprintln!("{} {}", ink.bad("error:"), clean(&format!("{error:#}")));
    let (mut hint, mut code) = (String::new(), REFUSED);
    // The outermost hint counts, since it knows what was being done; and the most telling code.
    let mut note = |h: &str, c: u8| {
        hint = if hint.is_empty() { h.to_owned() } else { std::mem::take(&mut hint) };
        code = if code == REFUSED { c } else { code };
    };
    // What was given as context is found only in this way, what caused it only in the other.
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<Failure>());
    for failure in error.downcast_ref::<Failure>().into_iter().chain(causes) {
        note(&failure.hint, failure.code);
    }
    for refused in error.chain().filter_map(|cause| cause.downcast_ref::<client::Error>()) {
        note(&hint_of(refused), code_of(refused));
        for place in refused.places() {
            eprintln!("  {}:{}: {}", place.line, place.column, clean(&place.message));
            if !place.hint.is_empty() {
                eprintln!("    hint: {}", clean(&place.hint));
            }
        }
    }
    if !hint.is_empty() {
        eprintln!("{} {}", ink.soft("hint:"), clean(&hint));
    }
    ExitCode::from(code)
}

fn hint_of(error: &client::Error) -> String {
    match error {
        client::Error::Unreachable { .. } => {
            "start one with `armarius up`, or name another with --url or --data".to_owned()
        }
        client::Error::Refused(problem) => problem.hint.clone(),
        client::Error::Garbled { .. } => "is it an Armarius server of this version?".to_owned(),
    }
}

fn code_of(error: &client::Error) -> u8 {
    match error {
        client::Error::Unreachable { .. } => UNREACHABLE,
        client::Error::Refused(problem) if matches!(problem.status, 401 | 403) => KEY,
        client::Error::Refused(_) | client::Error::Garbled { .. } => REFUSED,
    }
}

/// Whoever read our output has seen enough, which is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref()).any(broken)
}
