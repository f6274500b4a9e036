//! Every base table: written, read back, overwritten, removed, taken back.

use std::fmt::Debug;

use armarius_core::rows::Counter;
use armarius_core::view::{Need, Table, View};

use super::sample;
use super::trial::Trial;

pub(super) fn exercise(trial: &mut Trial) {
    macro_rules! each {
        ($($table:ident: $need:ident, $sample:ident;)*) => {$(
            table(trial, stringify!($table), (|v| &v.$table, |v| &mut v.$table), sample::$sample);
            // Which need belongs to which table is told by the table itself.
            let _: fn(_) -> Need = Need::$need;
        )*};
    }
    each! {
        collections: Collection, collection;
        flows: Flow, flow;
        queues: Queue, queue;
        holds: Hold, hold;
        schedules: Schedule, schedule;
        archives: Archive, archive;
        keys: Key, key;
        counters: Counter, counter;
        versions: Version, version;
        items: Item, item;
        marks: Mark, mark;
        bodies: Body, body;
        tasks: Task, task;
        rounds: Round, round;
        newest: Newest, newest;
        slots: Slots, slots;
        leases: Lease, lease;
        batches: Batch, batch;
        destinations: Destination, destination;
        idems: Idem, idem;
        manifests: Manifest, manifest;
    }
    time_never_goes_back(trial);
}

type Reach<K, R> = (fn(&View) -> &Table<K, R>, fn(&mut View) -> &mut Table<K, R>);

fn table<K, R>(
    trial: &mut Trial,
    name: &str,
    (read, write): Reach<K, R>,
    sample: fn(i64, i64) -> (K, R),
) where
    K: Ord + std::hash::Hash + Clone + Debug,
    R: Clone + PartialEq + Debug,
{
    let key = |n: i64| sample(n, 0).0;
    let check = |trial: &mut Trial, n: i64, variant: Option<i64>, when: &str| {
        let found = trial.ask(|view| read(view).get(&key(n)).map(Option::<&R>::cloned));
        let wanted = variant.map(|variant| sample(n, variant).1);
        assert_eq!(found, wanted, "{name}, row {n} {when}");
    };
    let put = |trial: &mut Trial, n: i64, variant: i64| {
        let (key, row) = sample(n, variant);
        write(&mut trial.view).put(key, row);
    };

    (1..=3).for_each(|n| check(trial, n, None, "before it was written"));
    trial.reopen();
    put(trial, 1, 0);
    put(trial, 2, 1);
    check(trial, 1, Some(0), "as pending");
    trial.commit();
    check(trial, 1, Some(0), "after its commit");
    check(trial, 2, Some(1), "after its commit");
    check(trial, 3, None, "that nobody wrote");

    for variant in 0..14 {
        put(trial, 1, variant);
        trial.commit();
        check(trial, 1, Some(variant), "overwritten");
    }
    put(trial, 1, 3);
    write(&mut trial.view).delete(key(2));
    put(trial, 3, 2);
    trial.commit();
    check(trial, 1, Some(3), "overwritten with others");
    check(trial, 2, None, "after it was removed");
    check(trial, 3, Some(2), "added with others");

    put(trial, 1, 5);
    put(trial, 2, 5);
    write(&mut trial.view).delete(key(3));
    trial.reopen();
    check(trial, 1, Some(3), "after a change was abandoned");
    check(trial, 2, None, "after it was abandoned");
    check(trial, 3, Some(2), "after its removal was abandoned");

    (1..=3).for_each(|n| write(&mut trial.view).delete(key(n)));
    trial.commit();
    (1..=3).for_each(|n| check(trial, n, None, "after all were removed"));
}

fn time_never_goes_back(trial: &mut Trial) {
    let later = trial.now.0 + 3_600_000_000;
    trial.view.counters.put(Counter::Clock, later);
    trial.commit();
    assert!(trial.now.0 >= later, "the time went back behind what a commit used");
}
