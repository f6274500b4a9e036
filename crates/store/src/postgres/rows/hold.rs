//! Holds and the tasks that met them.

use armarius_core::ids::{HoldId, TaskId, Time};
use armarius_core::rows::Hold;
use armarius_core::view::View;

use crate::codes::{scope_code, scope_of};
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::{Stretches, Wishes};
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

pub(in crate::postgres) static HOLD: Table = Table::new(
    "hold",
    1,
    0,
    &[
        ("id", Kind::I8),
        ("scope", Kind::I2),
        ("subject", Kind::I8),
        ("reason", Kind::Text),
        ("owner", Kind::I4),
        ("since", Kind::I8),
        ("until", Kind::I8),
    ],
);
/// Where a hold's row names words.
pub(in crate::postgres) const HOLD_WORDS: &[usize] = &[4];

pub(in crate::postgres) static HELD: Table =
    Table::new("held", 2, 0, &[("hold", Kind::I8), ("task", Kind::I8)]);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    let words = pen.words;
    pen.keep(
        &HOLD,
        &view.holds,
        |k| Ok([k.0.into()]),
        |_, h| {
            let (scope, subject) = scope_code(h.scope);
            Ok([
                h.id.0.into(),
                scope.into(),
                subject.into(),
                (&*h.reason).into(),
                words.id(&h.owner)?.into(),
                h.since.0.into(),
                h.until.map(|t| t.0).into(),
            ])
        },
    )?;
    let key = |hold: &HoldId, task: &TaskId| Ok([hold.0.into(), task.0.into()]);
    pen.keep_list(&HELD, &view.held, key, |hold, task, ()| key(hold, task))
}

pub(in crate::postgres) fn wish_whole(wishes: &mut Wishes<'_>) -> Answer<()> {
    wishes.all(&HOLD, HOLD_WORDS, |cells, view| {
        let hold = hold_of(cells)?;
        view.hold_scopes.load(hold.scope, Some(hold.id));
        view.holds.load(hold.id, Some(hold));
        Ok(())
    })
}

pub(in crate::postgres) fn wish_held(
    keys: Stretches<HoldId, TaskId>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (&HELD.stretch(&["hold"], &["task"]), &HELD, &[]),
        keys,
        |owner, after| vec![owner.0.into(), after.map_or(i64::MIN, |t| t.0).into()],
        &HELD.kinds(&["hold", "task"]),
        |v| &mut v.held,
        |cells| Ok((held_of(cells)?.1, ())),
    )
}

pub(in crate::postgres) fn held_of(cells: &Cells<'_>) -> Answer<(HoldId, TaskId)> {
    Ok((HoldId(cells.int(0)?), TaskId(cells.int(1)?)))
}

pub(in crate::postgres) fn hold_of(cells: &Cells<'_>) -> Answer<Hold> {
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
