//! What is told about a task that has ended: how, for how long, and what it left.

use std::time::Duration;

use armarius_wire::v1::claim::Task;
use armarius_wire::v1::report::{Manifest, Outcome};
use armarius_wire::v1::{Raw, raw};
use serde_json::{Value, json};

use super::order::No;
use super::output::Output;
use super::place::Place;
use super::process::{End, Wish};

/// Bytes of the result a task may leave.
const RESULT_BYTES_MAX: u64 = 128 * 1024;
/// Bytes of the manifest a task may leave.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;

/// How it ended and what is told about it.
#[derive(Debug)]
pub(super) struct Ending {
    /// By class or by exit code; the step says what a code means.
    pub(super) how: How,
    /// Result or reason.
    pub(super) result: Value,
    /// The bill of materials.
    pub(super) manifest: Option<Manifest>,
}

/// By class or by exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Class(Outcome),
    Exit(i32),
}

impl Ending {
    /// It was not run.
    pub(super) fn not_run(no: &No) -> Self {
        Self::class(no.class, &no.why)
    }

    fn class(class: Outcome, why: &str) -> Self {
        Self { how: How::Class(class), result: json!({ "error": why }), manifest: None }
    }

    /// What came of a run; `None` when the lease was lost and nothing may be published.
    pub(super) fn of(end: End, task: &Task, place: &Place) -> Option<Self> {
        let ending = match end {
            End::Exited(code) => exited(code, place),
            End::NotRun(reason) if reason.permanent => Self::class(Outcome::Permanent, &reason.why),
            End::NotRun(reason) => Self::class(Outcome::Transient, &reason.why),
            End::TimedOut => {
                Self::class(Outcome::Transient, &format!("timed out after {} s", task.timeout_s))
            }
            End::Silent => {
                let silence = task.progress_timeout_s.unwrap_or_default();
                Self::class(Outcome::Transient, &format!("wrote nothing for {silence} s"))
            }
            End::Lost => Self::class(Outcome::Transient, "its keeper was killed"),
            End::Stopped(Wish::Abandon) => return None,
            End::Stopped(Wish::GiveBack) => Self::class(Outcome::Stopped, "the worker ends"),
            End::Stopped(Wish::Stop | Wish::GoOn) => Self::class(Outcome::Stopped, "stopped"),
        };
        Some(ending)
    }

    /// Adds how long it took and what it wrote.
    pub(super) fn with(mut self, took: Duration, output: &Output) -> Self {
        self.result["duration_ms"] = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into();
        let shown = output.excerpt();
        if shown.bytes > 0 {
            self.result["output"] = shown.text.into();
            self.result["output_bytes"] = shown.bytes.into();
            self.result["output_truncated"] = shown.truncated.into();
        }
        self
    }
}

/// What it left counts when it can be read; a success that left something unreadable is none.
fn exited(code: i32, place: &Place) -> Ending {
    let mut result = json!({ "exit_code": code });
    let mut wrong = Vec::new();
    match take(place, "out/result.json", RESULT_BYTES_MAX) {
        Ok(left) => left.into_iter().for_each(|value: Value| result["result"] = value),
        Err(why) => wrong.push(format!("the result file (ARMARIUS_RESULT) {why}")),
    }
    let manifest = take(place, "out/manifest.json", MANIFEST_BYTES_MAX).unwrap_or_else(|why| {
        wrong.push(format!("the manifest file (ARMARIUS_MANIFEST) {why}"));
        None
    });
    if wrong.is_empty() {
        return Ending { how: How::Exit(code), result, manifest };
    }
    result["error"] = wrong.join("; ").into();
    let how = if code == 0 { How::Class(Outcome::Permanent) } else { How::Exit(code) };
    Ending { how, result, manifest: None }
}

/// JSON that the task left. Nobody here needs more of it than its outer form.
fn take<T: serde::de::DeserializeOwned>(
    place: &Place,
    name: &str,
    bytes_max: u64,
) -> Result<Option<T>, String> {
    let Some(bytes) = place.take(name, bytes_max)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| format!("is not what it should be: {error}"))
}

/// The result as it travels.
pub(super) fn text(result: &Value) -> Option<Raw> {
    raw(&result.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left in the two files → how it ended and what is said.
    fn check(code: i32, result: Option<&str>, manifest: Option<&str>) -> (How, String) {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::make(folder.path().join("a"), None).unwrap();
        for (name, text) in [("result", result), ("manifest", manifest)] {
            if let Some(text) = text {
                std::fs::write(place.path().join(format!("out/{name}.json")), text).unwrap();
            }
        }
        let ending = exited(code, &place);
        let manifest = ending.manifest.map(|m| format!("{:?}", m.state)).unwrap_or_default();
        (ending.how, format!("{} {manifest}", ending.result))
    }

    #[test]
    fn a_success_must_leave_what_can_be_read() {
        let (how, said) = check(0, Some(r#"{"pages": 3}"#), Some(r#"{"state": "complete"}"#));
        assert_eq!(how, How::Exit(0));
        assert_eq!(said, r#"{"exit_code":0,"result":{"pages":3}} Complete"#);
        let (how, said) = check(0, Some("{"), None);
        assert_eq!(how, How::Class(Outcome::Permanent));
        assert!(
            said.contains("the result file (ARMARIUS_RESULT) is not what it should be"),
            "{said}"
        );
        let (how, said) = check(0, None, Some(r#"{"state": "done"}"#));
        assert_eq!(how, How::Class(Outcome::Permanent));
        assert!(said.contains("ARMARIUS_MANIFEST") && said.contains("done"), "{said}");
        let large = format!("\"{}\"", "x".repeat(200_000));
        let (how, said) = check(3, Some(&large), None);
        assert_eq!(how, How::Exit(3));
        assert!(said.contains("is larger than 128 KiB"), "{said}");
    }
}
