//! A commit is under way while the next group is decided.

use std::time::Duration;

use armarius_core::command::Command;
use armarius_core::reply::Reply;
use armarius_engine::exit::DISK;
use armarius_engine::seam::StoreError;
use armarius_engine::{EngineError, Stage};

use crate::fake::{Bench, action, claim, name, report, submission};

#[test]
fn the_next_group_is_decided_before_the_commit_has_ended() {
    let bench = Bench::flying();
    let first = bench.hold_lane();
    let second = bench.send(submission("need:b"));
    // Only a decision asks for it, and the commit of `first` is still waiting at the gate.
    bench.log.wait_for("looked [Destination(\"need:b\")]");
    assert!(first.try_recv().is_err());
    bench.log.open_gate();
    assert_eq!(first.recv().unwrap(), Ok(Reply::Ok));
    assert_eq!(second.recv().unwrap(), Ok(Reply::Ok));
    assert_eq!(bench.log.commits(), ["up", "first", "need:b"]);
}

#[test]
fn what_was_decided_on_top_of_a_failed_commit_is_run_again_behind_it() {
    let bench = Bench::flying();
    let first = bench.hold_lane();
    let second = [submission("need:b"), submission("no:c")].map(|c| bench.send(c));
    bench.log.wait_for("looked [Destination(\"need:b\")]");
    bench.log.next_commits([Some(StoreError::Unavailable("on demand".to_owned()))]);
    bench.log.open_gate();
    assert_eq!(first.recv().unwrap(), Ok(Reply::Ok));
    let [b, c] = second.map(|rx| rx.recv().unwrap());
    assert_eq!(b, Ok(Reply::Ok));
    assert!(matches!(c, Err(EngineError::Refused(_))), "{c:?}");
    assert_eq!(bench.log.commits(), ["up", "first", "need:b"]);
    assert_eq!(bench.handle.stats().fallbacks, 1);
}

#[test]
fn a_disk_lost_under_way_stops_everyone() {
    let bench = Bench::flying();
    let first = bench.hold_lane();
    let second = bench.send(submission("need:b"));
    bench.log.wait_for("looked [Destination(\"need:b\")]");
    bench.log.next_commits([Some(StoreError::Disk("on demand".to_owned()))]);
    bench.log.open_gate();
    assert_eq!(first.recv().unwrap(), Err(EngineError::Stopped));
    assert_eq!(second.recv().unwrap(), Err(EngineError::Stopped));
    assert!(matches!(bench.handle.stage(), Stage::Failed(fatal) if fatal.code == DISK));
    assert_eq!(bench.log.commits(), ["up"]);
}

#[test]
fn a_store_that_panics_under_way_stops_the_engine() {
    let bench = Bench::flying();
    let outcome = bench.call(submission("burst"));
    assert_eq!(outcome, Err(EngineError::Stopped));
    assert!(matches!(bench.handle.stage(), Stage::Failed(_)));
}

#[test]
fn stopping_waits_for_what_is_under_way() {
    let bench = Bench::flying();
    let first = bench.hold_lane();
    let second = bench.send(submission("b"));
    let log = std::sync::Arc::clone(&bench.log);
    std::thread::scope(|scope| {
        let stop = scope.spawn(move || bench.engine.stop());
        log.open_gate();
        stop.join().unwrap().unwrap();
    });
    assert_eq!(first.recv().unwrap(), Ok(Reply::Ok));
    assert_eq!(second.recv().unwrap(), Ok(Reply::Ok));
}

#[test]
fn a_waiting_claim_is_fed_by_a_commit_under_way() {
    let bench = Bench::flying();
    let (tx, rx) = std::sync::mpsc::channel();
    let wait = Duration::from_secs(1_000);
    let reply = Box::new(move |outcome| tx.send(outcome).unwrap());
    let _seat = bench.handle.send_claim(name("w"), claim("w", &[]), wait, reply);
    assert_eq!(bench.call(action("one:7")), Ok(Reply::Ok));
    assert!(matches!(rx.recv().unwrap(), Ok(Reply::Claimed(Some(_)))));
    assert_eq!(bench.log.commits(), ["up", "one:7", "w<7"]);
}

#[test]
fn half_of_what_waits_is_decided_while_the_other_half_is_written() {
    let bench = Bench::flying();
    let first = bench.hold_lane();
    let sent: Vec<_> = (0..9).map(|n| bench.send(report(&format!("r{n}")))).collect();
    bench.log.open_gate();
    first.recv().unwrap().unwrap();
    sent.into_iter().for_each(|rx| drop(rx.recv().unwrap().unwrap()));
    let commits = bench.log.commits();
    assert!(commits.len() > 3, "not all in one: {commits:?}");
    assert_eq!(commits[1..].join(" "), "first r0 r1 r2 r3 r4 r5 r6 r7 r8");
}

#[test]
fn a_claim_sees_what_the_commit_under_way_brings() {
    let bench = Bench::flying();
    bench.log.close_gate();
    let feeding = bench.send(action("one:7"));
    bench.log.wait_for("commit one:7");
    let claimed = bench.send(Command::Claim(claim("w", &[])));
    bench.log.open_gate();
    assert_eq!(feeding.recv().unwrap(), Ok(Reply::Ok));
    assert!(matches!(claimed.recv().unwrap(), Ok(Reply::Claimed(Some(_)))));
    assert_eq!(bench.log.commits(), ["up", "one:7", "w<7"]);
}
