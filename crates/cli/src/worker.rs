//! The worker: claims tasks over HTTP and runs them, each in its own process group and folder.
//!
//! A slot is a thread that claims one task at a time and sees it through. One more thread, the
//! heart, renews every lease in time, whatever the tasks do, and passes on the server's wish to
//! stop one. A worker that could not renew in time stops its process and publishes nothing.
//!
//! Reading order: `slot` (claim, run, report) · `process` (one running task) · `launch` (how it
//! begins) · `output` (what it writes) · `heart` (signs of life) · `guard` (what happens when the
//! worker dies).

pub(crate) mod guard;
mod heart;
pub(crate) mod launch;
mod output;
mod process;
mod slot;

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use armarius_wire::client::Client;

use guard::Guard;
use heart::Heart;

/// How long running tasks may go on after the worker was asked to end, unless it is told otherwise;
/// then they are given back.
pub(crate) const FINISH_DEFAULT: Duration = Duration::from_secs(10);
/// How long giving back may take.
const GIVE_BACK_MAX: Duration = Duration::from_secs(15);

/// What a worker is.
#[derive(Debug)]
pub(crate) struct Options {
    /// Its server.
    pub(crate) client: Client,
    /// Its name, for people.
    pub(crate) name: String,
    /// What it can do.
    pub(crate) labels: Vec<String>,
    /// Tasks at once.
    pub(crate) slots: usize,
    /// Where tasks have their folders.
    pub(crate) folder: PathBuf,
    /// How long running tasks may go on after the worker was asked to end.
    pub(crate) finish: Duration,
}

/// A worker at work.
pub(crate) struct Working {
    shift: Arc<Shift>,
}

/// What the slots share.
struct Shift {
    options: Options,
    heart: Heart,
    guard: Guard,
    hours: Mutex<Hours>,
    changed: Condvar,
}

/// How the day goes.
#[derive(Debug, Default)]
struct Hours {
    /// Slots with a task in hand.
    busy: usize,
    /// Take nothing new.
    closing: bool,
}

/// Starts the slots and the heart.
pub(crate) fn start(options: Options) -> anyhow::Result<Working> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&options.folder)
        .with_context(|| options.folder.display().to_string())?;
    let slots = options.slots;
    let heart = Heart::new(options.client.clone());
    let (guard, hours, changed) = (Guard::start()?, Mutex::default(), Condvar::new());
    let shift = Arc::new(Shift { options, heart, guard, hours, changed });
    let spawn = |name: String, work: fn(&Shift)| {
        let shift = Arc::clone(&shift);
        let thread = std::thread::Builder::new().name(name);
        thread.spawn(move || work(&shift)).context("cannot start a thread").map(drop)
    };
    spawn("heart".to_owned(), |shift| shift.heart.beat())?;
    for n in 0..slots {
        spawn(format!("slot-{n}"), slot::work)?;
    }
    Ok(Working { shift })
}

/// A name nobody else has: machine and process.
pub(crate) fn default_name() -> String {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{machine}-{}", std::process::id())
}

impl Working {
    /// Takes nothing new, lets running tasks finish for a while, then gives them back.
    pub(crate) fn stop(&self) {
        self.shift.close();
        if self.shift.wait_idle(self.shift.options.finish) {
            return;
        }
        eprintln!("giving back what is still running");
        self.shift.heart.stop_everything();
        self.shift.wait_idle(GIVE_BACK_MAX);
    }
}

impl Shift {
    fn close(&self) {
        self.hours().closing = true;
        self.changed.notify_all();
    }

    fn is_closing(&self) -> bool {
        self.hours().closing
    }

    /// A task is in hand until what is returned is dropped.
    fn busy(&self) -> Busy<'_> {
        self.hours().busy += 1;
        Busy(self)
    }

    /// Waits until no task is in hand, and says whether that came true in time.
    fn wait_idle(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut hours = self.hours();
        while hours.busy > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(hours, left);
            hours = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Rests, but not longer than the shift lasts.
    fn rest(&self, span: Duration) {
        let hours = self.hours();
        if !hours.closing {
            drop(self.changed.wait_timeout(hours, span));
        }
    }

    fn hours(&self) -> std::sync::MutexGuard<'_, Hours> {
        self.hours.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Busy<'s>(&'s Shift);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.hours().busy -= 1;
        self.0.changed.notify_all();
    }
}
