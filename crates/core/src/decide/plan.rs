//! Opening a round: its tasks, their edges, their first state.

use std::sync::Arc;

use super::desk::{Desk, Rule};
use crate::flow::codec::COMMIT;
use crate::flow::{Depend, Flow, Order, Reference, Step, When};
use crate::ids::{BatchId, FlowId, ItemId, QueueId, TaskId, Time, VersionId};
use crate::rows::{Body, Counter, Follow, Member, RoundKey, Spot, Target, Task, TaskKey};
use crate::task::{Cause, State};
use crate::text::{Name, Text};

/// Open instances of a step that are looked through for the nearest earlier one.
const EARLIER_MAX: usize = 1_000;

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
    /// On a revision: its COMMIT, which every task waits for. What depends on another task of the
    /// round would wait through that one, but not when an operator skips it.
    pub(super) commit: Option<TaskId>,
}

impl Desk<'_> {
    /// Opens the next round of a flow on an item. Answers its number and its first task. On a
    /// revision its tasks wait for the COMMIT, whoever opens it.
    pub(super) fn open_round(&mut self, mut opening: Opening) -> Rule<(u32, TaskId)> {
        opening.commit = self.commit_at(opening.item)?;
        let opening = &opening;
        let (def, bodies) = self.lay_out(opening)?;
        let (round, first) = bodies.first().map_or_else(Default::default, |b| (b.round, b.id));
        if let Some(batch) = opening.batch {
            self.join_batch(batch, opening, round, &bodies)?;
        }
        for body in &bodies {
            self.plan_task(opening, &def, body)?;
        }
        // Only now: PREV of one task may be what another one of this round is the next of.
        for body in &bodies {
            self.note_newest(body)?;
        }
        Ok((round, first))
    }

    /// Makes the bodies of a flow's next round on an item, without planning them yet: the flows of
    /// one revision may name each other's tasks.
    pub(super) fn lay_out(&mut self, opening: &Opening) -> Rule<(Arc<Flow>, Vec<Body>)> {
        let def = match self.view.versions.get(&opening.version)? {
            Some(version) => version.def.clone(),
            None => self.version_gone(opening.version)?,
        };
        let latest = (opening.item, opening.flow);
        let round = self.latest_round(latest)?.saturating_add(1);
        self.view.latest_rounds.put(latest, round);
        let bodies = self.new_bodies(opening, &def, round)?;
        Ok((def, bodies))
    }

    fn version_gone(&self, version: VersionId) -> Rule<Arc<Flow>> {
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
        if !self.view.latest_rounds.knows(&key)
            && self.view.heads.get(&key.0)?.is_none_or(|head| head.n == 0)
        {
            return Ok(0);
        }
        Ok(self.view.latest_rounds.get(&key)?.copied().unwrap_or(0))
    }

    fn new_bodies(&mut self, opening: &Opening, def: &Flow, round: u32) -> Rule<Vec<Body>> {
        let steps = || def.tasks.iter().filter(|step| is_planned(step));
        let solo = steps().count() == 1 && opening.parts.len() == 1;
        let mut bodies = Vec::with_capacity(def.tasks.len() * opening.parts.len());
        for part in &opening.parts {
            for step in steps() {
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

    pub(super) fn plan_task(&mut self, opening: &Opening, def: &Flow, body: &Body) -> Rule<()> {
        let step = self.step_in(def, body)?;
        let mut task = self.new_task(opening, def, body, step)?;
        let mut inner = false;
        for depend in &step.depends {
            inner |= self.depend_on_reference(&mut task, body, depend)?;
        }
        if !inner {
            for target in &opening.depends {
                self.depend_on(&mut task, target.clone(), When::Done, false)?;
            }
        }
        if let Some(commit) = opening.commit {
            self.depend_on(&mut task, Target::Task(commit), When::Done, false)?;
        }
        self.plan(task, body)?;
        if self.count(Counter::Absent)? > 0 {
            let address: Text = self.task_address(body)?.to_string().into();
            if self.view.dependents.first(&Target::Absent(address.clone()), 1)?.next().is_some() {
                self.follows.push_back(Follow::Bind(address, body.id));
            }
        }
        Ok(())
    }

    /// The row of a task that waits for nothing yet.
    pub(super) fn new_task(
        &self,
        opening: &Opening,
        def: &Flow,
        body: &Body,
        step: &Step,
    ) -> Rule<Task> {
        let seen = self.item(body.item)?.first_seen_at.0;
        Ok(Task {
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
        })
    }

    /// Makes a task wait for what its definition names. Answers whether that is a task of the same
    /// round or revision.
    pub(super) fn depend_on_reference(
        &mut self,
        task: &mut Task,
        body: &Body,
        depend: &Depend,
    ) -> Rule<bool> {
        let name = match &depend.on {
            Reference::Task(name) => {
                let found = self.sibling(body, name)?;
                if let Some(target) = found {
                    self.depend_on(task, Target::Task(target), depend.when, true)?;
                }
                return Ok(found.is_some());
            }
            Reference::Prev => self.queue(body.queue)?.step.clone(),
            Reference::PrevTask(name) => name.clone(),
        };
        self.depend_on_earlier(task, body, &name, depend.when)?;
        Ok(false)
    }

    /// The nearest earlier instance of a step; none counts as satisfied.
    fn depend_on_earlier(
        &mut self,
        task: &mut Task,
        body: &Body,
        step: &Name,
        when: When,
    ) -> Rule<()> {
        let Some(ordinal) = self.item(body.item)?.ordinal else { return Ok(()) };
        let queues = self.queues_named(body.flow, step)?;
        self.require(queues.iter().filter_map(|q| self.view.newest.missing(q)))?;
        let mut nearest: Option<(i64, TaskId)> = None;
        for queue in &queues {
            nearest = nearest.max(match self.view.newest.get(queue)?.copied() {
                // Started again on an earlier item of the sequence: only what is open counts.
                Some((n, _)) if n >= ordinal => {
                    let open = self.view.instances.first(queue, EARLIER_MAX)?;
                    let open = open.take(EARLIER_MAX).map(|(key, ())| *key);
                    open.take_while(|(n, _)| *n < ordinal).last()
                }
                found => found,
            });
        }
        if let Some((_, target)) = nearest {
            self.depend_on(task, Target::Task(target), when, false)?;
        }
        Ok(())
    }

    /// The queues of the steps that a name means. In an archive the tasks of all flows share their
    /// names, so that a task keeps its order when it moves to another file.
    pub(super) fn queues_named(&self, flow: FlowId, step: &Name) -> Rule<Vec<QueueId>> {
        let home = self.flow(flow)?.collection;
        if self.view.archives.get(&home)?.is_none() {
            return Ok(vec![self.queue_of(flow, step)?]);
        }
        let start = (home, Name::trusted(""));
        let flows = self.view.flow_names.iter_from(&start).take_while(|((c, _), _)| *c == home);
        let mut queues = Vec::new();
        for (_, flow) in flows {
            queues.extend(self.view.queue_names.get(&(*flow, step.clone()))?.copied());
        }
        Ok(queues)
    }

    /// Keeps the pointer to the newest planned instance of a step, once all edges are made.
    pub(super) fn note_newest(&mut self, body: &Body) -> Rule<()> {
        let Some(ordinal) = self.item(body.item)?.ordinal else { return Ok(()) };
        let newest = self.view.newest.get(&body.queue)?.copied();
        if newest.is_none_or(|(n, _)| n <= ordinal) {
            self.view.newest.put(body.queue, (ordinal, body.id));
        }
        Ok(())
    }

    /// The task of a named step in the same round and part, or in the same revision of an archive:
    /// there it may belong to another flow, whose newest round on that revision counts.
    pub(super) fn sibling(&self, body: &Body, step: &Name) -> Rule<Option<TaskId>> {
        let mut found = None;
        for queue in self.queues_named(body.flow, step)? {
            let flow = self.queue(queue)?.flow;
            let round =
                if flow == body.flow { body.round } else { self.latest_round((body.item, flow))? };
            let key = TaskKey { item: body.item, queue, part: body.part.clone(), round };
            let task = self.view.task_keys.get(&key)?.copied();
            if task.is_some() && flow == body.flow {
                return Ok(task);
            }
            found = found.or(task);
        }
        Ok(found)
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

/// Whether a step becomes a task. `COMMIT` in a file of definitions only adds to what the COMMIT of
/// the revision waits for.
pub(super) fn is_planned(step: &Step) -> bool {
    step.name.as_str() != COMMIT || step.is_milestone()
}
