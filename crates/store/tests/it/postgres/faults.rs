//! Servers and connections that go away in the middle of commits.

use std::time::{Duration, Instant};

use armarius_core::view::View;
use armarius_engine::seam::{Store, StoreError};
use armarius_store::Postgres;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::postgres::{Options, Patience};

use super::{commit, commit_surely, whole};

/// Short waits, so that what cannot be reached is known soon.
fn options() -> Options {
    let patience = Patience { resolve: Duration::from_secs(60), ..Patience::default() };
    Options { patience, ..Options::default() }
}

/// Commits while `harm` is done again and again; returns what was acknowledged and how often there
/// was trouble.
fn commit_under(url: &str, harms: u64, harm: impl Fn() + Sync) -> (Vec<i64>, usize) {
    let mut store = Postgres::open(url, 0, options()).unwrap();
    let mut view = View::new(0);
    let (mut acknowledged, mut troubles) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let harming = scope.spawn(|| {
            for n in 0..harms {
                std::thread::sleep(Duration::from_millis(23 * (1 + n % 5)));
                harm();
            }
        });
        while !harming.is_finished() || acknowledged.len() < 30 {
            let (n, trouble) = commit_surely(&mut store, &mut view);
            acknowledged.push(n);
            troubles += trouble;
        }
    });
    (acknowledged, troubles)
}

#[test]
fn killed_backends_lose_and_double_nothing() {
    let cluster = Cluster::shared();
    let url = format!("{}&application_name=victim", cluster.fresh_url());
    let (acknowledged, _) = commit_under(&url, 25, || {
        cluster
            .sql(
                "select pg_terminate_backend(pid) from pg_stat_activity
                 where application_name = 'victim' and state <> 'idle'",
            )
            .unwrap();
    });
    let store = Postgres::open(&url, 0, Options::default()).unwrap();
    whole(&store.dump().unwrap(), &acknowledged);
}

#[test]
fn a_server_that_stops_at_once_loses_and_doubles_nothing() {
    let cluster = Cluster::start(&[]).unwrap();
    let url = cluster.fresh_url();
    drop(Postgres::open(&url, 0, Options::default()).unwrap());
    let (acknowledged, _) = commit_under(&url, 4, || {
        cluster.stop("immediate").unwrap();
        cluster.begin().unwrap();
    });
    let store = Postgres::open(&url, 0, Options::default()).unwrap();
    whole(&store.dump().unwrap(), &acknowledged);
}

#[test]
fn a_server_that_stays_away_is_told_in_bounded_time_and_found_again() {
    let cluster = Cluster::start(&[]).unwrap();
    let url = format!("{}&connect_timeout=1", cluster.fresh_url());
    let mut store = Postgres::open(&url, 0, Options::default()).unwrap();
    let mut view = View::new(0);
    commit(&mut store, &mut view).unwrap();
    cluster.stop("fast").unwrap();
    let refused = store.begin(&mut view);
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    cluster.begin().unwrap();
    assert_eq!(commit(&mut store, &mut view).unwrap(), 2);
}

/// The transaction is still open when its connection is cut: nothing of it can be there.
#[test]
fn a_connection_cut_before_the_commit_changes_nothing() {
    let cluster = Cluster::shared();
    let url = format!("{}&application_name=cut", cluster.fresh_url());
    let mut store = Postgres::open(&url, 0, Options::default()).unwrap();
    let mut view = View::new(0);
    commit(&mut store, &mut view).unwrap();
    store.begin(&mut view).unwrap();
    let kill = "select pg_terminate_backend(pid) from pg_stat_activity
                where application_name = 'cut'";
    cluster.sql(kill).unwrap();
    let (id, batch) = armarius_store::conformance::sample::batch(2, 1);
    view.batches.put(id, batch);
    view.keep();
    let head = view.head;
    let sealed = armarius_core::event::seal(
        head.n + 1,
        armarius_core::ids::Time(1),
        head.seal,
        &view.events,
    );
    let lost = store.commit(&view, &sealed);
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    let mut view = View::new(0);
    assert_eq!(commit(&mut store, &mut view).unwrap(), 2);
    assert_eq!(store.dump().unwrap().batches.len(), 1);
}

/// Waits until a question has an answer that is not empty.
fn answered(cluster: &Cluster, sql: &str) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = cluster.sql(sql).unwrap();
        if !answer.is_empty() {
            return answer;
        }
        assert!(Instant::now() < until, "never: {sql}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A shard whose statements have little time, and its first commit.
fn hurried(url: &str) -> Postgres {
    let (statement, lock) = (Duration::from_secs(5), Duration::from_secs(60));
    let patience = Patience { statement, lock, commit: lock, resolve: lock, ..Patience::default() };
    // Making the tables may take longer.
    drop(Postgres::open(url, 0, Options::default()).unwrap());
    let mut store = Postgres::open(url, 0, Options { patience, ..Options::default() }).unwrap();
    assert_eq!(commit_surely(&mut store, &mut View::new(0)).0, 1);
    store
}

/// Whoever has the lock and sleeps on it.
const HOLDER: &str = "select pid from pg_stat_activity
    where query like '%/* holder */%' and wait_event = 'PgSleep'";
const END_HOLDER: &str = "select pg_terminate_backend(pid) from pg_stat_activity
    where query like '%/* holder */%' and wait_event = 'PgSleep'";

#[test]
fn a_statement_that_is_held_up_is_given_up_and_tried_again_later() {
    let cluster = Cluster::shared();
    let url = cluster.fresh_url();
    let schema = url.split("schema=").nth(1).unwrap().split('&').next().unwrap();
    let (mut store, mut view) = (hurried(&url), View::new(0));
    std::thread::scope(|scope| {
        let hold = format!("begin; lock table {schema}.batch; select pg_sleep(600) /* holder */");
        let holder = scope.spawn(move || cluster.sql(&hold));
        answered(cluster, HOLDER);
        let refused = commit(&mut store, &mut view);
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        assert!(!holder.is_finished(), "it was the limit that ended it");
        cluster.sql(END_HOLDER).unwrap();
    });
    let (n, _) = commit_surely(&mut store, &mut View::new(0));
    assert_eq!(n, 2, "nothing of the other one is there");
}

/// With synchronous replication a commit that is cancelled is made, but not safe: so it is not.
#[test]
fn the_end_of_a_transaction_may_take_longer_than_a_statement() {
    let cluster = Cluster::start(&[]).unwrap();
    let url = cluster.fresh_url() + "&application_name=patient";
    let (mut store, mut view) = (hurried(&url), View::new(0));
    let set = |names: &str| {
        cluster.sql(&format!("alter system set synchronous_standby_names = '{names}'")).unwrap();
        cluster.sql("select pg_reload_conf()").unwrap();
    };
    set("nobody");
    let waiting = "select pid, query_start from pg_stat_activity
                   where application_name = 'patient' and wait_event = 'SyncRep'";
    std::thread::scope(|scope| {
        let committing = scope.spawn(|| commit_surely(&mut store, &mut view).0);
        let began = answered(&cluster, waiting);
        let limit = "select 1 from pg_stat_activity where application_name = 'patient'
                     and clock_timestamp() - query_start > interval '7 seconds'";
        answered(&cluster, limit);
        assert_eq!(answered(&cluster, waiting), began, "the same commit still waits");
        set("");
        assert_eq!(committing.join().unwrap(), 2);
    });
}
