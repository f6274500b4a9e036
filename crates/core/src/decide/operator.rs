//! What an operator may do to one task.

use super::desk::{Desk, Fact, Rule, TASK_PRIORITY, check_priority};
use super::moves::Move;
use crate::event::Outcome;
use crate::flow::codec::COMMIT;
use crate::ids::{TaskId, Time};
use crate::limits::REASON_BYTES_MAX;
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Body, Mark, RoundKey, RoundStatus, Task};
use crate::task::{Cause, State, Verb};
use crate::text::{Name, Text, check};

/// Another attempt of a task that failed or was cancelled by an operator.
pub(super) fn retry(desk: &mut Desk<'_>, id: TaskId) -> Rule<Reply> {
    desk.retry(id)?;
    Ok(Reply::Ok)
}

pub(super) fn skip(desk: &mut Desk<'_>, id: TaskId, reason: &Text) -> Rule<Reply> {
    check("reason", reason, 0, REASON_BYTES_MAX)?;
    refuse_commit(desk, id)?;
    let mv = Move::new(Verb::Skip, State::Cancelled).because(Cause::Skipped);
    desk.end(id, mv.detail(said(reason)))?;
    Ok(Reply::Ok)
}

pub(super) fn cancel(desk: &mut Desk<'_>, id: TaskId, reason: &Text) -> Rule<Reply> {
    check("reason", reason, 0, REASON_BYTES_MAX)?;
    refuse_commit(desk, id)?;
    let mv = Move::new(Verb::Cancel, State::Cancelled).because(Cause::Operator);
    desk.end(id, mv.detail(said(reason)))?;
    Ok(Reply::Ok)
}

/// COMMIT carries the order of an archive's revisions: it goes when what it waits for goes.
fn refuse_commit(desk: &Desk<'_>, id: TaskId) -> Rule<()> {
    desk.task(id)?;
    let body = desk.body(id)?;
    if desk.queue(body.queue)?.step.as_str() != COMMIT || !desk.step(body)?.is_milestone() {
        return Ok(());
    }
    Err(Refusal::new(Code::WrongState, format!("task {id} is a revision's COMMIT"))
        .hint("skip what it waits for, which `armarius why` shows, or `armarius archive skip`")
        .into())
}

fn said(reason: &Text) -> Option<Text> {
    (!reason.is_empty()).then(|| reason.clone())
}

/// Changes a task's priority, also while it is queued.
pub(super) fn prioritise(desk: &mut Desk<'_>, id: TaskId, priority: i32) -> Rule<Reply> {
    check_priority(priority)?;
    let state = desk.task(id)?.state;
    if state.is_settled() {
        return Err(Refusal::new(Code::WrongState, format!("task {id} is {state}"))
            .hint("only work that is still to be done has a priority")
            .into());
    }
    desk.reprioritise(id, priority)?;
    let item = desk.body(id)?.item;
    let fact = Fact {
        name: Some(TASK_PRIORITY.clone()),
        task: Some(id),
        detail: Some(priority.to_string().into()),
        ..Fact::default()
    };
    desk.append(item, fact)?;
    Ok(Reply::Ok)
}

impl Desk<'_> {
    pub(super) fn retry(&mut self, id: TaskId) -> Rule<()> {
        let mut task = self.task(id)?.clone();
        let body = self.body(id)?.clone();
        if let (State::Cancelled, Cause::Superseded(by)) = (task.state, task.cause) {
            return Err(Refusal::new(
                Code::WrongState,
                format!("task {id} was superseded by task {by}"),
            )
            .hint("start a new round instead")
            .into());
        }
        if task.state == State::Cancelled && task.cause != Cause::Operator {
            return Err(Refusal::new(
                Code::WrongState,
                format!("task {id} was cancelled: {}", task.cause.as_str()),
            )
            .hint("start a new round instead")
            .into());
        }
        if self.item(body.item)?.deleted {
            return Err(Refusal::new(Code::WrongState, "the task's item is deleted")
                .hint("put the item again first")
                .into());
        }
        let hidden = self.hide_failure(&task, &body)?;
        self.refuse_outlived(&body)?;
        task.failures = 0;
        task.lapses = 0;
        task.ready_at = Time::ZERO;
        let to = if task.blockers == 0 { State::Ready } else { State::Waiting };
        let detail = hidden.as_ref().map(|name| serde_json::json!({ "hides": [name.as_str()] }));
        let detail = detail.map(|detail| Text::from(detail.to_string()));
        self.shift(task, &body, Move::new(Verb::Retry, to).detail(detail))?;
        match hidden {
            Some(name) => self.wake_robots(body.item, &name, 0),
            None => Ok(()),
        }
    }

    /// A failure that is tried again is no longer what came of the round: triggers do not see it.
    fn hide_failure(&mut self, task: &Task, body: &Body) -> Rule<Option<Name>> {
        let Some(name) = self.version(body)?.def.records.clone() else { return Ok(None) };
        let key = RoundKey { item: body.item, flow: body.flow, round: body.round };
        let status = match self.view.rounds.get(&key)?.filter(|_| !body.solo) {
            Some(round) => round.status(),
            None => RoundStatus::of(task.state),
        };
        let mark = self.view.marks.get(&(body.item, name.clone()))?.cloned();
        let failed = mark.filter(|m| !m.hidden && m.outcome == Outcome::Failure);
        let Some(mark) = failed.filter(|_| status == RoundStatus::Failed) else { return Ok(None) };
        self.put_mark(body.item, &name, Mark { hidden: true, ..mark });
        Ok(Some(name))
    }

    /// A robot's work is tried again only while its item still asks for it.
    fn refuse_outlived(&self, body: &Body) -> Rule<()> {
        let robot = match self.robot(body.flow)? {
            Some(robot) if robot.query.is_some() && !body.fingerprint.is_empty() => robot,
            Some(_) | None => return Ok(()),
        };
        let latest = self.latest_round((body.item, body.flow))?;
        let why = if body.round != latest {
            format!("task {} was followed by round {latest}", body.id)
        } else if !self.trigger_holds(&robot, body.item)? {
            format!("the trigger of task {} holds no longer", body.id)
        } else {
            return Ok(());
        };
        Err(Refusal::new(Code::WrongState, why)
            .hint("rewind the item, or start a new round by hand")
            .into())
    }

    /// Moves a task to another place in whatever line it stands in.
    pub(super) fn reprioritise(&mut self, id: TaskId, priority: i32) -> Rule<()> {
        let mut task = self.task(id)?.clone();
        let body = self.body(id)?.clone();
        if task.state == State::Ready {
            self.leave(&mut task, &body, true)?;
            task.priority = priority;
            self.stand(&mut task, &body)?;
        } else {
            task.priority = priority;
        }
        self.view.tasks.put(id, task);
        Ok(())
    }
}
