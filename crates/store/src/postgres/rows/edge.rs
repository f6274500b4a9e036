//! Unsatisfied dependencies, found from both ends.

use armarius_core::flow::When;
use armarius_core::ids::TaskId;
use armarius_core::rows::{Edge, Target};
use armarius_core::view::View;

use crate::codes::target_code;
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::{Stretches, Wishes};
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

pub(in crate::postgres) static EDGE: Table = Table::new(
    "edge",
    4,
    0,
    &[
        ("absent", Kind::I2),
        ("target", Kind::I8),
        ("address", Kind::Text),
        ("task", Kind::I8),
        ("settled", Kind::Flag),
        ("inner", Kind::Flag),
    ],
);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    let key = |target, task: &TaskId| {
        let (absent, target, address) = target_code(target);
        Ok([absent.into(), target.into(), address.into(), task.0.into()])
    };
    pen.keep_list(&EDGE, &view.dependents, key, |target, task, edge| {
        let (absent, target, address) = target_code(target);
        Ok([
            absent.into(),
            target.into(),
            address.into(),
            task.0.into(),
            (edge.when == When::Settled).into(),
            edge.inner.into(),
        ])
    })
}

pub(in crate::postgres) fn wish_dependents(
    keys: Stretches<Target, TaskId>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (&EDGE.stretch(&["absent", "target", "address"], &["task"]), &EDGE, &[]),
        keys,
        |owner, after| {
            let (absent, target, address) = target_code(owner);
            let from = after.map_or(i64::MIN, |t| t.0);
            vec![absent.into(), target.into(), address.into(), from.into()]
        },
        &EDGE.kinds(&["absent", "target", "address", "task"]),
        |v| &mut v.dependents,
        |cells| edge_of(cells).map(|(_, task, edge)| (task, edge)),
    )
}

pub(in crate::postgres) fn wish_blockers(
    keys: Stretches<TaskId, Target>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (&EDGE.stretch(&["task"], &["absent", "target", "address"]), &EDGE, &[]),
        keys,
        |owner, after| {
            let (absent, target, address) = after.map_or((-1, 0, ""), target_code);
            vec![owner.0.into(), absent.into(), target.into(), address.into()]
        },
        &EDGE.kinds(&["task", "absent", "target", "address"]),
        |v| &mut v.blockers,
        |cells| edge_of(cells).map(|(target, _, edge)| (target, edge)),
    )
}

pub(in crate::postgres) fn edge_of(cells: &Cells<'_>) -> Answer<(Target, TaskId, Edge)> {
    let target = match cells.int(0)? {
        0 => Target::Task(TaskId(cells.int(1)?)),
        1 => Target::Absent(cells.text(2)?),
        _ => return Err(cells.wrong(0, "is neither 0 nor 1")),
    };
    let when = if cells.flag(4)? { When::Settled } else { When::Done };
    Ok((target, TaskId(cells.int(3)?), Edge { when, inner: cells.flag(5)? }))
}
