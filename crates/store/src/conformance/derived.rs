//! Every derived table and list: it follows from the base rows, also when they change or go.

use std::fmt::Debug;

use armarius_core::event::{Head, Outcome};
use armarius_core::ids::{BatchId, CollectionId, FlowId, ItemId, TaskId, Time};
use armarius_core::rows::{ItemKey, TaskKey};
use armarius_core::text::Name;
use armarius_core::view::{Ranged, View};

use super::sample;
use super::trial::Trial;

pub(super) fn exercise(trial: &mut Trial) {
    names(trial);
    keys(trial);
    rounds_and_tasks(trial);
    marks(trial);
    due_leases(trial);
    due_letters(trial);
    blockers(trial);
    heads(trial);
    handed_over(trial);
}

fn names(trial: &mut Trial) {
    let (collection, flow) = (sample::collection(1, 0).1, sample::flow(1, 0).1);
    let (queue, hold) = (sample::queue(1, 0).1, sample::hold(1, 0).1);
    trial.view.collections.put(collection.id, collection.clone());
    trial.view.flows.put(flow.id, flow.clone());
    trial.view.queues.put(queue.id, queue.clone());
    trial.view.holds.put(hold.id, hold.clone());
    trial.commit();
    let found = trial.ask(|v| v.collection_names.get(&collection.name).map(Option::<&_>::copied));
    assert_eq!(found, Some(collection.id), "a collection by its name");
    let name = (flow.collection, flow.name.clone());
    let found = trial.ask(|v| v.flow_names.get(&name).map(Option::<&_>::copied));
    assert_eq!(found, Some(flow.id), "a flow by its name");
    let name = (queue.flow, queue.step.clone());
    let found = trial.ask(|v| v.queue_names.get(&name).map(Option::<&_>::copied));
    assert_eq!(found, Some(queue.id), "a queue by its step");
    let found = trial.ask(|v| v.hold_scopes.get(&hold.scope).map(Option::<&_>::copied));
    assert_eq!(found, Some(hold.id), "a hold by what it brakes");
    trial.view.holds.delete(hold.id);
    trial.commit();
    let found = trial.ask(|v| v.hold_scopes.get(&hold.scope).map(Option::<&_>::copied));
    assert_eq!(found, None, "a hold that was removed");
}

fn keys(trial: &mut Trial) {
    let (version, item) = (sample::version(1, 0).1, sample::item(1, 0).1);
    let digest = (version.flow, version.digest);
    let key =
        ItemKey { collection: item.collection, kind: item.kind.clone(), key: item.key.clone() };
    let find = |trial: &mut Trial| {
        trial.ask(|v| {
            let version = v.version_digests.get(&digest)?.copied();
            Ok((version, v.item_keys.get(&key)?.copied()))
        })
    };
    assert_eq!(find(trial), (None, None), "keys nobody wrote");
    trial.view.versions.put(version.id, version.clone());
    trial.view.items.put(item.id, item.clone());
    trial.commit();
    assert_eq!(find(trial), (Some(version.id), Some(item.id)), "keys of rows");
    for n in 2..=5 {
        let (id, row) = sample::item(n, 0);
        trial.view.items.put(id, row);
    }
    trial.commit();
    let reach: fn(&View) -> &Ranged<_, _, _> = |v| &v.collection_items;
    let ids: Vec<_> = [1, 3, 5].map(|n| (ItemId(n), ())).to_vec();
    walk(trial, "items of a collection", reach, &CollectionId(1), &ids);
    (1..=5).for_each(|n| trial.view.items.delete(ItemId(n)));
    trial.view.versions.delete(version.id);
    trial.commit();
    assert_eq!(find(trial), (None, None), "keys of rows that were removed");
    walk(trial, "items of a collection without items", reach, &CollectionId(1), &[]);
}

fn rounds_and_tasks(trial: &mut Trial) {
    let queue = sample::queue(2, 0).1;
    trial.view.queues.put(queue.id, queue);
    for n in 1..=7 {
        let (id, row) = sample::body(n, 0);
        trial.view.bodies.put(id, row);
    }
    trial.commit();
    for n in 1..=7 {
        let body = sample::body(n, 0).1;
        let (item, queue, part, round) = (body.item, body.queue, body.part, body.round);
        let key = TaskKey { item, queue, part, round };
        let found = trial.ask(|v| v.task_keys.get(&key).map(Option::<&_>::copied));
        assert_eq!(found, Some(body.id), "a task by its key");
    }
    // Tasks 2 and 3 are of item 1: queue 1 round 3, queue 2 round 1.
    let latest = |trial: &mut Trial, flow| {
        let key = (ItemId(1), FlowId(flow));
        trial.ask(|v| v.latest_rounds.get(&key).map(Option::<&_>::copied))
    };
    assert_eq!((latest(trial, 1), latest(trial, 0)), (Some(3), Some(1)), "the newest rounds");
    assert_eq!(latest(trial, 7), None, "the newest round of a flow that never ran");
    let reach: fn(&View) -> &Ranged<_, _, _> = |v| &v.item_tasks;
    let tasks = [2, 3].map(|n| (TaskId(n), ()));
    walk(trial, "tasks of an item", reach, &ItemId(1), &tasks);
    (1..=7).for_each(|n| trial.view.bodies.delete(TaskId(n)));
    trial.commit();
    assert_eq!(latest(trial, 1), None, "the newest round of removed tasks");
    walk(trial, "tasks of an item without tasks", reach, &ItemId(1), &[]);
}

fn marks(trial: &mut Trial) {
    let names = ["b", "a", "é", "z", "Z", "a b"];
    let row = |variant| sample::mark(0, variant).1;
    for (i, name) in names.iter().enumerate() {
        let item = ItemId(1 + i64::from(i == 3));
        trial.view.marks.put((item, Name::trusted(name)), row(i64::from(i % 2 == 1)));
    }
    trial.commit();
    let reach: fn(&View) -> &Ranged<_, _, _> = |v| &v.item_marks;
    let in_order = ["Z", "a", "a b", "b", "é"].map(|name| (Name::trusted(name), ()));
    walk(trial, "names of an item's marks", reach, &ItemId(1), &in_order);
    walk(trial, "names of an item without marks", reach, &ItemId(9), &[]);

    let mut reader = trial.reader();
    let mut marked = |name: &str, outcome, after, max| {
        let found = reader.marked((&Name::trusted(name), outcome), ItemId(after), max);
        found.expect("a reader")
    };
    // A store may have no such index; one that has must be right.
    if marked("a", Outcome::Failure, 0, 9).is_some() {
        assert_eq!(marked("a", Outcome::Failure, 0, 9), Some(vec![ItemId(1)]), "hidden, too");
        assert_eq!(marked("a", Outcome::Success, 0, 9), Some(vec![]));
        assert_eq!(marked("a", Outcome::Failure, 1, 9), Some(vec![]), "after a number");
        assert_eq!(marked("nothing", Outcome::Failure, 0, 9), Some(vec![]));
    }
    for (i, name) in names.iter().enumerate() {
        trial.view.marks.delete((ItemId(1 + i64::from(i == 3)), Name::trusted(name)));
    }
    trial.commit();
    walk(trial, "names of marks that were removed", reach, &ItemId(1), &[]);
}

fn due_leases(trial: &mut Trial) {
    let reach: fn(&View) -> &Ranged<_, _, _> = |v| &v.due_leases;
    let due = |key, variant| {
        let (id, lease) = sample::lease(key, variant);
        ((lease.due_at(), id), ())
    };
    for key in 1..=4 {
        let (id, lease) = sample::lease(key, 4);
        trial.view.leases.put(id, lease);
    }
    trial.commit();
    let mut wanted: Vec<_> = (1..=4).map(|key| due(key, 4)).collect();
    wanted.sort_unstable();
    walk(trial, "leases by due time", reach, &(), &wanted);
    let (id, lease) = sample::lease(1, 40);
    trial.view.leases.put(id, lease);
    trial.view.leases.delete(sample::lease_id(2));
    trial.commit();
    let mut wanted = vec![due(1, 40), due(3, 4), due(4, 4)];
    wanted.sort_unstable();
    walk(trial, "leases by due time, after a renewal", reach, &(), &wanted);
}

fn due_letters(trial: &mut Trial) {
    let reach: fn(&View) -> &Ranged<_, _, _> = |v| &v.due_letters;
    for (key, variant) in [(1, 3), (2, 1), (3, 0), (5, 2)] {
        let (id, row) = sample::destination(key, variant);
        trial.view.destinations.put(id, row);
    }
    trial.commit();
    let key = |key| sample::destination(key, 0).0;
    let mut wanted =
        vec![((Time(1), key(1)), ()), ((Time(1), key(2)), ()), ((Time(0), key(3)), ())];
    wanted.sort();
    walk(trial, "destinations by due time", reach, &(), &wanted);
    let (id, row) = sample::destination(2, 5);
    trial.view.destinations.put(id, row);
    trial.commit();
    wanted.retain(|((_, k), ())| *k != key(2));
    walk(trial, "destinations with a letter due", reach, &(), &wanted);
}

fn blockers(trial: &mut Trial) {
    let reach: fn(&View) -> &Ranged<_, _, _> = |v| &v.blockers;
    for owner in 1..=4 {
        for key in 1..=2 {
            let (target, task, edge) = sample::dependent(owner, key, owner);
            trial.view.dependents.put(target, task, edge);
        }
    }
    trial.commit();
    let edge = |owner| sample::dependent(owner, 1, owner).2;
    // Tasks come before addresses.
    let wanted: Vec<_> = [2, 4, 1, 3].map(|n| (sample::target(n), edge(n))).to_vec();
    walk(trial, "what a task waits for", reach, &TaskId(1), &wanted);
    trial.view.dependents.delete(sample::target(4), TaskId(1));
    trial.commit();
    let wanted: Vec<_> = [2, 1, 3].map(|n| (sample::target(n), edge(n))).to_vec();
    walk(trial, "what a task still waits for", reach, &TaskId(1), &wanted);
    walk(trial, "what nobody waits for", reach, &TaskId(9), &[]);
}

fn heads(trial: &mut Trial) {
    let head = |trial: &mut Trial, item| {
        trial.ask(|v| v.heads.get(&ItemId(item)).map(Option::<&_>::copied))
    };
    assert_eq!(head(trial, 1), None, "the head of an item without events");
    trial.reopen();
    let events: Vec<_> = (1..=3).map(|n| sample::event(1, n, n)).collect();
    trial.view.events.extend(events.iter().cloned());
    trial.view.events.push(sample::event(2, 1, 5));
    trial.commit();
    let newest = events.last().map(|e| Head { n: e.n, hash: e.hash });
    assert_eq!(head(trial, 1), newest, "the head of an item");
    assert_eq!(head(trial, 2).map(|h| h.n), Some(1), "the head of another item");
}

/// One row gives up a key that another one takes over, in the same commit.
fn handed_over(trial: &mut Trial) {
    let (id, old) = sample::item(6, 0);
    trial.view.items.put(id, old.clone());
    trial.commit();
    let new = armarius_core::rows::Item { id: ItemId(7), ..old.clone() };
    trial.view.items.put(new.id, new.clone());
    trial.view.items.delete(id);
    trial.commit();
    let key = ItemKey { collection: old.collection, kind: old.kind, key: old.key };
    let found = trial.ask(|v| v.item_keys.get(&key).map(Option::<&_>::copied));
    assert_eq!(found, Some(new.id), "a key that was handed over");
    let found = trial.ask(|v| v.batches.get(&BatchId(99)).map(Option::<&_>::cloned));
    assert_eq!(found, None, "a batch nobody wrote");
}

/// Walks a list two entries at a time and compares.
fn walk<P, K, R>(
    trial: &mut Trial,
    what: &str,
    reach: fn(&View) -> &Ranged<P, K, R>,
    owner: &P,
    wanted: &[(K, R)],
) where
    P: Ord + Clone,
    K: Ord + Clone + Debug,
    R: Clone + PartialEq + Debug,
{
    let mut found: Vec<(K, R)> = Vec::new();
    loop {
        let after = found.last().map(|(key, _)| key.clone());
        let next: Vec<(K, R)> = trial.ask(|view| {
            let rows = reach(view).after(owner, after.as_ref(), 2)?;
            Ok(rows.take(2).map(|(k, r)| (k.clone(), r.clone())).collect())
        });
        if next.is_empty() {
            break;
        }
        found.extend(next);
    }
    assert_eq!(found, wanted, "{what}");
}
