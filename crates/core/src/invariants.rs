//! What must be true of every world, after every commit: a whole world looked at in one piece.
//! Tests do so after each step; the doctor looks at a store piece by piece, with the same
//! [`audit`](crate::audit).

use crate::audit::{Audit, Stretch};
use crate::event::Event;
use crate::fold::fold;
use crate::ids::ItemId;
use crate::view::View;

/// Everything that is wrong with a world that is wholly on the sheet; empty when all is well.
#[must_use]
pub fn check(world: &View) -> Vec<String> {
    let mut audit = Audit::default();
    audit.leases(world);
    let (due, leases) = (world.due_leases.iter().count(), world.leases.iter().count());
    if due != leases {
        audit.note(format!("{due} leases on the clock, {leases} in all"));
    }
    audit.tasks(world, Stretch::ALL);
    for (key, slots) in world.slots.iter() {
        let waits = world.lines.iter().any(|(line, _, ())| line == key);
        audit.slots(key, slots, waits);
    }
    let counted = audit.take_rounds();
    for (key, round) in world.rounds.iter() {
        audit.round(key, round, counted.get(key).copied());
    }
    let counted = audit.take_batches();
    for (id, batch) in world.batches.iter() {
        audit.batch(batch, counted.get(id).copied().unwrap_or_default());
    }
    audit.totals(world);
    audit.finish()
}

/// What is wrong between the rows of a world and its history.
pub fn check_history<'e>(
    world: &View,
    histories: impl Iterator<Item = (ItemId, Vec<&'e Event>)>,
) -> Vec<String> {
    let mut audit = Audit::default();
    for (item, events) in histories {
        match fold(events.into_iter()) {
            Ok(folded) => audit.history(world, item, &folded),
            Err(gap) => audit.note(gap),
        }
    }
    audit.rows(world.tasks.iter().count() as u64);
    audit.finish()
}
