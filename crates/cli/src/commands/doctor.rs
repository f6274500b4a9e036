//! `armarius doctor`: is everything that is stored true?
//!
//! Reads a store nobody else has open and checks all of it: pages, every event's hash and every
//! commit's seal, then what the rows say against what the events say – states, tokens, marks,
//! counters, queues, limits, dependencies. It changes nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use armarius_core::event::Event;
use armarius_core::ids::ItemId;
use armarius_core::invariants;
use armarius_store::{Sqlite, World, sqlite};

/// The store in a data folder.
const STORE_FILE: &str = "armarius.db";
/// What a store that contradicts itself exits with, as documented.
const CORRUPT: u8 = 65;
/// Findings shown; more are counted.
const SHOWN_MAX: usize = 50;

/// Checks a store that no server has open.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The store's file, as `sqlite:PATH`; the one in the data folder when absent.
    #[arg(long)]
    store: Option<String>,
    /// The data folder.
    #[arg(long, default_value = crate::config::DATA_DEFAULT)]
    data: PathBuf,
    /// Print one JSON object instead of lines for people.
    #[arg(long)]
    json: bool,
}

#[expect(clippy::needless_pass_by_value, reason = "every command is run in this way")]
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let path = match &args.store {
        Some(store) => PathBuf::from(store.strip_prefix("sqlite:").unwrap_or(store)),
        None => args.data.join(STORE_FILE),
    };
    anyhow::ensure!(path.is_file(), "there is no store at {}", path.display());
    let began = Instant::now();
    let store = Sqlite::open(&path, sqlite::Options::default())
        .with_context(|| format!("cannot open {}", path.display()))?;
    let mut wrong = store.verify_pages()?;
    let history = match store.verify_everything() {
        Ok(verified) => Some(verified),
        Err(error) => {
            wrong.push(error.to_string());
            None
        }
    };
    match store.dump() {
        Ok(world) => wrong.extend(check(world)),
        Err(error) => wrong.push(error.to_string()),
    }
    let seconds = began.elapsed().as_secs_f64();
    if args.json {
        let report = serde_json::json!({
            "store": path.display().to_string(),
            "events": history.map(|h| h.events),
            "commits": history.map(|h| h.commits),
            "items": history.map(|h| h.items),
            "findings": wrong,
            "seconds": seconds,
        });
        println!("{report}");
    } else {
        if let Some(h) = history {
            println!("{} events of {} items in {} commits hold", h.events, h.items, h.commits);
        }
        for finding in wrong.iter().take(SHOWN_MAX) {
            println!("  {finding}");
        }
        match wrong.len() {
            0 => println!("all is well ({seconds:.1} s)"),
            n => println!("{n} findings ({seconds:.1} s)"),
        }
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CORRUPT) })
}

/// Checks rows against each other and against the history.
fn check(world: World) -> Vec<String> {
    let events = world.events.clone();
    let view = world.into_view();
    let mut wrong = invariants::check(&view);
    let mut histories: BTreeMap<ItemId, Vec<&Event>> = BTreeMap::new();
    for ((item, _), event) in &events {
        histories.entry(*item).or_default().push(event);
    }
    wrong.extend(invariants::check_history(&view, histories.into_iter()));
    wrong
}
