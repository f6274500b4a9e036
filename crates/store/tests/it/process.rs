//! One process per file, however the other one ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use armarius_engine::seam::Store;
use armarius_store::conformance::{Trial, sample};
use armarius_store::{Options, Sqlite};

const PLACE: &str = "ARMARIUS_TEST_STORE";
const HOLDING: &str = "the child holds the file";

/// The child: opens the file, commits, says so, and waits to be killed.
#[test]
fn child() {
    let Ok(path) = std::env::var(PLACE) else { return };
    let store = Sqlite::open(Path::new(&path), Options::small()).unwrap();
    let mut trial = Trial::new(Box::new(store));
    for n in 1..=3 {
        trial.view.events.push(sample::event(1, n, n));
        trial.commit();
    }
    // One more that is never committed.
    trial.view.events.push(sample::event(1, 4, 4));
    println!("\n{HOLDING}");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_second_process_is_refused_until_the_first_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut child = spawn(&path);
    let said = Sqlite::open(&path, Options::small()).unwrap_err().to_string();
    assert!(said.contains(&format!("in use by process {}", child.id())), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
    let store = Sqlite::open(&path, Options::small()).unwrap();
    let world = store.dump().unwrap();
    assert_eq!((world.commits.len(), world.events.len()), (3, 3), "what was acknowledged");
    assert_eq!(store.describe().kind, "sqlite");
}

fn spawn(path: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::child", "--nocapture"])
        .env(PLACE, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines {
        if line.unwrap() == HOLDING {
            return child;
        }
    }
    panic!("the child ended early: {:?}", child.wait());
}
