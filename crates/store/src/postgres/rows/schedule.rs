//! Schedules.

use armarius_core::flow::{Calendar, Missed, Overlap};
use armarius_core::ids::{FlowId, ItemId, ScheduleId};
use armarius_core::rows::Schedule;
use armarius_core::view::View;

use crate::codes::position;
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::Wishes;
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

const MISSED: [Missed; 3] = [Missed::Latest, Missed::All, Missed::Skip];
const OVERLAP: [Overlap; 3] = [Overlap::Skip, Overlap::Allow, Overlap::Replace];

pub(in crate::postgres) static SCHEDULE: Table = Table::new(
    "schedule",
    1,
    0,
    &[
        ("id", Kind::I8),
        ("flow", Kind::I8),
        ("item", Kind::I8),
        ("cron", Kind::Text),
        ("tz", Kind::Text),
        ("missed", Kind::I2),
        ("overlap", Kind::I2),
        ("last_slot", Kind::I8),
        ("last_round", Kind::I8),
        ("removed", Kind::Flag),
    ],
);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    pen.keep(
        &SCHEDULE,
        &view.schedules,
        |k| Ok([k.0.into()]),
        |_, s| {
            let Calendar { cron, tz, missed, overlap } = &s.calendar;
            Ok([
                s.id.0.into(),
                s.flow.0.into(),
                s.item.0.into(),
                (&**cron).into(),
                (&**tz).into(),
                position(&MISSED, missed).into(),
                position(&OVERLAP, overlap).into(),
                s.last_slot.0.into(),
                s.last_round.into(),
                s.removed.into(),
            ])
        },
    )
}

pub(in crate::postgres) fn wish_whole(wishes: &mut Wishes<'_>) -> Answer<()> {
    wishes.all(&SCHEDULE, &[], |cells, view| {
        let schedule = schedule_of(cells)?;
        view.schedules.load(schedule.id, Some(schedule));
        Ok(())
    })
}

pub(in crate::postgres) fn schedule_of(cells: &Cells<'_>) -> Answer<Schedule> {
    Ok(Schedule {
        id: ScheduleId(cells.int(0)?),
        flow: FlowId(cells.int(1)?),
        item: ItemId(cells.int(2)?),
        calendar: Calendar {
            cron: cells.text(3)?,
            tz: cells.text(4)?,
            missed: cells.one_of(5, &MISSED)?,
            overlap: cells.one_of(6, &OVERLAP)?,
        },
        last_slot: cells.time(7)?,
        last_round: cells.small(8)?,
        removed: cells.flag(9)?,
    })
}
