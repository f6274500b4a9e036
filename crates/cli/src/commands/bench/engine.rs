//! `armarius bench engine`: full lifecycles through the engine and its store, in this process.
//!
//! Every promised row is written: item, body, task, ready entry, lease, mark, and a chained event
//! for each transition; every reply leaves after the commit is durable.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use armarius_engine::seam::Description;
use armarius_engine::{Engine, Options, Stats};
use armarius_store::{Sqlite, sqlite};

use super::callers::Callers;
use super::figures::{grouped, peak_rss_bytes, rss_bytes};
use super::load::{Keys, Load, Run};
use crate::stores::{self, StoreAt};

/// The file in a fresh folder.
const FRESH_FILE: &str = "bench.db";

/// Drives full lifecycles and prints what came of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `memory`, `sqlite:PATH` – a PATH that is a folder gets a fresh file that is removed again –
    /// or `postgres://…`, where collections `bench-…` are made and stay.
    #[arg(long, env = "ARMARIUS_BENCH_STORE", hide_env_values = true, default_value = "memory")]
    store: String,
    /// Lifecycles to measure.
    #[arg(long, default_value_t = 200_000)]
    tasks: u64,
    /// Callers at once.
    #[arg(long, default_value_t = 64)]
    callers: u64,
    /// A thread for each caller. Else they are tasks of one runtime, as those of the server are.
    #[arg(long)]
    threads: bool,
    /// Tasks per submission, claim and report.
    #[arg(long, default_value_t = 100)]
    claim: u64,
    /// Finished tasks laid down before.
    #[arg(long, default_value_t = 0)]
    history: u64,
    /// Ready tasks that wait all the time.
    #[arg(long, default_value_t = 20_000)]
    backlog: u64,
    /// Collections the tasks are spread over, one bundle after another; on PostgreSQL each on a
    /// shard of its own.
    #[arg(long, default_value_t = 4)]
    collections: u64,
    /// Keys of the items.
    #[arg(long, value_enum, default_value_t = Keys::Pages)]
    keys: Keys,
    /// Page size of a new SQLite file in bytes.
    #[arg(long)]
    page_bytes: Option<u32>,
    /// Pages in the log of SQLite after which they are moved into the file.
    #[arg(long)]
    log_pages: Option<u32>,
    /// Page cache of SQLite in bytes.
    #[arg(long)]
    cache_bytes: Option<u64>,
    /// Print one JSON object instead of lines for people.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// How a file is used.
    fn file(&self) -> sqlite::Options {
        let usual = sqlite::Options::default();
        sqlite::Options {
            page_bytes: self.page_bytes.unwrap_or(usual.page_bytes),
            checkpoint_pages: self.log_pages.unwrap_or(usual.checkpoint_pages),
            cache_bytes: self.cache_bytes.unwrap_or(usual.cache_bytes),
            ..usual
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.claim == 0 || args.callers == 0 || args.collections == 0 {
        bail!("--claim, --callers and --collections must be at least 1");
    }
    let place = Place::of(&args.store)?;
    let (engine, about) = place.start(args.file())?;
    let load = Load::new(engine.handle(), args.collections, args.keys, place.tag());
    let load = Arc::new(load);
    let callers = Callers { count: args.callers, threads: args.threads };
    load.prepare()?;
    lay_down(&load, args.history)?;
    load.backlog(args.backlog)?;

    let before = engine.handle().stats();
    let began = Instant::now();
    let run = load.drive(args.tasks, callers, args.claim)?;
    let seconds = began.elapsed().as_secs_f64();
    let after = engine.handle().stats();
    let rss = rss_bytes();
    let made = load.made.load(Ordering::Relaxed);
    drop(load);
    engine.stop().map_err(|fatal| anyhow::anyhow!("the engine failed: {fatal}"))?;
    let bytes = place.bytes();
    let outcome = Outcome { run, seconds, before, after, made, bytes, rss };
    outcome.print(args, &about);
    Ok(())
}

/// Finished tasks from earlier days, made in the quickest way.
fn lay_down(load: &Arc<Load>, history: u64) -> anyhow::Result<()> {
    if history > 0 {
        eprintln!("laying down {} finished tasks …", grouped(history));
        load.drive(history, Callers::tasks(64), 100)?;
    }
    Ok(())
}

struct Outcome {
    run: Run,
    seconds: f64,
    before: Stats,
    after: Stats,
    made: u64,
    bytes: u64,
    rss: u64,
}

/// What is printed.
struct Figures {
    lifecycles_per_s: u64,
    /// Of submit, claim and report, in microseconds per call.
    p50: [u32; 3],
    p99: [u32; 3],
    ops_per_commit: u64,
    bytes_per_task: u64,
}

impl Outcome {
    fn print(mut self, args: &Args, about: &Description) {
        let commits = (self.after.commits - self.before.commits).max(1);
        let run = &mut self.run;
        let mut at =
            |p| [&mut run.submit, &mut run.claim, &mut run.report].map(|l| l.percentile(p));
        let figures = Figures {
            p50: at(50.0),
            p99: at(99.0),
            lifecycles_per_s: per_second(self.run.finished, self.seconds),
            ops_per_commit: self.run.finished * 3 / commits,
            bytes_per_task: self.bytes / self.made.max(1),
        };
        if args.json {
            self.print_json(args, about, &figures);
        } else {
            self.print_lines(args, about, &figures);
        }
    }

    fn print_json(&self, args: &Args, about: &Description, figures: &Figures) {
        let named =
            |v: [u32; 3]| serde_json::json!({ "submit": v[0], "claim": v[1], "report": v[2] });
        let micros = |d: Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
        let report = serde_json::json!({
            "lifecycles_per_s": figures.lifecycles_per_s,
            "p50_us": named(figures.p50),
            "p99_us": named(figures.p99),
            "bytes_per_task": figures.bytes_per_task,
            "peak_rss_bytes": peak_rss_bytes(),
            "rss_bytes": self.rss,
            "store": about.kind,
            "tasks": self.run.finished,
            "callers": args.callers,
            "claim": args.claim,
            "history": args.history,
            "backlog": args.backlog,
            "collections": args.collections,
            "ops_per_commit": figures.ops_per_commit,
            "rows_per_commit_max": self.after.rows_max,
            "commit_p50_us": micros(self.after.commit_p50),
            "commit_p99_us": micros(self.after.commit_p99),
            "page_bytes": about.page_bytes,
            "cache_bytes": about.cache_bytes,
        });
        println!("{report}");
    }

    fn print_lines(&self, args: &Args, about: &Description, figures: &Figures) {
        println!("{} on {}: {}", about.kind, about.place, about.promise);
        println!(
            "{:>12} lifecycles/s   ({} in {:.2} s, {} callers × {})",
            grouped(figures.lifecycles_per_s),
            grouped(self.run.finished),
            self.seconds,
            args.callers,
            args.claim
        );
        let names = ["submit", "claim", "report"].into_iter();
        for ((name, p50), p99) in names.zip(figures.p50).zip(figures.p99) {
            println!("{name:>12} p50 {p50} µs, p99 {p99} µs per call");
        }
        println!(
            "{:>12} p50 {} µs, p99 {} µs, {} task operations each",
            "commit",
            self.after.commit_p50.as_micros(),
            self.after.commit_p99.as_micros(),
            figures.ops_per_commit,
        );
        println!("{:>12} bytes on disk per task", grouped(figures.bytes_per_task));
        println!("{:>12} bytes resident at most", grouped(peak_rss_bytes()));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rate for people"
)]
pub(super) fn per_second(n: u64, seconds: f64) -> u64 {
    (n as f64 / seconds).round() as u64
}

/// Where a store is put.
pub(super) enum Place {
    /// As it is named.
    At(StoreAt),
    /// A file in a folder of its own, removed afterwards.
    Fresh(tempfile::TempDir),
}

impl Place {
    pub(super) fn of(store: &str) -> anyhow::Result<Self> {
        let at = StoreAt::read(store)?;
        match &at {
            StoreAt::Sqlite(path) if path.is_dir() => {
                let folder = tempfile::Builder::new().prefix("armarius-bench-").tempdir_in(path);
                Ok(Self::Fresh(folder.context("cannot make a folder")?))
            }
            StoreAt::Memory | StoreAt::Sqlite(_) | StoreAt::Postgres(_) => Ok(Self::At(at)),
        }
    }

    /// The file, if it is one.
    pub(super) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::At(StoreAt::Sqlite(path)) => Some(path.clone()),
            Self::At(StoreAt::Memory | StoreAt::Postgres(_)) => None,
            Self::Fresh(folder) => Some(folder.path().join(FRESH_FILE)),
        }
    }

    /// Keys of a store that is used again must not meet those of an earlier run.
    pub(super) fn tag(&self) -> String {
        match self {
            Self::At(StoreAt::Sqlite(_) | StoreAt::Postgres(_)) => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                format!("run-{}/", since.as_millis())
            }
            Self::At(StoreAt::Memory) | Self::Fresh(_) => String::new(),
        }
    }

    pub(super) fn start(&self, file: sqlite::Options) -> anyhow::Result<(Engine, Description)> {
        let path = match self {
            Self::At(at @ (StoreAt::Memory | StoreAt::Postgres(_))) => {
                return at.start(Options::default());
            }
            Self::At(StoreAt::Sqlite(path)) => path.clone(),
            Self::Fresh(folder) => folder.path().join(FRESH_FILE),
        };
        let store = Sqlite::open(&path, file).map_err(|error| stores::unusable(&error))?;
        stores::start_one(Box::new(store), Options::default())
    }

    /// What lies on disk: the file and its log, without the ballast.
    fn bytes(&self) -> u64 {
        let Some(path) = self.path() else { return 0 };
        let log = PathBuf::from(format!("{}-wal", path.display()));
        let size = |p: &Path| std::fs::metadata(p).map_or(0, |m| m.len());
        size(&path) + size(&log)
    }
}
