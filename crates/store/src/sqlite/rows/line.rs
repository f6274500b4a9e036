//! Where tasks wait for their turn: ready queues, lines of limits, timers; and the open instances
//! that superseding looks through.

use armarius_core::ids::{QueueId, TaskId, Time};
use armarius_core::rows::{Rank, Slots};
use armarius_core::text::Text;
use armarius_core::view::View;

use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

pub(in crate::sqlite) const READY: &str = "select queue, behind, ord, task from ready";
pub(in crate::sqlite) const LINES: &str = "select slots, behind, ord, task from line";
pub(in crate::sqlite) const TIMERS: &str = "select at, task from timer";
pub(in crate::sqlite) const INSTANCES: &str = "select queue, ordinal, task from instance";
pub(in crate::sqlite) const NEWEST: &str = "select queue, ordinal, task from newest";
pub(in crate::sqlite) const SLOTS: &str = "select key, max, used from slots";

const READY_AFTER: &str = "select queue, behind, ord, task from ready
    where queue = ?1 and (behind, ord, task) > (?2, ?3, ?4) order by behind, ord, task limit ?5";
const LINE_AFTER: &str = "select slots, behind, ord, task from line
    where slots = ?1 and (behind, ord, task) > (?2, ?3, ?4) order by behind, ord, task limit ?5";
const TIMERS_AFTER: &str =
    "select at, task from timer where (at, task) > (?1, ?2) order by at, task limit ?3";
const INSTANCES_AFTER: &str = "select queue, ordinal, task from instance
    where queue = ?1 and (ordinal, task) > (?2, ?3) order by ordinal, task limit ?4";
const NEWEST_BY_QUEUE: &str = "select queue, ordinal, task from newest where queue = ?1";
const SLOTS_BY_KEY: &str = "select key, max, used from slots where key = ?1";

const READY_SQL: Sql = Sql {
    table: "ready",
    put: "insert or replace into ready (queue, behind, ord, task) values (?1, ?2, ?3, ?4)",
    delete: "delete from ready where queue = ?1 and behind = ?2 and ord = ?3 and task = ?4",
};

const LINE_SQL: Sql = Sql {
    table: "line",
    put: "insert or replace into line (slots, behind, ord, task) values (?1, ?2, ?3, ?4)",
    delete: "delete from line where slots = ?1 and behind = ?2 and ord = ?3 and task = ?4",
};

const TIMER_SQL: Sql = Sql {
    table: "timer",
    put: "insert or replace into timer (at, task) values (?1, ?2)",
    delete: "delete from timer where at = ?1 and task = ?2",
};

const INSTANCE_SQL: Sql = Sql {
    table: "instance",
    put: "insert or replace into instance (queue, ordinal, task) values (?1, ?2, ?3)",
    delete: "delete from instance where queue = ?1 and ordinal = ?2 and task = ?3",
};

const NEWEST_SQL: Sql = Sql {
    table: "newest",
    put: "insert or replace into newest (queue, ordinal, task) values (?1, ?2, ?3)",
    delete: "delete from newest where queue = ?1",
};

const SLOTS_SQL: Sql = Sql {
    table: "slots",
    put: "insert or replace into slots (key, max, used) values (?1, ?2, ?3)",
    delete: "delete from slots where key = ?1",
};

/// Before every rank.
const RANK_MIN: Rank = Rank { behind: i32::MIN, ord: i64::MIN, task: TaskId(i64::MIN) };

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    let key = |queue: &QueueId, r: &Rank| Ok((queue.0, r.behind, r.ord, r.task.0));
    desk.keep_list(&READY_SQL, &view.ready, key, |queue, rank, ()| key(queue, rank))?;
    desk.keep_list(
        &LINE_SQL,
        &view.lines,
        |slots, r| Ok((&**slots, r.behind, r.ord, r.task.0)),
        |slots, r, ()| Ok((&**slots, r.behind, r.ord, r.task.0)),
    )?;
    let key = |(): &(), (at, task): &(Time, TaskId)| Ok((at.0, task.0));
    desk.keep_list(&TIMER_SQL, &view.timers, key, |(), at, ()| key(&(), at))?;
    let key = |queue: &QueueId, (ordinal, task): &(i64, TaskId)| Ok((queue.0, *ordinal, task.0));
    desk.keep_list(&INSTANCE_SQL, &view.instances, key, |queue, at, ()| key(queue, at))?;
    desk.keep(&NEWEST_SQL, &view.newest, |k| Ok((k.0,)), |k, (n, task)| Ok((k.0, *n, task.0)))?;
    desk.keep(&SLOTS_SQL, &view.slots, |k| Ok((&**k,)), |k, s| Ok((&**k, s.max, s.used)))
}

pub(in crate::sqlite) fn load_ready(
    desk: &Desk,
    (queue, after, n): (QueueId, Option<Rank>, usize),
    view: &mut View,
) -> Answer<()> {
    let Rank { behind, ord, task } = after.unwrap_or(RANK_MIN);
    let params = |limit| (queue.0, behind, ord, task.0, limit);
    let (rows, all) = desk.stretch(("ready", READY_AFTER), n, params, |c| Ok((rank_of(c)?, ())))?;
    view.ready.load(queue, after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn load_line(
    desk: &Desk,
    (slots, after, n): (&Text, Option<Rank>, usize),
    view: &mut View,
) -> Answer<()> {
    let Rank { behind, ord, task } = after.unwrap_or(RANK_MIN);
    let params = |limit| (&**slots, behind, ord, task.0, limit);
    let (rows, all) = desk.stretch(("line", LINE_AFTER), n, params, |c| Ok((rank_of(c)?, ())))?;
    view.lines.load(slots.clone(), after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn load_timers(
    desk: &Desk,
    (after, n): (Option<(Time, TaskId)>, usize),
    view: &mut View,
) -> Answer<()> {
    let (at, task) = after.unwrap_or((Time(i64::MIN), TaskId(i64::MIN)));
    let params = |limit| (at.0, task.0, limit);
    let (rows, all) =
        desk.stretch(("timer", TIMERS_AFTER), n, params, |c| Ok((timer_of(c)?, ())))?;
    view.timers.load((), after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn load_instances(
    desk: &Desk,
    (queue, after, n): (QueueId, Option<(i64, TaskId)>, usize),
    view: &mut View,
) -> Answer<()> {
    let (ordinal, task) = after.unwrap_or((i64::MIN, TaskId(i64::MIN)));
    let params = |limit| (queue.0, ordinal, task.0, limit);
    let (rows, all) =
        desk.stretch(("instance", INSTANCES_AFTER), n, params, |c| Ok((instance_of(c)?, ())))?;
    view.instances.load(queue, after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn load_newest(desk: &Desk, keys: &[QueueId], view: &mut View) -> Answer<()> {
    let sql = ("newest", NEWEST_BY_QUEUE);
    desk.find(sql, keys, &mut view.newest, |k| Ok(Some((k.0,))), |c| Ok(newest_of(c)?.1))
}

pub(in crate::sqlite) fn load_slots(desk: &Desk, keys: &[Text], view: &mut View) -> Answer<()> {
    let sql = ("slots", SLOTS_BY_KEY);
    desk.find(sql, keys, &mut view.slots, |k| Ok(Some((&**k,))), slots_of)
}

/// The rank in a queue or line, whose owner stands in the first column.
pub(in crate::sqlite) fn rank_of(cells: &Cells<'_>) -> Answer<Rank> {
    Ok(Rank { behind: cells.small(1)?, ord: cells.int(2)?, task: TaskId(cells.int(3)?) })
}

pub(in crate::sqlite) fn timer_of(cells: &Cells<'_>) -> Answer<(Time, TaskId)> {
    Ok((cells.time(0)?, TaskId(cells.int(1)?)))
}

/// The place of an instance, whose queue stands in the first column.
pub(in crate::sqlite) fn instance_of(cells: &Cells<'_>) -> Answer<(i64, TaskId)> {
    Ok((cells.int(1)?, TaskId(cells.int(2)?)))
}

pub(in crate::sqlite) fn newest_of(cells: &Cells<'_>) -> Answer<(QueueId, (i64, TaskId))> {
    Ok((QueueId(cells.int(0)?), instance_of(cells)?))
}

pub(in crate::sqlite) fn slots_of(cells: &Cells<'_>) -> Answer<Slots> {
    Ok(Slots { max: cells.small(1)?, used: cells.small(2)? })
}
