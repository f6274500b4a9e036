//! Where a ready task waits for its turn: on the clock, in the line of a limit, or in its queue.
//!
//! A task passes its limits one by one, always in the same order, so no two tasks can wait for each
//! other. Only as many heads as a limit has free slots leave its line; the queue therefore holds
//! nothing that a claim would have to skip.

use super::desk::{Desk, Rule};
use crate::address::escape_name;
use crate::flow::{Flow, Step};
use crate::ids::{TaskId, Time};
use crate::limits::DUTY_ROWS_MAX;
use crate::reply::Reply;
use crate::rows::{Body, Rank, Slots, Spot, Task};
use crate::text::Text;

/// The limits a task passes, in order: key and number of slots.
#[must_use]
pub fn limits_of(collection: &str, flow: &Flow, step: &Step, payload: &str) -> Vec<(Text, u32)> {
    let mut limits = Vec::new();
    let mut name = String::new();
    escape_name(&mut name, collection);
    if step.exclusive {
        limits.push((format!("exclusive@{name}").into(), 1));
    }
    if let Some(max) = flow.concurrency {
        let mut key = String::from("flow:");
        escape_name(&mut key, &flow.name);
        limits.push((format!("{key}@{name}").into(), max));
    }
    if let Some(limit) = &step.limit {
        let mut key = String::from("step:");
        escape_name(&mut key, &flow.name);
        key.push('.');
        escape_name(&mut key, &step.name);
        let value = parameter(step, payload, &limit.key);
        limits.push((format!("{key}@{name}#{}={value}", limit.key).into(), limit.max));
    }
    limits
}

/// A parameter's value: the payload's, else the step's default, else empty.
fn parameter(step: &Step, payload: &str, key: &str) -> String {
    let object = serde_json::from_str::<serde_json::Value>(payload).unwrap_or_default();
    match object.get(key) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => step.params.get(key).map(ToString::to_string).unwrap_or_default(),
    }
}

/// The duty that puts ready tasks whose time has come into their queues.
pub(super) fn wake(desk: &mut Desk<'_>) -> Rule<Reply> {
    let now = desk.now();
    let due: Vec<(Time, TaskId)> = {
        let timers = desk.view.timers.first(&(), DUTY_ROWS_MAX + 1)?;
        timers.map(|(key, ())| *key).take_while(|(at, _)| *at <= now).collect()
    };
    let tasks = due.iter().take(DUTY_ROWS_MAX);
    desk.require(tasks.clone().filter_map(|(_, id)| desk.view.tasks.missing(id)))?;
    desk.require(tasks.clone().filter_map(|(_, id)| desk.view.bodies.missing(id)))?;
    let did = tasks.len();
    for key in due.iter().take(DUTY_ROWS_MAX) {
        desk.view.timers.delete((), *key);
        let mut task = desk.task(key.1)?.clone();
        let body = desk.body(key.1)?.clone();
        desk.advance(&mut task, &body)?;
        desk.view.tasks.put(task.id, task);
    }
    Ok(Reply::Duty { did, more: due.len() > did })
}

impl Desk<'_> {
    /// A task became ready: it waits for its time first, then for its turn.
    pub(super) fn stand(&mut self, task: &mut Task, body: &Body) -> Rule<()> {
        if task.ready_at > self.now() {
            task.spot = Spot::Timer;
            self.view.timers.put((), (task.ready_at, task.id), ());
            return Ok(());
        }
        self.advance(task, body)
    }

    /// Passes as many limits as have room, then joins the queue.
    pub(super) fn advance(&mut self, task: &mut Task, body: &Body) -> Rule<()> {
        let limits = self.limits(body)?;
        loop {
            let Some((key, max)) = limits.get(usize::from(task.admitted)) else {
                task.spot = Spot::Queue;
                self.view.ready.put(body.queue, Rank::of(task), ());
                return Ok(());
            };
            let mut slots = self.view.slots.get(key)?.copied().unwrap_or_default();
            slots.max = *max;
            let nobody_waits = self.view.lines.first(key, 1)?.next().is_none();
            if slots.used < slots.max && nobody_waits {
                slots.used += 1;
                task.admitted += 1;
                self.view.slots.put(key.clone(), slots);
            } else {
                task.spot = Spot::Line;
                self.view.slots.put(key.clone(), slots);
                self.view.lines.put(key.clone(), Rank::of(task), ());
                return Ok(());
            }
        }
    }

    /// A ready task leaves the place where it waits, and its slots unless it takes them along.
    pub(super) fn leave(&mut self, task: &mut Task, body: &Body, with_slots: bool) -> Rule<()> {
        match task.spot {
            Spot::Nowhere => {}
            Spot::Queue => self.view.ready.delete(body.queue, Rank::of(task)),
            Spot::Timer => self.view.timers.delete((), (task.ready_at, task.id)),
            Spot::Line => {
                let limits = self.limits(body)?;
                if let Some((key, _)) = limits.get(usize::from(task.admitted)) {
                    self.view.lines.delete(key.clone(), Rank::of(task));
                }
            }
        }
        task.spot = Spot::Nowhere;
        if !with_slots {
            let admitted = task.admitted;
            task.admitted = 0;
            self.free(body, usize::from(admitted))?;
        }
        Ok(())
    }

    /// Frees the first `admitted` of a task's slots and lets those who wait for them go on.
    pub(super) fn free(&mut self, body: &Body, admitted: usize) -> Rule<()> {
        for (key, _) in self.limits(body)?.into_iter().take(admitted) {
            if let Some(mut slots) = self.view.slots.get(&key)?.copied() {
                slots.used = slots.used.saturating_sub(1);
                self.view.slots.put(key.clone(), slots);
            }
            self.admit(&key)?;
        }
        Ok(())
    }

    /// Lets the heads of a line go on while there are free slots.
    fn admit(&mut self, key: &Text) -> Rule<()> {
        loop {
            let slots = self.view.slots.get(key)?.copied().unwrap_or_default();
            if slots.used >= slots.max {
                return Ok(());
            }
            let Some(head) = self.view.lines.first(key, 1)?.next().map(|(rank, ())| *rank) else {
                return Ok(());
            };
            let mut task = self.task(head.task)?.clone();
            let body = self.body(head.task)?.clone();
            self.view.lines.delete(key.clone(), head);
            self.view.slots.put(key.clone(), Slots { used: slots.used + 1, ..slots });
            task.admitted += 1;
            self.advance(&mut task, &body)?;
            self.view.tasks.put(task.id, task);
        }
    }

    /// The limits of a task.
    pub(super) fn limits(&self, body: &Body) -> Rule<Vec<(Text, u32)>> {
        let version = self.version(body)?;
        let step = self.step(body)?;
        if version.def.concurrency.is_none() && step.limit.is_none() && !step.exclusive {
            return Ok(Vec::new());
        }
        let home = self.queue(body.queue)?.collection;
        Ok(limits_of(&self.collection(home)?.name, &version.def, step, &body.payload))
    }
}
