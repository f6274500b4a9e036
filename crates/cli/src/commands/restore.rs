//! `armarius restore`: brings a backup back, into an empty place.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use armarius_core::Command;
use armarius_core::reply::Reply;
use armarius_core::text::Name;
use armarius_engine::Engine;
use armarius_store::Sqlite;
use armarius_store::sqlite::Inspection;
use serde::Serialize;

use super::backup::archive;
use super::doctor;
use crate::exit::Failure;
use crate::paper;
use crate::stores::FILE as STORE_FILE;

/// Who restores, in events.
const ACTOR: &str = "armarius restore";

/// Brings a backup back into an empty data folder.
///
/// Everything is checked before it counts. What was lent when the backup was made is called back,
/// and tokens begin in a new epoch: a worker from before can disturb nobody, and what it reports is
/// recorded as stale.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The backup
    file: PathBuf,
    /// The data folder, which must be empty or not exist
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Show answers as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    data: String,
    events: u64,
    commits: u64,
    items: u64,
    files: usize,
    /// Leases that were called back.
    recalled: usize,
    keys: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { file, data, json } = args;
    let is_empty = fs::read_dir(&data).map_or(true, |mut inner| inner.next().is_none());
    if !is_empty {
        let why = format!("{} is not empty", data.display());
        return Err(Failure::new(why, "restore into a new folder; nothing was changed").into());
    }
    // Beside the place it is for, so that it gets there in one step, whole or not at all.
    let parent = data.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    let scratch = tempfile::Builder::new()
        .prefix(".armarius-restore-")
        .tempdir_in(parent)
        .with_context(|| parent.display().to_string())?;
    let fresh = scratch.path().join("data");
    DirBuilder::new().mode(0o700).create(&fresh)?;
    let manifest = archive::unpack(&file, &fresh)?;
    let store = fresh.join(STORE_FILE);
    if !store.is_file() {
        let why = format!("there is no store in {}", file.display());
        return Err(Failure::corrupt(why, "use another backup").into());
    }
    let findings = doctor::look(&Inspection::of_copy(&store)?);
    let (Some(history), []) = (findings.history, findings.wrong.as_slice()) else {
        let wrong = findings.wrong.first().map_or("it cannot be read", String::as_str);
        let why = format!("the store in the backup contradicts itself: {wrong}");
        return Err(Failure::corrupt(why, "use another backup; nothing was changed").into());
    };
    let recalled = begin_anew(&store)?;
    if data.is_dir() {
        fs::remove_dir(&data).with_context(|| data.display().to_string())?;
    }
    fs::rename(&fresh, &data).with_context(|| data.display().to_string())?;
    fs::File::open(parent).and_then(|folder| folder.sync_all())?;
    let report = Report {
        data: data.display().to_string(),
        events: history.events,
        commits: history.commits,
        items: history.items,
        files: manifest.entries.len(),
        recalled,
        keys: manifest.entries.iter().any(|entry| entry.name == "admin.key"),
    };
    paper::show(json, &report, |r| {
        let Report { data, events, commits, items, recalled, .. } = r;
        format!(
            "{data}: {events} events of {items} items in {commits} commits hold; {recalled} leases \
             called back, tokens begin in a new epoch"
        )
    })?;
    if !report.keys && !json {
        eprintln!("the backup holds no admin key: the first start makes one for this machine");
    }
    Ok(ExitCode::SUCCESS)
}

/// As [`call_back`], on a file that no server has open yet.
fn begin_anew(store: &Path) -> anyhow::Result<usize> {
    let store = Sqlite::open(store, armarius_store::Options::small())?;
    call_back(Engine::start(Box::new(store), without_duties())?, ACTOR)
}

/// An engine that does only what it is told.
pub(super) fn without_duties() -> armarius_engine::Options {
    armarius_engine::Options { with_duties: false, ..Default::default() }
}

/// Raises the epoch and calls back what was lent, then stops the engine; says how many leases.
pub(super) fn call_back(engine: Engine, actor: &str) -> anyhow::Result<usize> {
    let handle = engine.handle();
    let ask = |command| handle.call(Name::trusted(actor), None, command);
    ask(Command::RaiseEpoch).context("cannot raise the epoch")?;
    let mut recalled = 0;
    while let Reply::Duty { did, more } = ask(Command::Recall).context("cannot call back")? {
        recalled += did;
        if !more {
            break;
        }
    }
    engine.stop().map_err(|fatal| anyhow::anyhow!("{fatal}"))?;
    Ok(recalled)
}
