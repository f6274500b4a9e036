//! Batches and their members.

use armarius_core::ids::{BatchId, CollectionId, ItemId, TaskId};
use armarius_core::rows::{Batch, BatchState, Member};
use armarius_core::view::View;

use super::round;
use crate::codes::position;
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

macro_rules! columns {
    () => {
        "select id, collection, item, state, total, open, done, failed, cancelled, generation
         from batch"
    };
}

pub(in crate::sqlite) const ALL: &str = columns!();
pub(in crate::sqlite) const BELOW: &str =
    concat!(columns!(), " where id < ?1 order by id desc limit ?2");
pub(in crate::sqlite) const MEMBERS: &str = "select batch, n, item, flow, round, solo from member";
const ONE: &str = concat!(columns!(), " where id = ?1");
const MEMBERS_AFTER: &str = "select batch, n, item, flow, round, solo from member
    where batch = ?1 and n > ?2 order by n limit ?3";

const SQL: Sql = Sql {
    table: "batch",
    put: "insert or replace into batch
          (id, collection, item, state, total, open, done, failed, cancelled, generation)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    delete: "delete from batch where id = ?1",
};

const MEMBER_SQL: Sql = Sql {
    table: "member",
    put: "insert or replace into member (batch, n, item, flow, round, solo)
          values (?1, ?2, ?3, ?4, ?5, ?6)",
    delete: "delete from member where batch = ?1 and n = ?2",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &SQL,
        &view.batches,
        |k| Ok((k.0,)),
        |_, b| {
            let (id, collection, item) = (b.id.0, b.collection.0, b.item.0);
            let state = position(&BatchState::ALL, &b.state);
            let Batch { total, open, done, failed, cancelled, generation, .. } = *b;
            Ok((id, collection, item, state, total, open, done, failed, cancelled, generation))
        },
    )?;
    let key = |batch: &BatchId, n: &i64| Ok((batch.0, *n));
    desk.keep_list(&MEMBER_SQL, &view.members, key, |batch, n, m| {
        let (item, flow, round) = (m.round.item.0, m.round.flow.0, m.round.round);
        Ok((batch.0, *n, item, flow, round, m.solo.map(|t| t.0)))
    })
}

pub(in crate::sqlite) fn load(desk: &Desk, keys: &[BatchId], view: &mut View) -> Answer<()> {
    desk.find(("batch", ONE), keys, &mut view.batches, |k| Ok(Some((k.0,))), batch_of)
}

pub(in crate::sqlite) fn load_members(
    desk: &Desk,
    (batch, after, n): (BatchId, Option<i64>, usize),
    view: &mut View,
) -> Answer<()> {
    let from = after.unwrap_or(i64::MIN);
    let (rows, all) = desk.stretch(
        ("member", MEMBERS_AFTER),
        n,
        |limit| (batch.0, from, limit),
        |cells| {
            let (_, n, member) = member_of(cells)?;
            Ok((n, member))
        },
    )?;
    view.members.load(batch, after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn batch_of(cells: &Cells<'_>) -> Answer<Batch> {
    Ok(Batch {
        id: BatchId(cells.int(0)?),
        collection: CollectionId(cells.int(1)?),
        item: ItemId(cells.int(2)?),
        state: cells.one_of(3, &BatchState::ALL)?,
        total: cells.int(4)?,
        open: cells.int(5)?,
        done: cells.int(6)?,
        failed: cells.int(7)?,
        cancelled: cells.int(8)?,
        generation: cells.small(9)?,
    })
}

pub(in crate::sqlite) fn member_of(cells: &Cells<'_>) -> Answer<(BatchId, i64, Member)> {
    let solo = cells.maybe_int(5)?.map(TaskId);
    let member = Member { round: round::key_of(cells, 2)?, solo };
    Ok((BatchId(cells.int(0)?), cells.int(1)?, member))
}
