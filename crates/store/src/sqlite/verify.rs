//! Is what is stored what was once committed?

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use armarius_core::address::push_item;
use armarius_core::event::{self, Canon, Commit, Event, Hash, chain, digest, seal};
use armarius_core::ids::{ItemId, TaskId};

use super::cells::Cells;
use super::desk::Desk;
use super::fault::{Answer, OrFault as _, corrupt};
use super::inspect::Watch;
use super::rows::event as stored;

/// Commits looked at when a file is opened; what a lying disk loses is the newest.
const NEWEST_COMMITS_MAX: usize = 1_000;
/// Events looked at when a file is opened.
const NEWEST_EVENTS_MAX: usize = 50_000;

/// What a full verification looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Commits whose seals hold.
    pub commits: u64,
    /// Events whose hashes hold.
    pub events: u64,
    /// Items whose events are numbered without gaps.
    pub items: u64,
}

/// The newest commits: their seals chain, and the events they name exist with the hashes they seal.
pub(super) fn newest(desk: &Desk) -> Answer<()> {
    let mut statement = desk.prepare(stored::COMMITS_BACKWARDS)?;
    let mut rows = statement.query(()).or_fault()?;
    let mut later: Option<Commit> = None;
    let (mut commits, mut events) = (0, 0);
    while let Some(row) = rows.next().or_fault()? {
        let commit = stored::commit_of(&Cells::new(desk, "commit", row))?;
        if let Some(later) = &later {
            joined(&commit, later)?;
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
        Some(first) => joined(&Commit { n: 0, seal: Hash::default(), ..first.clone() }, &first),
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
        if (commit.n, commit.prev) != (before.0 + 1, before.1) {
            let (n, newest) = (commit.n, before.0);
            return Err(corrupt(format!("table commit, row {n}: does not follow {newest}")));
        }
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

fn joined(earlier: &Commit, later: &Commit) -> Answer<()> {
    if later.n == earlier.n + 1 && later.prev == earlier.seal {
        return Ok(());
    }
    let (n, before) = (later.n, earlier.n);
    Err(corrupt(format!("table commit, row {n}: does not follow {before}")))
}

fn sealed(desk: &Desk, commit: &Commit) -> Answer<()> {
    let n = commit.n;
    let mut events = Vec::with_capacity(commit.events.len());
    for (item, number) in &commit.events {
        let found = desk.first("event", stored::EVENT, (item.0, *number), stored::event_of)?;
        events.push(found.ok_or_else(|| {
            corrupt(format!("table commit, row {n}: event {number} of item {item} is missing"))
        })?);
    }
    if seal(n, commit.at, commit.prev, &events).seal == commit.seal {
        return Ok(());
    }
    Err(corrupt(format!("table commit, row {n}: its seal does not fit its events")))
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
            stream = Stream::of(desk, event.item)?;
            tasks.texts.clear();
            verified.items += 1;
        }
        stream.follow(&event, tasks.text(desk, event.task)?)?;
        verified.events += 1;
        watch(verified.events);
        Ok(())
    })
}

/// The events of one item, one after another.
#[derive(Default)]
struct Stream {
    item: Option<ItemId>,
    text: String,
    n: i64,
    hash: Hash,
}

impl Stream {
    fn of(desk: &Desk, item: ItemId) -> Answer<Self> {
        let sql = "select item.key, collection.name, word.text from item
                   join collection on collection.id = item.collection
                   join word on word.id = item.kind where item.id = ?1";
        let text = desk.first("item", sql, (item.0,), |cells| {
            let mut text = String::new();
            push_item(&mut text, cells.str(1)?, cells.str(2)?, cells.str(0)?);
            Ok(text)
        })?;
        let text = text.ok_or_else(|| corrupt(format!("table item, row {item}: is missing")))?;
        Ok(Self { item: Some(item), text, n: 0, hash: Hash::default() })
    }

    fn follow(&mut self, event: &Event, task: &str) -> Answer<()> {
        let Event { item, n, .. } = event;
        let wrong = |why: &str| Err(corrupt(format!("table event, row {item}, {n}: {why}")));
        if *n != self.n + 1 {
            return wrong("leaves a gap in the item's numbers");
        }
        if event.detail.as_deref().is_some_and(|d| Some(digest(d)) != event.detail_digest) {
            return wrong("its detail is not what was recorded");
        }
        if chain(event, Canon { stream: &self.text, task }, &self.hash) != event.hash {
            return wrong("its hash does not fit what it says");
        }
        self.n = *n;
        self.hash = event.hash;
        Ok(())
    }
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
