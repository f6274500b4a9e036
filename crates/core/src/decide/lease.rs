//! Leases: renewing, giving back, lapsing.

use super::desk::{Desk, Rule};
use super::moves::Move;
use crate::ids::{LeaseId, TaskId, Time};
use crate::limits::{DUTY_ROWS_MAX, LAPSES_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{FlowRow, Grip, Lease};
use crate::task::{Cause, State, Verb};

/// Leases one refresh after a restart deals with.
const REFRESH_MAX: usize = 100_000;

/// Renews a lease to now + ttl, never to an earlier moment.
pub(super) fn heartbeat(desk: &mut Desk<'_>, id: LeaseId, progress: &[TaskId]) -> Rule<Reply> {
    let mut lease = own(desk, id)?.clone();
    let due = lease.due_at();
    let now = desk.now();
    if lease.expires_at <= now {
        return Err(over(id).into());
    }
    for i in 0..lease.grips.len() {
        let Some(grip) = lease.grips.get(i).copied() else { continue };
        if grip.silent_at != Time::ZERO && progress.contains(&grip.task) {
            let body = desk.body(grip.task)?;
            let silence = desk.step(body)?.progress_timeout;
            if let (Some(silence), Some(g)) = (silence, lease.grips.get_mut(i)) {
                g.silent_at = now.plus(silence);
            }
        }
    }
    lease.expires_at = lease.expires_at.max(now.plus(lease.ttl));
    let stop = lease.grips.iter().filter(|g| g.stopping).map(|g| (g.task, g.token)).collect();
    let ttl = lease.ttl;
    desk.put_lease(due, lease);
    Ok(Reply::Renewed { ttl, stop })
}

/// Gives back everything a lease still holds.
pub(super) fn give_back(desk: &mut Desk<'_>, id: LeaseId) -> Rule<Reply> {
    let lease = own(desk, id)?.clone();
    if lease.expires_at <= desk.now() {
        return Err(over(id).into());
    }
    desk.dissolve(&lease, Verb::GiveBack)?;
    Ok(Reply::Ok)
}

/// The duty that ends leases, and attempts, whose time is over.
pub(super) fn expire(desk: &mut Desk<'_>) -> Rule<Reply> {
    let now = desk.now();
    let due: Vec<LeaseId> = {
        let list = desk.view.due_leases.first(&(), DUTY_ROWS_MAX + 1)?;
        list.take_while(|((at, _), ())| *at <= now).map(|((_, id), ())| *id).collect()
    };
    let mut did = 0;
    for id in &due {
        // A lease may hold a thousand tasks: the rest waits for the next piece.
        if did > 0 && !desk.spend(desk.view.leases.get(id)?.map_or(0, |l| l.grips.len() * 4)) {
            break;
        }
        did += 1;
        let Some(lease) = desk.view.leases.get(id)?.cloned() else { continue };
        if lease.expires_at <= now {
            desk.dissolve(&lease, Verb::Lapse)?;
        } else {
            end_overdue(desk, &lease)?;
        }
    }
    Ok(Reply::Duty { did, more: due.len() > did })
}

/// Attempts past their hard deadline, or silent for too long, end as timed out; the worker is asked
/// to stop them, and their slots stay taken until it has.
fn end_overdue(desk: &mut Desk<'_>, lease: &Lease) -> Rule<()> {
    let now = desk.now();
    let overdue = |g: &&Grip| {
        let silent = g.silent_at != Time::ZERO && g.silent_at <= now;
        !g.stopping && (silent || g.deadline <= now)
    };
    let grips: Vec<Grip> = lease.grips.iter().filter(overdue).copied().collect();
    let mut row = lease.clone();
    for g in row.grips.iter_mut().filter(|g| grips.iter().any(|o| o.task == g.task)) {
        g.stopping = true;
    }
    desk.put_lease(lease.due_at(), row);
    for grip in grips {
        let mut task = desk.task(grip.task)?.clone();
        let body = desk.body(grip.task)?.clone();
        let def = desk.def(&body)?;
        let step = desk.step_in(&def, &body)?;
        task.failures += 1;
        task.admitted = 0;
        let mv = if task.failures > step.retries {
            Move::new(Verb::Lapse, State::Failed).because(Cause::Timeout)
        } else {
            task.ready_at = now.plus(step.backoff_after(task.failures));
            Move::new(Verb::Lapse, State::Ready).because(Cause::Timeout)
        };
        desk.shift(task, &body, mv.token(grip.token).basis(grip.basis))?;
    }
    Ok(())
}

/// After a restart nobody could renew: every live lease gets a fresh term.
pub(super) fn refresh(desk: &mut Desk<'_>) -> Rule<Reply> {
    let ids: Vec<LeaseId> = {
        let list = desk.view.due_leases.first(&(), REFRESH_MAX)?;
        list.take(REFRESH_MAX).map(|((_, id), ())| *id).collect()
    };
    desk.require(ids.iter().filter_map(|id| desk.view.leases.missing(id)))?;
    for id in &ids {
        let Some(mut lease) = desk.view.leases.get(id)?.cloned() else { continue };
        let due = lease.due_at();
        lease.expires_at = lease.expires_at.max(desk.now().plus(lease.ttl));
        desk.put_lease(due, lease);
    }
    Ok(Reply::Duty { did: ids.len(), more: false })
}

/// Ends live leases, those that would lapse first before the others, as many as one commit takes.
pub(super) fn recall(desk: &mut Desk<'_>) -> Rule<Reply> {
    let ids: Vec<LeaseId> = {
        let list = desk.view.due_leases.first(&(), DUTY_ROWS_MAX + 1)?;
        list.take(DUTY_ROWS_MAX + 1).map(|((_, id), ())| *id).collect()
    };
    let mut did = 0;
    for id in ids.iter().take(DUTY_ROWS_MAX) {
        if did > 0 && !desk.spend(desk.view.leases.get(id)?.map_or(0, |l| l.grips.len() * 4)) {
            break;
        }
        did += 1;
        if let Some(lease) = desk.view.leases.get(id)?.cloned() {
            desk.dissolve(&lease, Verb::GiveBack)?;
        }
    }
    Ok(Reply::Duty { did, more: ids.len() > did })
}

/// A lease, if it is the caller's.
fn own<'d>(desk: &'d Desk<'_>, id: LeaseId) -> Rule<&'d Lease> {
    match desk.view.leases.get(&id)? {
        Some(lease) if lease.actor == desk.call.actor => Ok(lease),
        // A stranger learns nothing about other people's leases.
        Some(_) | None => Err(over(id).into()),
    }
}

fn over(id: LeaseId) -> Refusal {
    Refusal::new(Code::LeaseOver, format!("lease {id} is over"))
        .hint("stop this work and claim anew; what you finished can still be reported")
}

impl Desk<'_> {
    /// Ends a lease: its tasks become ready again, or `poison` when they keep losing their workers.
    pub(super) fn dissolve(&mut self, lease: &Lease, verb: Verb) -> Rule<()> {
        self.view.due_leases.delete((), (lease.due_at(), lease.id));
        self.view.leases.delete(lease.id);
        let view = &self.view;
        self.require(lease.grips.iter().flat_map(|g| {
            [view.tasks.missing(&g.task), view.bodies.missing(&g.task)].into_iter().flatten()
        }))?;
        for grip in &lease.grips {
            self.release_grip(lease.id, *grip, verb)?;
        }
        self.free_singletons(lease.id)
    }

    fn release_grip(&mut self, lease: LeaseId, grip: Grip, verb: Verb) -> Rule<()> {
        let body = self.body(grip.task)?.clone();
        if grip.stopping {
            let limits = self.limits(&body)?.len();
            return self.free(&body, limits);
        }
        let mut task = self.task(grip.task)?.clone();
        debug_assert_eq!(task.lease, Some(lease), "a grip holds a task of another lease");
        let admitted = usize::from(task.admitted);
        task.admitted = 0;
        self.free(&body, admitted)?;
        let mv = if verb == Verb::Lapse {
            task.lapses += 1;
            if task.lapses >= LAPSES_MAX {
                Move::new(verb, State::Failed).because(Cause::Poison)
            } else {
                Move::new(verb, State::Ready)
            }
        } else {
            // Work given back in good order was not an attempt.
            task.attempts = task.attempts.saturating_sub(1);
            Move::new(verb, State::Ready)
        };
        self.shift(task, &body, mv.token(grip.token).basis(grip.basis))
    }

    /// Writes a lease that was due at `old_due`, or removes it when nothing is left in it.
    pub(super) fn put_lease(&mut self, old_due: Time, lease: Lease) {
        self.view.due_leases.delete((), (old_due, lease.id));
        if lease.grips.is_empty() {
            self.view.leases.delete(lease.id);
            return;
        }
        self.view.due_leases.put((), (lease.due_at(), lease.id), ());
        self.view.leases.put(lease.id, lease);
    }

    /// A lease that is over no longer holds a singleton flow.
    pub(super) fn free_singletons(&mut self, lease: LeaseId) -> Rule<()> {
        let held = self.view.flows.iter().filter(|(_, f)| f.taken == Some(lease));
        let held: Vec<FlowRow> = held.map(|(_, f)| f.clone()).collect();
        for row in held {
            self.view.flows.put(row.id, FlowRow { taken: None, ..row });
        }
        Ok(())
    }
}
