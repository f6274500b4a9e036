//! Commits stand one behind the other.

use armarius_core::event::{Commit, Event};
use armarius_core::ids::ItemId;
use armarius_core::view::{CommitHead, View};
use armarius_engine::seam::StoreError;

/// Checks that a commit stands right behind the newest one and seals exactly the view's events.
/// What would not chain must never become durable.
pub(crate) fn follows(head: CommitHead, view: &View, commit: &Commit) -> Result<(), StoreError> {
    let same = |(event, (item, n)): (&Event, &(ItemId, i64))| event.item == *item && event.n == *n;
    if commit.n != head.n + 1 || commit.prev != head.seal {
        let (n, newest) = (commit.n, head.n);
        return Err(StoreError::Corrupt(format!("commit {n} does not follow commit {newest}")));
    }
    if view.events.len() != commit.events.len() || !view.events.iter().zip(&commit.events).all(same)
    {
        let n = commit.n;
        return Err(StoreError::Corrupt(format!("commit {n} does not name the events it brings")));
    }
    Ok(())
}
