//! What must be true of every world, after every commit. Checked by tests after each step and by
//! the doctor over a whole store.

use std::collections::BTreeMap;

use crate::decide::limits_of;
use crate::event::Event;
use crate::fold::fold;
use crate::ids::{BatchId, ItemId, QueueId, TaskId, Token};
use crate::rows::{Counter, RoundKey, RoundStatus, Spot, Target, Task};
use crate::task::State;
use crate::text::Text;
use crate::view::View;

/// Everything that is wrong with a world that is wholly on the sheet; empty when all is well.
#[must_use]
pub fn check(world: &View) -> Vec<String> {
    let mut wrong = Vec::new();
    leases_and_tasks(world, &mut wrong);
    places(world, &mut wrong);
    slots(world, &mut wrong);
    edges(world, &mut wrong);
    counters(world, &mut wrong);
    wrong
}

/// What is wrong between the rows of a world and its history.
pub fn check_history<'e>(
    world: &View,
    histories: impl Iterator<Item = (ItemId, Vec<&'e Event>)>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = 0_usize;
    for (item, events) in histories {
        let folded = match fold(events.into_iter()) {
            Ok(folded) => folded,
            Err(gap) => {
                wrong.push(gap);
                continue;
            }
        };
        for (task, (state, token)) in &folded.tasks {
            seen += 1;
            wrong.extend(differs(world, *task, *state, *token));
        }
        for (name, (n, outcome)) in &folded.marks {
            let mark = world.marks.get(&(item, name.clone())).ok().flatten();
            if !mark.is_some_and(|m| m.n == *n && m.outcome == *outcome) {
                wrong.push(format!("item {item}: mark {name} is not its newest event {n}"));
            }
        }
    }
    let rows = world.tasks.iter().count();
    if rows != seen {
        wrong.push(format!("{rows} task rows, but {seen} tasks in the history"));
    }
    wrong
}

/// What a task's row says differently from its events.
fn differs(world: &View, task: TaskId, state: State, token: Token) -> Option<String> {
    let Some(row) = world.tasks.get(&task).ok().flatten() else {
        return Some(format!("task {task}: has events but no row"));
    };
    if row.state != state {
        return Some(format!("task {task}: row says {}, events say {state}", row.state));
    }
    (row.token < token)
        .then(|| format!("task {task}: token {} is below granted token {token}", row.token))
}

/// A leased task has exactly one live grip with its token, and every live grip its leased task.
fn leases_and_tasks(world: &View, wrong: &mut Vec<String>) {
    let mut grips: BTreeMap<TaskId, usize> = BTreeMap::new();
    for (id, lease) in world.leases.iter() {
        if lease.grips.is_empty() {
            wrong.push(format!("lease {id} holds nothing"));
        }
        if world.due_leases.seen(&(), &(lease.due_at(), *id)).is_none() {
            wrong.push(format!("lease {id} is not on the clock"));
        }
        for grip in lease.grips.iter().filter(|g| !g.stopping) {
            *grips.entry(grip.task).or_default() += 1;
            let task = world.tasks.get(&grip.task).ok().flatten();
            let held = task.is_some_and(|t| {
                t.state == State::Leased && t.lease == Some(*id) && t.token == grip.token
            });
            if !held {
                wrong.push(format!("lease {id} grips task {}, which is not its own", grip.task));
            }
        }
    }
    for (id, task) in world.tasks.iter() {
        let held = grips.get(id).copied().unwrap_or(0);
        let wanted = usize::from(task.state == State::Leased);
        if held != wanted {
            wrong.push(format!("task {id} is {} with {held} live grips", task.state));
        }
    }
    let due = world.due_leases.iter().count();
    if due != world.leases.iter().count() {
        wrong.push(format!("{due} leases on the clock, {} in all", world.leases.iter().count()));
    }
}

/// A ready task waits in exactly one place, and nobody else waits anywhere.
fn places(world: &View, wrong: &mut Vec<String>) {
    let mut places: BTreeMap<TaskId, Vec<Spot>> = BTreeMap::new();
    for (queue, rank, ()) in world.ready.iter() {
        places.entry(rank.task).or_default().push(Spot::Queue);
        let body = world.bodies.get(&rank.task).ok().flatten();
        if body.is_none_or(|b| b.queue != *queue) {
            wrong.push(format!("task {} stands in the wrong queue {queue}", rank.task));
        }
    }
    for (_, rank, ()) in world.lines.iter() {
        places.entry(rank.task).or_default().push(Spot::Line);
    }
    for (_, (_, task), ()) in world.timers.iter() {
        places.entry(*task).or_default().push(Spot::Timer);
    }
    for (id, task) in world.tasks.iter() {
        let found = places.remove(id).unwrap_or_default();
        let wanted: &[Spot] = if task.state == State::Ready { &[task.spot] } else { &[] };
        if found != wanted || (task.state == State::Ready) == (task.spot == Spot::Nowhere) {
            wrong.push(format!("task {id} is {} and waits at {found:?}", task.state));
        }
        let held = task.hold.is_some_and(|h| world.held.seen(&h, id).is_some());
        if held != (task.state == State::Held) {
            wrong.push(format!("task {id} is {} and held is {held}", task.state));
        }
    }
    wrong.extend(places.keys().map(|id| format!("task {id} waits somewhere but has no row")));
}

/// Slots taken are exactly those of tasks past them and of leases that are stopping.
fn slots(world: &View, wrong: &mut Vec<String>) {
    let mut used: BTreeMap<Text, u32> = BTreeMap::new();
    for (id, task) in world.tasks.iter() {
        for key in limits(world, *id).into_iter().take(usize::from(task.admitted)) {
            *used.entry(key).or_default() += 1;
        }
    }
    for (_, lease) in world.leases.iter() {
        for grip in lease.grips.iter().filter(|g| g.stopping) {
            for key in limits(world, grip.task) {
                *used.entry(key).or_default() += 1;
            }
        }
    }
    for (key, slots) in world.slots.iter() {
        let counted = used.remove(key).unwrap_or(0);
        if slots.used != counted {
            wrong.push(format!("limit {key}: {} taken, {counted} counted", slots.used));
        }
        let waiting = world.lines.iter().any(|(line, _, ())| line == key);
        if waiting && slots.used < slots.max {
            wrong.push(format!("limit {key}: free slots, yet somebody waits"));
        }
    }
    wrong.extend(used.keys().map(|key| format!("limit {key}: taken, but has no row")));
}

fn limits(world: &View, task: TaskId) -> Vec<Text> {
    let found = || {
        let body = world.bodies.get(&task).ok()??;
        let queue = world.queues.get(&body.queue).ok()??;
        let version = world.versions.get(&body.version).ok()??;
        let home = world.collections.get(&queue.collection).ok()??;
        let step = version.def.step(&queue.step)?;
        Some(limits_of(&home.name, &version.def, step, &body.payload))
    };
    found().unwrap_or_default().into_iter().map(|(key, _)| key).collect()
}

/// Blockers are the number of unsatisfied dependencies, seen from both ends.
fn edges(world: &View, wrong: &mut Vec<String>) {
    let pending: Vec<TaskId> =
        world.errands.iter().filter_map(|(_, _, errand)| errand.follow.task()).collect();
    let mut blockers: BTreeMap<TaskId, u32> = BTreeMap::new();
    let mut absent = 0_i64;
    for (target, dependent, edge) in world.dependents.iter() {
        *blockers.entry(*dependent).or_default() += 1;
        if world.blockers.seen(dependent, target) != Some(edge) {
            wrong.push(format!("task {dependent} does not know its blocker {target:?}"));
        }
        match target {
            Target::Absent(_) => absent += 1,
            Target::Task(id) => {
                let settled = world.tasks.get(id).ok().flatten().is_some_and(|t| {
                    t.state == State::Done || (t.state == State::Cancelled && skips(t))
                });
                if settled && !pending.contains(id) {
                    wrong.push(format!("task {dependent} still waits for settled task {id}"));
                }
            }
        }
    }
    for (id, task) in world.tasks.iter() {
        let counted = blockers.get(id).copied().unwrap_or(0);
        if task.blockers != counted {
            wrong.push(format!("task {id}: {} blockers, {counted} edges", task.blockers));
        }
        if (task.state == State::Waiting) && counted == 0 {
            wrong.push(format!("task {id} waits for nothing"));
        }
        if matches!(task.state, State::Ready | State::Leased | State::Held) && counted > 0 {
            wrong.push(format!("task {id} is {} with {counted} blockers", task.state));
        }
    }
    let kept = world.counters.get(&Counter::Absent).ok().flatten().copied().unwrap_or(0);
    if kept != absent {
        wrong.push(format!("{absent} dependencies on tasks to come, counted as {kept}"));
    }
}

fn skips(task: &Task) -> bool {
    task.cause.counts_as_skipped()
}

/// Counters of queues, rounds and batches equal what they count.
fn counters(world: &View, wrong: &mut Vec<String>) {
    let mut queues: BTreeMap<QueueId, [i64; 7]> = BTreeMap::new();
    let mut rounds: BTreeMap<RoundKey, [u32; 7]> = BTreeMap::new();
    let mut batches: BTreeMap<BatchId, [i64; 4]> = BTreeMap::new();
    for (id, task) in world.tasks.iter() {
        let Some(body) = world.bodies.get(id).ok().flatten() else {
            wrong.push(format!("task {id} has no body"));
            continue;
        };
        queues.entry(body.queue).or_default()[task.state.index()] += 1;
        if body.solo {
            if let Some(batch) = body.batch {
                batches.entry(batch).or_default()[place(RoundStatus::of(task.state))] += 1;
            }
        } else {
            let key = RoundKey { item: body.item, flow: body.flow, round: body.round };
            rounds.entry(key).or_default()[task.state.index()] += 1;
        }
    }
    for (id, queue) in world.queues.iter() {
        let counted = queues.get(id).copied().unwrap_or_default();
        if queue.counts != counted {
            wrong.push(format!("queue {id}: {:?}, counted {counted:?}", queue.counts));
        }
    }
    for (key, round) in world.rounds.iter() {
        if rounds.get(key) != Some(&round.counts) {
            wrong.push(format!("round {key:?}: {:?}, counted otherwise", round.counts));
        }
        if let Some(batch) = round.batch {
            batches.entry(batch).or_default()[place(round.status())] += 1;
        }
    }
    for (id, batch) in world.batches.iter() {
        let counted = batches.get(id).copied().unwrap_or_default();
        let kept = [batch.open, batch.done, batch.failed, batch.cancelled];
        if kept != counted || batch.total != counted.iter().sum::<i64>() {
            wrong.push(format!("batch {id}: {kept:?} of {}, counted {counted:?}", batch.total));
        }
    }
}

fn place(status: RoundStatus) -> usize {
    match status {
        RoundStatus::Open => 0,
        RoundStatus::Done => 1,
        RoundStatus::Failed => 2,
        RoundStatus::Cancelled => 3,
    }
}
