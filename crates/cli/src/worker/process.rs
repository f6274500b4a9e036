//! One running task, from the worker's side: how long it may go on, and how it is ended.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::keeper::{self, Charge, Told};
use super::launch;
use super::output::Output;

/// How long a task may take to end after TERM; then it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How long its streams may stay open after nothing of it is left.
const CLOSE_MAX: Duration = Duration::from_secs(2);
/// How long a keeper may take to end what was killed, cleaning up included.
const KEEPER_MAX: Duration = Duration::from_secs(40);

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, with this exit code; 128 and more for a signal.
    Exited(i32),
    /// It could not be run.
    NotRun(keeper::Reason),
    /// It took too long.
    TimedOut,
    /// It wrote nothing for too long.
    Silent,
    /// It was stopped on request.
    Stopped(Wish),
    /// Its keeper was killed, and it with it.
    Lost,
}

/// How long it may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// In all.
    pub(super) timeout: Duration,
    /// Without writing anything.
    pub(super) silence: Option<Duration>,
}

/// A task that is about to run, runs or has run: how others reach it, and what it writes.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) reins: Arc<Reins>,
    pub(super) output: Arc<Output>,
}

impl Run {
    pub(super) fn new(secrets: Vec<String>) -> Self {
        let held = Held { wish: Wish::GoOn, is_over: false, told: None };
        let reins = Reins { held: Mutex::new(held), changed: Condvar::new() };
        Self { reins: Arc::new(reins), output: Arc::new(Output::new(secrets)) }
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
    is_over: bool,
    told: Option<Told>,
}

impl Reins {
    /// Wishes something; the stronger wish counts.
    pub(super) fn wish(&self, wish: Wish) {
        let mut held = self.lock();
        held.wish = held.wish.max(wish);
        self.changed.notify_all();
    }

    fn ended(&self, told: Option<Told>) {
        let mut held = self.lock();
        (held.is_over, held.told) = (true, told);
        self.changed.notify_all();
    }

    /// Waits until it has ended, something is wished, or the time is over; gives the keeper's last
    /// word once there is one.
    fn wait(&self, until: Instant, heed_wishes: bool) -> (Option<Told>, Wish) {
        let mut held = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let called = heed_wishes && held.wish != Wish::GoOn;
            if held.is_over || called || left.is_zero() {
                // A keeper without a last word was killed; what it began counts as begun.
                let told = held.is_over.then(|| held.told.clone().unwrap_or(Told::Began));
                return (told, held.wish);
            }
            let waited = self.changed.wait_timeout(held, left);
            held = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs it to its end. Nothing of it is left when this returns.
pub(super) fn run(charge: &Charge, patience: Patience, run: &Run) -> io::Result<End> {
    let Run { reins, output } = run;
    let (mut child, mut keeper) = start_keeper()?;
    for stream in [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)]
        .into_iter()
        .flatten()
    {
        output.catch(std::fs::File::from(stream));
    }
    let listening = listen(&keeper, reins);
    let sent = serde_json::to_string(charge).map_err(io::Error::from).and_then(|line| {
        // A keeper that is gone is noticed by the one who listens to it.
        drop(keeper.write_all(format!("{line}\n").as_bytes()));
        listening
    });
    let end = match &sent {
        Ok(()) => attend(&mut keeper, patience, run),
        Err(_) => None,
    };
    // Nobody left to listen to: whatever still runs is ended.
    drop(keeper.shutdown(std::net::Shutdown::Write));
    let told = reins.wait(Instant::now() + KEEPER_MAX, false).0;
    drop(child.kill());
    drop(child.wait());
    sent?;
    output.wait_closed(CLOSE_MAX);
    Ok(match (end, told) {
        (_, Some(Told::Failed(reason))) => End::NotRun(reason),
        (Some(end), Some(Told::Ended(_))) => end,
        (None, Some(Told::Ended(code))) if Some(code) == charge.own_failure => {
            let why = output.excerpt().text;
            let why = format!("the container could not be run: {}", why.trim());
            End::NotRun(keeper::Reason { why, permanent: false })
        }
        (None, Some(Told::Ended(code))) => End::Exited(code),
        (Some(End::Stopped(wish)), Some(Told::Began) | None) => End::Stopped(wish),
        (_, Some(Told::Began) | None) => End::Lost,
    })
}

/// In a group of its own, so that no key pressed in a terminal ends it.
fn start_keeper() -> io::Result<(Child, UnixStream)> {
    let (own, theirs) = UnixStream::pair()?;
    let child = Command::new(launch::program()?)
        .arg(keeper::COMMAND)
        .env_remove("ARMARIUS_KEY")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    Ok((child, own))
}

/// Passes on what the keeper tells; the last word is its end.
fn listen(keeper: &UnixStream, reins: &Arc<Reins>) -> io::Result<()> {
    let (lines, reins) = (BufReader::new(keeper.try_clone()?), Arc::clone(reins));
    let listening = move || {
        let mut last = None;
        for line in lines.lines().map_while(Result::ok) {
            last = serde_json::from_str(&line).ok().or(last);
        }
        reins.ended(last);
    };
    std::thread::Builder::new().name("keeper".to_owned()).spawn(listening).map(drop)
}

/// Waits for the end, or for a reason to end it; says what it was, if it was not its own.
fn attend(keeper: &mut UnixStream, patience: Patience, run: &Run) -> Option<End> {
    let until = Instant::now() + patience.timeout;
    let end = loop {
        let silent_at = patience.silence.map(|span| run.output.wrote_at() + span);
        let next = silent_at.map_or(until, |at| at.min(until));
        let (told, wish) = run.reins.wait(next, true);
        let now = Instant::now();
        if told.is_some() {
            return None;
        }
        if wish != Wish::GoOn {
            break End::Stopped(wish);
        }
        if now >= until {
            break End::TimedOut;
        }
        if patience.silence.is_some_and(|span| run.output.wrote_at() + span <= now) {
            break End::Silent;
        }
    };
    drop(keeper.write_all(b"t"));
    run.reins.wait(Instant::now() + GRACE, false);
    Some(end)
}
