//! Claims that wait for work.

use std::sync::mpsc;
use std::time::Duration;

use armarius_core::ids::LeaseId;
use armarius_core::reply::Reply;
use armarius_engine::seam::StoreError;
use armarius_engine::{Outcome, Seat};

use crate::fake::{Bench, claim, name, submission};

const LONG: Duration = Duration::from_secs(3_600);

/// Parks a claim and waits until it is parked.
fn park(bench: &Bench, worker: &str, labels: &[&str]) -> (mpsc::Receiver<Outcome>, Seat) {
    let before = bench.handle.stats().parked;
    let (tx, rx) = mpsc::channel();
    let reply = Box::new(move |o| drop(tx.send(o)));
    let seat = bench.handle.send_claim(name("t"), claim(worker, labels), LONG, reply);
    // A refused action changes nothing; once it is answered, the claim before it is parked.
    assert!(bench.call(crate::fake::action("no:wait")).is_err());
    assert_eq!(bench.handle.stats().parked, before + 1);
    (rx, seat)
}

fn lease(outcome: Outcome) -> Option<u128> {
    match outcome {
        Ok(Reply::Claimed(granted)) => granted.map(|g| g.lease).map(|LeaseId(n)| n),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_waiting_claim_is_woken_by_the_commit_that_feeds_it() {
    let bench = Bench::new(|_| {});
    let (rx, _seat) = park(&bench, "w", &[]);
    bench.call(submission("one:5")).unwrap();
    assert_eq!(lease(rx.recv().unwrap()), Some(5));
    assert_eq!(bench.log.commits(), ["one:5", "w<5"]);
}

#[test]
fn the_blocking_form_gives_the_grant() {
    let bench = Bench::new(|_| {});
    let handle = bench.handle.clone();
    let waiter = std::thread::spawn(move || handle.claim_waiting(name("t"), claim("w", &[]), LONG));
    bench.call(submission("one:5")).unwrap();
    assert_eq!(waiter.join().unwrap().unwrap().unwrap().lease, LeaseId(5));
}

#[test]
fn those_who_wait_are_served_in_order_and_by_what_they_can() {
    let bench = Bench::new(|_| {});
    let (plain, _seat1) = park(&bench, "plain", &[]);
    let (gpu, _seat2) = park(&bench, "gpu", &["gpu"]);
    let (late, _seat3) = park(&bench, "late", &[]);
    bench.call(submission("two:8")).unwrap();
    assert_eq!(lease(gpu.recv().unwrap()), Some(8));
    bench.call(submission("one:1")).unwrap();
    assert_eq!(lease(plain.recv().unwrap()), Some(1));
    bench.call(submission("one:2")).unwrap();
    assert_eq!(lease(late.recv().unwrap()), Some(2));
}

#[test]
fn a_waiting_claim_goes_before_one_that_comes_later() {
    let bench = Bench::new(|_| {});
    let (old, _seat1) = park(&bench, "old", &[]);
    bench.log.close_gate();
    let fed = bench.send(submission("one:1"));
    bench.log.wait_for("commit one:1");
    let (tx, new) = mpsc::channel();
    let reply = Box::new(move |o| drop(tx.send(o)));
    let _seat2 = bench.handle.send_claim(name("t"), claim("new", &[]), LONG, reply);
    bench.log.open_gate();
    fed.recv().unwrap().unwrap();
    assert_eq!(lease(old.recv().unwrap()), Some(1));
    assert!(new.try_recv().is_err());
}

#[test]
fn a_thousand_waiting_claims_cost_nothing_and_one_task_wakes_one() {
    let bench = Bench::new(|_| {});
    let parked: Vec<_> = (0..1_000).map(|n| park(&bench, &format!("w{n}"), &[])).collect();
    let begins = bench.log.begins();
    bench.call(submission("one:1")).unwrap();
    assert_eq!(lease(parked[0].0.recv().unwrap()), Some(1));
    bench.call(crate::fake::action("no:wait")).unwrap_err();
    assert_eq!(bench.handle.stats().parked, 999);
    // The submission, the turn of the woken claim, and the action: nobody polled.
    assert!(bench.log.begins() <= begins + 4, "{}", bench.log.begins() - begins);
    assert!(parked[1..].iter().all(|(rx, _)| rx.try_recv().is_err()));
}

#[test]
fn many_tasks_wake_as_many_claims_in_one_group() {
    let bench = Bench::new(|_| {});
    let parked: Vec<_> = (0..5).map(|n| park(&bench, &format!("w{n}"), &[])).collect();
    let bulk = (1..=3).map(|n| crate::fake::request(submission(&format!("one:{n}")))).collect();
    assert!(bench.handle.submit_many(bulk).iter().all(Result::is_ok));
    for (n, (rx, _)) in parked[..3].iter().enumerate() {
        assert_eq!(lease(rx.recv().unwrap()), Some(n as u128 + 1));
    }
    assert_eq!(bench.log.commits()[1], "w0<1 w1<2 w2<3");
    assert!(parked[3..].iter().all(|(rx, _)| rx.try_recv().is_err()));
}

#[test]
fn at_its_deadline_a_claim_gets_nothing() {
    let bench = Bench::new(|_| {});
    let (rx, _seat) = park(&bench, "w", &[]);
    bench.clock.advance(LONG - Duration::from_secs(1));
    bench.call(crate::fake::action("no:wait")).unwrap_err();
    assert!(rx.try_recv().is_err());
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(lease(rx.recv().unwrap()), None);
}

#[test]
fn whoever_left_is_passed_over() {
    let bench = Bench::new(|_| {});
    let (gone, seat) = park(&bench, "gone", &[]);
    let (here, _seat) = park(&bench, "here", &[]);
    drop(seat);
    bench.call(submission("one:1")).unwrap();
    assert_eq!(lease(here.recv().unwrap()), Some(1));
    assert!(gone.try_recv().is_err());
}

#[test]
fn a_failed_commit_loses_no_waiting_claim() {
    let bench = Bench::new(|_| {});
    let (rx, _seat) = park(&bench, "w", &[]);
    bench.log.next_commits([Some(StoreError::Unavailable("on demand".to_owned()))]);
    // The group fails, the submission alone succeeds, and the claim is tried after it.
    bench.call(submission("one:1")).unwrap();
    assert_eq!(lease(rx.recv().unwrap()), Some(1));
}

#[test]
fn no_waiting_claim_is_granted_anything_while_space_is_short() {
    let bench = Bench::new(|_| {});
    let (rx, _seat) = park(&bench, "w", &[]);
    bench.log.close_gate();
    let fed = bench.send(submission("one:1"));
    bench.log.wait_for("commit one:1");
    bench.log.set_short(true);
    bench.log.open_gate();
    fed.recv().unwrap().unwrap();
    bench.call(crate::fake::report("r")).unwrap();
    assert!(rx.try_recv().is_err());
    bench.log.set_short(false);
    bench.call(crate::fake::report("r")).unwrap();
    assert_eq!(lease(rx.recv().unwrap()), Some(1));
}
