//! Tasks: bodies that never change and the small rows that do.

use std::collections::BTreeMap;

use armarius_core::ids::{
    BatchId, FlowId, HoldId, ItemId, QueueId, TaskId, Time, Token, VersionId,
};
use armarius_core::rows::{Body, Spot, Task, TaskKey};
use armarius_core::task::Cause;
use armarius_core::view::View;
use rusqlite::params;

use crate::codes::state_code;
use crate::codes::{lease_bytes, position};
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::{Answer, OrFault as _};

macro_rules! body_columns {
    () => {
        "body.id, item, queue, flow, version, part, round, solo, batch, payload, created_at,
         fingerprint, depth"
    };
}

macro_rules! task_columns {
    () => {
        "task.id, state, token, attempts, failures, lapses, priority, ord, ready_at, spot, admitted,
         blockers, lease, hold, cause, cause_task, since"
    };
}

const SPOTS: [Spot; 4] = [Spot::Nowhere, Spot::Queue, Spot::Line, Spot::Timer];

pub(in crate::sqlite) const BODIES: &str = concat!("select ", body_columns!(), " from body");
pub(in crate::sqlite) const TASKS: &str = concat!("select ", task_columns!(), " from task");

// A stretch of tasks, and the tasks of a stretch of items, for the audit.
pub(in crate::sqlite) const BODIES_BETWEEN: &str =
    concat!("select ", body_columns!(), " from body where body.id > ?1 and body.id <= ?2");
pub(in crate::sqlite) const TASKS_BETWEEN: &str =
    concat!("select ", task_columns!(), " from task where task.id > ?1 and task.id <= ?2");
pub(in crate::sqlite) const TASKS_OF_ITEMS: &str = concat!(
    "select ",
    task_columns!(),
    " from body indexed by body_key cross join task on task.id = body.id
      where body.item >= ?1 and body.item <= ?2"
);

pub(in crate::sqlite) const BODIES_OF_ITEMS: &str = concat!(
    "select ",
    body_columns!(),
    " from body indexed by body_key where body.item >= ?1 and body.item <= ?2"
);

// What a reader filters by: below ?1, above ?7, queues ?2 and states ?3 as JSON arrays, item ?4,
// batch ?5, at most ?6; each empty when it does not matter. `cross join` keeps the order that is
// written.
macro_rules! wanted {
    () => {
        " and body.id < ?1 and body.id > ?7
          and (?2 = '' or body.queue in (select value from json_each(?2)))
          and (?3 = '' or task.state in (select value from json_each(?3)))
          and (?4 is null or body.item = ?4) and (?5 is null or body.batch = ?5)
          order by body.id desc limit ?6"
    };
}

macro_rules! both_columns {
    () => {
        concat!("select ", body_columns!(), ", ", task_columns!())
    };
}

pub(in crate::sqlite) const BY_NUMBER: &str = concat!(
    both_columns!(),
    " from body cross join task on task.id = body.id where true",
    wanted!()
);
pub(in crate::sqlite) const BY_BATCH: &str = concat!(
    both_columns!(),
    " from body indexed by body_batch cross join task on task.id = body.id where body.batch = ?5",
    wanted!()
);
pub(in crate::sqlite) const BY_ITEM: &str = concat!(
    both_columns!(),
    " from body indexed by body_key cross join task on task.id = body.id where body.item = ?4",
    wanted!()
);
pub(in crate::sqlite) const BY_STATE: &str = concat!(
    both_columns!(),
    " from task indexed by task_stuck cross join body on body.id = task.id
      where (task.state < 2 or task.state > 4) and task.state = json_extract(?3, '$[0]')
      and task.id < ?1 and task.id > ?7",
    wanted!()
);
pub(in crate::sqlite) const BY_LEASE: &str = concat!(
    both_columns!(),
    " from (select distinct json_extract(grip.value, '$[0]') as id
            from lease cross join json_each(lease.grips) as grip) as leased
      cross join task on task.id = leased.id cross join body on body.id = task.id where true",
    wanted!()
);
pub(in crate::sqlite) const BODY: &str =
    concat!("select ", body_columns!(), " from body where id = ?1");
pub(in crate::sqlite) const TASK: &str =
    concat!("select ", task_columns!(), " from task where id = ?1");
const BY_KEY: &str =
    "select id from body where item = ?1 and queue = ?2 and part = ?3 and round = ?4";
const OF_ITEM: &str = "select id from body where item = ?1 and id > ?2 order by id limit ?3";
// One seek per queue of the flow; there are as many as it has steps.
const LATEST_ROUND: &str = "select max(round) from body where item = ?1 and queue = ?2";
const QUEUES: &str = "select id from queue where flow = ?1";

const BODY_SQL: Sql = Sql {
    table: "body",
    put: "insert into body (id, item, queue, flow, version, part, round, solo, batch, payload,
                            created_at, fingerprint, depth)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
          on conflict (id) do update set flow = ?4, version = ?5, solo = ?8, batch = ?9,
          payload = ?10, created_at = ?11, fingerprint = ?12, depth = ?13
          where item = ?2 and queue = ?3 and part = ?6 and round = ?7",
    delete: "delete from body where id = ?1",
};

// `or replace` would keep a journal of its own for each row, because of the partial index: 2 µs.
const PUT_TASK: &str =
    "insert into task (id, state, token, attempts, failures, lapses, priority, ord, ready_at, spot,
                       admitted, blockers, lease, hold, cause, cause_task, since)
     values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
     on conflict (id) do update set state = ?2, token = ?3, attempts = ?4, failures = ?5,
     lapses = ?6, priority = ?7, ord = ?8, ready_at = ?9, spot = ?10, admitted = ?11,
     blockers = ?12, lease = ?13, hold = ?14, cause = ?15, cause_task = ?16, since = ?17";
const DELETE_TASK: &str = "delete from task where id = ?1";

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &BODY_SQL,
        &view.bodies,
        |k| Ok((k.0,)),
        |_, b| {
            let (item, queue, flow, version) = (b.item.0, b.queue.0, b.flow.0, b.version.0);
            let (part, round, solo, batch) = (&*b.part, b.round, b.solo, b.batch.map(|b| b.0));
            let (payload, created) = (&*b.payload, b.created_at.0);
            let (fingerprint, depth) = (&*b.fingerprint, b.depth);
            Ok((
                b.id.0,
                item,
                queue,
                flow,
                version,
                part,
                round,
                solo,
                batch,
                payload,
                created,
                fingerprint,
                depth,
            ))
        },
    )?;
    write_tasks(desk, view)
}

fn write_tasks(desk: &Desk, view: &View) -> Answer<()> {
    if view.tasks.dirty_len() == 0 {
        return Ok(());
    }
    let mut changes: Vec<(&TaskId, Option<&Task>)> = view.tasks.changes().collect();
    changes.sort_unstable_by_key(|(id, _)| **id);
    let mut put = desk.prepare(PUT_TASK)?;
    for (id, task) in changes {
        let Some(t) = task else {
            desk.run(DELETE_TASK, (id.0,))?;
            continue;
        };
        let (cause, by) = t.cause.to_code();
        let by = matches!(t.cause, Cause::Superseded(_)).then_some(by);
        let (state, spot) = (state_code(t.state), position(&SPOTS, &t.spot));
        let (lease, hold) = (t.lease.map(lease_bytes), t.hold.map(|h| h.0));
        put.execute(params![
            id.0,
            state,
            t.token.0,
            t.attempts,
            t.failures,
            t.lapses,
            t.priority,
            t.ord,
            t.ready_at.0,
            spot,
            t.admitted,
            t.blockers,
            lease,
            hold,
            cause,
            by,
            t.since.0,
        ])
        .or_fault()?;
    }
    Ok(())
}

pub(in crate::sqlite) fn load(desk: &Desk, keys: &[TaskId], view: &mut View) -> Answer<()> {
    desk.find(("task", TASK), keys, &mut view.tasks, |k| Ok(Some((k.0,))), |c| task_of(c, 0))
}

pub(in crate::sqlite) fn load_bodies(desk: &Desk, keys: &[TaskId], view: &mut View) -> Answer<()> {
    desk.find(("body", BODY), keys, &mut view.bodies, |k| Ok(Some((k.0,))), body_of)
}

pub(in crate::sqlite) fn load_keys(desk: &Desk, keys: &[TaskKey], view: &mut View) -> Answer<()> {
    let read = |cells: &Cells<'_>| cells.int(0).map(TaskId);
    desk.find(
        ("body", BY_KEY),
        keys,
        &mut view.task_keys,
        |k| Ok(Some((k.item.0, k.queue.0, &*k.part, k.round))),
        read,
    )
}

pub(in crate::sqlite) fn load_latest_rounds(
    desk: &Desk,
    keys: &[(ItemId, FlowId)],
    view: &mut View,
) -> Answer<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let mut queues: BTreeMap<FlowId, Vec<i64>> = BTreeMap::new();
    let mut newest = desk.prepare(LATEST_ROUND)?;
    for (item, flow) in keys {
        if !queues.contains_key(flow) {
            queues.insert(*flow, desk.all("queue", QUEUES, (flow.0,), |cells| cells.int(0))?);
        }
        let mut round: Option<u32> = None;
        for queue in queues.get(flow).into_iter().flatten() {
            let mut rows = newest.query((item.0, queue)).or_fault()?;
            if let Some(row) = rows.next().or_fault()? {
                let cells = Cells::new(desk, "body", row);
                round = round.max(cells.maybe_int(0)?.map(|_| cells.small(0)).transpose()?);
            }
        }
        view.latest_rounds.load((*item, *flow), round);
    }
    Ok(())
}

pub(in crate::sqlite) fn load_of_item(
    desk: &Desk,
    (item, after, n): (ItemId, Option<TaskId>, usize),
    view: &mut View,
) -> Answer<()> {
    let from = after.map_or(i64::MIN, |t| t.0);
    let (rows, all) = desk.stretch(
        ("body", OF_ITEM),
        n,
        |limit| (item.0, from, limit),
        |cells| Ok((TaskId(cells.int(0)?), ())),
    )?;
    view.item_tasks.load(item, after, rows, all);
    Ok(())
}

/// The number of columns of a body, for statements that read a task behind it.
pub(in crate::sqlite) const BODY_COLUMNS: usize = 13;

pub(in crate::sqlite) fn body_of(cells: &Cells<'_>) -> Answer<Body> {
    Ok(Body {
        id: TaskId(cells.int(0)?),
        item: ItemId(cells.int(1)?),
        queue: QueueId(cells.int(2)?),
        flow: FlowId(cells.int(3)?),
        version: VersionId(cells.int(4)?),
        part: cells.text(5)?,
        round: cells.small(6)?,
        solo: cells.flag(7)?,
        batch: cells.maybe_int(8)?.map(BatchId),
        payload: cells.text(9)?,
        created_at: cells.time(10)?,
        fingerprint: cells.text(11)?,
        depth: cells.small(12)?,
    })
}

/// The task whose columns begin at `at`.
pub(in crate::sqlite) fn task_of(cells: &Cells<'_>, at: usize) -> Answer<Task> {
    let cause =
        Cause::from_code(cells.int(at + 14)?, cells.maybe_int(at + 15)?.unwrap_or_default());
    Ok(Task {
        id: TaskId(cells.int(at)?),
        state: cells.state(at + 1)?,
        token: Token(cells.int(at + 2)?),
        attempts: cells.small(at + 3)?,
        failures: cells.small(at + 4)?,
        lapses: cells.small(at + 5)?,
        priority: cells.small(at + 6)?,
        ord: cells.int(at + 7)?,
        ready_at: cells.time(at + 8)?,
        spot: cells.one_of(at + 9, &SPOTS)?,
        admitted: cells.small(at + 10)?,
        blockers: cells.small(at + 11)?,
        lease: cells.maybe_lease(at + 12)?,
        hold: cells.maybe_int(at + 13)?.map(HoldId),
        cause: cause.ok_or_else(|| cells.wrong(at + 14, "is no cause"))?,
        since: Time(cells.int(at + 16)?),
    })
}
