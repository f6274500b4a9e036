//! All shards together: where things are, and one picture of everything.

use std::collections::BTreeSet;

use armarius_core::event::seal;
use armarius_core::ids::{BatchId, CollectionId, ItemId, LeaseId, TaskId, Time, in_shard};
use armarius_core::rows::{Batch, Collection, Item, Lease};
use armarius_core::text::Name;
use armarius_core::view::{CommitHead, Need, View};
use armarius_engine::seam::{Database as _, Store as _, TaskFilter, Thing};
use armarius_store::conformance::cluster::Cluster;
use armarius_store::conformance::sample;
use armarius_store::postgres::{Database, Options, default_place};

/// Puts a collection with an item, a lease and a batch into a shard; returns their numbers.
fn furnish(database: &Database, shard: u16) -> (Collection, Item, Lease, Batch) {
    let mut store = database.shard(shard).unwrap();
    let mut view = View::new(shard);
    let now = store.begin(&mut view).unwrap();
    let id = in_shard(shard, 1);
    let name = Name::trusted(&format!("collection of {shard}"));
    let collection =
        Collection { id: CollectionId(id), name, item: ItemId(id), ..sample::collection(1, 0).1 };
    let item = Item {
        id: ItemId(id),
        collection: collection.id,
        kind: Name::trusted("page"),
        ..sample::item(1, 1).1
    };
    let lease = Lease { id: LeaseId(u128::from(shard) + 77), ..sample::lease(1, 3).1 };
    let batch = Batch { id: BatchId(id), collection: collection.id, ..sample::batch(1, 2).1 };
    view.collections.put(collection.id, collection.clone());
    view.items.put(item.id, item.clone());
    view.leases.put(lease.id, lease.clone());
    view.batches.put(batch.id, batch.clone());
    let mut event = sample::event(1, 1, i64::from(shard));
    event.item = item.id;
    view.events.push(event);
    view.keep();
    let commit = seal(1, now, view.head.seal, &view.events);
    store.commit(&view, &commit).unwrap();
    view.committed(CommitHead { n: 1, seal: commit.seal });
    (collection, item, lease, batch)
}

#[test]
fn things_are_found_in_whichever_shard_they_are() {
    let url = format!("{}&shards=4", Cluster::shared().fresh_url());
    let database = Database::open(&url, Options::default()).unwrap();
    let rows: Vec<_> = [1, 3].map(|shard| furnish(&database, shard)).into_iter().collect();
    let mut atlas = database.atlas().unwrap();
    for (shard, (collection, _, lease, batch)) in [1, 3].into_iter().zip(&rows) {
        assert_eq!(atlas.place(&collection.name).unwrap(), shard);
        assert_eq!(atlas.find(Thing::Lease(lease.id)).unwrap(), Some(shard));
        assert_eq!(atlas.find(Thing::Batch(batch.id)).unwrap(), Some(shard));
    }
    assert_eq!(atlas.find(Thing::Task(TaskId(5))).unwrap(), None);
    let unknown = Name::trusted("nobody knows");
    assert_eq!(atlas.place(&unknown).unwrap(), default_place("nobody knows", 4));
    assert_eq!(default_place("armarius", 4), 0);
    let heads = atlas.heads().unwrap();
    let numbers: Vec<i64> = heads.shards.iter().map(|h| h.n).collect();
    assert_eq!(numbers, [0, 1, 0, 1]);
    assert!(heads.now > Time(1_700_000_000_000_000));
    assert_eq!(heads.shards[1].due, Some(rows[0].2.due_at()));

    let mut reader = database.reader().unwrap();
    let mut view = View::new(0);
    let needs: Vec<Need> = rows
        .iter()
        .flat_map(|(_, item, lease, batch)| {
            [Need::Item(item.id), Need::Lease(lease.id), Need::Batch(batch.id)]
        })
        .chain([Need::DueLease((), None, 5)])
        .collect();
    reader.look(&needs, &mut view, true).unwrap();
    for (collection, item, lease, batch) in &rows {
        assert_eq!(view.collections.get(&collection.id).unwrap(), Some(collection));
        assert_eq!(view.items.get(&item.id).unwrap(), Some(item));
        assert_eq!(view.leases.get(&lease.id).unwrap(), Some(lease));
        assert_eq!(view.batches.get(&batch.id).unwrap(), Some(batch));
        assert_eq!(reader.events(item.id, 0, 9).unwrap().len(), 1);
        assert_eq!(reader.items(collection.id, ItemId(0), 9).unwrap(), std::slice::from_ref(item));
    }
    assert_eq!(view.due_leases.first(&(), 5).unwrap().count(), 2);
    let batches: BTreeSet<BatchId> =
        reader.batches(None, 9).unwrap().into_iter().map(|b| b.id).collect();
    assert_eq!(batches.len(), 2);
    assert_eq!(reader.tasks(&TaskFilter { max: 5, ..TaskFilter::default() }).unwrap(), []);
    let before = reader.head().unwrap();
    furnish(&database, 2);
    assert_ne!(reader.head().unwrap(), before, "a commit anywhere changes it");
}

/// A collection has one place: another shard cannot have it too.
#[test]
fn a_collection_lives_in_one_shard() {
    let url = format!("{}&shards=2", Cluster::shared().fresh_url());
    let database = Database::open(&url, Options::default()).unwrap();
    let (collection, ..) = furnish(&database, 0);
    let mut store = database.shard(1).unwrap();
    let mut view = View::new(1);
    let now = store.begin(&mut view).unwrap();
    let id = CollectionId(in_shard(1, 1));
    view.collections.put(id, Collection { id, ..collection });
    view.keep();
    let commit = seal(1, now, view.head.seal, &[]);
    let refused = store.commit(&view, &commit).unwrap_err().to_string();
    assert!(refused.contains("place"), "{refused}");
}
