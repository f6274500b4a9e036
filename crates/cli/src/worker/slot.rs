//! A slot: claims a task, runs it, reports what came of it, again and again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use armarius_wire::client::Error;
use armarius_wire::v1::claim::{self, Task, Way};
use armarius_wire::v1::raw;
use armarius_wire::v1::report::{Outcome, Report};
use serde_json::{Value, json};

use super::Shift;
use super::heart::Pulse;
use super::output::Output;
use super::process::{self, End, Order, Run, Wish};
use crate::paper::clean;

/// How long a claim waits at the server.
const CLAIM_WAIT_S: u32 = 20;
/// Rest after the server could not be asked, doubled up to the longest.
const REST_MIN: Duration = Duration::from_millis(250);
/// The longest rest.
const REST_MAX: Duration = Duration::from_secs(5);
/// How long a result is offered to a server that does not answer.
const OFFER_MAX: Duration = Duration::from_secs(300);
/// Bytes of output that travel with a report; the server takes a quarter of a megabyte in all.
const OUTPUT_BYTES_MAX: usize = 100 * 1024;
/// Bytes of a report's result.
const RESULT_BYTES_MAX: usize = 250 * 1024;
/// Bytes of the result file a task may leave.
const RESULT_FILE_BYTES_MAX: u64 = 64 * 1024;
/// What a task sees of the worker's own environment.
const PASSED_ON: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TZ", "USER"];

/// Works until the shift closes.
pub(super) fn work(shift: &Shift) {
    let (mut rest, mut told) = (REST_MIN, String::new());
    while !shift.is_closing() {
        let asked = Instant::now();
        match shift.options.client.claim(&request(shift)) {
            Ok(Some(granted)) => {
                rest = REST_MIN;
                let _busy = shift.busy();
                carry_out(shift, &granted, asked);
            }
            Ok(None) => rest = REST_MIN,
            Err(error) => {
                let why = error.to_string();
                if why != told && !shift.is_closing() {
                    eprintln!("cannot claim, trying again: {}", clean(&why));
                    told = why;
                }
                shift.rest(rest);
                rest = (rest * 2).min(REST_MAX);
            }
        }
    }
}

fn request(shift: &Shift) -> claim::Request {
    claim::Request {
        worker: shift.options.name.clone(),
        labels: shift.options.labels.clone(),
        actions: vec![Way::Command, Way::Script],
        max: 1,
        wait_s: CLAIM_WAIT_S,
        ..claim::Request::default()
    }
}

fn carry_out(shift: &Shift, granted: &claim::Reply, asked: Instant) {
    for task in &granted.tasks {
        let run = Run::new();
        let ttl = Duration::from_secs(granted.ttl_s);
        let kept = shift.heart.keep(&granted.lease, Pulse::new(task.task, ttl, asked, run.clone()));
        if shift.is_closing() {
            run.reins.wish(Wish::GiveBack);
        }
        match carry_out_one(shift, task, &run) {
            Some(ending) => offer(shift, report(granted, task, ending)),
            None => {
                eprintln!("{}: the lease is lost, nothing is published", clean(&task.address));
            }
        }
        drop(kept);
    }
}

/// How it ended and what is told about it.
enum Ending {
    Exit(i32, Value),
    Class(Outcome, Value),
}

fn report(granted: &claim::Reply, task: &Task, ending: Ending) -> Report {
    let (outcome, exit_code, result) = match ending {
        Ending::Exit(code, result) => (None, Some(code), result),
        Ending::Class(outcome, result) => (Some(outcome), None, result),
    };
    Report {
        lease: granted.lease.clone(),
        task: task.task,
        token: task.token.clone(),
        outcome,
        exit_code,
        result: raw(&result.to_string()),
        manifest: None,
        last: false,
    }
}

/// Reports, and keeps trying while nobody answers.
fn offer(shift: &Shift, report: Report) {
    let (until, mut rest) = (Instant::now() + OFFER_MAX, REST_MIN);
    let task = report.task;
    let reports = [report];
    loop {
        match shift.options.client.report(&reports) {
            Ok(answers) => {
                for problem in answers.into_iter().filter_map(|answer| answer.problem) {
                    eprintln!("task {task}: report refused: {}", clean(&problem.detail));
                }
                return;
            }
            Err(error @ (Error::Unreachable { .. } | Error::Garbled { .. })) => {
                if Instant::now() >= until {
                    eprintln!("task {task}: result lost: {}", clean(&error.to_string()));
                    return;
                }
            }
            Err(Error::Refused(problem)) if matches!(problem.status, 429 | 503 | 507) => {}
            Err(error) => {
                eprintln!("task {task}: report refused: {}", clean(&error.to_string()));
                return;
            }
        }
        std::thread::sleep(rest);
        rest = (rest * 2).min(REST_MAX);
    }
}

/// Runs a task to its end; `None` when it was stopped because its lease is lost.
fn carry_out_one(shift: &Shift, task: &Task, run: &Run) -> Option<Ending> {
    let place = shift.options.folder.join(format!("{}-{}", task.task, task.token));
    let ending = match prepare(&place, task) {
        Ok(folder) => run_in(shift, task, run, &place, &folder),
        Err(error) => {
            let why = format!("cannot prepare {}: {error}", place.display());
            Some(Ending::Class(Outcome::Transient, json!({ "error": why })))
        }
    };
    // Its outputs are published by manifest from elsewhere; what is left here is scratch.
    drop(std::fs::remove_dir_all(&place));
    ending
}

/// Makes the task's folder, and in it the one it runs in.
fn prepare(place: &Path, task: &Task) -> io::Result<PathBuf> {
    drop(std::fs::remove_dir_all(place));
    let below = Path::new(task.workdir.as_deref().unwrap_or_default());
    if !below.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "workdir leads out of the folder"));
    }
    let folder = place.join("run").join(below);
    std::fs::create_dir_all(&folder)?;
    std::fs::create_dir_all(place.join("tmp"))?;
    Ok(folder)
}

fn run_in(shift: &Shift, task: &Task, run: &Run, place: &Path, folder: &Path) -> Option<Ending> {
    let env = environment(shift, task, place);
    let argv = match argv(task, &env, place) {
        Ok(argv) => argv,
        Err(ending) => return Some(ending),
    };
    let began = Instant::now();
    let timeout = Duration::from_secs(task.timeout_s);
    let order = Order { argv: &argv, env: &env, folder, timeout };
    let end = process::run(&order, run, &shift.guard);
    let mut result = json!({ "duration_ms": millis(began.elapsed()) });
    let ending = match end {
        Ok(End::Exited(code)) => {
            result["exit_code"] = code.into();
            add_result_file(&mut result, place);
            Ending::Exit(code, result)
        }
        Ok(End::TimedOut) => {
            result["error"] = format!("timed out after {} s", task.timeout_s).into();
            Ending::Class(Outcome::Transient, result)
        }
        Ok(End::Stopped(Wish::Abandon)) => return None,
        Ok(End::Stopped(_)) => {
            result["error"] = "stopped".into();
            Ending::Class(Outcome::Stopped, result)
        }
        Err(error) => {
            let why = format!("cannot run {:?}: {error}", argv.first());
            result["error"] = why.into();
            Ending::Class(class_of(&error), result)
        }
    };
    Some(with_output(ending, &run.output))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A program that is not there will not be there next time; anything else may pass.
fn class_of(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput => {
            Outcome::Permanent
        }
        _ => Outcome::Transient,
    }
}

fn with_output(mut ending: Ending, output: &Output) -> Ending {
    let (Ending::Exit(_, result) | Ending::Class(_, result)) = &mut ending;
    let mut bytes_max = OUTPUT_BYTES_MAX;
    loop {
        let shown = output.shown(bytes_max);
        if shown.bytes > 0 {
            result["output"] = shown.text.into();
            result["output_bytes"] = shown.bytes.into();
            result["output_truncated"] = shown.truncated.into();
        }
        // Control characters grow when they are written as JSON.
        if result.to_string().len() <= RESULT_BYTES_MAX || bytes_max == 0 {
            return ending;
        }
        bytes_max /= 2;
    }
}

/// What the task itself says about its result, if it wrote JSON to `ARMARIUS_RESULT`.
fn add_result_file(result: &mut Value, place: &Path) {
    let path = place.join("result.json");
    let Ok(about) = std::fs::symlink_metadata(&path) else { return };
    if !about.is_file() || about.len() > RESULT_FILE_BYTES_MAX {
        result["result_error"] = "the result file is no file, or larger than 64 KiB".into();
        return;
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    match serde_json::from_str::<Value>(&text) {
        Ok(value) => result["result"] = value,
        Err(error) => result["result_error"] = format!("the result file: {error}").into(),
    }
}

fn environment(shift: &Shift, task: &Task, place: &Path) -> BTreeMap<String, String> {
    let passed = PASSED_ON
        .iter()
        .filter_map(|name| std::env::var(name).ok().map(|value| ((*name).to_owned(), value)));
    let mut env: BTreeMap<String, String> = passed.collect();
    env.insert("HOME".to_owned(), place.join("run").display().to_string());
    env.insert("TMPDIR".to_owned(), place.join("tmp").display().to_string());
    env.extend(task.env.clone());
    let payload = task.payload.as_ref().map_or("{}", |payload| payload.get());
    for (name, value) in [
        ("TASK", task.task.to_string()),
        ("ADDRESS", task.address.clone()),
        ("ITEM", task.item.address.clone()),
        ("COLLECTION", task.item.collection.clone()),
        ("KIND", task.item.kind.clone()),
        ("ITEM_KEY", task.item.key.clone()),
        ("FLOW", task.flow.clone()),
        ("STEP", task.step.clone()),
        ("PART", task.part.clone()),
        ("ROUND", task.round.to_string()),
        ("TOKEN", task.token.clone()),
        ("ATTEMPT", task.attempt.to_string()),
        ("PAYLOAD", payload.to_owned()),
        ("RESULT", place.join("result.json").display().to_string()),
        ("URL", shift.options.client.url().to_owned()),
    ] {
        env.insert(format!("ARMARIUS_{name}"), value);
    }
    env
}

/// The program and its arguments, or why there is none.
fn argv(task: &Task, env: &BTreeMap<String, String>, place: &Path) -> Result<Vec<String>, Ending> {
    let refuse = |class, why: String| Err(Ending::Class(class, json!({ "error": why })));
    let action = &task.action;
    if action.image.is_some() {
        return refuse(Outcome::NotYet, "this worker runs no containers".to_owned());
    }
    match (&action.command, &action.script, &action.shell) {
        (Some(command), _, _) => {
            let expanded: Result<Vec<String>, String> =
                command.iter().map(|word| expand(word, env)).collect();
            expanded.or_else(|name| refuse(Outcome::Permanent, format!("${name} is not set")))
        }
        (None, Some(script), Some(shell)) => {
            let path = place.join("script");
            match std::fs::write(&path, script) {
                Ok(()) => {
                    let mut argv: Vec<String> =
                        shell.split_whitespace().map(str::to_owned).collect();
                    argv.push(path.display().to_string());
                    Ok(argv)
                }
                Err(error) => refuse(Outcome::Transient, format!("cannot write it: {error}")),
            }
        }
        (None, _, _) => refuse(Outcome::NotYet, "this worker cannot run this step".to_owned()),
    }
}

/// A word that is wholly `$NAME` becomes that variable's value; nothing else is expanded.
fn expand(word: &str, env: &BTreeMap<String, String>) -> Result<String, String> {
    let is_name = |name: &str| {
        let mut chars = name.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match word.strip_prefix('$').filter(|name| is_name(name)) {
        Some(name) => env.get(name).cloned().ok_or_else(|| name.to_owned()),
        None => Ok(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_expanded() {
        let env = BTreeMap::from([("A".to_owned(), "x; rm *".to_owned())]);
        for (word, expected) in [("$A", "x; rm *"), ("a$A", "a$A"), ("$A.b", "$A.b"), ("$", "$")] {
            assert_eq!(expand(word, &env).unwrap(), expected);
        }
        assert_eq!(expand("$B", &env), Err("B".to_owned()));
    }
}
