//! `armarius watch`: follows something until it has ended.

use std::process::ExitCode;
use std::time::Duration;

use armarius_wire::client::{Client, segment};
use armarius_wire::v1::Page;
use armarius_wire::v1::batch::Batch;
use armarius_wire::v1::collection::Collection;
use armarius_wire::v1::event::Event;
use armarius_wire::v1::item::Item;
use armarius_wire::v1::status::Counts;
use armarius_wire::v1::task::Task;
use serde::Serialize;

use crate::connect::Connection;
use crate::exit::ENDED_BADLY;
use crate::paper::{self, Ink};
use crate::progress::Progress;

/// Follows a task, an item, a batch or a collection until nothing of it is open. Ends with 0 when
/// all went well and with 5 when something failed or was cancelled. When nothing is named it tells
/// everything that happens, until it is stopped.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A task (number or address), an item (collection/kind/key), `batch:NUMBER`, or a collection;
    /// everything when it is left out
    about: Option<String>,
    /// Begin behind this cursor, which `--json` shows, not now
    #[arg(long, value_name = "CURSOR", conflicts_with = "about")]
    after: Option<String>,
    /// Seconds between looks
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS", value_parser = interval)]
    interval: f64,
    #[command(flatten)]
    connection: Connection,
}

fn interval(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=3_600.0).contains(&seconds) => Ok(seconds),
        Ok(_) | Err(_) => Err("write seconds from 0.1 to 3600".to_owned()),
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { about, after, interval, connection } = args;
    let client = connection.client()?;
    let json = connection.json;
    let every = Duration::from_secs_f64(interval);
    let Some(about) = about else {
        super::feed::follow(&client, after, every, json)?;
        return Ok(ExitCode::SUCCESS);
    };
    let is_item = about.split('/').count() >= 3 && !super::why::is_task(&about);
    let well = if let Some(batch) = about.strip_prefix("batch:") {
        watch_batch(&client, batch, every, json)?
    } else if super::why::is_task(&about) {
        watch_task(&client, &about, every, json)?
    } else if is_item {
        watch_item(&client, &about, every, json)?
    } else {
        watch_collection(&client, &about, every, json)?
    };
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::from(ENDED_BADLY) })
}

/// One line per change: as JSON on one line, or for people.
fn tell<T: Serialize>(json: bool, data: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    if json { paper::line(&serde_json::to_string(data)?) } else { paper::line(&text()) }
}

fn watch_task(client: &Client, about: &str, every: Duration, json: bool) -> anyhow::Result<bool> {
    let ink = Ink::of_stdout();
    let mut task: Task = super::task::find(client, about)?;
    let path = format!("tasks/{}", task.task);
    let mut told = None;
    loop {
        let now = (task.state.clone(), task.attempts, task.cause.clone());
        if told.as_ref() != Some(&now) {
            tell(json, &task, || {
                let Task { state, attempts, since, cause, worker, .. } = &task;
                let by = worker.as_ref().map_or_else(String::new, |w| format!(" by {w}"));
                let why = if cause.is_empty() { String::new() } else { format!(" ({cause})") };
                let state = ink.state(state);
                let since = paper::when(since);
                format!("{since}  {state}{why}{}  attempt {attempts}", paper::clean(&by))
            })?;
            told = Some(now);
        }
        match task.state.as_str() {
            "done" => return Ok(true),
            "failed" | "cancelled" => return Ok(false),
            _ => std::thread::sleep(every),
        }
        task = client.get(&path, &[])?;
    }
}

fn watch_item(client: &Client, about: &str, every: Duration, json: bool) -> anyhow::Result<bool> {
    let path = format!("items/{}", armarius_wire::client::in_path(about));
    let ink = Ink::of_stdout();
    let mut after = 0;
    loop {
        // The item first: events that come between the two looks are told now, not lost.
        let item: Item = client.get(&path, &[])?;
        loop {
            let cursor = after.to_string();
            let query = [("item", about), ("cursor", cursor.as_str()), ("max", "1000")];
            let page: Page<Event> = client.get("events", &query)?;
            for event in &page.entries {
                after = event.n;
                tell(json, event, || {
                    let end = event.outcome.as_ref().or(event.to.as_ref());
                    let end = end.map_or_else(String::new, |e| format!("  {}", ink.state(e)));
                    let Event { n, at, name, actor, .. } = event;
                    let at = paper::when(at);
                    format!("{at}  {n:>5}  {}{end}  {}", paper::clean(name), paper::clean(actor))
                })?;
            }
            if page.next.is_none() {
                break;
            }
        }
        let is = |states: &[&str]| item.tasks.iter().any(|t| states.contains(&&*t.state));
        if !is(&["waiting", "held", "ready", "leased"]) {
            return Ok(!is(&["failed", "cancelled"]));
        }
        std::thread::sleep(every);
    }
}

fn watch_batch(client: &Client, batch: &str, every: Duration, json: bool) -> anyhow::Result<bool> {
    let mut progress: Option<Progress> = None;
    let (mut told, path) = (None, format!("batches/{batch}"));
    loop {
        let batch: Batch = client.get(&path, &[])?;
        let Batch { state, total, open, done, failed, cancelled, .. } = &batch;
        let label =
            format!("{state}: {open} open, {done} done, {failed} failed, {cancelled} cancelled");
        let settled = u64::try_from(total - open).unwrap_or(0);
        let of = u64::try_from(*total).unwrap_or(0);
        progress.get_or_insert_with(|| Progress::new("settled", Some(of))).at(settled, &label);
        if told.as_ref() != Some(&label) {
            if let Some(progress) = &mut progress {
                progress.end();
            }
            tell(json, &batch, || label.clone())?;
            told = Some(label);
        }
        match state.as_str() {
            "completed" => return Ok(*failed == 0 && *cancelled == 0),
            "failed" | "deleted" => return Ok(false),
            // An open batch waits for members; what it has may be settled.
            _ => std::thread::sleep(every),
        }
    }
}

fn watch_collection(
    client: &Client,
    name: &str,
    every: Duration,
    json: bool,
) -> anyhow::Result<bool> {
    let path = format!("collections/{}", segment(name));
    let mut told = None;
    loop {
        let collection: Collection = client.get(&path, &[])?;
        let tasks = collection.tasks;
        if told != Some(tasks) {
            tell(json, &collection, || counts(&tasks))?;
            told = Some(tasks);
        }
        if tasks.waiting + tasks.held + tasks.ready + tasks.leased == 0 {
            return Ok(tasks.failed == 0);
        }
        std::thread::sleep(every);
    }
}

/// Counts in one line.
pub(super) fn counts(t: &Counts) -> String {
    format!(
        "{} waiting, {} held, {} ready, {} leased, {} done, {} failed, {} cancelled",
        t.waiting, t.held, t.ready, t.leased, t.done, t.failed, t.cancelled
    )
}
