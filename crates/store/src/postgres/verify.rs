//! Is what is stored what was once committed?

use std::collections::HashMap;

use armarius_core::address::push_item;
use armarius_core::event::{self, Commit, Event, Hash};
use armarius_core::ids::{ItemId, TaskId};

use super::cells::Cells;
use super::desk::{Desk, Mode};
use super::fault::{Answer, corrupt};
use super::rows::event as stored;
use super::table::Table;
use super::wire::{Kind, Row};
use crate::chain::{self, Stream, Verified, joined};

/// Rows read at a time.
const PAGE_ROWS: i64 = 5_000;
/// Commits read at a time: each brings its events along.
const PAGE_COMMITS: i64 = 100;

const ADDRESSES: &str = "select t.id, c.name, w.text, t.key
    from unnest($2::bigint[]) as k(id) cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (select t.* from item as t where t.shard = s.shard and t.id = k.id
                        limit 1) as t
    join collection as c on c.shard = t.shard and c.id = t.collection
    join word as w on w.shard = t.shard and w.id = t.kind";
static ADDRESS_TABLE: Table = Table::new(
    "item",
    1,
    0,
    &[("id", Kind::I8), ("name", Kind::Text), ("text", Kind::Text), ("key", Kind::Text)],
);
const TASKS: &str = "select t.id, f.name, q.step, t.part, t.round
    from unnest($2::bigint[]) as k(id) cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (select t.* from body as t where t.shard = s.shard and t.id = k.id
                        limit 1) as t
    join queue as q on q.shard = t.shard and q.id = t.queue
    join flow as f on f.shard = t.shard and f.id = t.flow";
static TASK_TABLE: Table = Table::new(
    "body",
    1,
    0,
    &[
        ("id", Kind::I8),
        ("name", Kind::Text),
        ("step", Kind::Text),
        ("part", Kind::Text),
        ("round", Kind::I8),
    ],
);

/// Every event's hash, every item's numbering, every commit's seal; and that each event was brought
/// by exactly one commit.
pub(super) fn everything(desk: &mut Desk) -> Answer<Verified> {
    desk.begin(Mode::Read, |_| Ok(()))?;
    let mut verified = Verified::default();
    streams(desk, &mut verified)?;
    let named = commits(desk, &mut verified)?;
    desk.abandon();
    if named != verified.events {
        let events = verified.events;
        return Err(corrupt(format!("table event: {events} events, but commits name {named}")));
    }
    Ok(verified)
}

fn streams(desk: &mut Desk, verified: &mut Verified) -> Answer<()> {
    let mut stream = Stream::default();
    let mut last = (i64::MIN, i64::MIN);
    let sql = stored::EVENT.stretch(&[], &["item", "n"]);
    loop {
        let page = page(desk, &sql, &[last.0, last.1], PAGE_ROWS, stored::EVENT_WORDS)?;
        let events = events_of(desk, &page)?;
        let Some(newest) = events.last() else { return Ok(()) };
        last = (newest.item.0, newest.n);
        let addresses = addresses(desk, &events)?;
        let tasks = task_texts(desk, &events)?;
        for event in &events {
            if stream.item != Some(event.item) {
                let item = event.item;
                let text = addresses.get(&item).cloned();
                let text =
                    text.ok_or_else(|| corrupt(format!("table item, row {item}: is missing")))?;
                stream = Stream::of(item, text);
                verified.items += 1;
            }
            let task = match event.task {
                None => "",
                Some(task) => tasks
                    .get(&task)
                    .ok_or_else(|| corrupt(format!("table body, row {task}: is missing")))?,
            };
            stream.follow(event, task)?;
            verified.events += 1;
        }
    }
}

/// Commits one behind the other; returns how many events they name.
fn commits(desk: &mut Desk, verified: &mut Verified) -> Answer<u64> {
    let mut named = 0;
    let mut before = (0, Hash::default());
    let sql = stored::COMMIT.stretch(&[], &["n"]);
    let mut last = i64::MIN;
    loop {
        let page = page(desk, &sql, &[last], PAGE_COMMITS, &[])?;
        let read = |row| stored::commit_of(&Cells::new(&desk.words, &stored::COMMIT, row));
        let commits: Vec<Commit> = page.iter().map(read).collect::<Answer<_>>()?;
        let Some(newest) = commits.last() else { return Ok(named) };
        last = newest.n;
        for commit in &commits {
            joined(before, commit)?;
            let events = named_by(desk, commit)?;
            chain::sealed(commit, |item, n| Ok(events.get(&(item, n)).cloned()))?;
            before = (commit.n, commit.seal);
            named += commit.events.len() as u64;
            verified.commits += 1;
        }
    }
}

fn named_by(desk: &mut Desk, commit: &Commit) -> Answer<HashMap<(ItemId, i64), Event>> {
    let mut keys = stored::EVENT.key_grid();
    for (item, n) in &commit.events {
        keys.push(&[item.0.into(), (*n).into()])?;
    }
    let mut script = desk.ask_shards()?;
    script.with_grid(keys)?.ask(stored::EVENT.find())?;
    let rows = desk.rows(script, stored::EVENT_WORDS)?;
    let events = events_of(desk, &rows)?;
    Ok(events.into_iter().map(|e| ((e.item, e.n), e)).collect())
}

fn events_of(desk: &Desk, rows: &[Row]) -> Answer<Vec<Event>> {
    let read = |row| stored::event_of(&Cells::new(&desk.words, &stored::EVENT, row));
    rows.iter().map(read).collect()
}

fn page(desk: &mut Desk, sql: &str, after: &[i64], rows: i64, words: &[usize]) -> Answer<Vec<Row>> {
    let mut script = desk.ask_shards()?;
    for from in after {
        script.with_list(Kind::I8, [*from])?;
    }
    script.with_list(Kind::I8, [rows])?.ask(sql)?;
    desk.rows(script, words)
}

fn addresses(desk: &mut Desk, events: &[Event]) -> Answer<HashMap<ItemId, String>> {
    let mut items: Vec<i64> = events.iter().map(|e| e.item.0).collect();
    items.dedup();
    let mut script = desk.ask_shards()?;
    script.with_list(Kind::I8, items)?.ask(ADDRESSES)?;
    let rows = desk.rows(script, &[])?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in &rows {
        let cells = Cells::new(&desk.words, &ADDRESS_TABLE, row);
        let mut text = String::new();
        push_item(&mut text, cells.str(1)?, cells.str(2)?, cells.str(3)?);
        found.insert(ItemId(cells.int(0)?), text);
    }
    Ok(found)
}

fn task_texts(desk: &mut Desk, events: &[Event]) -> Answer<HashMap<TaskId, String>> {
    let mut tasks: Vec<i64> = events.iter().filter_map(|e| e.task).map(|t| t.0).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let mut script = desk.ask_shards()?;
    script.with_list(Kind::I8, tasks)?.ask(TASKS)?;
    let rows = desk.rows(script, &[])?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in &rows {
        let cells = Cells::new(&desk.words, &TASK_TABLE, row);
        let text = event::task_text(cells.str(1)?, cells.str(2)?, cells.str(3)?, cells.small(4)?);
        found.insert(TaskId(cells.int(0)?), text);
    }
    Ok(found)
}
