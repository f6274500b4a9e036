//! The doctor looks piece by piece and finds what a look at the whole world finds.

use std::path::{Path, PathBuf};

use armarius_sim::{Player, Tape};
use armarius_store::Sqlite;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::copy::{self, Place};
use armarius_store::postgres::{self, Postgres};
use armarius_store::sqlite::{Inspection, Pieces};

use crate::differential::complaints;
use crate::room::{folder, open_file};
use crate::soak::seeds;

/// Steps of a script here.
const STEPS: usize = 250;
/// Small enough that everything that belongs together is divided.
const SMALL: Pieces = Pieces { tasks: 3, leases: 1, events: 5 };

/// Still divided, but quicker.
const MIDDLING: Pieces = Pieces { tasks: 23, leases: 2, events: 200 };

/// A file with what a script left, its log moved into it.
fn played(seed: u64, folder: &Path) -> PathBuf {
    let path = folder.join("a.db");
    let (store, hand) = open_file(&path);
    let mut player = Player::new(store, hand, seed, 0);
    for step in &Tape::record(seed, STEPS).steps {
        drop(player.play(step).unwrap());
    }
    drop(player);
    path
}

fn sorted(mut findings: Vec<String>) -> Vec<String> {
    findings.sort();
    findings
}

fn in_pieces(path: &Path, pieces: Pieces) -> Vec<String> {
    sorted(Inspection::of_copy(path).unwrap().audit_in(pieces, &mut |_, _, _| {}))
}

fn as_a_whole(path: &Path) -> Result<Vec<String>, String> {
    let store = Sqlite::open(path, armarius_store::Options::small()).map_err(|e| e.to_string())?;
    Ok(sorted(complaints(&store.dump().map_err(|e| e.to_string())?)))
}

#[test]
fn what_scripts_leave_is_sound_in_pieces_of_any_size() {
    for seed in seeds(4) {
        let folder = folder();
        let path = played(seed, folder.path());
        for pieces in [SMALL, Pieces { tasks: 1, leases: 2, events: 1 }, Pieces::default()] {
            assert_eq!(in_pieces(&path, pieces), Vec::<String>::new(), "seed {seed}, {pieces:?}");
        }
    }
}

/// Each is one thing that is wrong, and a word of what must be said about it.
#[rustfmt::skip]
const FAULTS: &[(&str, &str)] = &[
    ("update task set state = 5 where id = (select min(id) from task where state = 4)", "row says"),
    ("update task set since = since + 1 where state = 4", "since"),
    ("update body set created_at = created_at - 1", "made at"),
    ("update body set payload = payload || ' ' where payload <> ''", "not the one it was submitted"),
    ("update task set token = 0 where state = 4", "is below granted token"),
    ("delete from task where id = (select max(id) from task)", "has events but no row"),
    ("delete from mark where true", "is None, events say"),
    ("update mark set n = n + 1", "events say"),
    ("delete from ready where task = (select max(task) from ready)", "waits at []"),
    ("update ready set ord = ord + 1", "wrong place of its line"),
    ("update ready set queue = queue + 1000", "stands in the wrong queue"),
    ("insert into ready select queue, behind, ord, task + 5000 from ready limit 1", "has no row"),
    ("insert into ready select 1, 0, 0, id from task where state = 4 limit 1", "and waits at [Queue]"),
    ("insert into timer select 0, id from task where state = 2 limit 1", "waits at"),
    ("update lease set grips = '[]', due_at = expires_at", "holds nothing"),
    ("delete from lease where rowid = (select min(rowid) from lease)", "with 0 live grips"),
    ("update task set lease = null where state = 3", "which is not its own"),
    ("insert into lease select randomblob(16), worker, actor, ttl, granted_at, expires_at, due_at,
      grips from lease limit 1", "with 2 live grips"),
    ("update task set blockers = blockers + 1 where state = 0", "blockers,"),
    ("delete from edge where task = (select max(task) from edge)", "0 edges"),
    ("update counter set value = value + 1 where name like '%bsent%'", "dependencies on tasks to come"),
    ("update queue set ready = ready + 1", "counted"),
    ("update round set done = done + 1", "counted otherwise"),
    ("update batch set open = open + 1, total = total + 1", "counted ["),
    ("update slots set used = used + 1", "taken,"),
    ("delete from slots", "taken, but has no row"),
    ("delete from body where id = (select min(id) from body)", "has no body"),
    ("update task set state = 1 where id = (select min(id) from task where state = 2)", "held is false"),
    ("delete from event where n = 2 and item = (select max(item) from event where n > 2)", "follows event"),
];

#[test]
fn every_kind_of_fault_is_found_as_a_whole_look_finds_it() {
    let mut found = vec![false; FAULTS.len()];
    // Not every script leaves everything there is to break: the next ones are asked for the rest.
    for seed in 0..24 {
        if found.iter().all(|found| *found) {
            break;
        }
        let folder = folder();
        let path = played(seed, folder.path());
        for (n, (sql, word)) in FAULTS.iter().enumerate() {
            if found[n] && seed > 0 {
                continue;
            }
            let copy = folder.path().join(format!("{n}.db"));
            armarius_store::sqlite::backup(&path, &copy).unwrap();
            let tool = rusqlite::Connection::open(&copy).unwrap();
            // What a script did not leave cannot be broken; another one did.
            let changed = tool.execute(sql, ()).unwrap();
            drop(tool);
            if changed == 0 {
                continue;
            }
            let pieces = in_pieces(&copy, MIDDLING);
            match as_a_whole(&copy) {
                Ok(whole) => assert_eq!(pieces, whole, "seed {seed}, {sql}"),
                // A start refuses it before anything is read; the pieces must say so too.
                Err(why) => assert!(!pieces.is_empty(), "seed {seed}, {sql}: {why}"),
            }
            found[n] |= pieces.iter().any(|finding| finding.contains(word));
        }
    }
    let missed: Vec<&str> =
        FAULTS.iter().zip(found).filter(|(_, found)| !found).map(|((sql, _), _)| *sql).collect();
    assert_eq!(missed, Vec::<&str>::new());
}

/// The same for a shard of a database, one on top of the other.
#[rustfmt::skip]
const SHARD_FAULTS: &[(&str, &str)] = &[
    ("update task set blockers = blockers + 1 where state = 0", "blockers,"),
    ("update tally set vals[3] = vals[3] + 1 where kind = 0", "counted"),
    ("update round set done = done + 1", "counted otherwise"),
    ("update slots set used = used + 1", "taken,"),
    ("insert into timer (shard, at, task) select shard, 0, id from task where state = 2 limit 1", "waits at"),
    ("delete from ready where task = (select max(task) from ready)", "waits at []"),
    ("update task set token = 0 where state = 4", "is below granted token"),
    ("delete from lease where id = (select id from lease order by id limit 1)", "with 0 live grips"),
    ("delete from edge where task = (select max(task) from edge)", "0 edges"),
    ("update mark set n = n + 1", "events say"),
    ("delete from body where id = (select min(id) from body)", "has no body"),
    ("delete from task where id = (select max(id) from task)", "has events but no row"),
    ("delete from event where n = 2 and item = (select max(item) from event where n > 2)", "follows event"),
];

#[test]
fn a_shard_is_looked_at_as_a_file_is() {
    let cluster = Cluster::shared();
    let mut found = vec![false; SHARD_FAULTS.len()];
    for seed in 0..8 {
        if found.iter().all(|found| *found) {
            break;
        }
        let (folder, url) = (folder(), cluster.fresh_url() + "&shards=1");
        let file = Place::Sqlite(played(seed, folder.path()));
        copy::run(&file, &Place::Postgres(url.clone()), &mut |_| {}).unwrap();
        let store = Postgres::open(&url, 0, postgres::Options::default()).unwrap();
        let schema = url.split("schema=").nth(1).unwrap().split('&').next().unwrap();
        let look = |what: &str| {
            let whole = sorted(complaints(&store.dump().unwrap()));
            let pieces = sorted(store.audit_in(MIDDLING, &mut |_, _, _| {}));
            assert_eq!(pieces, whole, "seed {seed}, {what}");
            pieces
        };
        assert_eq!(look("nothing"), Vec::<String>::new());
        for (n, (fault, word)) in SHARD_FAULTS.iter().enumerate() {
            let planted = format!(
                "set search_path to {schema};
                 with planted as ({fault} returning 1) select count(*) from planted"
            );
            cluster.sql(&planted).unwrap();
            found[n] |= look(fault).iter().any(|finding| finding.contains(word));
        }
    }
    let missed: Vec<&str> = SHARD_FAULTS
        .iter()
        .zip(found)
        .filter(|(_, found)| !found)
        .map(|((sql, _), _)| *sql)
        .collect();
    assert_eq!(missed, Vec::<&str>::new());
}
