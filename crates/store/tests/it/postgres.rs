//! What only a shared store has: other servers, a network, a server that goes away.

mod failover;
mod faults;
mod pooler;
mod schema;
mod sharing;
mod tls;
mod wide;

use armarius_core::event::seal;
use armarius_core::ids::{BatchId, ItemId};
use armarius_core::view::{CommitHead, Need, View};
use armarius_engine::seam::{Store, StoreError};
use armarius_store::conformance::sample;
use armarius_store::{Postgres, World};

/// Commits the next event of item 1, and a batch that counts them: both or neither.
fn commit(store: &mut dyn Store, view: &mut View) -> Result<i64, StoreError> {
    let now = store.begin(view)?;
    let (item, batch) = (ItemId(1), BatchId(1));
    store.load(&[Need::Head(item), Need::Batch(batch)], view)?;
    let n = view.heads.get(&item).unwrap().map_or(0, |h| h.n) + 1;
    let known = view.batches.get(&batch).unwrap().map_or(0, |b| b.total);
    assert_eq!(known, n - 1, "the batch counts what the events are");
    let mut row = sample::batch(1, 0).1;
    row.total = n;
    view.batches.put(batch, row);
    let event = sample::event(1, n, n);
    view.heads.put(item, armarius_core::event::Head { n, hash: event.hash });
    view.events.push(event);
    view.keep();
    let commit = seal(view.head.n + 1, now, view.head.seal, &view.events);
    store.commit(view, &commit)?;
    view.committed(CommitHead { n: commit.n, seal: commit.seal });
    Ok(n)
}

/// Commits until it is done, as a lane does: after trouble the view is thrown away. Says how often
/// there was trouble.
fn commit_surely(store: &mut Postgres, view: &mut View) -> (i64, usize) {
    for troubles in 0..2_000 {
        match commit(store, view) {
            Ok(n) => return (n, troubles),
            Err(StoreError::Unavailable(_)) => {
                store.abandon();
                *view = View::new(0);
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("the database did not come back");
}

/// Everything acknowledged is there, once, and nothing by halves.
fn whole(world: &World, acknowledged: &[i64]) {
    let events = i64::try_from(world.events.len()).unwrap();
    for n in acknowledged {
        assert!(world.events.contains_key(&(ItemId(1), *n)), "event {n} was acknowledged");
    }
    let mut unique = acknowledged.to_vec();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), acknowledged.len(), "no number was given twice");
    assert_eq!(world.batches[&BatchId(1)].total, events, "rows and events are of the same commit");
    assert_eq!(i64::try_from(world.commits.len()).unwrap(), events, "one commit for each");
}
