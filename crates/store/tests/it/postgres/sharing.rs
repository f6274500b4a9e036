//! Several servers at one shard.

use std::time::{Duration, Instant};

use armarius_core::view::View;
use armarius_engine::seam::{Database as _, Store, StoreError};
use armarius_store::Postgres;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::postgres::{Database, Options, Patience};

use super::{commit, commit_surely, whole};

fn open(url: &str) -> Postgres {
    Postgres::open(url, 0, Options::default()).unwrap()
}

#[test]
fn servers_that_write_at_once_leave_one_history() {
    let url = Cluster::shared().fresh_url();
    let servers: Vec<_> = (0..4)
        .map(|_| {
            let url = url.clone();
            std::thread::spawn(move || {
                let (mut store, mut view) = (open(&url), View::new(0));
                let commits = (0..25).map(|_| commit_surely(&mut store, &mut view).0);
                commits.collect::<Vec<i64>>()
            })
        })
        .collect();
    let acknowledged: Vec<i64> = servers.into_iter().flat_map(|s| s.join().unwrap()).collect();
    assert_eq!(acknowledged.len(), 100);
    whole(&open(&url).dump().unwrap(), &acknowledged);
}

#[test]
fn a_shard_in_use_is_passed_over_or_waited_for_in_bounded_time() {
    let url = Cluster::shared().fresh_url();
    let patience = Patience { lock: Duration::from_millis(200), ..Patience::default() };
    let impatient = Options { patience, ..Options::default() };
    let (mut one, mut other) = (open(&url), Postgres::open(&url, 0, impatient).unwrap());
    let (mut view, mut other_view) = (View::new(0), View::new(0));
    one.begin(&mut view).unwrap();
    assert_eq!(other.try_begin(&mut other_view).unwrap(), None);
    let began = Instant::now();
    let refused = other.begin(&mut other_view);
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(began.elapsed() < Duration::from_secs(30));
    let mut elsewhere = Postgres::open(&url, 1, Options::default()).unwrap();
    assert!(elsewhere.try_begin(&mut View::new(1)).unwrap().is_some(), "another shard is free");
    one.abandon();
    assert!(other.try_begin(&mut other_view).unwrap().is_some());
}

#[test]
fn a_view_is_kept_while_nobody_else_writes() {
    let url = Cluster::shared().fresh_url();
    let (mut one, mut other) = (open(&url), open(&url));
    let (mut view, mut other_view) = (View::new(0), View::new(0));
    commit(&mut one, &mut view).unwrap();
    one.begin(&mut view).unwrap();
    assert!(view.batches.knows(&armarius_core::ids::BatchId(1)), "nobody wrote meanwhile");
    one.abandon();
    commit(&mut other, &mut other_view).unwrap();
    one.begin(&mut view).unwrap();
    assert!(!view.batches.knows(&armarius_core::ids::BatchId(1)), "somebody did");
    assert_eq!(view.head, other_view.head);
}

#[test]
fn commits_are_told_to_others_and_not_to_oneself() {
    let url = Cluster::shared().fresh_url().replace("notify=off", "notify=on");
    let open = || Database::open(&url, Options::default()).unwrap();
    let (one, other) = (open(), open());
    let mut ears = [one.signals().unwrap().unwrap(), other.signals().unwrap().unwrap()];
    for ear in &mut ears {
        // The first answer says that everything may be new.
        assert_eq!(ear.wait(Duration::from_secs(5)).unwrap().len(), 16);
    }
    commit(&mut one.shard(3).unwrap(), &mut View::new(3)).unwrap();
    let heard = (0..60).find_map(|_| {
        let shards = ears[1].wait(Duration::from_secs(1)).unwrap();
        (!shards.is_empty()).then_some(shards)
    });
    assert_eq!(heard, Some(vec![3]));
    assert_eq!(ears[0].wait(Duration::from_millis(200)).unwrap(), Vec::<u16>::new());
}

#[test]
fn many_shards_share_few_connections() {
    let cluster = Cluster::shared();
    let url = format!("{}&connections=3&application_name=few", cluster.fresh_url());
    let database = Database::open(&url, Options::default()).unwrap();
    let lanes: Vec<_> = (0..8)
        .map(|shard| {
            let mut store = database.shard(shard).unwrap();
            std::thread::spawn(move || {
                let mut view = View::new(shard);
                (0..10).map(|_| commit_surely(&mut store, &mut view).0).last()
            })
        })
        .collect();
    let count = "select count(*) from pg_stat_activity where application_name = 'few'";
    let open: usize = cluster.sql(count).unwrap().parse().unwrap();
    assert!(open <= 3, "{open} connections");
    for lane in lanes {
        assert_eq!(lane.join().unwrap(), Some(10));
    }
}
