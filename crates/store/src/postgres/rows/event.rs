//! History: events and the commits that brought them.

use armarius_core::event::{Commit, Event, Head};
use armarius_core::ids::{ItemId, TaskId, Token};
use armarius_core::view::View;

use super::counter;
use crate::codes::{outcome_code, state_code};
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::Wishes;
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::{Cell, Grid, Kind, Script};
use crate::refs;

pub(in crate::postgres) static EVENT: Table = Table::new(
    "event",
    2,
    0,
    &[
        ("item", Kind::I8),
        ("n", Kind::I8),
        ("name", Kind::I4),
        ("at", Kind::I8),
        ("actor", Kind::I4),
        ("task", Kind::I8),
        ("to", Kind::I2),
        ("token", Kind::I8),
        ("outcome", Kind::I2),
        ("detail", Kind::Text),
        ("detail_digest", Kind::Bytes),
        ("hash", Kind::Bytes),
    ],
);
/// Where an event's row names words.
pub(in crate::postgres) const EVENT_WORDS: &[usize] = &[2, 4];

pub(in crate::postgres) static COMMIT: Table = Table::new(
    "commit",
    1,
    0,
    &[
        ("n", Kind::I8),
        ("at", Kind::I8),
        ("prev", Kind::Bytes),
        ("seal", Kind::Bytes),
        ("refs", Kind::Bytes),
    ],
);

const HEADS: &str = "select k.item, t.n, t.hash from unnest($2::bigint[]) as k(item)
    cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (select t.n, t.hash from event as t
                        where t.shard = s.shard and t.item = k.item
                        order by t.n desc limit 1) as t";
const PUT_COMMIT: &str = "insert into \"commit\" (shard, n, at, prev, seal, refs, counters)
    values ($1, $2, $3, $4, $5, $6, $7)";

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View, commit: &Commit) -> Answer<()> {
    write_events(pen, view)?;
    let (shard, counters) = (pen.shard, counter::values(view)?);
    write_commit(&mut pen.script, shard, commit, counters)
}

pub(in crate::postgres) fn write_events(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    let mut events: Vec<&Event> = view.events.iter().collect();
    events.sort_unstable_by_key(|e| (e.item, e.n));
    let mut fresh = EVENT.fresh();
    for e in events {
        let row: [Cell<'_>; 12] = [
            e.item.0.into(),
            e.n.into(),
            pen.word(&e.name)?.into(),
            e.at.0.into(),
            pen.word(&e.actor)?.into(),
            e.task.map(|t| t.0).into(),
            e.to.map(state_code).into(),
            e.token.map(|t| t.0).into(),
            e.outcome.map(outcome_code).into(),
            e.detail.as_deref().into(),
            e.detail_digest.as_ref().into(),
            (&e.hash).into(),
        ];
        fresh.push(pen.shard, &row)?;
    }
    EVENT.copy(&mut pen.script, fresh)?;
    Ok(())
}

/// Writes a commit, with the running numbers after it.
pub(in crate::postgres) fn write_commit(
    script: &mut Script,
    shard: u16,
    commit: &Commit,
    counters: Vec<Cell<'_>>,
) -> Answer<()> {
    let refs = refs::to_bytes(&commit.events);
    script
        .with(Kind::I2, i64::from(shard))?
        .with(Kind::I8, commit.n)?
        .with(Kind::I8, commit.at.0)?
        .with(Kind::Bytes, &commit.prev)?
        .with(Kind::Bytes, &commit.seal)?
        .with(Kind::Bytes, &refs[..])?
        .with_list(Kind::I8, counters)?
        .ask(PUT_COMMIT)?;
    Ok(())
}

pub(in crate::postgres) fn wish_heads<'k>(
    keys: &'k [ItemId],
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    static FOUND: Table =
        Table::new("event", 2, 0, &[("item", Kind::I8), ("n", Kind::I8), ("hash", Kind::Bytes)]);
    wishes.find(
        (HEADS, &FOUND, &[]),
        keys,
        |k, grid| Ok(grid.push(&[k.0.into()])?),
        Grid::new([Kind::I8]),
        |v| &mut v.heads,
        |cells| Ok((ItemId(cells.int(0)?), Head { n: cells.int(1)?, hash: cells.hash(2)? })),
    )
}

pub(in crate::postgres) fn event_of(cells: &Cells<'_>) -> Answer<Event> {
    Ok(Event {
        item: ItemId(cells.int(0)?),
        n: cells.int(1)?,
        name: cells.word(2)?,
        at: cells.time(3)?,
        actor: cells.word(4)?,
        task: cells.maybe_int(5)?.map(TaskId),
        to: cells.maybe_int(6)?.map(|_| cells.state(6)).transpose()?,
        token: cells.maybe_int(7)?.map(Token),
        outcome: cells.maybe_outcome(8)?,
        detail: cells.maybe_text(9)?,
        detail_digest: cells.maybe_hash(10)?,
        hash: cells.hash(11)?,
    })
}

pub(in crate::postgres) fn commit_of(cells: &Cells<'_>) -> Answer<Commit> {
    let events = refs::from_bytes(cells.bytes(4)?);
    Ok(Commit {
        n: cells.int(0)?,
        at: cells.time(1)?,
        prev: cells.hash(2)?,
        seal: cells.hash(3)?,
        events: events.ok_or_else(|| cells.wrong(4, "is no list of events"))?,
    })
}
