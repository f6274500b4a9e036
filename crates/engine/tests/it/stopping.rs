//! A clean end answers everybody.

use std::sync::mpsc;
use std::time::Duration;

use armarius_core::reply::Reply;
use armarius_engine::{EngineError, Stage};

use crate::fake::{Bench, claim, name, report, submission};

#[test]
fn stopping_answers_what_is_waiting_and_takes_nothing_new() {
    let bench = Bench::new(|_| {});
    let (tx, parked) = mpsc::channel();
    let reply = Box::new(move |o| drop(tx.send(o)));
    let hour = Duration::from_secs(3_600);
    let _seat = bench.handle.send_claim(name("t"), claim("w", &[]), hour, reply);
    let first = bench.hold_lane();
    let sent = [submission("s"), report("r")].map(|c| bench.send(c));
    let Bench { engine, handle, log, .. } = bench;
    let stopper = std::thread::spawn(move || engine.stop());
    while handle.stage() == Stage::Running {
        std::thread::yield_now();
    }
    assert_eq!(handle.call(name("t"), None, report("late")), Err(EngineError::Stopped));
    log.open_gate();
    assert_eq!(stopper.join().unwrap(), Ok(()));
    assert_eq!(first.recv().unwrap(), Ok(Reply::Ok));
    for rx in sent {
        assert_eq!(rx.recv().unwrap(), Ok(Reply::Ok));
    }
    assert_eq!(parked.recv().unwrap(), Ok(Reply::Claimed(None)));
    assert_eq!(log.commits(), ["first", "r s"]);
    assert_eq!(handle.stage(), Stage::Stopped);
    assert_eq!(handle.call(name("t"), None, report("late")), Err(EngineError::Stopped));
    assert_eq!(handle.question(|_| Ok(())), Err(EngineError::Stopped));
}

#[test]
fn dropping_an_engine_stops_it() {
    let bench = Bench::new(|_| {});
    let Bench { engine, handle, .. } = bench;
    drop(engine);
    assert_eq!(handle.stage(), Stage::Stopped);
}
