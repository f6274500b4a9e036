//! Loss and damage are never silent.

use std::path::Path;

use armarius_core::address::push_item;
use armarius_core::event::{Canon, Event, Hash, chain, digest, task_text};
use armarius_core::ids::{CollectionId, FlowId, ItemId, QueueId, TaskId};
use armarius_core::text::Text;
use armarius_engine::seam::StoreError;
use armarius_store::conformance::{Trial, sample};
use armarius_store::sqlite::Verified;
use armarius_store::{Options, Sqlite};

/// A file with three commits of two events each, on one item with one task, properly chained.
fn make(path: &Path) {
    let mut trial = Trial::new(Box::new(Sqlite::open(path, Options::small()).unwrap()));
    let (collection, flow) = (sample::collection(1, 0).1, sample::flow(1, 0).1);
    let (queue, item, mut body) =
        (sample::queue(1, 0).1, sample::item(1, 0).1, sample::body(2, 0).1);
    (body.item, body.queue, body.flow) = (ItemId(1), QueueId(1), FlowId(1));
    let mut stream = String::new();
    push_item(&mut stream, &collection.name, &item.kind, &item.key);
    let task = task_text(&flow.name, &queue.step, &body.part, body.round);
    assert_eq!(item.collection, CollectionId(1));
    trial.view.collections.put(collection.id, collection);
    trial.view.flows.put(flow.id, flow);
    trial.view.queues.put(queue.id, queue);
    trial.view.items.put(item.id, item);
    trial.view.bodies.put(body.id, body);
    let mut prev = Hash::default();
    for n in 1..=6 {
        let about = (n % 2 == 0).then_some(TaskId(2));
        let detail = Some(Text::from(format!("detail {n}")));
        let detail_digest = detail.as_deref().map(digest);
        let mut event = Event { task: about, detail, detail_digest, ..sample::event(1, n, n) };
        let canon = Canon { stream: &stream, task: if about.is_some() { &task } else { "" } };
        event.hash = chain(&event, canon, &prev);
        prev = event.hash;
        trial.view.events.push(event);
        if n % 2 == 0 {
            trial.commit();
        }
    }
}

fn everything(path: &Path) -> Result<Verified, StoreError> {
    Sqlite::open(path, Options::small())?.verify_everything()
}

#[test]
fn an_honest_history_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let verified = everything(&path).unwrap();
    assert_eq!(verified, Verified { commits: 3, events: 6, items: 1 });
    let store = Sqlite::open(&path, Options::small()).unwrap();
    assert_eq!(store.verify_pages().unwrap(), Vec::<String>::new());
}

#[test]
fn a_pruned_detail_still_verifies() {
    check("update event set detail = null where n = 3", Ok(()));
}

#[test]
fn a_changed_history_is_noticed() {
    for (change, said) in [
        ("update event set detail = 'x' where n = 3", "event, row 1, 3: its detail"),
        ("update event set at = at + 1 where n = 4", "event, row 1, 4: its hash"),
        ("update event set task = null where n = 4", "event, row 1, 4: its hash"),
        ("update event set hash = zeroblob(32) where n = 2", "commit, row 1: its seal"),
        ("update event set hash = zeroblob(9) where n = 2", "does not have 32 bytes"),
        ("delete from event where n = 2", "event 2 of item 1 is missing"),
        ("delete from event where n = 6", "event 6 of item 1 is missing"),
        ("update item set key = 'other'", "event, row 1, 1: its hash"),
        ("delete from \"commit\" where n = 2", "commit, row 3: does not follow 1"),
        ("delete from \"commit\" where n = 1", "commit, row 2: does not follow 0"),
        ("delete from \"commit\" where n = 3", "newest commit is 2, but 3 was there before"),
        ("update \"commit\" set seal = zeroblob(32) where n = 2", "does not follow"),
        ("update \"commit\" set refs = x'80' where n = 2", "is no list of events"),
        ("update event set name = 999 where n = 5", "word, row 999: is missing"),
        ("update event set \"to\" = 9 where n = 5", "to is none of the known choices: 9"),
    ] {
        check(change, Err(said));
    }
}

#[test]
fn a_damaged_row_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let tool = rusqlite::Connection::open(&path).unwrap();
    tool.execute("update body set solo = 7", ()).unwrap();
    drop(tool);
    let store = Sqlite::open(&path, Options::small()).unwrap();
    let said = store.dump().unwrap_err().to_string();
    assert_eq!(said, "store is corrupt: table body, row 2: solo is neither 0 nor 1: 7");
}

#[test]
fn a_flipped_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(8).position(|w| w == b"detail 4").unwrap();
    bytes[at + 7] = b'5';
    std::fs::write(&path, bytes).unwrap();
    let said = everything(&path).unwrap_err().to_string();
    assert!(said.contains("event, row 1, 4: its detail"), "{said}");
}

fn check(change: &str, wanted: Result<(), &str>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let tool = rusqlite::Connection::open(&path).unwrap();
    assert!(tool.execute(change, ()).unwrap() > 0, "{change}");
    drop(tool);
    match (everything(&path), wanted) {
        (Ok(_), Ok(())) => {}
        (Err(StoreError::Corrupt(text)), Err(said)) => {
            assert!(text.contains(said), "{change}: {text}");
        }
        (found, wanted) => panic!("{change}: found {found:?}, wanted {wanted:?}"),
    }
}
