//! Unsatisfied dependencies, found from both ends.

use armarius_core::flow::When;
use armarius_core::ids::TaskId;
use armarius_core::rows::{Edge, Target};
use armarius_core::view::View;

use crate::codes::target_code;
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

macro_rules! columns {
    () => {
        "select absent, target, address, task, settled, \"inner\" from edge"
    };
}

pub(in crate::sqlite) const ALL: &str = columns!();
pub(in crate::sqlite) const BETWEEN: &str =
    concat!(columns!(), " indexed by edge_task where task > ?1 and task <= ?2");
const DEPENDENTS: &str = concat!(
    columns!(),
    " where absent = ?1 and target = ?2 and address = ?3 and task > ?4 order by task limit ?5"
);
const BLOCKERS: &str = concat!(
    columns!(),
    " where task = ?1 and (absent, target, address) > (?2, ?3, ?4)
      order by absent, target, address limit ?5"
);

const SQL: Sql = Sql {
    table: "edge",
    put: "insert or replace into edge (absent, target, address, task, settled, \"inner\")
          values (?1, ?2, ?3, ?4, ?5, ?6)",
    delete: "delete from edge where absent = ?1 and target = ?2 and address = ?3 and task = ?4",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    let key = |target, task: &TaskId| {
        let (absent, target, address) = target_code(target);
        Ok((absent, target, address, task.0))
    };
    desk.keep_list(&SQL, &view.dependents, key, |target, task, edge| {
        let (absent, target, address) = target_code(target);
        Ok((absent, target, address, task.0, edge.when == When::Settled, edge.inner))
    })
}

pub(in crate::sqlite) fn load_dependents(
    desk: &Desk,
    (of, after, n): (&Target, Option<TaskId>, usize),
    view: &mut View,
) -> Answer<()> {
    let (absent, target, address) = target_code(of);
    let from = after.map_or(i64::MIN, |t| t.0);
    let params = |limit| (absent, target, address, from, limit);
    let (rows, all) = desk.stretch(("edge", DEPENDENTS), n, params, |cells| {
        let (_, task, edge) = edge_of(cells)?;
        Ok((task, edge))
    })?;
    view.dependents.load(of.clone(), after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn load_blockers(
    desk: &Desk,
    (of, after, n): (TaskId, Option<&Target>, usize),
    view: &mut View,
) -> Answer<()> {
    let (absent, target, address) = after.map_or((-1, 0, ""), target_code);
    let params = |limit| (of.0, absent, target, address, limit);
    let (rows, all) = desk.stretch(("edge", BLOCKERS), n, params, |cells| {
        let (target, _, edge) = edge_of(cells)?;
        Ok((target, edge))
    })?;
    view.blockers.load(of, after.cloned(), rows, all);
    Ok(())
}

pub(in crate::sqlite) fn edge_of(cells: &Cells<'_>) -> Answer<(Target, TaskId, Edge)> {
    let target = if cells.flag(0)? {
        Target::Absent(cells.text(2)?)
    } else {
        Target::Task(TaskId(cells.int(1)?))
    };
    let when = if cells.flag(4)? { When::Settled } else { When::Done };
    Ok((target, TaskId(cells.int(3)?), Edge { when, inner: cells.flag(5)? }))
}
