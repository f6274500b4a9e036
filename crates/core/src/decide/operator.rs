//! What an operator may do to one task.

use super::desk::{Desk, Fact, Rule, TASK_PRIORITY, check_priority};
use super::moves::Move;
use crate::ids::{TaskId, Time};
use crate::limits::REASON_BYTES_MAX;
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::task::{Cause, State, Verb};
use crate::text::{Text, check};

/// Another attempt of a task that failed or was cancelled by an operator.
pub(super) fn retry(desk: &mut Desk<'_>, id: TaskId) -> Rule<Reply> {
    desk.retry(id)?;
    Ok(Reply::Ok)
}

pub(super) fn skip(desk: &mut Desk<'_>, id: TaskId, reason: &Text) -> Rule<Reply> {
    check("reason", reason, 0, REASON_BYTES_MAX)?;
    let mv = Move::new(Verb::Skip, State::Cancelled).because(Cause::Skipped);
    desk.end(id, mv.detail(said(reason)))?;
    Ok(Reply::Ok)
}

pub(super) fn cancel(desk: &mut Desk<'_>, id: TaskId, reason: &Text) -> Rule<Reply> {
    check("reason", reason, 0, REASON_BYTES_MAX)?;
    let mv = Move::new(Verb::Cancel, State::Cancelled).because(Cause::Operator);
    desk.end(id, mv.detail(said(reason)))?;
    Ok(Reply::Ok)
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
        task.failures = 0;
        task.lapses = 0;
        task.ready_at = Time::ZERO;
        let to = if task.blockers == 0 { State::Ready } else { State::Waiting };
        self.shift(task, &body, Move::new(Verb::Retry, to))
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
