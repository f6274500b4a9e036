//! `armarius store`: what is done to whole stores.

use std::process::ExitCode;

use armarius_engine::seam::StoreError;
use armarius_engine::{Engine, Fatal};
use armarius_store::Sqlite;
use armarius_store::copy::{self, Copied, Place};

use super::doctor::file_of;
use super::restore::{call_back, without_duties};
use crate::exit::Failure;
use crate::paper;
use crate::progress::Progress;
use crate::stores::{self, StoreAt};

/// What is done to whole stores.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Copies a whole archive into an empty store, and verifies the copy
    ///
    /// No server may have either of them open. What was interrupted goes on where it was when the
    /// same command is given again; until it is finished the target serves nothing else. Workers of
    /// the source cannot report to the copy: its tokens are of a new epoch.
    Copy {
        /// The store to copy: sqlite:PATH or postgres://…
        from: String,
        /// The empty store to copy into: sqlite:PATH or postgres://…
        to: String,
        /// Print one JSON object instead of lines for people
        #[arg(long)]
        json: bool,
    },
    /// Calls back everything that was lent, and begins a new epoch of tokens
    ///
    /// For a store that other tools brought back to an older state: a snapshot of a disk, a base
    /// backup without its log. A worker from before can then disturb nobody, and what it reports is
    /// recorded as stale. `armarius restore` does this by itself, and so does a server that notices
    /// a fail-over or a dump that was brought back.
    Recall {
        /// The store: sqlite:PATH or postgres://…
        store: String,
        /// Print one JSON object instead of lines for people
        #[arg(long)]
        json: bool,
    },
}

/// Who calls back, in events.
const ACTOR: &str = "armarius store recall";

#[expect(clippy::needless_pass_by_value, reason = "every command is run in this way")]
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match &args.verb {
        Verb::Copy { from, to, json } => copy(from, to, *json)?,
        Verb::Recall { store, json } => recall(store, *json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn copy(from: &str, to: &str, json: bool) -> anyhow::Result<()> {
    let (from, to) = (StoreAt::read(from)?, StoreAt::read(to)?);
    let copied = {
        let mut stage = Stage::default();
        let mut tell = |at: &copy::Progress| stage.at(at.what, at.rows);
        copy::run(&place(&from)?, &place(&to)?, &mut tell).map_err(|error| failed(&error))?
    };
    let Copied { collections, tasks, events, shards } = copied;
    if json {
        return paper::line(
            &serde_json::json!({
                "from": from.shown(),
                "to": to.shown(),
                "collections": collections,
                "tasks": tasks,
                "events": events,
                "shards": shards,
            })
            .to_string(),
        );
    }
    paper::line(&format!(
        "copied {collections} collections with {tasks} tasks and {events} events into {shards} \
         shards of {}; everything was read back and holds",
        to.shown()
    ))
}

fn recall(store: &str, json: bool) -> anyhow::Result<()> {
    let at = StoreAt::read(store)?;
    let engine = match place(&at)? {
        Place::Sqlite(path) => {
            let path = file_of(Some(store), &path)?;
            let store = Sqlite::open(&path, armarius_store::Options::small());
            let store = store.map_err(|error| stores::unusable(&error))?;
            Engine::start(Box::new(store), without_duties())?
        }
        Place::Postgres(url) => Engine::start_all(&stores::open_database(&url)?, without_duties())?,
    };
    let recalled = call_back(engine, ACTOR)?;
    let shown = at.shown();
    if json {
        return paper::line(
            &serde_json::json!({ "store": shown, "recalled": recalled }).to_string(),
        );
    }
    paper::line(&format!("{shown}: {recalled} leases called back, tokens begin in a new epoch"))
}

fn place(at: &StoreAt) -> anyhow::Result<Place> {
    match at {
        StoreAt::Sqlite(path) => Ok(Place::Sqlite(path.clone())),
        StoreAt::Postgres(url) => Ok(Place::Postgres(url.clone())),
        StoreAt::Memory => {
            let why = "a store in memory ends with its process";
            Err(Failure::new(why, "name sqlite:PATH or postgres://…").into())
        }
    }
}

fn failed(error: &StoreError) -> anyhow::Error {
    let hint = match error {
        StoreError::Unavailable(_) | StoreError::Unknown(_) => {
            "give the same command again: it goes on where it was"
        }
        StoreError::Unusable(_) => "stop the servers of both, and copy into an empty store",
        StoreError::Full(_) => "make room for the target, then give the same command again",
        StoreError::Corrupt(_) => "run `armarius doctor` on the source",
        StoreError::Disk(_) => "check the disk, then give the same command again",
    };
    match Fatal::of(error) {
        Some(fatal) => Failure::fatal(&fatal, hint).into(),
        None => Failure::new(error.to_string(), hint).into(),
    }
}

/// The part that is under way, and how far it is.
#[derive(Default)]
struct Stage {
    shown: Option<(&'static str, Progress)>,
}

impl Stage {
    fn at(&mut self, what: &'static str, rows: usize) {
        if self.shown.as_ref().is_none_or(|(shown, _)| *shown != what) {
            self.shown = Some((what, Progress::new(what, None)));
        }
        if let Some((_, progress)) = &mut self.shown {
            progress.at(rows as u64, &format!("{rows} rows"));
        }
    }
}
