//! A standby takes over that lacks the newest commits.

use armarius_core::view::View;
use armarius_engine::seam::Store;
use armarius_store::Postgres;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::postgres::Options;

use super::{commit, commit_surely};

#[test]
fn a_standby_that_lost_its_tail_is_noticed() {
    let primary = Cluster::start(&["wal_level='replica'"]).unwrap();
    let url = primary.fresh_url();
    let schema = url.split("schema=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let mut early = Postgres::open(&url, 0, Options::default()).unwrap();
    let mut view = View::new(0);
    for n in 1..=3 {
        assert_eq!(commit(&mut early, &mut view).unwrap(), n);
        assert_eq!(early.doubt(), None);
    }
    let standby = primary.follow(&[]).unwrap();
    standby.stop("fast").unwrap();
    let both = format!(
        "postgres://postgres@/postgres?host={},{}&schema={schema}&notify=off",
        primary.folder().display(),
        standby.folder().display()
    );
    let mut store = Postgres::open(&both, 0, Options::default()).unwrap();
    let mut view = View::new(0);
    for n in 4..=6 {
        assert_eq!(commit(&mut store, &mut view).unwrap(), n);
    }
    primary.stop("immediate").unwrap();
    standby.begin().unwrap();
    standby.promote().unwrap();

    store.begin(&mut view).unwrap();
    let said = store.doubt().unwrap();
    assert!(said.contains("up to 6") && said.contains("newest is 3"), "{said}");
    assert_eq!(view.head.n, 3, "the view is of what is there");
    store.abandon();
    assert_eq!(commit_surely(&mut store, &mut view).0, 4);
    store.begin(&mut view).unwrap();
    assert_eq!(store.doubt(), None, "after a commit the matter is settled");
    store.abandon();

    // Somebody who had seen nothing of it finds the settled state; one who comes before would not.
    let alone = format!(
        "postgres://postgres@/postgres?host={}&schema={schema}&notify=off",
        standby.folder().display()
    );
    let mut other = Postgres::open(&alone, 0, Options::default()).unwrap();
    other.begin(&mut View::new(0)).unwrap();
    assert_eq!(other.doubt(), None);
    let mut untouched = Postgres::open(&alone, 1, Options::default()).unwrap();
    untouched.begin(&mut View::new(1)).unwrap();
    assert_eq!(untouched.doubt(), None, "a shard nobody ever wrote has nothing to lose");
}

/// The server that noticed nothing before, because it was not there, still knows the timeline.
#[test]
fn a_new_server_notices_the_new_timeline() {
    let primary = Cluster::start(&[]).unwrap();
    let url = primary.fresh_url();
    let schema = url.split("schema=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    commit(&mut Postgres::open(&url, 0, Options::default()).unwrap(), &mut View::new(0)).unwrap();
    let standby = primary.follow(&[]).unwrap();
    primary.stop("immediate").unwrap();
    standby.promote().unwrap();
    let alone = format!(
        "postgres://postgres@/postgres?host={}&schema={schema}&notify=off",
        standby.folder().display()
    );
    let mut other = Postgres::open(&alone, 0, Options::default()).unwrap();
    other.begin(&mut View::new(0)).unwrap();
    let said = other.doubt().unwrap();
    assert!(said.contains("a standby took over") && said.contains("after commit 1"), "{said}");
}
