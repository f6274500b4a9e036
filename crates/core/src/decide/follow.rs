//! What a fact causes for others: in the same commit while the budget lasts, as errands otherwise.

use super::depend::satisfies;
use super::desk::{Desk, Rule};
use super::moves::Move;
use super::trigger::{Occasion, fits};
use crate::flow::{Reference, When};
use crate::ids::{BatchId, ErrandId, HoldId, ItemId, QueueId, TaskId};
use crate::limits::ERRAND_CHUNK_MAX;
use crate::reply::Reply;
use crate::rows::{Counter, Edge, Errand, Follow, RoundStatus, Target};
use crate::task::{Cause, State, Verb};
use crate::text::Text;

/// How far a follow-up came.
pub(super) enum Progress {
    /// It is finished.
    Done,
    /// It goes on from here.
    More(i64),
}

/// Rows that following one entry touches, roughly: what the budget is counted in.
pub(super) const ROWS_PER_ENTRY: usize = 4;

/// Does the next piece of an errand.
pub(super) fn run_errand(desk: &mut Desk<'_>, id: ErrandId) -> Rule<Reply> {
    let errand = {
        let mut list = desk.view.errands.first(&(), 2)?;
        let first = list.next().filter(|(n, _)| **n == id).map(|(_, e)| e.clone());
        first.or_else(|| desk.view.errands.seen(&(), &id).cloned())
    };
    let Some(errand) = errand else { return Ok(Reply::Duty { did: 0, more: false }) };
    desk.actor = errand.actor.clone();
    match desk.run(&errand.follow, errand.cursor)? {
        Progress::Done => desk.view.errands.delete((), id),
        Progress::More(cursor) => desk.view.errands.put((), id, Errand { cursor, ..errand }),
    }
    Ok(Reply::Duty { did: 1, more: true })
}

impl Desk<'_> {
    /// Does what follows from the decision.
    pub(super) fn follow_up(&mut self) -> Rule<()> {
        while let Some(follow) = self.follows.pop_front() {
            match self.run(&follow, 0)? {
                Progress::Done => {}
                Progress::More(cursor) => self.keep_errand(follow, cursor)?,
            }
        }
        Ok(())
    }

    fn keep_errand(&mut self, follow: Follow, cursor: i64) -> Rule<()> {
        let id = ErrandId(self.mint(Counter::Errand)?);
        let errand = Errand { id, follow, cursor, actor: self.actor.clone(), since: self.now() };
        self.view.errands.put((), id, errand);
        Ok(())
    }

    fn run(&mut self, follow: &Follow, cursor: i64) -> Rule<Progress> {
        if self.budget == 0 {
            return Ok(Progress::More(cursor));
        }
        match follow {
            Follow::Settled(task) => self.follow_settled(*task, cursor),
            Follow::Bind(address, task) => self.follow_bind(address, *task),
            Follow::Supersede(by) => self.follow_supersede(*by),
            Follow::Wake(item, depth, by) => {
                self.follow_wake(*item, by, Occasion { depth: *depth, rewound: false }, cursor)
            }
            Follow::Rewound(item) => {
                self.follow_wake(*item, "", Occasion { depth: 0, rewound: true }, cursor)
            }
            Follow::Fill(flow, fresh) => self.follow_fill(*flow, *fresh, cursor),
            Follow::Release(hold) => self.follow_release(*hold),
            Follow::Report(batch) => self.report_batch(*batch, cursor),
            Follow::CancelBatch(batch) | Follow::DeleteBatch(batch) => {
                self.follow_cancel_batch(*batch, cursor)
            }
            Follow::RetryBatch(batch) => self.follow_retry_batch(*batch, cursor),
            Follow::DeleteItem(item) => self.follow_delete_item(*item, cursor),
            Follow::Reprioritise(item, priority) => {
                self.follow_reprioritise(*item, *priority, cursor)
            }
        }
    }

    /// Satisfies those who depend on a settled task.
    fn follow_settled(&mut self, id: TaskId, cursor: i64) -> Rule<Progress> {
        if !self.task(id)?.state.is_settled() {
            return Ok(Progress::Done);
        }
        let target = Target::Task(id);
        let after = TaskId(cursor);
        let edges: Vec<(TaskId, Edge)> = {
            let list = self.view.dependents.after(&target, Some(&after), ERRAND_CHUNK_MAX + 1)?;
            list.take(ERRAND_CHUNK_MAX + 1).map(|(d, e)| (*d, *e)).collect()
        };
        self.preload_tasks(edges.iter().map(|(d, _)| *d).take(ERRAND_CHUNK_MAX))?;
        let mut last = cursor;
        for (dependent, edge) in edges.iter().take(ERRAND_CHUNK_MAX) {
            if !self.spend(ROWS_PER_ENTRY) {
                return Ok(Progress::More(last));
            }
            self.settle_edge(id, *dependent, *edge)?;
            last = dependent.0;
        }
        Ok(if edges.len() > ERRAND_CHUNK_MAX { Progress::More(last) } else { Progress::Done })
    }

    /// A superseded task takes along those of its revision that want it done. Who accepts any end,
    /// to clear away or to tell somebody, runs.
    fn settle_edge(&mut self, target: TaskId, dependent: TaskId, edge: Edge) -> Rule<()> {
        let settled = self.task(target)?.clone();
        let goes_along = edge.inner && edge.when == When::Done;
        if let (true, State::Cancelled, Cause::Superseded(by)) =
            (goes_along, settled.state, settled.cause)
        {
            self.drop_blocker(&Target::Task(target), dependent)?;
            return self.supersede(dependent, by);
        }
        if satisfies(&settled, edge.when) {
            self.satisfy(&Target::Task(target), dependent)?;
        }
        Ok(())
    }

    /// One blocker less; the last one makes the dependent ready.
    pub(super) fn satisfy(&mut self, target: &Target, dependent: TaskId) -> Rule<()> {
        self.drop_blocker(target, dependent)?;
        let task = self.task(dependent)?.clone();
        if task.state == State::Waiting && task.blockers == 0 {
            let body = self.body(dependent)?.clone();
            let mv = if self.step(&body)?.is_milestone() {
                Move::new(Verb::Pass, State::Done)
            } else {
                Move::new(Verb::Unblock, State::Ready)
            };
            self.shift(task, &body, mv)?;
        }
        Ok(())
    }

    fn drop_blocker(&mut self, target: &Target, dependent: TaskId) -> Rule<()> {
        self.unlink(target, dependent);
        let mut task = self.task(dependent)?.clone();
        task.blockers = task.blockers.saturating_sub(1);
        self.view.tasks.put(dependent, task);
        Ok(())
    }

    /// Replaces one task by a newer one. A task that never became ready does its own superseding
    /// now, because it will never come to it.
    fn supersede(&mut self, id: TaskId, by: TaskId) -> Rule<()> {
        let state = self.task(id)?.state;
        if state.is_settled() {
            return Ok(());
        }
        let mv = Move::new(Verb::Supersede, State::Cancelled).because(Cause::Superseded(by));
        self.end(id, mv)?;
        if state == State::Waiting {
            self.follows.push_back(Follow::Supersede(id));
        }
        Ok(())
    }

    /// Supersedes what a task's step cancels.
    fn follow_supersede(&mut self, by: TaskId) -> Rule<Progress> {
        let body = self.body(by)?.clone();
        for reference in self.step(&body)?.cancels.clone() {
            let name = match reference {
                Reference::Task(name) => {
                    if let Some(task) = self.sibling(&body, &name)?.filter(|t| *t != by) {
                        self.supersede(task, by)?;
                    }
                    continue;
                }
                Reference::Prev => self.queue(body.queue)?.step.clone(),
                Reference::PrevTask(name) => name,
            };
            for queue in self.queues_named(body.flow, &name)? {
                if let Progress::More(n) = self.supersede_earlier(&body, queue)? {
                    return Ok(Progress::More(n));
                }
            }
        }
        Ok(Progress::Done)
    }

    /// Supersedes every open instance of a step on an earlier item of the sequence.
    fn supersede_earlier(&mut self, by: &crate::rows::Body, queue: QueueId) -> Rule<Progress> {
        let Some(ordinal) = self.item(by.item)?.ordinal else { return Ok(Progress::Done) };
        let earlier: Vec<TaskId> = {
            let list = self.view.instances.first(&queue, ERRAND_CHUNK_MAX + 1)?;
            let list = list.take(ERRAND_CHUNK_MAX + 1).map(|(key, ())| *key);
            list.take_while(|(n, _)| *n < ordinal).map(|(_, task)| task).collect()
        };
        self.preload_tasks(earlier.iter().copied())?;
        for task in &earlier {
            if !self.spend(ROWS_PER_ENTRY) {
                return Ok(Progress::More(0));
            }
            self.supersede(*task, by.id)?;
        }
        Ok(if earlier.len() > ERRAND_CHUNK_MAX { Progress::More(0) } else { Progress::Done })
    }

    /// A task came to be that others wait for by address: they wait for the task itself now.
    fn follow_bind(&mut self, address: &Text, id: TaskId) -> Rule<Progress> {
        let absent = Target::Absent(address.clone());
        let edges: Vec<(TaskId, Edge)> = {
            let list = self.view.dependents.first(&absent, ERRAND_CHUNK_MAX + 1)?;
            list.take(ERRAND_CHUNK_MAX + 1).map(|(d, e)| (*d, *e)).collect()
        };
        self.preload_tasks(edges.iter().map(|(d, _)| *d))?;
        for (dependent, edge) in edges.iter().take(ERRAND_CHUNK_MAX) {
            if !self.spend(ROWS_PER_ENTRY) {
                return Ok(Progress::More(0));
            }
            let left = self.count(Counter::Absent)?.saturating_sub(1);
            self.view.counters.put(Counter::Absent, left);
            self.unlink(&absent, *dependent);
            self.link(Target::Task(id), *dependent, *edge);
            self.settle_edge_if_settled(id, *dependent, *edge)?;
        }
        Ok(if edges.len() > ERRAND_CHUNK_MAX { Progress::More(0) } else { Progress::Done })
    }

    fn settle_edge_if_settled(&mut self, id: TaskId, dependent: TaskId, edge: Edge) -> Rule<()> {
        if self.task(id)?.state.is_settled() {
            self.settle_edge(id, dependent, edge)?;
        }
        Ok(())
    }

    /// Asks the robots that something concerns about an item.
    fn follow_wake(&mut self, item: ItemId, by: &str, on: Occasion, cursor: i64) -> Rule<Progress> {
        let home = self.item(item)?.collection;
        let robots = self.line(home)?.concerned(by);
        for robot in robots.iter().filter(|robot| robot.flow.0 > cursor) {
            // Work on an item that no longer fits was withdrawn when it ceased to.
            let item_fits = match &robot.query {
                Some(query) => fits(query, self.item(item)?),
                None => false,
            };
            if !by.is_empty() && !item_fits {
                continue;
            }
            if !self.spend(ROWS_PER_ENTRY) {
                return Ok(Progress::More(robot.flow.0 - 1));
            }
            self.ask_robot(robot, item, on)?;
        }
        Ok(Progress::Done)
    }

    /// Lets the tasks that met a hold go on.
    fn follow_release(&mut self, hold: HoldId) -> Rule<Progress> {
        let tasks: Vec<TaskId> = {
            let list = self.view.held.first(&hold, ERRAND_CHUNK_MAX + 1)?;
            list.take(ERRAND_CHUNK_MAX + 1).map(|(task, ())| *task).collect()
        };
        self.preload_tasks(tasks.iter().copied())?;
        for id in tasks.iter().take(ERRAND_CHUNK_MAX) {
            if !self.spend(ROWS_PER_ENTRY) {
                return Ok(Progress::More(0));
            }
            let task = self.task(*id)?.clone();
            let body = self.body(*id)?.clone();
            self.shift(task, &body, Move::new(Verb::Release, State::Ready))?;
        }
        Ok(if tasks.len() > ERRAND_CHUNK_MAX { Progress::More(0) } else { Progress::Done })
    }

    fn follow_cancel_batch(&mut self, batch: BatchId, cursor: i64) -> Rule<Progress> {
        let (members, more) = self.members_after(batch, cursor)?;
        let mut last = cursor;
        for (n, member) in &members {
            for task in self.member_tasks(member)? {
                if !self.task(task)?.state.is_settled() {
                    if !self.spend(ROWS_PER_ENTRY) {
                        return Ok(Progress::More(last));
                    }
                    let mv = Move::new(Verb::Cancel, State::Cancelled).because(Cause::Operator);
                    self.end(task, mv.detail(Some("with its batch".into())))?;
                }
            }
            last = *n;
        }
        Ok(if more { Progress::More(last) } else { Progress::Done })
    }

    fn follow_retry_batch(&mut self, batch: BatchId, cursor: i64) -> Rule<Progress> {
        let (members, more) = self.members_after(batch, cursor)?;
        let mut last = cursor;
        for (n, member) in &members {
            if self.status_of(member)? == RoundStatus::Failed {
                for task in self.member_tasks(member)? {
                    if self.task(task)?.state == State::Failed {
                        if !self.spend(ROWS_PER_ENTRY) {
                            return Ok(Progress::More(last));
                        }
                        self.retry(task)?;
                    }
                }
            }
            last = *n;
        }
        Ok(if more { Progress::More(last) } else { Progress::Done })
    }

    fn follow_delete_item(&mut self, item: ItemId, cursor: i64) -> Rule<Progress> {
        self.each_open_task(item, cursor, |desk, task| {
            let triggered = !desk.body(task)?.fingerprint.is_empty();
            let cause = if triggered { Cause::TriggerGone } else { Cause::Operator };
            let mv = Move::new(Verb::Cancel, State::Cancelled).because(cause);
            desk.end(task, mv.detail(Some("with its item".into())))
        })
    }

    fn follow_reprioritise(&mut self, item: ItemId, p: i32, cursor: i64) -> Rule<Progress> {
        self.each_open_task(item, cursor, |desk, task| {
            let body = desk.body(task)?.clone();
            let priority = p.saturating_add(desk.step(&body)?.priority);
            desk.reprioritise(task, priority)
        })
    }

    /// Does something to each task of an item that is not settled, piece by piece.
    fn each_open_task(
        &mut self,
        item: ItemId,
        cursor: i64,
        act: impl Fn(&mut Self, TaskId) -> Rule<()>,
    ) -> Rule<Progress> {
        let after = TaskId(cursor);
        let tasks: Vec<TaskId> = {
            let list = self.view.item_tasks.after(&item, Some(&after), ERRAND_CHUNK_MAX + 1)?;
            list.take(ERRAND_CHUNK_MAX + 1).map(|(id, ())| *id).collect()
        };
        self.preload_tasks(tasks.iter().copied())?;
        let mut last = cursor;
        for id in tasks.iter().take(ERRAND_CHUNK_MAX) {
            if !self.task(*id)?.state.is_settled() {
                if !self.spend(ROWS_PER_ENTRY) {
                    return Ok(Progress::More(last));
                }
                act(self, *id)?;
            }
            last = id.0;
        }
        Ok(if tasks.len() > ERRAND_CHUNK_MAX { Progress::More(last) } else { Progress::Done })
    }

    /// Asks for tasks, bodies, then items and heads, wave by wave instead of row by row.
    fn preload_tasks(&self, tasks: impl Iterator<Item = TaskId> + Clone) -> Rule<()> {
        let view = &self.view;
        self.require(tasks.clone().flat_map(|id| {
            [view.tasks.missing(&id), view.bodies.missing(&id)].into_iter().flatten()
        }))?;
        let mut needs = Vec::new();
        for id in tasks {
            let body = self.body(id)?;
            needs.extend(view.items.missing(&body.item));
            needs.extend(view.heads.missing(&body.item));
            needs.extend(view.versions.missing(&body.version));
        }
        self.require(needs.into_iter())
    }
}
