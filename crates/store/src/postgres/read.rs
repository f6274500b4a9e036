//! The read-only side: one picture of the database per call, never waiting for a lane.

use std::collections::HashMap;

use armarius_core::event::{Commit, Event, Outcome};
use armarius_core::ids::{BatchId, CollectionId, ItemId, QueueId, TaskId};
use armarius_core::rows::{Batch, Body, Item, Task};
use armarius_core::task::State;
use armarius_core::text::Name;
use armarius_core::view::{CommitHead, Need, View};
use armarius_engine::seam::{History, HistoryLimits, Reader, StoreError, TaskFilter};

use super::cells::Cells;
use super::desk::{Desk, Mode};
use super::fault::Answer;
use super::load;
use super::rows::{batch, counter, event, item, task};
use super::wire::{Kind, Script};
use crate::codes::{outcome_code, state_code};

/// Reads what is committed, in one shard or in several.
#[derive(Debug)]
pub(super) struct PostgresReader {
    desk: Desk,
}

impl PostgresReader {
    pub(super) fn new(desk: Desk) -> Self {
        Self { desk }
    }

    /// One picture for everything `look` does.
    fn still<T>(&mut self, look: impl FnOnce(&mut Desk) -> Answer<T>) -> Answer<T> {
        self.desk.begin(Mode::Read, |_| Ok(()))?;
        let answer = look(&mut self.desk);
        self.desk.abandon();
        answer
    }
}

impl Reader for PostgresReader {
    fn look(&mut self, needs: &[Need], view: &mut View, fresh: bool) -> Result<(), StoreError> {
        self.still(|desk| {
            if fresh {
                *view = View::new(view.shard);
                view.head = head(desk)?;
                load::whole(desk, view)?;
            }
            load::load(desk, needs, view)
        })
    }

    fn events(&mut self, item: ItemId, after: i64, max: usize) -> Result<Vec<Event>, StoreError> {
        self.still(|desk| events(desk, &[item], after, max))
    }

    fn head(&mut self) -> Result<CommitHead, StoreError> {
        self.still(head)
    }

    fn events_at(&mut self, refs: &[(ItemId, i64)]) -> Result<Vec<Event>, StoreError> {
        self.still(|desk| {
            let mut keys = event::EVENT.key_grid();
            refs.iter().try_for_each(|(item, n)| keys.push(&[item.0.into(), (*n).into()]))?;
            let mut script = desk.ask_shards()?;
            script.with_grid(keys)?.ask(event::EVENT.find())?;
            let rows = desk.rows(script, event::EVENT_WORDS)?;
            let read = |row| event::event_of(&Cells::new(&desk.words, &event::EVENT, row));
            let events: Vec<Event> = rows.iter().map(read).collect::<Answer<_>>()?;
            let mut found: HashMap<(ItemId, i64), Event> =
                events.into_iter().map(|e| ((e.item, e.n), e)).collect();
            Ok(refs.iter().filter_map(|at| found.remove(at)).collect())
        })
    }

    fn commits(&mut self, after: i64, max: usize) -> Result<Vec<Commit>, StoreError> {
        if self.desk.shards.len() > 1 {
            return Err(StoreError::Unusable("commits are counted per shard; ask one".to_owned()));
        }
        self.still(|desk| {
            let mut script = desk.ask_shards()?;
            script
                .with_list(Kind::I8, [after])?
                .with_list(Kind::I8, [limit(max)])?
                .ask(&event::COMMIT.stretch(&[], &["n"]))?;
            let rows = desk.rows(script, &[])?;
            let read = |row| event::commit_of(&Cells::new(&desk.words, &event::COMMIT, row));
            rows.iter().map(read).collect()
        })
    }

    fn tasks(&mut self, filter: &TaskFilter) -> Result<Vec<(Body, Task)>, StoreError> {
        self.still(|desk| tasks(desk, filter))
    }

    fn histories(
        &mut self,
        items: &[ItemId],
        limits: HistoryLimits,
    ) -> Result<Vec<History>, StoreError> {
        self.still(|desk| {
            let mut found: HashMap<ItemId, History> = HashMap::with_capacity(items.len());
            for (body, task) in tasks_of(desk, items, limits.tasks_max)? {
                found.entry(body.item).or_default().tasks.push((body, task));
            }
            for event in events(desk, items, 0, limits.events_max)? {
                found.entry(event.item).or_default().events.push(event);
            }
            Ok(items.iter().map(|item| found.remove(item).unwrap_or_default()).collect())
        })
    }

    fn items(
        &mut self,
        collection: CollectionId,
        after: ItemId,
        max: usize,
    ) -> Result<Vec<Item>, StoreError> {
        self.still(|desk| {
            let mut script = desk.ask_shards()?;
            script
                .with_list(Kind::I8, [collection.0])?
                .with_list(Kind::I8, [after.0])?
                .with_list(Kind::I8, [limit(max)])?
                .ask(&item::ITEM.stretch(&["collection"], &["id"]))?;
            let rows = desk.rows(script, item::ITEM_WORDS)?;
            let read = |row| item::item_of(&Cells::new(&desk.words, &item::ITEM, row));
            rows.iter().map(read).collect()
        })
    }

    fn marked(
        &mut self,
        (name, outcome): (&Name, Outcome),
        after: ItemId,
        max: usize,
    ) -> Result<Option<Vec<ItemId>>, StoreError> {
        self.still(|desk| {
            desk.learn(vec![name])?;
            // A name that no row ever had has no number, and marks nothing.
            let ids: Vec<i64> = desk.words.ids(name).iter().map(|id| i64::from(*id)).collect();
            let mut script = Script::default();
            script
                .with_list(Kind::I4, ids)?
                .with(Kind::I2, outcome_code(outcome))?
                .with(Kind::I8, after.0)?
                .with(Kind::I8, limit(max))?
                .ask(item::MARKED_AFTER)?;
            let rows = desk.rows(script, &[])?;
            let read = |row| Cells::new(&desk.words, &item::MARKED, row).int(0).map(ItemId);
            rows.iter().map(read).collect::<Answer<_>>().map(Some)
        })
    }

    fn batches(&mut self, below: Option<BatchId>, max: usize) -> Result<Vec<Batch>, StoreError> {
        self.still(|desk| {
            let mut script = desk.ask_shards()?;
            let below = below.map_or(i64::MAX, |b| b.0);
            script.with(Kind::I8, below)?.with(Kind::I8, limit(max))?.ask(batch::BELOW)?;
            let rows = desk.rows(script, &[])?;
            let read = |row| batch::batch_of(&Cells::new(&desk.words, &batch::BATCH, row));
            let mut batches: Vec<Batch> = rows.iter().map(read).collect::<Answer<_>>()?;
            batches.sort_by_key(|b| std::cmp::Reverse(b.id));
            batches.truncate(max);
            Ok(batches)
        })
    }
}

/// The newest commit of the only shard; of several, the sum of their numbers.
fn head(desk: &mut Desk) -> Answer<CommitHead> {
    let mut script = desk.ask_shards()?;
    script.ask(counter::NEWEST)?;
    let rows = desk.rows(script, &[])?;
    let mut head = CommitHead::default();
    for row in &rows {
        let cells = Cells::new(&desk.words, &counter::HEAD, row);
        head.n += cells.int(0)?;
        let seal = cells.hash(1)?;
        head.seal.iter_mut().zip(seal).for_each(|(all, one)| *all ^= one);
    }
    Ok(head)
}

/// Events of items after a number, at most so many of each, oldest first.
fn events(desk: &mut Desk, items: &[ItemId], after: i64, max: usize) -> Answer<Vec<Event>> {
    let mut script = desk.ask_shards()?;
    script
        .with_list(Kind::I8, items.iter().map(|item| item.0))?
        .with_list(Kind::I8, items.iter().map(|_| after))?
        .with_list(Kind::I8, items.iter().map(|_| limit(max)))?
        .ask(&event::EVENT.stretch(&["item"], &["n"]))?;
    let rows = desk.rows(script, event::EVENT_WORDS)?;
    let read = |row| event::event_of(&Cells::new(&desk.words, &event::EVENT, row));
    rows.iter().map(read).collect()
}

fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}

// What a reader filters by: below $2, above $8, queues $3, states $4, item $5, batch $6, at most $7
// of each shard; each empty when it does not matter.
macro_rules! wanted {
    () => {
        " and t.id < $2 and t.id > $8
          and (cardinality($3::bigint[]) = 0 or b.queue = any($3::bigint[]))
          and (cardinality($4::smallint[]) = 0 or t.state = any($4::smallint[]))
          and ($5::bigint is null or b.item = $5) and ($6::bigint is null or b.batch = $6)
          order by t.id desc limit $7) as x"
    };
}

// Bodies and behind them their tasks, as the tables list their columns.
macro_rules! both {
    () => {
        "select x.* from unnest($1::smallint[]) as s(shard) cross join lateral (
         select b.id, b.item, b.queue, b.part, b.round, b.flow, b.version, b.solo, b.batch,
                b.payload, b.created_at, b.fingerprint, b.depth,
                t.id as task, t.state, t.token, t.attempts, t.failures, t.lapses, t.priority,
                t.ord, t.ready_at, t.spot, t.admitted, t.blockers, t.lease, t.hold, t.cause,
                t.cause_task, t.since"
    };
}

const BY_NUMBER: &str = concat!(
    both!(),
    " from task as t
      cross join lateral (select b.* from body as b where b.shard = t.shard and b.id = t.id
                          limit 1) as b
      where t.shard = s.shard",
    wanted!()
);
const BY_BATCH: &str = concat!(
    both!(),
    " from body as b
      cross join lateral (select t.* from task as t where t.shard = b.shard and t.id = b.id
                          limit 1) as t
      where b.shard = s.shard and b.batch = $6 and b.batch is not null and b.id < $2",
    wanted!()
);
const BY_ITEM: &str = concat!(
    both!(),
    " from body as b
      cross join lateral (select t.* from task as t where t.shard = b.shard and t.id = b.id
                          limit 1) as t
      where b.shard = s.shard and b.item = $5",
    wanted!()
);
// Tasks of items $2, newest first, at most $3 of each.
const OF_ITEMS: &str = concat!(
    "select x.* from unnest($2::bigint[]) as i(item) cross join lateral (",
    both!(),
    " from body as b
      cross join lateral (select t.* from task as t where t.shard = b.shard and t.id = b.id
                          limit 1) as t
      where b.shard = s.shard and b.item = i.item order by t.id desc limit $3) as x) as x
      order by x.task desc"
);
const BY_STATE: &str = concat!(
    both!(),
    " from task as t
      cross join lateral (select b.* from body as b where b.shard = t.shard and b.id = t.id
                          limit 1) as b
      where t.shard = s.shard and t.stuck is not null and t.stuck = ($4::smallint[])[1]",
    wanted!()
);
const BY_LEASE: &str = concat!(
    both!(),
    " from (select distinct (grip ->> 0)::bigint as id from lease as l
            cross join json_array_elements(l.grips::json) as grip where l.shard = s.shard) as g
      cross join lateral (select t.* from task as t where t.shard = s.shard and t.id = g.id
                          limit 1) as t
      cross join lateral (select b.* from body as b where b.shard = t.shard and b.id = t.id
                          limit 1) as b
      where true",
    wanted!()
);

/// Tasks that match, newest first. Each way begins at what narrows most: the batch, the item, or,
/// state by state, whatever finds the tasks of that state without looking at all others.
fn tasks(desk: &mut Desk, filter: &TaskFilter) -> Answer<Vec<(Body, Task)>> {
    let states = if filter.states.is_empty() { &State::ALL[..] } else { &filter.states[..] };
    let mut found = if filter.batch.is_some() {
        ask(desk, BY_BATCH, filter, &filter.states)?
    } else if filter.item.is_some() {
        ask(desk, BY_ITEM, filter, &filter.states)?
    } else if states.len() == State::ALL.len() {
        ask(desk, BY_NUMBER, filter, &[])?
    } else {
        let mut found = Vec::new();
        for state in states {
            found.extend(ask(desk, way_to(*state), filter, &[*state])?);
        }
        found
    };
    found.sort_by_key(|(body, _)| std::cmp::Reverse(body.id));
    found.dedup_by_key(|(body, _)| body.id);
    found.truncate(filter.max);
    Ok(found)
}

fn way_to(state: State) -> &'static str {
    match state {
        // Partial index: these never pass through the hot path.
        State::Waiting | State::Held | State::Failed | State::Cancelled => BY_STATE,
        State::Leased => BY_LEASE,
        // Dense among the newest.
        State::Ready | State::Done => BY_NUMBER,
    }
}

fn ask(
    desk: &mut Desk,
    sql: &str,
    filter: &TaskFilter,
    states: &[State],
) -> Answer<Vec<(Body, Task)>> {
    let below = filter.below.unwrap_or(TaskId(i64::MAX)).0;
    let mut script: Script = desk.ask_shards()?;
    script
        .with(Kind::I8, below)?
        .with_list(Kind::I8, filter.queues.iter().map(|QueueId(id)| *id))?
        .with_list(Kind::I2, states.iter().map(|s| state_code(*s)))?
        .with(Kind::I8, filter.item.map(|i| i.0))?
        .with(Kind::I8, filter.batch.map(|b| b.0))?
        .with(Kind::I8, limit(filter.max))?
        .with(Kind::I8, filter.above.map_or(i64::MIN, |t| t.0))?
        .ask(sql)?;
    both(desk, script)
}

fn tasks_of(desk: &mut Desk, items: &[ItemId], max: usize) -> Answer<Vec<(Body, Task)>> {
    let mut script = desk.ask_shards()?;
    script
        .with_list(Kind::I8, items.iter().map(|item| item.0))?
        .with(Kind::I8, limit(max))?
        .ask(OF_ITEMS)?;
    both(desk, script)
}

fn both(desk: &mut Desk, script: Script) -> Answer<Vec<(Body, Task)>> {
    let rows = desk.rows(script, &[])?;
    let both = |row| {
        let cells = Cells::new(&desk.words, &task::BODY, row);
        Ok((task::body_of(&cells)?, task::task_of(&cells.behind(&task::TASK))?))
    };
    rows.iter().map(both).collect()
}
