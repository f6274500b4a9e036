//! What makes a history whole, whichever store holds it.

use std::collections::HashMap;

use armarius_core::event::{Canon, Commit, Event, Hash, chain, digest, seal};
use armarius_core::ids::ItemId;
use armarius_engine::seam::StoreError;

/// What a full verification looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Commits whose seals hold.
    pub commits: u64,
    /// Events whose hashes hold.
    pub events: u64,
    /// Items whose events are numbered without gaps.
    pub items: u64,
}

/// Hashes of events, by item and number.
pub(crate) type Hashes = HashMap<(ItemId, i64), Hash>;

/// A commit stands right behind another.
pub(crate) fn joined(earlier: (i64, Hash), later: &Commit) -> Result<(), StoreError> {
    if (later.n, later.prev) == (earlier.0 + 1, earlier.1) {
        return Ok(());
    }
    let (n, before) = (later.n, earlier.0);
    Err(corrupt(format!("table commit, row {n}: does not follow {before}")))
}

/// A commit's seal fits its events, which are found one by one.
pub(crate) fn sealed(
    commit: &Commit,
    mut find: impl FnMut(ItemId, i64) -> Result<Option<Event>, StoreError>,
) -> Result<(), StoreError> {
    let n = commit.n;
    let mut events = Vec::with_capacity(commit.events.len());
    for (item, number) in &commit.events {
        events.push(find(*item, *number)?.ok_or_else(|| {
            corrupt(format!("table commit, row {n}: event {number} of item {item} is missing"))
        })?);
    }
    if seal(n, commit.at, commit.prev, &events).seal == commit.seal {
        return Ok(());
    }
    Err(corrupt(format!("table commit, row {n}: its seal does not fit its events")))
}

/// The events of one item, one after another.
#[derive(Default)]
pub(crate) struct Stream {
    pub(crate) item: Option<ItemId>,
    text: String,
    n: i64,
    hash: Hash,
}

impl Stream {
    /// The stream of an item with this address.
    pub(crate) fn of(item: ItemId, text: String) -> Self {
        Self { item: Some(item), text, n: 0, hash: Hash::default() }
    }

    /// The next event has the next number, its detail is what was recorded, its hash fits.
    pub(crate) fn follow(&mut self, event: &Event, task: &str) -> Result<(), StoreError> {
        let Event { item, n, .. } = event;
        let wrong = |why: &str| Err(corrupt(format!("table event, row {item}, {n}: {why}")));
        if *n != self.n + 1 {
            return wrong("leaves a gap in the item's numbers");
        }
        if event.detail.as_deref().is_some_and(|d| Some(digest(d)) != event.detail_digest) {
            return wrong("its detail is not what was recorded");
        }
        if chain(event, Canon { stream: &self.text, task }, &self.hash) != event.hash {
            return wrong("its hash does not fit what it says");
        }
        self.n = *n;
        self.hash = event.hash;
        Ok(())
    }
}

fn corrupt(what: String) -> StoreError {
    StoreError::Corrupt(what)
}
