//! Rows are always a fold of the events: this is the fold.

use std::collections::BTreeMap;

use crate::event::{Event, Hash, Outcome};
use crate::ids::{TaskId, Token};
use crate::task::State;
use crate::text::Name;

/// What an item's events say about its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// Number of the newest event.
    pub n: i64,
    /// Its hash.
    pub hash: Hash,
    /// Each task's state and the token of its last grant.
    pub tasks: BTreeMap<TaskId, (State, Token)>,
    /// Each event name's newest event that had an outcome: number and outcome.
    pub marks: BTreeMap<Name, (i64, Outcome)>,
}

/// Folds an item's events, oldest first. Tells where their numbers have a gap.
pub fn fold<'e>(events: impl Iterator<Item = &'e Event>) -> Result<Folded, String> {
    let mut folded = Folded::default();
    for event in events {
        folded.take(event)?;
    }
    Ok(folded)
}

impl Folded {
    /// Folds the next event. Tells where the numbers have a gap.
    pub fn take(&mut self, event: &Event) -> Result<(), String> {
        if event.n != self.n.saturating_add(1) {
            return Err(format!("item {}: event {} follows event {}", event.item, event.n, self.n));
        }
        self.n = event.n;
        self.hash = event.hash;
        take_transition(self, event);
        if let Some(outcome) = event.outcome.filter(|_| is_mark(event)) {
            self.marks.insert(event.name.clone(), (event.n, outcome));
        }
        Ok(())
    }
}

fn take_transition(folded: &mut Folded, event: &Event) {
    let (Some(task), Some(to)) = (event.task, event.to) else { return };
    let token = folded.tasks.get(&task).map_or(Token::default(), |(_, token)| *token);
    let token = match to {
        State::Leased => event.token.unwrap_or(token),
        State::Waiting
        | State::Held
        | State::Ready
        | State::Done
        | State::Failed
        | State::Cancelled => token,
    };
    folded.tasks.insert(task, (to, token));
}

/// The rules' own event names leave no marks.
fn is_mark(event: &Event) -> bool {
    !event.name.starts_with("task.")
}
