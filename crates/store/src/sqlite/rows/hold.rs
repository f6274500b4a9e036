//! Holds and the tasks that met them.

use armarius_core::ids::{HoldId, TaskId, Time};
use armarius_core::rows::Hold;
use armarius_core::view::View;

use crate::codes::{scope_code, scope_of};
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

pub(in crate::sqlite) const ALL: &str =
    "select id, scope, subject, reason, owner, since, until from hold";
pub(in crate::sqlite) const HELD: &str = "select hold, task from held";
const HELD_AFTER: &str =
    "select hold, task from held where hold = ?1 and task > ?2 order by task limit ?3";

const SQL: Sql = Sql {
    table: "hold",
    put: "insert into hold (id, scope, subject, reason, owner, since, until)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
          on conflict (id) do update set
          scope = ?2, subject = ?3, reason = ?4, owner = ?5, since = ?6, until = ?7",
    delete: "delete from hold where id = ?1",
};

const HELD_SQL: Sql = Sql {
    table: "held",
    put: "insert or replace into held (hold, task) values (?1, ?2)",
    delete: "delete from held where hold = ?1 and task = ?2",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &SQL,
        &view.holds,
        |k| Ok((k.0,)),
        |_, h| {
            let (scope, subject) = scope_code(h.scope);
            let until = h.until.map(|t| t.0);
            Ok((h.id.0, scope, subject, &*h.reason, desk.word(&h.owner)?, h.since.0, until))
        },
    )?;
    let key = |hold: &HoldId, task: &TaskId| Ok((hold.0, task.0));
    desk.keep_list(&HELD_SQL, &view.held, key, |hold, task, ()| key(hold, task))
}

pub(in crate::sqlite) fn load_whole(desk: &Desk, view: &mut View) -> Answer<()> {
    desk.each("hold", ALL, (), |cells| {
        let hold = hold_of(cells)?;
        view.hold_scopes.load(hold.scope, Some(hold.id));
        view.holds.load(hold.id, Some(hold));
        Ok(())
    })
}

pub(in crate::sqlite) fn load_held(
    desk: &Desk,
    (hold, after, n): (HoldId, Option<TaskId>, usize),
    view: &mut View,
) -> Answer<()> {
    let from = after.map_or(i64::MIN, |t| t.0);
    let (rows, all) = desk.stretch(
        ("held", HELD_AFTER),
        n,
        |limit| (hold.0, from, limit),
        |cells| Ok((held_of(cells)?.1, ())),
    )?;
    view.held.load(hold, after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn held_of(cells: &Cells<'_>) -> Answer<(HoldId, TaskId)> {
    Ok((HoldId(cells.int(0)?), TaskId(cells.int(1)?)))
}

pub(in crate::sqlite) fn hold_of(cells: &Cells<'_>) -> Answer<Hold> {
    let scope = scope_of((cells.int(1)?, cells.int(2)?));
    Ok(Hold {
        id: HoldId(cells.int(0)?),
        scope: scope.ok_or_else(|| cells.wrong(1, "is no scope"))?,
        reason: cells.text(3)?,
        owner: cells.word(4)?,
        since: cells.time(5)?,
        until: cells.maybe_int(6)?.map(Time),
    })
}
