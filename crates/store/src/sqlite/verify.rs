//! Is what is stored what was once committed?

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use armarius_core::address::push_item;
use armarius_core::event::{self, Commit, Hash};
use armarius_core::ids::{ItemId, TaskId};

use super::cells::Cells;
use super::desk::Desk;
use super::fault::{Answer, OrFault as _, corrupt};
use super::inspect::Watch;
use super::rows::event as stored;
use crate::chain::{self, Stream, Verified, joined};

/// Commits looked at when a file is opened; what a lying disk loses is the newest.
const NEWEST_COMMITS_MAX: usize = 1_000;
/// Events looked at when a file is opened.
const NEWEST_EVENTS_MAX: usize = 50_000;

/// The newest commits: their seals chain, and the events they name exist with the hashes they seal.
pub(super) fn newest(desk: &Desk) -> Answer<()> {
    let mut statement = desk.prepare(stored::COMMITS_BACKWARDS)?;
    let mut rows = statement.query(()).or_fault()?;
    let mut later: Option<Commit> = None;
    let (mut commits, mut events) = (0, 0);
    while let Some(row) = rows.next().or_fault()? {
        let commit = stored::commit_of(&Cells::new(desk, "commit", row))?;
        if let Some(later) = &later {
            joined((commit.n, commit.seal), later)?;
        }
        sealed(desk, &commit)?;
        commits += 1;
        events += commit.events.len();
        if commits >= NEWEST_COMMITS_MAX || events >= NEWEST_EVENTS_MAX {
            return Ok(());
        }
        later = Some(commit);
    }
    match later {
        Some(first) => joined((0, Hash::default()), &first),
        None => Ok(()),
    }
}

/// Every event's hash, every item's numbering, every commit's seal; and that each event was brought
/// by exactly one commit.
pub(super) fn everything(desk: &Desk, watch: &mut Watch<'_>) -> Answer<Verified> {
    let mut verified = Verified::default();
    let [events, commits] = amounts(desk)?;
    streams(desk, &mut verified, &mut |done| watch("hashes of events", done, events))?;
    let mut named = 0;
    let mut before = (0, Hash::default());
    let every = (-1_i64, i64::MAX);
    desk.each("commit", stored::COMMITS_AFTER, every, |cells| {
        let commit = stored::commit_of(cells)?;
        joined(before, &commit)?;
        sealed(desk, &commit)?;
        before = (commit.n, commit.seal);
        named += commit.events.len() as u64;
        verified.commits += 1;
        watch("seals of commits", verified.commits, commits);
        Ok(())
    })?;
    if named != verified.events {
        let events = verified.events;
        return Err(corrupt(format!("table event: {events} events, but commits name {named}")));
    }
    Ok(verified)
}

/// What SQLite itself finds wrong with pages and indexes.
pub(super) fn pages(desk: &Desk) -> Answer<Vec<String>> {
    let found =
        desk.all("pragma", "pragma quick_check", (), |cells| cells.str(0).map(str::to_owned))?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}

fn sealed(desk: &Desk, commit: &Commit) -> Answer<()> {
    chain::sealed(commit, |item, n| {
        desk.first("event", stored::EVENT, (item.0, n), stored::event_of)
    })
}

/// About how many events and commits there are.
fn amounts(desk: &Desk) -> Answer<[u64; 2]> {
    let newest = |sql: &'static str| -> Answer<u64> {
        let found = desk.first("event", sql, (), |cells| cells.maybe_int(0))?.flatten();
        Ok(u64::try_from(found.unwrap_or(0)).unwrap_or(0))
    };
    Ok([newest("select max(rowid) from event")?, newest("select max(n) from \"commit\"")?])
}

fn streams(desk: &Desk, verified: &mut Verified, watch: &mut dyn FnMut(u64)) -> Answer<()> {
    let mut stream = Stream::default();
    let mut tasks = TaskTexts::default();
    desk.each("event", stored::EVENTS_IN_ORDER, (), |cells| {
        let event = stored::event_of(cells)?;
        if stream.item != Some(event.item) {
            stream = Stream::of(event.item, address(desk, event.item)?);
            tasks.texts.clear();
            verified.items += 1;
        }
        stream.follow(&event, tasks.text(desk, event.task)?)?;
        verified.events += 1;
        watch(verified.events);
        Ok(())
    })
}

/// An item's address, as its events mean it.
fn address(desk: &Desk, item: ItemId) -> Answer<String> {
    let sql = "select item.key, collection.name, word.text from item
               join collection on collection.id = item.collection
               join word on word.id = item.kind where item.id = ?1";
    let text = desk.first("item", sql, (item.0,), |cells| {
        let mut text = String::new();
        push_item(&mut text, cells.str(1)?, cells.str(2)?, cells.str(0)?);
        Ok(text)
    })?;
    text.ok_or_else(|| corrupt(format!("table item, row {item}: is missing")))
}

/// How the tasks of an item are written in its events.
#[derive(Default)]
struct TaskTexts {
    texts: BTreeMap<TaskId, String>,
}

impl TaskTexts {
    fn text(&mut self, desk: &Desk, task: Option<TaskId>) -> Answer<&str> {
        let Some(task) = task else { return Ok("") };
        match self.texts.entry(task) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => Ok(new.insert(task_text(desk, task)?)),
        }
    }
}

fn task_text(desk: &Desk, task: TaskId) -> Answer<String> {
    let sql = "select body.part, body.round, flow.name, queue.step from body
               join queue on queue.id = body.queue join flow on flow.id = body.flow
               where body.id = ?1";
    let text = desk.first("body", sql, (task.0,), |cells| {
        Ok(event::task_text(cells.str(2)?, cells.str(3)?, cells.str(0)?, cells.small(1)?))
    })?;
    text.ok_or_else(|| corrupt(format!("table body, row {task}: is missing")))
}
