//! Where tasks wait for their turn: ready queues, lines of limits, timers; and the open instances
//! that superseding looks through.

use armarius_core::ids::{QueueId, TaskId, Time};
use armarius_core::rows::{Rank, Slots};
use armarius_core::text::Text;
use armarius_core::view::View;

use super::tally::RANK_MIN;
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::known::Highest;
use crate::postgres::load::{Stretches, Wishes};
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::{Cell, Kind};

pub(in crate::postgres) static READY: Table = Table::new(
    "ready",
    4,
    0,
    &[("queue", Kind::I8), ("behind", Kind::I4), ("ord", Kind::I8), ("task", Kind::I8)],
);

pub(in crate::postgres) static LINE: Table = Table::new(
    "line",
    4,
    0,
    &[("slots", Kind::Text), ("behind", Kind::I4), ("ord", Kind::I8), ("task", Kind::I8)],
);

pub(in crate::postgres) static TIMER: Table =
    Table::new("timer", 2, 0, &[("at", Kind::I8), ("task", Kind::I8)]);

pub(in crate::postgres) static INSTANCE: Table =
    Table::new("instance", 3, 0, &[("queue", Kind::I8), ("ordinal", Kind::I8), ("task", Kind::I8)]);

pub(in crate::postgres) static NEWEST: Table =
    Table::new("newest", 1, 0, &[("queue", Kind::I8), ("ordinal", Kind::I8), ("task", Kind::I8)]);

pub(in crate::postgres) static SLOTS: Table =
    Table::new("slots", 1, 0, &[("key", Kind::Text), ("max", Kind::I8), ("used", Kind::I8)]);

// From the start of a queue the search begins at its front, which the tally keeps: what was taken
// from there lately may not be cleaned up yet, and would have to be passed over.
const READY_AFTER: &str = "select t.queue, t.behind, t.ord, t.task, k.nth
    from unnest($2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[])
        with ordinality as k(queue, behind, ord, task, lim, nth)
    cross join unnest($1::smallint[]) as s(shard)
    left join lateral (select v.vals from tally as v where v.shard = s.shard and v.kind = 0
                       and v.id = k.queue order by v.rev desc limit 1) as v on k.behind is null
    cross join lateral (
        select t.* from ready as t where t.shard = s.shard and t.queue = k.queue
        and (t.behind, t.ord, t.task) >
            (coalesce(k.behind, v.vals[8]::integer, -2147483648),
             coalesce(k.ord, v.vals[9], -9223372036854775808),
             coalesce(k.task, v.vals[10], -9223372036854775808))
        order by t.behind, t.ord, t.task limit k.lim) as t";

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View, tasks: Highest) -> Answer<()> {
    let key = |queue: &QueueId, r: &Rank| {
        Ok([queue.0.into(), r.behind.into(), r.ord.into(), r.task.0.into()])
    };
    // A task that is written for the first time stands in no queue yet.
    let is_new = |rank: &Rank| {
        tasks.is_below(rank.task.0) && matches!(view.tasks.get(&rank.task), Ok(Some(_)))
    };
    pen.keep_long_list(&READY, &view.ready, is_new, key, |queue, rank, ()| key(queue, rank))?;
    pen.keep_list(
        &LINE,
        &view.lines,
        |slots, r| Ok([(&**slots).into(), r.behind.into(), r.ord.into(), r.task.0.into()]),
        |slots, r, ()| Ok([(&**slots).into(), r.behind.into(), r.ord.into(), r.task.0.into()]),
    )?;
    let key = |(): &(), (at, task): &(Time, TaskId)| Ok([at.0.into(), task.0.into()]);
    pen.keep_list(&TIMER, &view.timers, key, |(), at, ()| key(&(), at))?;
    let key = |queue: &QueueId, (ordinal, task): &(i64, TaskId)| {
        Ok([queue.0.into(), (*ordinal).into(), task.0.into()])
    };
    pen.keep_list(&INSTANCE, &view.instances, key, |queue, at, ()| key(queue, at))?;
    pen.keep(
        &NEWEST,
        &view.newest,
        |k| Ok([k.0.into()]),
        |k, (n, task)| Ok([k.0.into(), (*n).into(), task.0.into()]),
    )?;
    pen.keep(
        &SLOTS,
        &view.slots,
        |k| Ok([(&**k).into()]),
        |k, s| Ok([(&**k).into(), s.max.into(), s.used.into()]),
    )
}

pub(in crate::postgres) fn wish_ready(
    keys: Stretches<QueueId, Rank>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (READY_AFTER, &READY, &[]),
        keys,
        |owner, after| match after {
            Some(r) => vec![owner.0.into(), r.behind.into(), r.ord.into(), r.task.0.into()],
            None => vec![owner.0.into(), Cell::Null, Cell::Null, Cell::Null],
        },
        &READY.kinds(&["queue", "behind", "ord", "task"]),
        |v| &mut v.ready,
        |cells| Ok((rank_of(cells)?, ())),
    )
}

pub(in crate::postgres) fn wish_lines(
    keys: Stretches<Text, Rank>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (&LINE.stretch(&["slots"], &["behind", "ord", "task"]), &LINE, &[]),
        keys,
        |owner, after| {
            let r = after.copied().unwrap_or(RANK_MIN);
            vec![(&**owner).into(), r.behind.into(), r.ord.into(), r.task.0.into()]
        },
        &LINE.kinds(&["slots", "behind", "ord", "task"]),
        |v| &mut v.lines,
        |cells| Ok((rank_of(cells)?, ())),
    )
}

pub(in crate::postgres) fn wish_timers(
    keys: Stretches<(), (Time, TaskId)>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (&TIMER.stretch(&[], &["at", "task"]), &TIMER, &[]),
        keys,
        |(), after| {
            let (at, task) = after.copied().unwrap_or((Time(i64::MIN), TaskId(i64::MIN)));
            vec![at.0.into(), task.0.into()]
        },
        &TIMER.kinds(&["at", "task"]),
        |v| &mut v.timers,
        |cells| Ok((timer_of(cells)?, ())),
    )
}

pub(in crate::postgres) fn wish_instances(
    keys: Stretches<QueueId, (i64, TaskId)>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (&INSTANCE.stretch(&["queue"], &["ordinal", "task"]), &INSTANCE, &[]),
        keys,
        |owner, after| {
            let (ordinal, task) = after.copied().unwrap_or((i64::MIN, TaskId(i64::MIN)));
            vec![owner.0.into(), ordinal.into(), task.0.into()]
        },
        &INSTANCE.kinds(&["queue", "ordinal", "task"]),
        |v| &mut v.instances,
        |cells| Ok((instance_of(cells)?, ())),
    )
}

pub(in crate::postgres) fn wish_newest<'k>(
    keys: &'k [QueueId],
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    wishes.find(
        (NEWEST.find(), &NEWEST, &[]),
        keys,
        |k, grid| Ok(grid.push(&[k.0.into()])?),
        NEWEST.key_grid(),
        |v| &mut v.newest,
        newest_of,
    )
}

pub(in crate::postgres) fn wish_slots<'k>(keys: &'k [Text], wishes: &mut Wishes<'k>) -> Answer<()> {
    wishes.find(
        (SLOTS.find(), &SLOTS, &[]),
        keys,
        |k, grid| Ok(grid.push(&[(&**k).into()])?),
        SLOTS.key_grid(),
        |v| &mut v.slots,
        slots_of,
    )
}

/// The rank in a queue or line, whose owner stands in the first column.
pub(in crate::postgres) fn rank_of(cells: &Cells<'_>) -> Answer<Rank> {
    Ok(Rank { behind: cells.small(1)?, ord: cells.int(2)?, task: TaskId(cells.int(3)?) })
}

pub(in crate::postgres) fn timer_of(cells: &Cells<'_>) -> Answer<(Time, TaskId)> {
    Ok((cells.time(0)?, TaskId(cells.int(1)?)))
}

/// The place of an instance, whose queue stands in the first column.
pub(in crate::postgres) fn instance_of(cells: &Cells<'_>) -> Answer<(i64, TaskId)> {
    Ok((cells.int(1)?, TaskId(cells.int(2)?)))
}

pub(in crate::postgres) fn newest_of(cells: &Cells<'_>) -> Answer<(QueueId, (i64, TaskId))> {
    Ok((QueueId(cells.int(0)?), instance_of(cells)?))
}

pub(in crate::postgres) fn slots_of(cells: &Cells<'_>) -> Answer<(Text, Slots)> {
    Ok((cells.text(0)?, Slots { max: cells.small(1)?, used: cells.small(2)? }))
}
