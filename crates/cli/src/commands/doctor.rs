//! `armarius doctor`: is everything that is stored true?
//!
//! Reads a store nobody else has open and checks all of it: pages, every event's hash and every
//! commit's seal, then what the rows say against what the events say – states, tokens, marks,
//! counters, queues, limits, dependencies. It changes nothing, and the memory it takes does not
//! grow with the store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use armarius_engine::Fatal;
use armarius_engine::seam::{Database as _, StoreError};
use armarius_store::sqlite::{Inspection, Verified};

use crate::exit::Failure;
use crate::paper::{self, Ink, clean};
use crate::progress::{Progress, span};
use crate::stores::{self, StoreAt};

/// What a store that contradicts itself exits with, as documented.
const CORRUPT: u8 = 65;
/// Findings shown; more are counted.
const SHOWN_MAX: usize = 50;

/// Checks a store that no server has open. To check one that is in use, make a backup: that is
/// checked in the same way.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `sqlite:PATH` or `postgres://…`; the file in the data folder when absent. A PostgreSQL store
    /// may be in use.
    #[arg(long, value_name = "STORE", hide_env_values = true, hide_default_value = true)]
    store: Option<String>,
    /// The data folder.
    #[arg(long, default_value = crate::config::DATA_DEFAULT)]
    data: PathBuf,
    /// Print one JSON object instead of lines for people.
    #[arg(long)]
    json: bool,
}

/// What was found.
pub(super) struct Findings {
    pub(super) history: Option<Verified>,
    pub(super) wrong: Vec<String>,
    pub(super) took: Duration,
}

#[expect(clippy::needless_pass_by_value, reason = "every command is run in this way")]
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let at = StoreAt::of(args.store.as_deref(), &args.data)?;
    let findings = match &at {
        StoreAt::Sqlite(_) => look_at_file(&file_of(args.store.as_deref(), &args.data)?)?,
        StoreAt::Postgres(url) => look_at_database(url)?,
        StoreAt::Memory => {
            let why = "a store in memory ends with its process";
            return Err(Failure::new(why, "name another with --store").into());
        }
    };
    if args.json {
        paper::line(&as_json(&at, &findings).to_string())?;
    } else {
        tell(&findings)?;
    }
    Ok(if findings.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CORRUPT) })
}

fn look_at_file(path: &Path) -> anyhow::Result<Findings> {
    let inspection = Inspection::alone(path).map_err(|error| in_use(path, error))?;
    Ok(look(&inspection))
}

/// Looks at one shard of a database after the other. Servers may go on meanwhile: each shard is
/// read as of one moment, into a temporary file.
fn look_at_database(url: &str) -> anyhow::Result<Findings> {
    let began = Instant::now();
    let database = stores::open_database(url)?;
    let shards = database.shards();
    let mut stage = Stage::default();
    let (mut history, mut wrong) = (Verified::default(), Vec::new());
    for shard in 0..shards {
        stage.at("shards", shard.into(), shards.into());
        let store = database.shard(shard).map_err(|error| stores::unusable(&error))?;
        let named = |finding: String| format!("shard {shard}: {finding}");
        match store.verify_everything() {
            Ok(Verified { commits, events, items }) => {
                history.commits += commits;
                history.events += events;
                history.items += items;
            }
            Err(error) => wrong.push(named(error.to_string())),
        }
        wrong.extend(store.audit(&mut |_, _, _| {}).into_iter().map(named));
    }
    Ok(Findings { history: Some(history), wrong, took: began.elapsed() })
}

/// The store's file, which must be there.
pub(super) fn file_of(store: Option<&str>, data: &Path) -> anyhow::Result<PathBuf> {
    let at = StoreAt::of(store, data)?;
    let path = match at {
        StoreAt::Sqlite(path) => path,
        StoreAt::Memory => {
            let why = "a store in memory is gone with its process";
            return Err(Failure::new(why, "name a file: --store sqlite:PATH").into());
        }
        StoreAt::Postgres(_) => {
            let why = format!("{} is no file", at.shown());
            let hint = "use the tools of PostgreSQL; see docs/guide/postgres.md";
            return Err(Failure::new(why, hint).into());
        }
    };
    if path.is_file() {
        return Ok(path);
    }
    let why = format!("there is no store at {}", path.display());
    Err(Failure::new(why, "name its folder with --data, or its file with --store").into())
}

/// Looks at everything, with progress.
pub(super) fn look(inspection: &Inspection) -> Findings {
    let began = Instant::now();
    let mut stage = Stage::default();
    let mut wrong = match inspection.pages() {
        Ok(found) => found,
        Err(error) => vec![error.to_string()],
    };
    let history = match inspection.everything(&mut |what, done, total| stage.at(what, done, total))
    {
        Ok(verified) => Some(verified),
        Err(error) => {
            wrong.push(error.to_string());
            None
        }
    };
    wrong.extend(inspection.audit(&mut |what, done, total| stage.at(what, done, total)));
    Findings { history, wrong, took: began.elapsed() }
}

/// The part that is looked at, and how far it is.
#[derive(Default)]
struct Stage {
    shown: Option<(&'static str, Progress)>,
}

impl Stage {
    fn at(&mut self, what: &'static str, done: u64, total: u64) {
        if self.shown.as_ref().is_none_or(|(shown, _)| *shown != what) {
            self.shown = Some((what, Progress::new(what, Some(total.max(1)))));
        }
        if let Some((_, progress)) = &mut self.shown {
            progress.at(done, "");
        }
    }
}

fn in_use(path: &Path, error: StoreError) -> anyhow::Error {
    let hint = match &error {
        StoreError::Unusable(_) => {
            "stop the server, or make a backup, which is checked in the same way"
        }
        StoreError::Corrupt(_) => "restore a backup: armarius restore FILE --data DIR",
        StoreError::Unavailable(_)
        | StoreError::Full(_)
        | StoreError::Unknown(_)
        | StoreError::Disk(_) => "check the disk, then try again",
    };
    match Fatal::of(&error) {
        Some(fatal) => Failure::fatal(&fatal, hint).into(),
        None => anyhow::Error::from(error)
            .context(Failure::new(format!("cannot open {}", path.display()), hint)),
    }
}

fn as_json(at: &StoreAt, findings: &Findings) -> serde_json::Value {
    let Findings { history, wrong, took } = findings;
    serde_json::json!({
        "store": at.shown(),
        "events": history.map(|h| h.events),
        "commits": history.map(|h| h.commits),
        "items": history.map(|h| h.items),
        "findings": wrong,
        "seconds": took.as_secs_f64(),
    })
}

fn tell(findings: &Findings) -> anyhow::Result<()> {
    let (ink, mut lines) = (Ink::of_stdout(), Vec::new());
    if let Some(h) = findings.history {
        let Verified { events, items, commits } = h;
        lines.push(format!("{events} events of {items} items in {commits} commits hold"));
    }
    lines.extend(
        findings.wrong.iter().take(SHOWN_MAX).map(|finding| format!("  {}", clean(finding))),
    );
    let took = span(findings.took);
    lines.push(match findings.wrong.len() {
        0 => format!("{} ({took})", ink.good("all is well")),
        n => format!("{} ({took})", ink.bad(&format!("{n} findings"))),
    });
    paper::line(&lines.join("\n")).context("cannot write")
}
