//! Errands.

use armarius_core::ids::{BatchId, ErrandId, FlowId, HoldId, ItemId, TaskId};
use armarius_core::rows::{Errand, Follow};
use armarius_core::view::View;

use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

macro_rules! columns {
    () => {
        "select id, follow, subject, address, amount, cursor, actor, since from errand"
    };
}

pub(in crate::sqlite) const ALL: &str = columns!();
const AFTER: &str = concat!(columns!(), " where id > ?1 order by id limit ?2");

const SQL: Sql = Sql {
    table: "errand",
    put: "insert or replace into errand
          (id, follow, subject, address, amount, cursor, actor, since)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    delete: "delete from errand where id = ?1",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep_list(
        &SQL,
        &view.errands,
        |(), id| Ok((id.0,)),
        |(), id, e| {
            let (follow, subject, address, amount) = follow_code(&e.follow);
            let actor = desk.word(&e.actor)?;
            Ok((id.0, follow, subject, address, amount, e.cursor, actor, e.since.0))
        },
    )
}

pub(in crate::sqlite) fn load(
    desk: &Desk,
    (after, n): (Option<ErrandId>, usize),
    view: &mut View,
) -> Answer<()> {
    let from = after.map_or(i64::MIN, |e| e.0);
    let (rows, all) = desk.stretch(
        ("errand", AFTER),
        n,
        |limit| (from, limit),
        |cells| {
            let errand = errand_of(cells)?;
            Ok((errand.id, errand))
        },
    )?;
    view.errands.load((), after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn errand_of(cells: &Cells<'_>) -> Answer<Errand> {
    Ok(Errand {
        id: ErrandId(cells.int(0)?),
        follow: follow_of(cells)?,
        cursor: cells.int(5)?,
        actor: cells.word(6)?,
        since: cells.time(7)?,
    })
}

/// Kind, subject, address, amount.
fn follow_code(follow: &Follow) -> (i64, i64, &str, i32) {
    match follow {
        Follow::Settled(task) => (0, task.0, "", 0),
        Follow::Bind(address, task) => (1, task.0, address, 0),
        Follow::Supersede(task) => (2, task.0, "", 0),
        Follow::Wake(item, depth, by) => (3, item.0, by, i32::try_from(*depth).unwrap_or(i32::MAX)),
        Follow::Fill(flow, fresh) => (4, flow.0, "", i32::from(*fresh)),
        Follow::Release(hold) => (5, hold.0, "", 0),
        Follow::Report(batch) => (6, batch.0, "", 0),
        Follow::CancelBatch(batch) => (7, batch.0, "", 0),
        Follow::DeleteBatch(batch) => (8, batch.0, "", 0),
        Follow::RetryBatch(batch) => (9, batch.0, "", 0),
        Follow::DeleteItem(item) => (10, item.0, "", 0),
        Follow::Reprioritise(item, priority) => (11, item.0, "", *priority),
        Follow::Rewound(item) => (12, item.0, "", 0),
    }
}

fn follow_of(cells: &Cells<'_>) -> Answer<Follow> {
    let subject = cells.int(2)?;
    Ok(match cells.int(1)? {
        0 => Follow::Settled(TaskId(subject)),
        1 => Follow::Bind(cells.text(3)?, TaskId(subject)),
        2 => Follow::Supersede(TaskId(subject)),
        3 => Follow::Wake(ItemId(subject), cells.small(4)?, cells.text(3)?),
        4 => Follow::Fill(FlowId(subject), cells.int(4)? != 0),
        5 => Follow::Release(HoldId(subject)),
        6 => Follow::Report(BatchId(subject)),
        7 => Follow::CancelBatch(BatchId(subject)),
        8 => Follow::DeleteBatch(BatchId(subject)),
        9 => Follow::RetryBatch(BatchId(subject)),
        10 => Follow::DeleteItem(ItemId(subject)),
        11 => Follow::Reprioritise(ItemId(subject), cells.small(4)?),
        12 => Follow::Rewound(ItemId(subject)),
        _ => return Err(cells.wrong(1, "is no follow-up")),
    })
}
