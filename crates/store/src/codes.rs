//! Numbers that stand for words in the tables of every store. A number is never given to another
//! word: files and databases of years ago hold it.

use std::ops::Deref;

use armarius_core::event::Outcome;
use armarius_core::ids::{BatchId, CollectionId, FlowId, HoldId, ItemId, LeaseId, QueueId, TaskId};
use armarius_core::rows::{Follow, Made, RoundKey, Scope, Target};
use armarius_core::task::State;
use armarius_core::text::Text;
use armarius_engine::seam::StoreError;

/// A state.
pub(crate) fn state_code(state: State) -> i64 {
    i64::try_from(state.index()).unwrap_or(-1)
}

/// An outcome.
pub(crate) fn outcome_code(outcome: Outcome) -> i64 {
    match outcome {
        Outcome::Success => 0,
        Outcome::Failure => 1,
    }
}

/// A lease's name: big-endian, so that it sorts as the number does.
pub(crate) fn lease_bytes(id: LeaseId) -> [u8; 16] {
    id.0.to_be_bytes()
}

/// A JSON array of texts; nothing for an empty one.
pub(crate) fn list_text<T: Deref<Target = str>>(list: &[T]) -> Result<String, StoreError> {
    if list.is_empty() {
        return Ok(String::new());
    }
    let list: Vec<&str> = list.iter().map(|text| &**text).collect();
    let broken = |e| StoreError::Corrupt(format!("a list cannot be written: {e}"));
    serde_json::to_string(&list).map_err(broken)
}

/// A JSON array of numbers; nothing for an empty one.
pub(crate) fn numbers_text(list: impl Iterator<Item = i64>) -> String {
    let list: Vec<String> = list.map(|n| n.to_string()).collect();
    if list.is_empty() { String::new() } else { format!("[{}]", list.join(",")) }
}

/// The place of a value in the list of its choices.
pub(crate) fn position<T: PartialEq>(choices: &[T], value: &T) -> i64 {
    let at = choices.iter().position(|c| c == value);
    // Every choice is in its list, which is written right beside the type.
    at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)
}

/// What a hold brakes: kind and number.
pub(crate) fn scope_code(scope: Scope) -> (i64, i64) {
    match scope {
        Scope::Collection(id) => (0, id.0),
        Scope::Flow(id) => (1, id.0),
        Scope::Step(id) => (2, id.0),
        Scope::Batch(id) => (3, id.0),
        Scope::Item(id) => (4, id.0),
        Scope::Task(id) => (5, id.0),
    }
}

pub(crate) fn scope_of((kind, id): (i64, i64)) -> Option<Scope> {
    Some(match kind {
        0 => Scope::Collection(CollectionId(id)),
        1 => Scope::Flow(FlowId(id)),
        2 => Scope::Step(QueueId(id)),
        3 => Scope::Batch(BatchId(id)),
        4 => Scope::Item(ItemId(id)),
        5 => Scope::Task(TaskId(id)),
        _ => return None,
    })
}

/// What a task waits for: whether it is absent, its number, its address.
pub(crate) fn target_code(target: &Target) -> (i64, i64, &str) {
    match target {
        Target::Task(task) => (0, task.0, ""),
        Target::Absent(address) => (1, 0, address),
    }
}

/// What an idempotency key made: kind, subject, flow, number, task.
pub(crate) type MadeCode = (i64, i64, Option<i64>, Option<i64>, Option<i64>);

pub(crate) fn made_code(made: &Made) -> MadeCode {
    match made {
        Made::Round(key, task) => {
            (0, key.item.0, Some(key.flow.0), Some(i64::from(key.round)), Some(task.0))
        }
        Made::Event(item, n) => (1, item.0, None, Some(*n), None),
        Made::Batch(batch) => (2, batch.0, None, None, None),
        Made::Item(item) => (3, item.0, None, None, None),
        Made::Hold(hold) => (4, hold.0, None, None, None),
    }
}

pub(crate) fn made_of((kind, subject, flow, n, task): MadeCode) -> Option<Made> {
    Some(match kind {
        0 => {
            let (flow, round) = (FlowId(flow?), u32::try_from(n?).ok()?);
            Made::Round(RoundKey { item: ItemId(subject), flow, round }, TaskId(task?))
        }
        1 => Made::Event(ItemId(subject), n?),
        2 => Made::Batch(BatchId(subject)),
        3 => Made::Item(ItemId(subject)),
        4 => Made::Hold(HoldId(subject)),
        _ => return None,
    })
}

/// What an errand does: kind, subject, address, amount.
pub(crate) fn follow_code(follow: &Follow) -> (i64, i64, &str, i32) {
    match follow {
        Follow::Settled(task) => (0, task.0, "", 0),
        Follow::Bind(address, task) => (1, task.0, address, 0),
        Follow::Supersede(task) => (2, task.0, "", 0),
        Follow::Wake(item, depth, by) => (3, item.0, by, i32::try_from(*depth).unwrap_or(i32::MAX)),
        Follow::Fill(flow, fresh) => (4, flow.0, "", i32::from(*fresh)),
        Follow::Release(hold) => (5, hold.0, "", 0),
        Follow::Report(batch) => (6, batch.0, "", 0),
        Follow::CancelBatch(batch) => (7, batch.0, "", 0),
        Follow::DeleteBatch(batch) => (8, batch.0, "", 0),
        Follow::RetryBatch(batch) => (9, batch.0, "", 0),
        Follow::DeleteItem(item) => (10, item.0, "", 0),
        Follow::Reprioritise(item, priority) => (11, item.0, "", *priority),
        Follow::Rewound(item) => (12, item.0, "", 0),
    }
}

pub(crate) fn follow_of((kind, subject, address, amount): (i64, i64, Text, i32)) -> Option<Follow> {
    Some(match kind {
        0 => Follow::Settled(TaskId(subject)),
        1 => Follow::Bind(address, TaskId(subject)),
        2 => Follow::Supersede(TaskId(subject)),
        3 => Follow::Wake(ItemId(subject), u32::try_from(amount).ok()?, address),
        4 => Follow::Fill(FlowId(subject), amount != 0),
        5 => Follow::Release(HoldId(subject)),
        6 => Follow::Report(BatchId(subject)),
        7 => Follow::CancelBatch(BatchId(subject)),
        8 => Follow::DeleteBatch(BatchId(subject)),
        9 => Follow::RetryBatch(BatchId(subject)),
        10 => Follow::DeleteItem(ItemId(subject)),
        11 => Follow::Reprioritise(ItemId(subject), amount),
        12 => Follow::Rewound(ItemId(subject)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_back() {
        for kind in 0..=5 {
            let scope = scope_of((kind, 7)).unwrap();
            assert_eq!(scope_code(scope), (kind, 7));
        }
        for kind in 0..=4 {
            let made = made_of((kind, 7, Some(8), Some(9), Some(10))).unwrap();
            assert_eq!(made_of(made_code(&made)), Some(made));
        }
        for kind in 0..=12 {
            let follow = follow_of((kind, 7, "x".into(), 1)).unwrap();
            let (code, subject, address, amount) = follow_code(&follow);
            assert_eq!(code, kind);
            assert_eq!(follow_of((code, subject, address.into(), amount)), Some(follow));
        }
    }

    #[test]
    fn what_was_never_written_is_not_read() {
        assert_eq!(scope_of((6, 1)), None);
        assert_eq!(made_of((5, 1, None, None, None)), None);
        assert_eq!(made_of((0, 1, None, Some(1), Some(1))), None, "a round without its flow");
        assert_eq!(follow_of((13, 1, "".into(), 0)), None);
        assert_eq!(follow_of((3, 1, "".into(), -1)), None, "a depth below nothing");
    }
}
