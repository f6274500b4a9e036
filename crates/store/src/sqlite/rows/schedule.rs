//! Schedules.

use armarius_core::flow::{Calendar, Missed, Overlap};
use armarius_core::ids::{FlowId, ItemId, ScheduleId};
use armarius_core::rows::Schedule;
use armarius_core::view::View;

use crate::codes::position;
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

const MISSED: [Missed; 3] = [Missed::Latest, Missed::All, Missed::Skip];
const OVERLAP: [Overlap; 3] = [Overlap::Skip, Overlap::Allow, Overlap::Replace];

pub(in crate::sqlite) const ALL: &str =
    "select id, flow, item, cron, tz, missed, overlap, last_slot, last_round, removed
     from schedule";

const SQL: Sql = Sql {
    table: "schedule",
    put: "insert or replace into schedule
          (id, flow, item, cron, tz, missed, overlap, last_slot, last_round, removed)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    delete: "delete from schedule where id = ?1",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &SQL,
        &view.schedules,
        |k| Ok((k.0,)),
        |_, s| {
            let Calendar { cron, tz, missed, overlap } = &s.calendar;
            let (missed, overlap) = (position(&MISSED, missed), position(&OVERLAP, overlap));
            let (id, flow, item) = (s.id.0, s.flow.0, s.item.0);
            let (slot, round) = (s.last_slot.0, s.last_round);
            Ok((id, flow, item, &**cron, &**tz, missed, overlap, slot, round, s.removed))
        },
    )
}

pub(in crate::sqlite) fn load_whole(desk: &Desk, view: &mut View) -> Answer<()> {
    desk.each("schedule", ALL, (), |cells| {
        let schedule = schedule_of(cells)?;
        view.schedules.load(schedule.id, Some(schedule));
        Ok(())
    })
}

pub(in crate::sqlite) fn schedule_of(cells: &Cells<'_>) -> Answer<Schedule> {
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
