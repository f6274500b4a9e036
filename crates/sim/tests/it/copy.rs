//! A whole archive is moved to a shared database and back.

use std::panic::{AssertUnwindSafe, catch_unwind};

use armarius_core::rows::{Counter, Lease};
use armarius_engine::seam::Database as _;
use armarius_sim::{Player, Tape};
use armarius_store::conformance::cluster::Cluster;
use armarius_store::copy::{self, Place};
use armarius_store::postgres::{Database, Options};
use armarius_store::{Sqlite, World};

use crate::differential::sound;
use crate::room::{folder, open_file};
use crate::soak::seeds;

const STEPS: usize = 250;

/// What must not change on the way: everything but the chains, and what raising the epoch adds.
fn same_work(left: &World, right: &World, place: &str) {
    let strip = |world: &World| World {
        commits: std::collections::BTreeMap::new(),
        counters: std::collections::BTreeMap::new(),
        events: world
            .events
            .iter()
            .filter(|(_, e)| e.name.as_str() != "epoch.raised")
            .map(|(k, e)| (*k, e.clone()))
            .collect(),
        leases: world.leases.iter().map(|(k, lease)| (*k, in_order(lease))).collect(),
        ..world.clone()
    };
    let found = strip(left).differences(&strip(right));
    let shown = found.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    assert!(found.is_empty(), "{place}: {} differences\n{shown}", found.len());
}

/// A lease that was parted and joined again holds the same, in another order.
fn in_order(lease: &Lease) -> Lease {
    let mut lease = lease.clone();
    lease.grips.sort_by_key(|grip| grip.task);
    lease
}

/// No number is given twice: the counters are where they were, at least.
fn counts_on(before: &World, after: &World) {
    for (counter, n) in &before.counters {
        let now = after.counters.get(counter).copied().unwrap_or_default();
        assert!(now >= *n, "{counter:?} was {n} and is {now}");
    }
}

#[test]
fn an_archive_survives_the_way_to_a_database_and_back() {
    for seed in seeds(2) {
        let place = folder();
        let path = place.path().join("a.db");
        let tape = Tape::record(seed, STEPS);
        let (store, hand) = open_file(&path);
        let mut player = Player::new(store, hand, seed, 0);
        for step in &tape.steps {
            player.play(step).unwrap().ok();
        }
        drop(player);
        let url = format!("{}&shards=4", Cluster::shared().fresh_url());
        let (file, database) = (Place::Sqlite(path.clone()), Place::Postgres(url.clone()));

        // The first try is cut off in the middle.
        let cut = catch_unwind(AssertUnwindSafe(|| {
            copy::run_in_pages(&file, &database, 40, &mut |at| {
                assert!(at.pages < 3, "cut off");
            })
        }));
        assert!(cut.is_err());
        let said = Database::open(&url, Options::default()).unwrap_err().to_string();
        assert!(said.contains("not finished"), "{said}");
        let mut first = None;
        let copied = copy::run_in_pages(&file, &database, 40, &mut |at| {
            if at.what == "copied" {
                first.get_or_insert(at.pages);
            }
        })
        .unwrap();
        assert_eq!(first, Some(3), "it goes on where it was cut off");
        assert_eq!(copied.events, tape.world.events.len() as u64);
        let said = copy::run(&file, &database, &mut |_| {}).unwrap_err().to_string();
        assert!(said.contains("already holds something"), "{said}");

        let database = Database::open(&url, Options::default()).unwrap();
        let mut tasks = 0;
        for shard in 0..database.shards() {
            let store = database.shard(shard).unwrap();
            store.verify_everything().unwrap();
            let world = store.dump().unwrap();
            tasks += world.tasks.len();
            let epoch = tape.world.counters.get(&Counter::Epoch).unwrap_or(&0) + 1;
            assert_eq!(world.counters.get(&Counter::Epoch), Some(&epoch), "shard {shard}");
            sound(&world);
        }
        assert_eq!(tasks, tape.world.tasks.len());
        drop(database);

        let back = place.path().join("b.db");
        copy::run(&Place::Postgres(url), &Place::Sqlite(back.clone()), &mut |_| {}).unwrap();
        let store = Sqlite::open(&back, armarius_store::Options::small()).unwrap();
        store.verify_everything().unwrap();
        same_work(&tape.world, &store.dump().unwrap(), &format!("seed {seed}"));
        sound(&store.dump().unwrap());
        counts_on(&tape.world, &store.dump().unwrap());
    }
}
