//! One running task: its process group, its folder, its end.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::guard::Guard;
use super::launch::{Launcher, discard};
use super::output::Output;

/// How long a task may take to end after TERM; then it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How long its streams may stay open after its group is gone.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// What is wished of a running task by others than itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wish {
    /// Nothing.
    GoOn,
    /// The worker ends: stop it and give it back.
    GiveBack,
    /// The server wants it stopped.
    Stop,
    /// The lease is lost: stop it and publish nothing.
    Abandon,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, with this exit code; 128 and more for a signal.
    Exited(i32),
    /// It took too long.
    TimedOut,
    /// It was stopped on request.
    Stopped(Wish),
}

/// What to run.
pub(super) struct Order<'o> {
    /// The program and its arguments; never empty.
    pub(super) argv: &'o [String],
    /// Its whole environment.
    pub(super) env: &'o BTreeMap<String, String>,
    /// Where it runs.
    pub(super) folder: &'o Path,
    /// How long it may take.
    pub(super) timeout: Duration,
}

/// A task that is about to run, runs or has run: how others reach it, and what it writes.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) reins: Arc<Reins>,
    pub(super) output: Arc<Output>,
}

impl Run {
    pub(super) fn new() -> Self {
        let held = Held { wish: Wish::GoOn, exited: false };
        let reins = Reins { held: Mutex::new(held), changed: Condvar::new() };
        Self { reins: Arc::new(reins), output: Arc::default() }
    }
}

/// By which others reach a running task.
#[derive(Debug)]
pub(super) struct Reins {
    held: Mutex<Held>,
    changed: Condvar,
}

#[derive(Debug)]
struct Held {
    wish: Wish,
    exited: bool,
}

impl Reins {
    /// Wishes something; the stronger wish counts.
    pub(super) fn wish(&self, wish: Wish) {
        let mut held = self.lock();
        held.wish = held.wish.max(wish);
        self.changed.notify_all();
    }

    fn exited(&self) {
        self.lock().exited = true;
        self.changed.notify_all();
    }

    /// Waits until the process has ended, something is wished, or the time is over.
    fn wait(&self, until: Instant, heed_wishes: bool) -> (bool, Wish) {
        let mut held = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let called = heed_wishes && held.wish != Wish::GoOn;
            if held.exited || called || left.is_zero() {
                return (held.exited, held.wish);
            }
            let waited = self.changed.wait_timeout(held, left);
            held = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs it to its end. Nothing of its group is left when this returns.
pub(super) fn run(order: &Order<'_>, run: &Run, guard: &Guard) -> io::Result<End> {
    let Run { reins, output } = run;
    let (mut child, launcher) = spawn(order)?;
    let group = Pid::from_child(&child);
    let guarded = guard.watch(group);
    // Only now may it begin: whatever happens to the worker, the guard knows the group.
    if let Err(error) = launcher.go() {
        discard(child);
        return Err(error);
    }
    let until = Instant::now() + order.timeout;
    if let Some(stream) = child.stdout.take() {
        output.catch(stream);
    }
    if let Some(stream) = child.stderr.take() {
        output.catch(stream);
    }
    watch(group, reins)?;
    let (exited, wish) = reins.wait(until, true);
    let end = if exited {
        None
    } else {
        signal(group, Signal::TERM);
        reins.wait(Instant::now() + GRACE, false);
        Some(if wish == Wish::GoOn { End::TimedOut } else { End::Stopped(wish) })
    };
    // The first process is not reaped yet, so that the number of its group is still its own.
    signal(group, Signal::KILL);
    drop(guarded);
    let status = child.wait()?;
    output.wait_closed(CLOSE_MAX);
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    Ok(end.unwrap_or(End::Exited(code)))
}

fn spawn(order: &Order<'_>) -> io::Result<(Child, Launcher)> {
    let (mut command, launcher) = Launcher::ready(order.argv)?;
    command.env_clear().envs(order.env).current_dir(order.folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok((command.spawn()?, launcher))
}

/// Tells the reins when the first process has ended, without reaping it.
fn watch(process: Pid, reins: &Arc<Reins>) -> io::Result<()> {
    let reins = Arc::clone(reins);
    let watching = move || {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(process), ended), Err(rustix::io::Errno::INTR)) {}
        reins.exited();
    };
    let spawned = std::thread::Builder::new().name("watch".to_owned()).spawn(watching);
    spawned.map(drop).inspect_err(|_| signal(process, Signal::KILL))
}

fn signal(group: Pid, signal: Signal) {
    // A group that is gone needs no signal.
    let _gone = kill_process_group(group, signal);
}
