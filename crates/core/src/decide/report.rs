//! Reports: what came of a task.
//!
//! A report counts when its lease is live and holds the task with this very token, and the caller
//! is the one who claimed. Anything else is late or foreign: it is kept as an event and disturbs
//! nobody; under `late: accept` a late success completes a task that nobody holds.

use super::desk::{Desk, Fact, Rule, TASK_STALE, TASK_STOPPED};
use super::moves::Move;
use crate::command::{Ending, Report};
use crate::event::Outcome;
use crate::flow::{Class, Late, Step};
use crate::limits::DETAIL_BYTES_MAX;
use crate::reply::{Reply, Reported};
use crate::rows::{Body, Grip, Lease, Manifest, Task};
use crate::task::{Cause, State, Verb};
use crate::text::check;

pub(super) fn report(desk: &mut Desk<'_>, report: &Report) -> Rule<Reply> {
    check("detail", report.detail.as_deref().unwrap_or(""), 0, DETAIL_BYTES_MAX)?;
    if let Some((_, text)) = &report.manifest {
        check("manifest", text, 0, DETAIL_BYTES_MAX)?;
    }
    let task = desk.task(report.task)?.clone();
    let body = desk.body(report.task)?.clone();
    let def = desk.def(&body)?;
    let step = desk.step_in(&def, &body)?;
    let grip = live_grip(desk, report)?;
    let class = match report.outcome {
        Ending::Class(class) => Some(class),
        Ending::Exit(code) => Some(step.class_of_exit(code)),
        Ending::Stopped => None,
    };
    keep_manifest(desk, report, grip.is_some_and(|g| !g.stopping))?;
    let reported = match (grip, class) {
        (Some(grip), Some(class)) if !grip.stopping => {
            apply(desk, report, task, &body, step, grip, class)?;
            Reported::Applied
        }
        (Some(grip), None) if !grip.stopping => {
            // It stopped without being asked: the same as giving it back.
            give_back_one(desk, report, task, &body, grip)?;
            Reported::Applied
        }
        (Some(_), class) => stopped(desk, report, &body, class)?,
        (None, Some(class)) => late(desk, report, task, &body, step, class)?,
        (None, None) => {
            stale(desk, report, &body, None)?;
            Reported::RecordedStale
        }
    };
    if grip.is_some() {
        settle_lease(desk, report)?;
    }
    Ok(Reply::Reported(reported))
}

/// What the report's lease holds of the task, if the lease is live and the caller's.
fn live_grip(desk: &Desk<'_>, report: &Report) -> Rule<Option<Grip>> {
    let live = |l: &&Lease| l.expires_at > desk.now() && l.actor == desk.call.actor;
    let lease = desk.view.leases.get(&report.lease)?.filter(live);
    let this = |g: &&Grip| g.task == report.task && g.token == report.token;
    Ok(lease.and_then(|l| l.grips.iter().find(this)).copied())
}

/// An attempt's manifest is written once: by whoever holds the task, or, when nobody speaks for the
/// attempt any more, by the first who brings it.
fn keep_manifest(desk: &mut Desk<'_>, report: &Report, live: bool) -> Rule<()> {
    let Some((state, text)) = &report.manifest else { return Ok(()) };
    let key = (report.task, report.token);
    if live || desk.view.manifests.get(&key)?.is_none() {
        let manifest = Manifest { state: *state, text: text.clone(), at: desk.now() };
        desk.view.manifests.put(key, manifest);
    }
    Ok(())
}

fn apply(
    desk: &mut Desk<'_>,
    report: &Report,
    mut task: Task,
    body: &Body,
    step: &Step,
    grip: Grip,
    class: Class,
) -> Rule<()> {
    desk.loosen(report.lease, report.task, report.token)?;
    let admitted = usize::from(task.admitted);
    task.admitted = 0;
    desk.free(body, admitted)?;
    task.lapses = 0;
    let mv = verdict(desk, &mut task, step, class);
    desk.shift(task, body, mv.token(grip.token).basis(grip.basis).detail(report.detail.clone()))
}

/// What an ending means for a task.
fn verdict(desk: &Desk<'_>, task: &mut Task, step: &Step, class: Class) -> Move {
    match class {
        Class::Success => Move::new(Verb::Succeed, State::Done),
        Class::Permanent => Move::new(Verb::Fail, State::Failed).because(Cause::Permanent),
        Class::Transient => {
            task.failures += 1;
            if task.failures > step.retries {
                return Move::new(Verb::Fail, State::Failed).because(Cause::Exhausted);
            }
            task.ready_at = desk.now().plus(step.backoff_after(task.failures));
            Move::new(Verb::Again, State::Ready).because(Cause::Transient)
        }
        Class::NotYet => {
            // No attempt is spent on being too early.
            task.attempts = task.attempts.saturating_sub(1);
            task.ready_at = desk.now().plus(step.backoff.min);
            Move::new(Verb::Again, State::Ready).because(Cause::NotYet)
        }
    }
}

fn give_back_one(
    desk: &mut Desk<'_>,
    report: &Report,
    mut task: Task,
    body: &Body,
    grip: Grip,
) -> Rule<()> {
    desk.loosen(report.lease, report.task, report.token)?;
    let admitted = usize::from(task.admitted);
    task.admitted = 0;
    task.attempts = task.attempts.saturating_sub(1);
    desk.free(body, admitted)?;
    let mv = Move::new(Verb::GiveBack, State::Ready).token(grip.token);
    desk.shift(task, body, mv.detail(report.detail.clone()))
}

/// The worker stopped what it was asked to stop, or finished it nevertheless: the slots are free.
fn stopped(
    desk: &mut Desk<'_>,
    report: &Report,
    body: &Body,
    class: Option<Class>,
) -> Rule<Reported> {
    desk.loosen(report.lease, report.task, report.token)?;
    let limits = desk.limits(body)?.len();
    desk.free(body, limits)?;
    if class.is_some() {
        stale(desk, report, body, class)?;
        return Ok(Reported::RecordedStale);
    }
    let fact = Fact {
        name: Some(TASK_STOPPED.clone()),
        task: Some(body.id),
        token: Some(report.token),
        detail: report.detail.clone(),
        ..Fact::default()
    };
    desk.append(body.item, fact)?;
    Ok(Reported::Stopped)
}

fn late(
    desk: &mut Desk<'_>,
    report: &Report,
    task: Task,
    body: &Body,
    step: &Step,
    class: Class,
) -> Rule<Reported> {
    let nobody_holds = matches!(task.state, State::Held | State::Ready | State::Failed);
    let granted_once = report.token > crate::ids::Token::default() && report.token <= task.token;
    if class == Class::Success && step.late == Late::Accept && nobody_holds && granted_once {
        let mv = Move::new(Verb::Late, State::Done).token(report.token);
        desk.shift(task, body, mv.detail(report.detail.clone()))?;
        return Ok(Reported::AcceptedLate);
    }
    stale(desk, report, body, Some(class))?;
    Ok(Reported::RecordedStale)
}

/// Keeps a late result; it changes nothing else.
fn stale(desk: &mut Desk<'_>, report: &Report, body: &Body, class: Option<Class>) -> Rule<()> {
    let outcome = class.map(|c| match c {
        Class::Success => Outcome::Success,
        Class::Permanent | Class::Transient | Class::NotYet => Outcome::Failure,
    });
    let fact = Fact {
        name: Some(TASK_STALE.clone()),
        task: Some(body.id),
        token: Some(report.token),
        outcome,
        detail: report.detail.clone(),
        ..Fact::default()
    };
    desk.append(body.item, fact).map(|_| ())
}

/// The last report of a lease gives back what is left of it.
fn settle_lease(desk: &mut Desk<'_>, report: &Report) -> Rule<()> {
    match desk.view.leases.get(&report.lease)? {
        None => desk.free_singletons(report.lease),
        Some(lease) if report.last => {
            let lease = lease.clone();
            desk.dissolve(&lease, Verb::GiveBack)
        }
        Some(_) => Ok(()),
    }
}
