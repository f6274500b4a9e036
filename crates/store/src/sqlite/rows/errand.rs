//! Errands.

use armarius_core::ids::ErrandId;
use armarius_core::rows::Errand;
use armarius_core::view::View;

use crate::codes::{follow_code, follow_of};
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
    let follow = follow_of((cells.int(1)?, cells.int(2)?, cells.text(3)?, cells.small(4)?));
    Ok(Errand {
        id: ErrandId(cells.int(0)?),
        follow: follow.ok_or_else(|| cells.wrong(1, "is no follow-up"))?,
        cursor: cells.int(5)?,
        actor: cells.word(6)?,
        since: cells.time(7)?,
    })
}
