//! Holds: brakes with a reason and an owner.
//!
//! A hold on a collection, flow or step closes queues and costs one row, however many tasks are
//! ready; a hold on a batch, item or task is met when a claim reaches the task.

use super::desk::{Desk, Fact, HOLD_RELEASED, HOLD_SET, Rule};
use crate::command::HoldOn;
use crate::ids::{BatchId, HoldId, ItemId, Time};
use crate::limits::{DUTY_ROWS_MAX, HOLDS_MAX, REASON_BYTES_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Counter, Follow, Hold, Scope};
use crate::text::{Name, Text, check};

/// Who owns a hold that nobody asked for.
const RULES: &str = "armarius";

pub(super) fn hold(
    desk: &mut Desk<'_>,
    on: &HoldOn,
    reason: &Text,
    until: Option<Time>,
) -> Rule<Reply> {
    check("reason", reason, 1, REASON_BYTES_MAX)?;
    if until.is_some_and(|t| t <= desk.now()) {
        return Err(Refusal::new(Code::OutOfRange, "the hold would end before it begins")
            .hint("give a moment in the future, or none")
            .into());
    }
    let scope = scope(desk, on)?;
    if let Some(other) = desk.view.hold_scopes.get(&scope)? {
        return Err(Refusal::new(Code::AlreadyExists, format!("hold {other} is there already"))
            .hint("release it first, or leave it")
            .into());
    }
    if desk.view.holds.iter().count() >= HOLDS_MAX {
        return Err(Refusal::new(Code::LimitReached, format!("there are {HOLDS_MAX} holds"))
            .hint("hold the batch, flow or collection instead of its tasks")
            .into());
    }
    let id = HoldId(desk.mint(Counter::Hold)?);
    let owner = desk.call.actor.clone();
    let since = desk.now();
    desk.view.holds.put(id, Hold { id, scope, reason: reason.clone(), owner, since, until });
    desk.view.hold_scopes.put(scope, id);
    tell(desk, scope, &HOLD_SET, format!("hold {id}: {reason}"))?;
    Ok(Reply::Hold(id))
}

pub(super) fn release(desk: &mut Desk<'_>, id: HoldId) -> Rule<Reply> {
    let Some(hold) = desk.view.holds.get(&id)?.cloned() else {
        return Err(Refusal::new(Code::NoSuchHold, format!("there is no hold {id}"))
            .hint("`armarius hold list` shows those there are")
            .into());
    };
    desk.view.holds.delete(id);
    desk.view.hold_scopes.delete(hold.scope);
    tell(desk, hold.scope, &HOLD_RELEASED, format!("hold {id}"))?;
    desk.follows.push_back(Follow::Release(id));
    Ok(Reply::Ok)
}

impl Desk<'_> {
    /// A brake that the rules set themselves: on one thing, or on a wider one when there are so
    /// many holds that something must be wrong with all of them.
    pub(super) fn brake(&mut self, on: Scope, wider: Scope, reason: &str) -> Rule<()> {
        let many = self.view.holds.iter().count() >= HOLDS_MAX / 2;
        let scope = if many { wider } else { on };
        if self.view.hold_scopes.get(&scope)?.is_some() {
            return Ok(());
        }
        let id = HoldId(self.mint(Counter::Hold)?);
        let (owner, since) = (Name::trusted(RULES), self.now());
        let reason = Text::from(reason);
        tell(self, scope, &HOLD_SET, format!("hold {id}: {reason}"))?;
        self.view.holds.put(id, Hold { id, scope, reason, owner, since, until: None });
        self.view.hold_scopes.put(scope, id);
        Ok(())
    }
}

/// The duty that ends holds whose time is over.
pub(super) fn expire(desk: &mut Desk<'_>) -> Rule<Reply> {
    let now = desk.now();
    let over = |h: &Hold| h.until.is_some_and(|t| t <= now);
    let ids: Vec<HoldId> = {
        let holds = desk.view.holds.iter().filter(|(_, h)| over(h));
        holds.take(DUTY_ROWS_MAX).map(|(id, _)| *id).collect()
    };
    for id in &ids {
        release(desk, *id)?;
    }
    Ok(Reply::Duty { did: ids.len(), more: ids.len() == DUTY_ROWS_MAX })
}

fn scope(desk: &Desk<'_>, on: &HoldOn) -> Rule<Scope> {
    Ok(match on {
        HoldOn::Collection(name) => Scope::Collection(desk.collection_named(name)?.id),
        HoldOn::Flow(collection, flow) => {
            let home = desk.collection_named(collection)?;
            Scope::Flow(desk.flow_named(home, flow)?.id)
        }
        HoldOn::Step(collection, flow, step) => {
            let home = desk.collection_named(collection)?;
            let flow = desk.flow_named(home, flow)?.id;
            Scope::Step(desk.queue_of(flow, step)?)
        }
        HoldOn::Batch(batch) => Scope::Batch(known_batch(desk, *batch)?),
        HoldOn::Item(at) => Scope::Item(desk.item_at(at)?.id),
        HoldOn::Task(task) => Scope::Task(desk.task(*task)?.id),
    })
}

fn known_batch(desk: &Desk<'_>, batch: BatchId) -> Rule<BatchId> {
    match desk.view.batches.get(&batch)? {
        Some(row) => Ok(row.id),
        None => Err(Refusal::new(Code::NoSuchBatch, format!("there is no batch {batch}"))
            .hint("check the number")
            .into()),
    }
}

/// A hold is an event of what it brakes.
fn tell(desk: &mut Desk<'_>, scope: Scope, name: &Name, detail: String) -> Rule<()> {
    let item: ItemId = match scope {
        Scope::Collection(id) => desk.collection(id)?.item,
        Scope::Flow(id) => {
            let home = desk.flow(id)?.collection;
            desk.collection(home)?.item
        }
        Scope::Step(id) => {
            let home = desk.queue(id)?.collection;
            desk.collection(home)?.item
        }
        Scope::Batch(id) => match desk.view.batches.get(&id)? {
            Some(batch) => batch.item,
            None => return Ok(()),
        },
        Scope::Item(id) => id,
        Scope::Task(id) => desk.body(id)?.item,
    };
    let task = match scope {
        Scope::Task(id) => Some(id),
        Scope::Collection(_)
        | Scope::Flow(_)
        | Scope::Step(_)
        | Scope::Batch(_)
        | Scope::Item(_) => None,
    };
    let detail = Some(detail.into());
    let fact = Fact { name: Some(name.clone()), task, detail, ..Fact::default() };
    desk.append(item, fact).map(|_| ())
}
