//! Tasks: bodies that never change and the small rows that do.

use armarius_core::ids::{
    BatchId, FlowId, HoldId, ItemId, QueueId, TaskId, Time, Token, VersionId,
};
use armarius_core::rows::{Body, Spot, Task, TaskKey};
use armarius_core::task::Cause;
use armarius_core::view::View;

use crate::codes::state_code;
use crate::codes::{lease_bytes, position};
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::known::Highest;
use crate::postgres::load::{Stretches, Wishes};
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::{Grid, Kind};

const SPOTS: [Spot; 4] = [Spot::Nowhere, Spot::Queue, Spot::Line, Spot::Timer];

pub(in crate::postgres) static BODY: Table = Table::new(
    "body",
    1,
    4,
    &[
        ("id", Kind::I8),
        ("item", Kind::I8),
        ("queue", Kind::I8),
        ("part", Kind::Text),
        ("round", Kind::I8),
        ("flow", Kind::I8),
        ("version", Kind::I8),
        ("solo", Kind::Flag),
        ("batch", Kind::I8),
        ("payload", Kind::Text),
        ("created_at", Kind::I8),
        ("fingerprint", Kind::Text),
        ("depth", Kind::I8),
    ],
);

pub(in crate::postgres) static TASK: Table = Table::new(
    "task",
    1,
    0,
    &[
        ("id", Kind::I8),
        ("state", Kind::I2),
        ("token", Kind::I8),
        ("attempts", Kind::U4),
        ("failures", Kind::U4),
        ("lapses", Kind::U4),
        ("priority", Kind::I4),
        ("ord", Kind::I8),
        ("ready_at", Kind::I8),
        ("spot", Kind::I2),
        ("admitted", Kind::I2),
        ("blockers", Kind::U4),
        ("lease", Kind::Bytes),
        ("hold", Kind::I8),
        ("cause", Kind::I2),
        ("cause_task", Kind::I8),
        ("since", Kind::I8),
    ],
);

const BY_KEY: &str = "select t.id, k.item, k.queue, k.part, k.round
    from unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[])
        as k(item, queue, part, round)
    cross join lateral (select t.id, t.shard from body as t where t.item = k.item
                        and t.queue = k.queue and t.round = k.round and t.part = k.part
                        limit 1) as t
    where t.shard = any($1::smallint[])";
// One seek per queue of the flow; there are as many as it has steps.
const LATEST_ROUNDS: &str = "select k.item, k.flow, max(newest.round)
    from unnest($2::bigint[], $3::bigint[]) as k(item, flow)
    cross join unnest($1::smallint[]) as s(shard)
    join queue as q on q.shard = s.shard and q.flow = k.flow
    cross join lateral (select t.round from body as t where t.item = k.item and t.queue = q.id
                        order by t.round desc limit 1) as newest
    group by k.item, k.flow";

pub(in crate::postgres) fn write(
    pen: &mut Pen<'_>,
    view: &View,
    (bodies, tasks): (Highest, Highest),
) -> Answer<()> {
    pen.keep_large(
        &BODY,
        &view.bodies,
        |k| bodies.is_below(k.0),
        |k| Ok([k.0.into()]),
        |_, b| {
            Ok([
                b.id.0.into(),
                b.item.0.into(),
                b.queue.0.into(),
                (&*b.part).into(),
                b.round.into(),
                b.flow.0.into(),
                b.version.0.into(),
                b.solo.into(),
                b.batch.map(|b| b.0).into(),
                (&*b.payload).into(),
                b.created_at.0.into(),
                (&*b.fingerprint).into(),
                b.depth.into(),
            ])
        },
    )?;
    pen.keep_large(
        &TASK,
        &view.tasks,
        |k| tasks.is_below(k.0),
        |k| Ok([k.0.into()]),
        |_, t| {
            let (cause, by) = t.cause.to_code();
            let by = matches!(t.cause, Cause::Superseded(_)).then_some(by);
            Ok([
                t.id.0.into(),
                state_code(t.state).into(),
                t.token.0.into(),
                t.attempts.into(),
                t.failures.into(),
                t.lapses.into(),
                t.priority.into(),
                t.ord.into(),
                t.ready_at.0.into(),
                position(&SPOTS, &t.spot).into(),
                u32::from(t.admitted).into(),
                t.blockers.into(),
                t.lease.map(lease_bytes).into(),
                t.hold.map(|h| h.0).into(),
                cause.into(),
                by.into(),
                t.since.0.into(),
            ])
        },
    )
}

pub(in crate::postgres) fn wish<'k>(keys: &'k [TaskId], wishes: &mut Wishes<'k>) -> Answer<()> {
    wishes.find(
        (TASK.find(), &TASK, &[]),
        keys,
        |k, grid| Ok(grid.push(&[k.0.into()])?),
        TASK.key_grid(),
        |v| &mut v.tasks,
        |cells| task_of(cells).map(|task| (task.id, task)),
    )
}

pub(in crate::postgres) fn wish_bodies<'k>(
    keys: &'k [TaskId],
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    wishes.find(
        (BODY.find(), &BODY, &[]),
        keys,
        |k, grid| Ok(grid.push(&[k.0.into()])?),
        BODY.key_grid(),
        |v| &mut v.bodies,
        |cells| body_of(cells).map(|body| (body.id, body)),
    )
}

pub(in crate::postgres) fn wish_keys<'k>(
    keys: &'k [TaskKey],
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    static FOUND: Table = Table::new(
        "body",
        1,
        0,
        &[
            ("id", Kind::I8),
            ("item", Kind::I8),
            ("queue", Kind::I8),
            ("part", Kind::Text),
            ("round", Kind::I8),
        ],
    );
    wishes.find(
        (BY_KEY, &FOUND, &[]),
        keys,
        |k, grid| {
            let (item, queue, part) = (k.item.0, k.queue.0, &*k.part);
            Ok(grid.push(&[item.into(), queue.into(), part.into(), k.round.into()])?)
        },
        Grid::new([Kind::I8, Kind::I8, Kind::Text, Kind::I8]),
        |v| &mut v.task_keys,
        |cells| {
            let (item, queue) = (ItemId(cells.int(1)?), QueueId(cells.int(2)?));
            let key = TaskKey { item, queue, part: cells.text(3)?, round: cells.small(4)? };
            Ok((key, TaskId(cells.int(0)?)))
        },
    )
}

pub(in crate::postgres) fn wish_latest_rounds<'k>(
    keys: &'k [(ItemId, FlowId)],
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    static FOUND: Table =
        Table::new("body", 2, 0, &[("item", Kind::I8), ("flow", Kind::I8), ("round", Kind::I8)]);
    wishes.find(
        (LATEST_ROUNDS, &FOUND, &[]),
        keys,
        |(item, flow), grid| Ok(grid.push(&[item.0.into(), flow.0.into()])?),
        Grid::new([Kind::I8, Kind::I8]),
        |v| &mut v.latest_rounds,
        |cells| Ok(((ItemId(cells.int(0)?), FlowId(cells.int(1)?)), cells.small(2)?)),
    )
}

pub(in crate::postgres) fn wish_of_item<'k>(
    keys: Stretches<ItemId, TaskId>,
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    static ORDER: Table = Table::new("body", 1, 0, &[("item", Kind::I8), ("id", Kind::I8)]);
    wishes.stretch(
        (&ORDER.stretch(&["item"], &["id"]), &ORDER, &[]),
        keys,
        |owner, after| vec![owner.0.into(), after.map_or(i64::MIN, |t| t.0).into()],
        &ORDER.kinds(&["item", "id"]),
        |v| &mut v.item_tasks,
        |cells| Ok((TaskId(cells.int(1)?), ())),
    )
}

pub(in crate::postgres) fn body_of(cells: &Cells<'_>) -> Answer<Body> {
    Ok(Body {
        id: TaskId(cells.int(0)?),
        item: ItemId(cells.int(1)?),
        queue: QueueId(cells.int(2)?),
        part: cells.text(3)?,
        round: cells.small(4)?,
        flow: FlowId(cells.int(5)?),
        version: VersionId(cells.int(6)?),
        solo: cells.flag(7)?,
        batch: cells.maybe_int(8)?.map(BatchId),
        payload: cells.text(9)?,
        created_at: cells.time(10)?,
        fingerprint: cells.text(11)?,
        depth: cells.small(12)?,
    })
}

pub(in crate::postgres) fn task_of(cells: &Cells<'_>) -> Answer<Task> {
    let cause = Cause::from_code(cells.int(14)?, cells.maybe_int(15)?.unwrap_or_default());
    Ok(Task {
        id: TaskId(cells.int(0)?),
        state: cells.state(1)?,
        token: Token(cells.int(2)?),
        attempts: cells.count(3)?,
        failures: cells.count(4)?,
        lapses: cells.count(5)?,
        priority: cells.small(6)?,
        ord: cells.int(7)?,
        ready_at: cells.time(8)?,
        spot: cells.one_of(9, &SPOTS)?,
        admitted: cells.small(10)?,
        blockers: cells.count(11)?,
        lease: cells.maybe_lease(12)?,
        hold: cells.maybe_int(13)?.map(HoldId),
        cause: cause.ok_or_else(|| cells.wrong(14, "is no cause"))?,
        since: Time(cells.int(16)?),
    })
}
