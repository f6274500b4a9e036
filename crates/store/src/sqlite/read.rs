//! The read-only side: a connection of its own, a consistent picture per call, never waiting for
//! the lane.

use std::path::Path;

use armarius_core::event::{Commit, Event, Outcome};
use armarius_core::ids::{BatchId, CollectionId, ItemId, QueueId, TaskId};
use armarius_core::rows::{Batch, Body, Item, Task};
use armarius_core::task::State;
use armarius_core::text::Name;
use armarius_core::view::{CommitHead, Need, View};
use armarius_engine::seam::{Reader, StoreError, TaskFilter};

use super::cells::Cells;
use super::desk::Desk;
use super::fault::Answer;
use super::load;
use super::open::{self, Options};
use super::rows::event;
use super::rows::{batch, item, task};
use crate::codes::numbers_text;
use crate::codes::state_code;

/// Reads what is committed.
#[derive(Debug)]
pub(super) struct SqliteReader {
    desk: Desk,
}

impl SqliteReader {
    pub(super) fn open(path: &Path, options: &Options) -> Answer<Self> {
        Ok(Self { desk: open::open_reader(path, options)? })
    }

    /// One picture of the file for everything `look` does.
    fn still<T>(&self, look: impl FnOnce(&Desk) -> Answer<T>) -> Answer<T> {
        self.desk.run("begin", ())?;
        let answer = look(&self.desk);
        // Nothing was written, so ending it either way is the same.
        let ended = self.desk.run("rollback", ());
        answer.and_then(|answer| ended.map(|_| answer))
    }
}

impl Reader for SqliteReader {
    fn look(&mut self, needs: &[Need], view: &mut View, fresh: bool) -> Result<(), StoreError> {
        self.still(|desk| {
            if fresh {
                *view = View::new(view.shard);
                view.head = event::commit_head(desk)?;
                load::whole(desk, view)?;
            }
            load::load(desk, needs, view)
        })
    }

    fn events(&mut self, item: ItemId, after: i64, max: usize) -> Result<Vec<Event>, StoreError> {
        let params = (item.0, after, limit(max));
        self.still(|desk| desk.all("event", event::EVENTS_AFTER, params, event::event_of))
    }

    fn head(&mut self) -> Result<CommitHead, StoreError> {
        event::commit_head(&self.desk)
    }

    fn events_at(&mut self, refs: &[(ItemId, i64)]) -> Result<Vec<Event>, StoreError> {
        self.still(|desk| {
            let one = |(item, n): &(ItemId, i64)| {
                desk.first("event", event::EVENT, (item.0, *n), event::event_of)
            };
            refs.iter().filter_map(|at| one(at).transpose()).collect()
        })
    }

    fn commits(&mut self, after: i64, max: usize) -> Result<Vec<Commit>, StoreError> {
        let params = (after, limit(max));
        self.still(|desk| desk.all("commit", event::COMMITS_AFTER, params, event::commit_of))
    }

    fn tasks(&mut self, filter: &TaskFilter) -> Result<Vec<(Body, Task)>, StoreError> {
        self.still(|desk| tasks(desk, filter))
    }

    fn items(
        &mut self,
        collection: CollectionId,
        after: ItemId,
        max: usize,
    ) -> Result<Vec<Item>, StoreError> {
        let params = (collection.0, after.0, limit(max));
        self.still(|desk| desk.all("item", item::ITEMS_AFTER, params, item::item_of))
    }

    fn marked(
        &mut self,
        (name, outcome): (&Name, Outcome),
        after: ItemId,
        max: usize,
    ) -> Result<Option<Vec<ItemId>>, StoreError> {
        let found = self.still(|desk| item::marked(desk, (name, outcome), after, limit(max)));
        found.map(Some)
    }

    fn batches(&mut self, below: Option<BatchId>, max: usize) -> Result<Vec<Batch>, StoreError> {
        let params = (below.map_or(i64::MAX, |b| b.0), limit(max));
        self.still(|desk| desk.all("batch", batch::BELOW, params, batch::batch_of))
    }
}

fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}

/// Tasks that match, newest first. Each way begins at what narrows most: the batch, the item, or,
/// state by state, whatever finds the tasks of that state without looking at all others.
fn tasks(desk: &Desk, filter: &TaskFilter) -> Answer<Vec<(Body, Task)>> {
    if filter.batch.is_some() {
        return ask(desk, task::BY_BATCH, filter, &filter.states);
    }
    if filter.item.is_some() {
        return ask(desk, task::BY_ITEM, filter, &filter.states);
    }
    let states = if filter.states.is_empty() { &State::ALL[..] } else { &filter.states[..] };
    if states.len() == State::ALL.len() {
        return ask(desk, task::BY_NUMBER, filter, &[]);
    }
    let mut found = Vec::new();
    for state in states {
        found.extend(ask(desk, way_to(*state), filter, &[*state])?);
    }
    found.sort_by_key(|(body, _)| std::cmp::Reverse(body.id));
    found.dedup_by_key(|(body, _)| body.id);
    found.truncate(filter.max);
    Ok(found)
}

fn way_to(state: State) -> &'static str {
    match state {
        // Partial index: these never pass through the hot path.
        State::Waiting | State::Held | State::Failed | State::Cancelled => task::BY_STATE,
        State::Leased => task::BY_LEASE,
        // Dense among the newest.
        State::Ready | State::Done => task::BY_NUMBER,
    }
}

fn ask(
    desk: &Desk,
    sql: &'static str,
    filter: &TaskFilter,
    states: &[State],
) -> Answer<Vec<(Body, Task)>> {
    let below = filter.below.unwrap_or(TaskId(i64::MAX)).0;
    let queues = numbers_text(filter.queues.iter().map(|QueueId(id)| *id));
    let states = numbers_text(states.iter().map(|s| state_code(*s)));
    let (item, batch) = (filter.item.map(|i| i.0), filter.batch.map(|b| b.0));
    let above = filter.above.unwrap_or(TaskId(i64::MIN)).0;
    let params = (below, queues, states, item, batch, limit(filter.max), above);
    desk.all("task", sql, params, both_of)
}

fn both_of(cells: &Cells<'_>) -> Answer<(Body, Task)> {
    Ok((task::body_of(cells)?, task::task_of(cells, task::BODY_COLUMNS)?))
}
