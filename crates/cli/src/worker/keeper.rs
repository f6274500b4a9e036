//! A process above each task, which sees to it that nothing of the task survives it.
//!
//! It is a child's *subreaper*: whatever the task starts and abandons, in whatever session or
//! group, becomes its child. When the task's first process has ended, or the worker says so, or the
//! worker is gone, it kills all that is left and leaves only when it has no child any more.
//!
//! Its standard input is one end of a pair of sockets. From the worker come the charge, as a line
//! of JSON, then single letters: `t` asks the task to end. The end of the stream is the end of the
//! task: the worker wants it gone, or is gone itself. To the worker go lines of JSON, [`Told`].

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, wait, waitid,
};
use serde::{Deserialize, Serialize};

pub(super) use super::launch::Reason;
use super::launch::{Bounds, Launcher};
use super::tree;

/// The hidden command that keeps a task.
pub(crate) const COMMAND: &str = "keep";

/// Bytes of a charge.
const CHARGE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Between two tries to end what is left.
const REST: Duration = Duration::from_millis(2);
/// How long cleaning up behind a task that was ended may take.
const AFTER_MAX: Duration = Duration::from_secs(20);

/// What a keeper is to run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Charge {
    /// The program and its arguments; never empty.
    pub(super) argv: Vec<String>,
    /// Its whole environment.
    pub(super) env: BTreeMap<String, String>,
    /// Where it runs.
    pub(super) folder: PathBuf,
    /// What it may take.
    pub(super) bounds: Bounds,
    /// The first process only wraps the task: asking to end goes to what is below it.
    pub(super) is_wrapped: bool,
    /// How long what the first process leaves may go on by itself.
    pub(super) linger: Duration,
    /// The exit code by which the first process says that it could not run the task at all.
    pub(super) own_failure: Option<i32>,
    /// What cleans up behind it when it did not end by itself; empty for nothing.
    pub(super) after: Vec<String>,
}

/// What a keeper tells its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Told {
    /// It runs.
    Began,
    /// It could not be run.
    Failed(Reason),
    /// It ended with this exit code, 128 and more for a signal, and nothing of it is left.
    Ended(i32),
}

/// What both threads of a keeper know of its task.
struct Task {
    /// The first process, until it is reaped: till then its number is its own.
    first: Option<Pid>,
    /// It only wraps the task.
    is_wrapped: bool,
    /// The worker wants it to end.
    is_called: bool,
}

/// The keeper itself.
pub(crate) fn stand() -> anyhow::Result<ExitCode> {
    let worker = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).context("cannot keep what is abandoned")?;
    let mut from_worker = BufReader::new(worker.try_clone()?);
    let mut line = String::new();
    (&mut from_worker).take(CHARGE_BYTES_MAX).read_line(&mut line)?;
    // A worker that died before it had said what to run wants nothing run.
    let Ok(charge) = serde_json::from_str::<Charge>(&line) else { return Ok(ExitCode::SUCCESS) };
    let first = match begin(&charge) {
        Ok(first) => first,
        Err(reason) => {
            tell(&worker, &Told::Failed(reason));
            return Ok(ExitCode::SUCCESS);
        }
    };
    tell(&worker, &Told::Began);
    let is_wrapped = charge.is_wrapped;
    let task = Arc::new(Mutex::new(Task { first: Some(first), is_wrapped, is_called: false }));
    let same = Arc::clone(&task);
    let listening = std::thread::Builder::new().spawn(move || heed(from_worker, &same));
    listening.context("cannot listen to the worker")?;
    let code = wait_for_first(&task);
    let linger = if lock(&task).is_called { Duration::ZERO } else { charge.linger };
    let had_to_kill = end_the_rest(own, linger);
    if had_to_kill || lock(&task).is_called || code > i32::from(u8::MAX / 2) {
        clean_up(&charge.after);
    }
    tell(&worker, &Told::Ended(code));
    Ok(ExitCode::SUCCESS)
}

/// Starts the task's first process.
fn begin(charge: &Charge) -> Result<Pid, Reason> {
    let passing = |why: String| Reason { why, permanent: false };
    let Charge { argv, env, folder, bounds, .. } = charge;
    let started = Launcher::start(argv, env, folder, bounds);
    let mut launcher = started.map_err(|e| passing(format!("cannot start a process: {e:#}")))?;
    // From now on the streams are the task's alone: their end is its end.
    let silent = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null");
    silent
        .and_then(|null| {
            rustix::stdio::dup2_stdout(&null)?;
            Ok(rustix::stdio::dup2_stderr(&null)?)
        })
        .map_err(|e| passing(format!("cannot let go of the streams: {e}")))?;
    launcher.go()?;
    Ok(Pid::from_child(&launcher.child))
}

/// Passes on what the worker wants, until it wants the end or is gone.
fn heed(mut from_worker: impl Read, task: &Mutex<Task>) {
    let mut letter = [0; 1];
    loop {
        let signal = match from_worker.read(&mut letter) {
            Ok(1) => Signal::TERM,
            Ok(_) | Err(_) => Signal::KILL,
        };
        let mut task = lock(task);
        task.is_called = true;
        match task.first {
            Some(first) if signal == Signal::TERM && task.is_wrapped => tree::ask_below(first),
            // It leads a group of its own. A group that is gone needs no signal.
            Some(first) => drop(kill_process_group(first, signal)),
            None => {}
        }
        if signal == Signal::KILL {
            return;
        }
    }
}

/// Waits for the end of the first process and reaps whatever else ends meanwhile.
fn wait_for_first(task: &Mutex<Task>) -> i32 {
    loop {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::All, ended) {
            Ok(_) | Err(Errno::INTR) => {}
            // There is no child at all: it cannot be waited for.
            Err(_) => return i32::from(u8::MAX),
        }
        let mut task = lock(task);
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if Some(pid) == task.first {
                task.first = None;
                let signal = 128 + status.terminating_signal().unwrap_or_default();
                return status.exit_status().unwrap_or(signal);
            }
        }
    }
}

/// Kills and reaps until there is nothing left; says whether there was anything to kill.
fn end_the_rest(own: Pid, linger: Duration) -> bool {
    let (until, mut had_to_kill) = (Instant::now() + linger, false);
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => {
                if Instant::now() >= until {
                    had_to_kill = true;
                    tree::kill_below(own);
                }
                std::thread::sleep(REST);
            }
            Err(_) => return had_to_kill,
        }
    }
}

/// Cleans up behind a task that did not end by itself.
fn clean_up(argv: &[String]) {
    let Some((program, arguments)) = argv.split_first() else { return };
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let (Ok(mut child), until) = (started, Instant::now() + AFTER_MAX) else { return };
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            drop(child.kill());
            drop(child.wait());
        }
        std::thread::sleep(REST);
    }
}

fn tell(worker: &UnixStream, told: &Told) {
    // A worker that is gone is not told.
    if let Ok(line) = serde_json::to_string(told) {
        drop({ worker }.write_all(format!("{line}\n").as_bytes()));
    }
}

fn lock(task: &Mutex<Task>) -> MutexGuard<'_, Task> {
    task.lock().unwrap_or_else(PoisonError::into_inner)
}
