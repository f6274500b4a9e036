//! The same rows, written one by one, leave the same world in every store.

use armarius_core::event;
use armarius_core::ids::{ItemId, Time};
use armarius_core::view::{Need, View};
use armarius_engine::seam::Store;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::conformance::{Stroke, everything_near, sample, scribble, tables_len};
use armarius_store::postgres;
use armarius_store::world::Derived;
use armarius_store::{Clock, Memory, Options, Postgres, Sqlite};
use proptest::prelude::*;

const ROWS: i64 = 5;

/// A commit: rows to write, how many events of each item, and whether it is abandoned.
#[derive(Clone, Debug)]
struct Page {
    strokes: Vec<Stroke>,
    events: Vec<(i64, i64)>,
    abandoned: bool,
}

fn stroke() -> impl Strategy<Value = Stroke> {
    let content = prop::option::weighted(0.7, 0..40_i64);
    (0..tables_len(), 0..ROWS, 0..ROWS, content).prop_map(|(table, owner, key, variant)| Stroke {
        table,
        owner,
        key,
        variant,
    })
}

fn page() -> impl Strategy<Value = Page> {
    let strokes = prop::collection::vec(stroke(), 0..40);
    let events = prop::collection::vec((0..ROWS, 0..20_i64), 0..10);
    (strokes, events, prop::bool::weighted(0.2)).prop_map(|(strokes, events, abandoned)| Page {
        strokes,
        events,
        abandoned,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_same_rows_leave_the_same_world(
        pages in prop::collection::vec(page(), 1..8),
        n in 1..4_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (clock, _) = Clock::hand(Time(1_000));
        let options = Options { clock: clock.clone(), ..Options::small() };
        let mut memory = Memory::with_clock(clock);
        let mut sqlite = Sqlite::open(&folder.path().join("a.db"), options).unwrap();
        for page in &pages {
            write(&mut memory, page);
            write(&mut sqlite, page);
            let needs = everything_near(ROWS, n);
            prop_assert_eq!(seen(&mut memory, &needs), seen(&mut sqlite, &needs));
        }
        let (left, right) = (memory.dump(), sqlite.dump().unwrap());
        prop_assert_eq!(left.differences(&right), Vec::<String>::new());
        prop_assert_eq!(memory.derived(), Derived::of(&left));
        prop_assert_eq!(format!("{:?}", left.into_view()), format!("{:?}", right.into_view()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn the_same_rows_leave_the_same_world_in_a_shared_database(
        pages in prop::collection::vec(page(), 1..8),
        n in 1..4_usize,
    ) {
        let (clock, _) = Clock::hand(Time(1_000));
        let options = postgres::Options { clock: clock.clone(), ..postgres::Options::default() };
        let mut memory = Memory::with_clock(clock);
        let url = Cluster::shared().fresh_url();
        let mut shared = Postgres::open(&url, 0, options.clone()).unwrap();
        let mut other = Postgres::open(&url, 0, options).unwrap();
        for (i, page) in pages.iter().enumerate() {
            write(&mut memory, page);
            write(if i % 3 == 1 { &mut other } else { &mut shared }, page);
            let needs = everything_near(ROWS, n);
            prop_assert_eq!(seen(&mut memory, &needs), seen(&mut shared, &needs));
        }
        let (left, right) = (memory.dump(), shared.dump().unwrap());
        prop_assert_eq!(left.differences(&right), Vec::<String>::new());
        prop_assert_eq!(format!("{:?}", left.into_view()), format!("{:?}", right.into_view()));
    }
}

fn write(store: &mut dyn Store, page: &Page) {
    let mut view = View::new(0);
    let now = store.begin(&mut view).unwrap();
    scribble(&mut view, &page.strokes);
    for (item, variant) in &page.events {
        let pending = view.events.iter().filter(|e| e.item.0 == *item).count() as i64;
        let need = Need::Head(ItemId(*item));
        store.load(&[need], &mut view).unwrap();
        let head = view.heads.get(&ItemId(*item)).unwrap();
        let n = head.map_or(0, |h| h.n) + pending + 1;
        view.events.push(sample::event(*item, n, *variant));
    }
    view.keep();
    if page.abandoned {
        store.abandon();
        return;
    }
    let commit = event::seal(view.head.n + 1, now, view.head.seal, &view.events);
    store.commit(&view, &commit).unwrap();
}

/// What a new view sees, as text: views have no equality of their own.
fn seen(store: &mut dyn Store, needs: &[Need]) -> String {
    let mut view = View::new(0);
    store.begin(&mut view).unwrap();
    store.load(needs, &mut view).unwrap();
    store.abandon();
    // Puts what was loaded in order.
    view.know_everything();
    format!("{view:?}")
}
