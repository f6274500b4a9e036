//! Batches and their members.

use armarius_core::ids::{BatchId, CollectionId, ItemId, TaskId};
use armarius_core::rows::{Batch, BatchState, Member};
use armarius_core::view::View;

use super::round;
use super::tally::{self, Of, Sheet};
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::{Stretches, Wishes};
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

/// The unchanging part; where a batch stands is a tally.
pub(in crate::postgres) static BATCH: Table =
    Table::new("batch", 1, 0, &[("id", Kind::I8), ("collection", Kind::I8), ("item", Kind::I8)]);

pub(in crate::postgres) static MEMBER: Table = Table::new(
    "member",
    2,
    0,
    &[
        ("batch", Kind::I8),
        ("n", Kind::I8),
        ("item", Kind::I8),
        ("flow", Kind::I8),
        ("round", Kind::I8),
        ("solo", Kind::I8),
    ],
);

// Where a batch stands is the newest of its tallies.
macro_rules! standing {
    () => {
        " cross join lateral (select v.vals from tally as v where v.shard = t.shard and v.kind = 2
                              and v.id = t.id order by v.rev desc limit 1) as v"
    };
}

pub(in crate::postgres) const ALL: &str = concat!(
    "select t.id, t.collection, t.item, v.vals from batch as t",
    standing!(),
    " where t.shard = any($1::smallint[])"
);
/// Batches below a number, newest first.
pub(in crate::postgres) const BELOW: &str = concat!(
    "select t.id, t.collection, t.item, v.vals from unnest($1::smallint[]) as s(shard)
     cross join lateral (select b.* from batch as b where b.shard = s.shard and b.id < $2
                         order by b.id desc limit $3) as t",
    standing!()
);
const FIND: &str = concat!(
    "select t.id, t.collection, t.item, v.vals from unnest($1::smallint[]) as s(shard)
     cross join unnest($2::bigint[]) as k(id)
     cross join lateral (select b.* from batch as b where b.shard = s.shard and b.id = k.id
                         limit 1) as t",
    standing!()
);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View, rev: i64) -> Answer<()> {
    let gone: Vec<i64> = view.batches.changes().filter(|c| c.1.is_none()).map(|c| c.0.0).collect();
    tally::delete(pen, Of::Batch, &gone)?;
    pen.delete(&BATCH, &view.batches, |k| Ok([k.0.into()]))?;
    let (mut rows, mut sheet) = (BATCH.grid(), Sheet::new(Of::Batch));
    for (id, batch) in view.batches.changes() {
        if let Some(b) = batch {
            rows.push(&[id.0.into(), b.collection.0.into(), b.item.0.into()])?;
            sheet.push(id.0, &tally::batch_values(b));
        }
    }
    BATCH.put_quietly(&mut pen.script, pen.shard, rows)?;
    sheet.write(pen, rev)?;
    let key = |batch: &BatchId, n: &i64| Ok([batch.0.into(), (*n).into()]);
    pen.keep_list(&MEMBER, &view.members, key, |batch, n, m| {
        Ok([
            batch.0.into(),
            (*n).into(),
            m.round.item.0.into(),
            m.round.flow.0.into(),
            m.round.round.into(),
            m.solo.map(|t| t.0).into(),
        ])
    })
}

pub(in crate::postgres) fn wish<'k>(keys: &'k [BatchId], wishes: &mut Wishes<'k>) -> Answer<()> {
    wishes.find(
        (FIND, &BATCH, &[]),
        keys,
        |k, grid| Ok(grid.push(&[k.0.into()])?),
        BATCH.key_grid(),
        |v| &mut v.batches,
        |cells| batch_of(cells).map(|batch| (batch.id, batch)),
    )
}

pub(in crate::postgres) fn wish_members(
    keys: Stretches<BatchId, i64>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (&MEMBER.stretch(&["batch"], &["n"]), &MEMBER, &[]),
        keys,
        |owner, after| vec![owner.0.into(), after.copied().unwrap_or(i64::MIN).into()],
        &MEMBER.kinds(&["batch", "n"]),
        |v| &mut v.members,
        |cells| member_of(cells).map(|(_, n, member)| (n, member)),
    )
}

pub(in crate::postgres) fn batch_of(cells: &Cells<'_>) -> Answer<Batch> {
    let mut batch = Batch {
        id: BatchId(cells.int(0)?),
        collection: CollectionId(cells.int(1)?),
        item: ItemId(cells.int(2)?),
        state: BatchState::Open,
        total: 0,
        open: 0,
        done: 0,
        failed: 0,
        cancelled: 0,
        generation: 0,
    };
    tally::fill_batch(cells, 3, &mut batch)?;
    Ok(batch)
}

pub(in crate::postgres) fn member_of(cells: &Cells<'_>) -> Answer<(BatchId, i64, Member)> {
    let solo = cells.maybe_int(5)?.map(TaskId);
    let member = Member { round: round::key_of(cells, 2)?, solo };
    Ok((BatchId(cells.int(0)?), cells.int(1)?, member))
}
