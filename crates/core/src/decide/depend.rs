//! Dependencies: who waits for whom, and what satisfies it.

use std::collections::BTreeSet;

use super::desk::{Desk, Rule};
use crate::address::{ItemAddress, TaskAddress};
use crate::flow::When;
use crate::ids::TaskId;
use crate::refusal::{Code, Refusal};
use crate::rows::{Body, Counter, Edge, ItemKey, Target, Task, TaskKey};
use crate::task::State;

/// Tasks a search for circles looks at before it gives up and refuses.
const CIRCLE_SEARCH_MAX: usize = 10_000;

/// Whether a settled task satisfies those who wait for it in this way.
pub(super) fn satisfies(task: &Task, when: When) -> bool {
    match task.state {
        State::Done => true,
        State::Cancelled => task.cause.counts_as_skipped() || when == When::Settled,
        State::Failed => when == When::Settled,
        State::Waiting | State::Held | State::Ready | State::Leased => false,
    }
}

impl Desk<'_> {
    /// Makes a task wait for a target, unless the target already satisfies it.
    pub(super) fn depend_on(
        &mut self,
        task: &mut Task,
        target: Target,
        when: When,
        inner: bool,
    ) -> Rule<()> {
        match &target {
            Target::Task(id) => {
                let settled = match self.view.tasks.get(id) {
                    // A sibling that is planned later in this round has a body but no row yet.
                    Ok(None) => false,
                    Ok(Some(row)) => satisfies(row, when),
                    Err(_) if inner => false,
                    Err(stop) => return Err(stop),
                };
                if settled {
                    return Ok(());
                }
            }
            Target::Absent(_) if self.view.blockers.was_put(&task.id, &target).is_some() => {}
            Target::Absent(_) => {
                let absent = self.count(Counter::Absent)?.saturating_add(1);
                self.view.counters.put(Counter::Absent, absent);
            }
        }
        // Two references may mean the same task; it is waited for once, in the stricter way.
        if let Some(before) = self.view.blockers.was_put(&task.id, &target).copied() {
            if before.when == When::Settled {
                self.link(target, task.id, Edge { when, inner: inner || before.inner });
            }
            return Ok(());
        }
        self.link(target, task.id, Edge { when, inner });
        task.blockers += 1;
        Ok(())
    }

    pub(super) fn link(&mut self, target: Target, dependent: TaskId, edge: Edge) {
        self.view.dependents.put(target.clone(), dependent, edge);
        self.view.blockers.put(dependent, target, edge);
    }

    pub(super) fn unlink(&mut self, target: &Target, dependent: TaskId) {
        self.view.dependents.delete(target.clone(), dependent);
        self.view.blockers.delete(dependent, target.clone());
    }

    /// What an address points at: a task, or the place where one may come to be.
    pub(super) fn resolve(&self, at: &TaskAddress) -> Rule<Target> {
        let absent = || Target::Absent(at.to_string().into());
        let home = self.collection_named(&at.item.collection)?.id;
        let Some(flow) = self.view.flow_names.get(&(home, at.flow.clone()))?.copied() else {
            return Ok(absent());
        };
        let Some(queue) = self.view.queue_names.get(&(flow, at.step.clone()))?.copied() else {
            return Ok(absent());
        };
        let key =
            ItemKey { collection: home, kind: at.item.kind.clone(), key: at.item.key.clone() };
        let Some(item) = self.view.item_keys.get(&key)?.copied() else {
            return Ok(absent());
        };
        let key = TaskKey { item, queue, part: at.part.clone(), round: at.round };
        Ok(self.view.task_keys.get(&key)?.copied().map_or_else(absent, Target::Task))
    }

    pub(super) fn task_address(&self, body: &Body) -> Rule<TaskAddress> {
        let item = self.item(body.item)?;
        Ok(TaskAddress {
            flow: self.flow(body.flow)?.name.clone(),
            step: self.queue(body.queue)?.step.clone(),
            item: ItemAddress {
                collection: self.collection(item.collection)?.name.clone(),
                kind: item.kind.clone(),
                key: item.key.clone(),
            },
            part: body.part.clone(),
            round: body.round,
        })
    }

    /// Refuses dependencies that lead back to one of the tasks they are for. A circle can only
    /// close through a task that did not exist when somebody came to depend on it.
    pub(super) fn refuse_circle(&self, targets: &[Target], news: &[TaskAddress]) -> Rule<()> {
        if targets.is_empty() || self.count(Counter::Absent)? == 0 {
            return Ok(());
        }
        let goals: BTreeSet<String> = news.iter().map(ToString::to_string).collect();
        let mut open: Vec<Target> = targets.to_vec();
        let mut seen: BTreeSet<Target> = BTreeSet::new();
        while let Some(target) = open.pop() {
            if !seen.insert(target.clone()) {
                continue;
            }
            match &target {
                Target::Absent(address) if goals.contains(&**address) => {
                    return Err(Refusal::new(
                        Code::Cycle,
                        format!("{address} would wait for itself"),
                    )
                    .hint("remove one of the dependencies that close the circle")
                    .into());
                }
                Target::Absent(_) => {}
                Target::Task(id) => {
                    let next = self.view.blockers.first(id, CIRCLE_SEARCH_MAX)?;
                    open.extend(next.map(|(target, _)| target.clone()));
                }
            }
            if seen.len() > CIRCLE_SEARCH_MAX {
                return Err(Refusal::new(Code::TooLarge, "too many tasks to search for circles")
                    .hint("depend on fewer tasks, or on tasks that exist already")
                    .into());
            }
        }
        Ok(())
    }
}
