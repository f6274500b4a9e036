//! The worker: claims tasks over HTTP and runs them, each in its own process group and folder.
//!
//! A slot is a thread that claims one task at a time and sees it through. One more thread, the
//! heart, renews every lease in time, whatever the tasks do, and passes on the server's wish to
//! stop one. A worker that could not renew in time stops its process and publishes nothing.
//!
//! Reading order: `slot` (claim, run, report) · `order` (what is run) with `place`, `isolation` and
//! `container` · `process` (one running task) · `keeper` (the process above it) with `launch` (how
//! it begins) and `tree` (how it ends) · `output`, `mask`, `stream` (what it writes) · `result`,
//! `post` (what is told about it) · `heart` (signs of life) · `den` (what dead workers left) ·
//! `manner`, `user` (what can be chosen).

mod container;
mod den;
mod heart;
mod isolation;
pub(crate) mod keeper;
pub(crate) mod launch;
pub(crate) mod manner;
mod mask;
mod order;
mod output;
mod place;
mod post;
mod process;
mod result;
mod slot;
mod source;
mod stream;
mod tree;
mod user;

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use armarius_wire::client::Client;

use container::Containers;
use den::Den;
use heart::Heart;
use launch::Bounds;
use post::Post;

/// How long running tasks may go on after the worker was asked to end, unless it is told otherwise;
/// then they are given back.
pub(crate) const FINISH_DEFAULT: Duration = Duration::from_secs(10);
/// How long giving back may take.
const GIVE_BACK_MAX: Duration = Duration::from_secs(15);
/// How long a last try to deliver may take; what is not delivered stays on disk.
const LEAVE_MAX: Duration = Duration::from_secs(6);

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
    /// Where results lie until they have arrived.
    pub(crate) state: PathBuf,
    /// How long running tasks may go on after the worker was asked to end.
    pub(crate) finish: Duration,
    /// What each task may take.
    pub(crate) bounds: Bounds,
    /// Strict isolation, with what is shared read-only.
    pub(crate) strict: Option<Vec<PathBuf>>,
    /// How containers are run, if they are.
    pub(crate) containers: Option<Containers>,
}

impl Options {
    /// One task at once, without limits, until more is said.
    pub(crate) fn new(client: Client, name: String) -> Self {
        Self {
            client,
            name,
            labels: Vec::new(),
            slots: 1,
            folder: PathBuf::new(),
            state: PathBuf::new(),
            finish: FINISH_DEFAULT,
            bounds: Bounds::default(),
            strict: None,
            containers: None,
        }
    }
}

/// A worker at work.
pub(crate) struct Working {
    shift: Arc<Shift>,
}

/// What the slots share.
struct Shift {
    options: Options,
    heart: Heart,
    den: Den,
    post: Post,
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
    /// Wait for nothing.
    leaving: bool,
}

/// Starts the slots and the heart, after clearing away what dead workers left.
pub(crate) fn start(options: Options) -> anyhow::Result<Working> {
    let mode = if options.bounds.user.is_some() { 0o711 } else { 0o700 };
    let den = Den::make(&options.folder, mode)?;
    for left in Den::abandoned(&options.folder) {
        clear_away(&options, left);
    }
    if let Some(shared) = &options.strict {
        isolation::try_out(den.path(), shared, &options.bounds)?;
    }
    if let Some((user, group)) = options.bounds.user {
        eprintln!("tasks run as user {user}, group {group}, in {}", options.folder.display());
    }
    let post = Post::open(&options.state)?;
    let slots = options.slots;
    let heart = Heart::new(options.client.clone());
    let (hours, changed) = (Mutex::default(), Condvar::new());
    let shift = Arc::new(Shift { options, heart, den, post, hours, changed });
    let spawn = |name: String, work: fn(&Shift)| {
        let shift = Arc::clone(&shift);
        let thread = std::thread::Builder::new().name(name);
        thread.spawn(move || work(&shift)).context("cannot start a thread").map(drop)
    };
    spawn("heart".to_owned(), |shift| shift.heart.beat())?;
    spawn("ear".to_owned(), |shift| shift.heart.listen())?;
    spawn("watch".to_owned(), |shift| shift.heart.watch())?;
    spawn("post".to_owned(), slot::deliver_old)?;
    for n in 0..slots {
        spawn(format!("slot-{n}"), slot::work)?;
    }
    Ok(Working { shift })
}

/// Ends what a dead worker's tasks left running, and removes their folders.
fn clear_away(options: &Options, left: Den) {
    tree::kill_marked(&format!("ARMARIUS_FOLDER={}/", left.path().display()));
    if let (Some(containers), Ok(places)) = (&options.containers, left.path().read_dir()) {
        places.flatten().for_each(|place| containers.remove_left(&place.path()));
    }
    left.remove();
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
        if !self.shift.wait_idle(self.shift.options.finish) {
            eprintln!("giving back what is still running");
            self.shift.heart.stop_everything();
            self.shift.wait_idle(GIVE_BACK_MAX);
        }
        self.shift.hours().leaving = true;
        if self.shift.wait_idle(LEAVE_MAX) {
            self.shift.den.clear();
            self.shift.post.clear();
        }
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

    /// Whether even what is in hand is not waited for.
    fn is_leaving(&self) -> bool {
        self.hours().leaving
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
