//! Opening a round: its tasks, their edges, their first state.

use super::desk::{Desk, Rule};
use crate::flow::{Depend, Flow, Order, Reference, When};
use crate::ids::{BatchId, FlowId, ItemId, QueueId, TaskId, Time, VersionId};
use crate::rows::{Body, Counter, Follow, Member, RoundKey, Spot, Target, Task, TaskKey};
use crate::task::{Cause, State};
use crate::text::{Name, Text};

/// A round to be opened.
pub(super) struct Opening {
    pub(super) item: ItemId,
    pub(super) flow: FlowId,
    pub(super) version: VersionId,
    pub(super) payload: Text,
    pub(super) priority: i32,
    pub(super) not_before: Time,
    /// At least one; the empty part when there are none.
    pub(super) parts: Vec<Text>,
    pub(super) batch: Option<BatchId>,
    pub(super) fingerprint: Text,
    pub(super) depth: u32,
    /// What every task that depends on nothing within the round waits for.
    pub(super) depends: Vec<Target>,
}

impl Desk<'_> {
    /// Opens the next round of a flow on an item. Answers its number and its first task.
    pub(super) fn open_round(&mut self, opening: &Opening) -> Rule<(u32, TaskId)> {
        let def = match self.view.versions.get(&opening.version)? {
            Some(version) => version.def.clone(),
            None => self.version_gone(opening.version)?,
        };
        let latest = (opening.item, opening.flow);
        let round = self.latest_round(latest)?.saturating_add(1);
        self.view.latest_rounds.put(latest, round);
        let bodies = self.new_bodies(opening, &def, round)?;
        let first = bodies.first().map_or(TaskId::default(), |b| b.id);
        if let Some(batch) = opening.batch {
            self.join_batch(batch, opening, round, &bodies)?;
        }
        for body in &bodies {
            self.plan_task(opening, &def, body)?;
        }
        Ok((round, first))
    }

    fn version_gone(&self, version: VersionId) -> Rule<std::sync::Arc<Flow>> {
        Err(crate::refusal::Refusal::new(
            crate::refusal::Code::WrongState,
            format!("the flow version {version} is missing from the store"),
        )
        .hint("run `armarius doctor`")
        .into())
    }

    /// The newest round of a flow on an item; 0 when there was none.
    pub(super) fn latest_round(&self, key: (ItemId, FlowId)) -> Rule<u32> {
        // A new item has had no round of anything.
        let head = self.view.heads.get(&key.0)?;
        if head.is_none_or(|h| h.n == 0) && !self.view.latest_rounds.knows(&key) {
            return Ok(0);
        }
        Ok(self.view.latest_rounds.get(&key)?.copied().unwrap_or(0))
    }

    fn new_bodies(&mut self, opening: &Opening, def: &Flow, round: u32) -> Rule<Vec<Body>> {
        let solo = def.tasks.len() == 1 && opening.parts.len() == 1;
        let mut bodies = Vec::with_capacity(def.tasks.len() * opening.parts.len());
        for part in &opening.parts {
            for step in &def.tasks {
                let queue = self.queue_of(opening.flow, &step.name)?;
                let body = Body {
                    id: TaskId(self.mint(Counter::Task)?),
                    item: opening.item,
                    queue,
                    flow: opening.flow,
                    version: opening.version,
                    part: part.clone(),
                    round,
                    solo,
                    batch: opening.batch,
                    payload: opening.payload.clone(),
                    created_at: self.now(),
                    fingerprint: opening.fingerprint.clone(),
                    depth: opening.depth,
                };
                let key = TaskKey { item: body.item, queue, part: part.clone(), round };
                self.view.task_keys.put(key, body.id);
                self.view.item_tasks.put(body.item, body.id, ());
                // Nobody depends on a task that did not exist.
                self.view.dependents.begin(Target::Task(body.id));
                self.view.bodies.put(body.id, body.clone());
                bodies.push(body);
            }
        }
        Ok(bodies)
    }

    fn plan_task(&mut self, opening: &Opening, def: &Flow, body: &Body) -> Rule<()> {
        let step = self.step_in(def, body)?;
        let seen = self.item(body.item)?.first_seen_at.0;
        let mut task = Task {
            id: body.id,
            state: State::Waiting,
            token: crate::ids::Token::default(),
            attempts: 0,
            failures: 0,
            lapses: 0,
            priority: opening.priority.saturating_add(step.priority),
            ord: match def.order {
                Order::Oldest => seen,
                Order::Newest => seen.saturating_neg(),
            },
            ready_at: opening.not_before,
            spot: Spot::Nowhere,
            admitted: 0,
            blockers: 0,
            lease: None,
            hold: None,
            cause: Cause::None,
            since: self.now(),
        };
        let mut inner = false;
        for depend in &step.depends {
            inner |= matches!(depend.on, Reference::Task(_));
            self.depend_on_reference(&mut task, body, depend)?;
        }
        if !inner {
            for target in &opening.depends {
                self.depend_on(&mut task, target.clone(), When::Done, false)?;
            }
        }
        self.note_newest(body)?;
        self.plan(task, body)?;
        if self.count(Counter::Absent)? > 0 {
            let address: Text = self.task_address(body)?.to_string().into();
            if self.view.dependents.first(&Target::Absent(address.clone()), 1)?.next().is_some() {
                self.follows.push_back(Follow::Bind(address, body.id));
            }
        }
        Ok(())
    }

    fn depend_on_reference(&mut self, task: &mut Task, body: &Body, depend: &Depend) -> Rule<()> {
        match &depend.on {
            Reference::Task(name) => {
                if let Some(target) = self.sibling(body, name)? {
                    self.depend_on(task, Target::Task(target), depend.when, true)?;
                }
            }
            Reference::Prev => {
                let queue = body.queue;
                self.depend_on_earlier(task, body, queue, depend.when)?;
            }
            Reference::PrevTask(name) => {
                let queue = self.queue_of(body.flow, name)?;
                self.depend_on_earlier(task, body, queue, depend.when)?;
            }
        }
        Ok(())
    }

    /// The nearest earlier instance of a step; none counts as satisfied.
    fn depend_on_earlier(
        &mut self,
        task: &mut Task,
        body: &Body,
        queue: QueueId,
        when: When,
    ) -> Rule<()> {
        let Some(ordinal) = self.item(body.item)?.ordinal else { return Ok(()) };
        let earlier = self.view.newest.get(&queue)?.copied();
        if let Some((_, target)) = earlier.filter(|(n, _)| *n < ordinal) {
            self.depend_on(task, Target::Task(target), when, false)?;
        }
        Ok(())
    }

    /// Keeps the pointer to the newest planned instance of a step, once its own edges are made.
    fn note_newest(&mut self, body: &Body) -> Rule<()> {
        let Some(ordinal) = self.item(body.item)?.ordinal else { return Ok(()) };
        let newest = self.view.newest.get(&body.queue)?.copied();
        if newest.is_none_or(|(n, _)| n <= ordinal) {
            self.view.newest.put(body.queue, (ordinal, body.id));
        }
        Ok(())
    }

    /// The task of a named step in the same round and part.
    pub(super) fn sibling(&self, body: &Body, step: &Name) -> Rule<Option<TaskId>> {
        let queue = self.queue_of(body.flow, step)?;
        let key = TaskKey { item: body.item, queue, part: body.part.clone(), round: body.round };
        Ok(self.view.task_keys.get(&key)?.copied())
    }

    pub(super) fn queue_of(&self, flow: FlowId, step: &Name) -> Rule<QueueId> {
        self.view.queue_names.get(&(flow, step.clone()))?.copied().ok_or_else(|| {
            crate::refusal::Refusal::new(
                crate::refusal::Code::NoSuchFlow,
                format!("there is no step {step} in this flow"),
            )
            .hint("check the spelling against `armarius flow list`")
            .into()
        })
    }

    fn join_batch(
        &mut self,
        batch: BatchId,
        opening: &Opening,
        round: u32,
        bodies: &[Body],
    ) -> Rule<()> {
        let n = self.view.batches.get(&batch)?.map_or(0, |b| b.total).saturating_add(1);
        let key = RoundKey { item: opening.item, flow: opening.flow, round };
        let solo = bodies.first().filter(|b| b.solo).map(|b| b.id);
        self.view.members.put(batch, n, Member { round: key, solo });
        Ok(())
    }
}
