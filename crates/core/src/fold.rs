//! Rows are always a fold of the events: this is the fold.

use std::collections::BTreeMap;

use crate::event::{Event, Hash, Outcome, Said, hides};
use crate::ids::{TaskId, Time, Token};
use crate::task::State;
use crate::text::Name;

/// What an item's events say about its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// Number of the newest event.
    pub n: i64,
    /// Its hash.
    pub hash: Hash,
    /// What they say about each task.
    pub tasks: BTreeMap<TaskId, FoldedTask>,
    /// The mark of each event name, as far as events tell it.
    pub marks: BTreeMap<Name, FoldedMark>,
}

/// What events say about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldedTask {
    /// Its state.
    pub state: State,
    /// The token of its last grant.
    pub token: Token,
    /// When it was made.
    pub made_at: Time,
    /// When it came into its state.
    pub since: Time,
    /// SHA-256 of its payload, if it has one.
    pub payload: Option<Hash>,
}

/// What events say about a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldedMark {
    /// Number of the event.
    pub n: i64,
    /// What came of it.
    pub outcome: Outcome,
    /// Invisible to triggers.
    pub hidden: bool,
    /// Out of a history kept elsewhere.
    pub imported: bool,
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
        take_mark(self, event);
        Ok(())
    }
}

fn take_mark(folded: &mut Folded, event: &Event) {
    for name in hides(event) {
        if let Some(mark) = folded.marks.get_mut(&name) {
            mark.hidden = true;
        }
    }
    let Some(outcome) = event.outcome.filter(|_| is_mark(event)) else { return };
    let said = event.detail.as_deref().and_then(Said::within);
    let imported = event.task.is_none() && said.is_some_and(|(said, _)| said.imported);
    // What happened here is never covered by what is told of the past.
    if imported && folded.marks.get(&event.name).is_some_and(|m| !m.imported) {
        return;
    }
    let mark = FoldedMark { n: event.n, outcome, hidden: false, imported };
    folded.marks.insert(event.name.clone(), mark);
}

fn take_transition(folded: &mut Folded, event: &Event) {
    let (Some(task), Some(to)) = (event.task, event.to) else { return };
    let row = folded.tasks.entry(task).or_insert(FoldedTask {
        state: to,
        token: Token::default(),
        made_at: event.at,
        since: event.at,
        payload: event.detail_digest.filter(|_| event.detail.is_none()),
    });
    row.state = to;
    row.since = event.at;
    row.token = match to {
        State::Leased => event.token.unwrap_or(row.token),
        State::Waiting
        | State::Held
        | State::Ready
        | State::Done
        | State::Failed
        | State::Cancelled => row.token,
    };
}

/// The rules' own event names leave no marks.
fn is_mark(event: &Event) -> bool {
    !event.name.starts_with("task.")
}
