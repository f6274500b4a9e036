//! A file is kept, recognised, and refused when it is not ours to use.

use std::path::Path;

use armarius_core::view::Need;
use armarius_engine::seam::{Store, StoreError};
use armarius_store::conformance::{Stroke, Trial, sample, scribble, tables_len};
use armarius_store::{Options, Sqlite};

fn open(path: &Path) -> Result<Sqlite, StoreError> {
    Sqlite::open(path, Options::small())
}

fn trial(path: &Path) -> Trial {
    Trial::new(Box::new(open(path).unwrap()))
}

/// Writes a row of every table and an event.
fn write(trial: &mut Trial, variant: i64) {
    let stroke = |table| Stroke { table, owner: 1, key: 1, variant: Some(variant) };
    let strokes: Vec<_> = (0..tables_len()).map(stroke).collect();
    scribble(&mut trial.view, &strokes);
    let n = trial.view.head.n + 1;
    trial.view.events.push(sample::event(1, n, variant));
    trial.commit();
}

fn refusal(path: &Path) -> String {
    match open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_was_committed_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut first = trial(&path);
    write(&mut first, 3);
    drop(first);
    let store = open(&path).unwrap();
    let before = store.dump().unwrap();
    assert_eq!(before.commits.len(), 1);
    assert_eq!(before.tasks.len(), 1);
    drop(store);
    assert_eq!(open(&path).unwrap().dump().unwrap().differences(&before), Vec::<String>::new());
}

#[test]
fn a_second_opening_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let first = open(&path).unwrap();
    let said = refusal(&path);
    assert!(said.contains(&format!("in use by process {}", std::process::id())), "{said}");
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(refusal(&link).contains("in use"), "a link leads around the lock");
    drop(first);
    open(&path).unwrap();
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(open(&path).unwrap());
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute("update meta set value = '999' where key = 'schema'", ()).unwrap();
    drop(conn);
    let said = refusal(&path);
    assert!(said.contains("schema 999") && said.contains("newer program"), "{said}");
}

#[test]
fn a_file_of_an_older_schema_learns_how_its_steps_are_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch(include_str!("../../src/sqlite/schema/0001_start.sql")).unwrap();
    conn.execute_batch(
        r#"insert into meta values ('schema', '1'), ('incarnation', 'x');
           insert into flow values (1, 1, 'f', 1, 0, null);
           insert into version values (1, 1, zeroblob(32), '{"tasks": [
               {"name": "c", "command": ["true"]}, {"name": "s", "script": "true", "shell": "sh"},
               {"name": "i", "command": ["true"], "image": "busybox"},
               {"name": "o", "run": "outside"}, {"name": "b", "run": "fetch"}]}', 0);
           insert into queue select 0, 1, 1, 'gone', '', 0, 0, 0, 0, 0, 0, 0;
           insert into queue select row_number() over (), 1, 1, value ->> 'name', '',
               0, 0, 0, 0, 0, 0, 0 from version, json_each(definition, '$.tasks');"#,
    )
    .unwrap();
    drop(conn);
    drop(open(&path));
    let conn = rusqlite::Connection::open(&path).unwrap();
    let ways = conn.query_row("select group_concat(step || way) from queue", (), |row| row.get(0));
    let ways: String = ways.unwrap();
    assert_eq!(ways, "gone3,c0,s1,i2,o3,b4");
}

#[test]
fn the_database_of_another_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute("create table mine (x)", ()).unwrap();
    drop(conn);
    assert!(refusal(&path).contains("another program"));
    std::fs::write(folder.path().join("b.db"), "no database at all, only some text".repeat(99))
        .unwrap();
    assert!(matches!(open(&folder.path().join("b.db")), Err(StoreError::Corrupt(_))));
}

#[test]
fn a_place_that_does_not_exist_is_named() {
    let said = refusal(Path::new("/no/such/folder/a.db"));
    assert!(said.contains("/no/such/folder/a.db"), "{said}");
}

#[test]
fn an_older_copy_in_its_place_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("a.db"), folder.path().join("copy.db"));
    let mut first = trial(&path);
    write(&mut first, 1);
    drop(first);
    std::fs::copy(&path, &copy).unwrap();
    let mut second = trial(&path);
    write(&mut second, 2);
    drop(second);
    std::fs::copy(&copy, &path).unwrap();
    let said = refusal(&path);
    assert!(said.contains("newest commit is 1, but 2 was there before"), "{said}");
    std::fs::remove_file(folder.path().join("a.db.lock")).unwrap();
    assert_eq!(open(&path).unwrap().dump().unwrap().commits.len(), 1);
}

#[test]
fn a_name_first_used_by_an_abandoned_transaction_is_kept_when_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut trial = trial(&path);
    let (key, mark) = sample::mark(1, 1);
    // The row is written, the name gets a number, and the commit fails behind it.
    trial.view.marks.put(key.clone(), mark.clone());
    trial.view.events.push(sample::event(1, 1, 1));
    trial.view.events.push(sample::event(1, 1, 1));
    assert!(trial.try_commit().is_err());
    drop(trial);
    let mut trial = self::trial(&path);
    trial.load(&[Need::Mark(key.clone())]);
    assert_eq!(trial.view.marks.get(&key), Ok(None));
    trial.view.marks.put(key.clone(), mark.clone());
    trial.commit();
    trial.load(&[Need::Mark(key.clone())]);
    assert_eq!(trial.view.marks.get(&key), Ok(Some(&mark)));
}

#[test]
fn the_page_size_is_chosen_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    for (asked, got) in [(4_096, 4_096), (8_192, 4_096)] {
        let store = Sqlite::open(&path, Options { page_bytes: asked, ..Options::small() }).unwrap();
        assert_eq!(store.describe().page_bytes, got);
    }
}

#[test]
fn any_tool_reads_the_file_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut trial = trial(&path);
    let (queue, flow) = (sample::queue(2, 0).1, sample::flow(0, 0).1);
    trial.view.queues.put(queue.id, queue);
    trial.view.flows.put(flow.id, flow);
    write(&mut trial, 2);
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let tool = rusqlite::Connection::open_with_flags(&path, flags).unwrap();
    for count in
        ["select count(*) from items", "select count(*) from tasks", "select count(*) from events"]
    {
        let rows: i64 = tool.query_row(count, (), |row| row.get(0)).unwrap();
        assert_eq!(rows, 1, "{count}");
    }
    let check: String = tool.query_row("pragma integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}
