//! Servers and connections that go away in the middle of commits.

use std::time::Duration;

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
