//! What happens when the store or the rules fail.

use std::sync::mpsc;

use armarius_core::command::Command;
use armarius_core::refusal::Code;
use armarius_core::reply::Reply;
use armarius_engine::exit::{CORRUPT, DISK, UNUSABLE};
use armarius_engine::seam::StoreError;
use armarius_engine::{EngineError, Outcome, Stage};

use crate::fake::{Bench, action, claim, report, request, submission};
use crate::groups::code;

fn unavailable() -> StoreError {
    StoreError::Unavailable("on demand".to_owned())
}

fn full() -> StoreError {
    StoreError::Full("on demand".to_owned())
}

/// Runs commands as one group whose commits answer with `faults`.
fn run<const N: usize>(
    bench: &Bench,
    commands: [Command; N],
    faults: Vec<Option<StoreError>>,
) -> [Outcome; N] {
    let first = bench.hold_lane();
    let sent = commands.map(|c| bench.send(c));
    bench.log.next_commits(std::iter::once(None).chain(faults));
    bench.log.open_gate();
    first.recv().unwrap().unwrap();
    sent.map(|rx| rx.recv().unwrap())
}

#[test]
fn a_failed_commit_falls_back_to_one_by_one() {
    let bench = Bench::new(|_| {});
    let commands = [submission("a"), submission("no:b"), report("c")];
    let [a, b, c] = run(&bench, commands, vec![Some(unavailable())]);
    assert_eq!((a, c), (Ok(Reply::Ok), Ok(Reply::Ok)));
    assert_eq!(code(&b), Some(Code::WrongState));
    assert_eq!(bench.log.commits(), ["first", "c", "a"]);
    assert_eq!(bench.handle.stats().fallbacks, 1);
}

#[test]
fn only_the_command_that_cannot_be_committed_is_told() {
    let bench = Bench::new(|_| {});
    bench.log.poison("bad");
    let [a, bad, c] = run(&bench, ["a", "bad", "c"].map(submission), vec![]);
    assert_eq!((a, c), (Ok(Reply::Ok), Ok(Reply::Ok)));
    assert_eq!(bad, Err(EngineError::Unavailable("poisoned".to_owned())));
    assert_eq!(bench.log.commits(), ["first", "a", "c"]);
}

#[test]
fn rules_that_panic_break_one_command_only() {
    let bench = Bench::new(|_| {});
    let [a, broken, c] = run(&bench, ["a", "broken:b", "c"].map(submission), vec![]);
    assert_eq!((a, c), (Ok(Reply::Ok), Ok(Reply::Ok)));
    assert_eq!(broken, Err(EngineError::Internal("the rules broke".to_owned())));
    assert_eq!(bench.log.commits(), ["first", "a", "c"]);
}

#[test]
fn a_reply_that_panics_hurts_nobody_else() {
    let bench = Bench::new(|_| {});
    bench.handle.send(request(action("a")), Box::new(|_| panic!("the caller broke")));
    assert_eq!(bench.call(action("b")), Ok(Reply::Ok));
}

#[test]
fn a_need_that_is_never_answered_ends() {
    let bench = Bench::new(|_| {});
    let [a, lost] = run(&bench, ["a", "lost:b"].map(submission), vec![]);
    assert_eq!(a, Ok(Reply::Ok));
    assert!(matches!(lost, Err(EngineError::Internal(_))), "{lost:?}");
    assert_eq!(bench.call(action("c")), Ok(Reply::Ok));
}

#[test]
fn a_full_store_refuses_new_work_and_tries_reports_once_more() {
    let bench = Bench::new(|_| {});
    // The group, then the report alone; the third time the store has given up its ballast.
    let faults = vec![Some(full()), Some(full()), None];
    let [s, r] = run(&bench, [submission("s"), report("r")], faults);
    assert_eq!(code(&s), Some(Code::StoreFull));
    assert_eq!(r, Ok(Reply::Ok));
    assert_eq!(bench.log.commits(), ["first", "r"]);
}

#[test]
fn a_report_that_finds_no_room_at_all_is_told() {
    let bench = Bench::new(|_| {});
    let faults = vec![Some(full()), Some(full()), Some(full())];
    let [r] = run(&bench, [report("r")], faults);
    assert_eq!(r, Err(EngineError::Full("on demand".to_owned())));
    assert_eq!(bench.call(report("r")), Ok(Reply::Ok));
}

#[test]
fn a_store_short_of_space_lets_running_work_end() {
    let bench = Bench::new(|_| {});
    bench.log.set_short(true);
    assert_eq!(code(&bench.call(submission("s"))), Some(Code::StoreFull));
    assert_eq!(code(&bench.call(Command::Claim(claim("w", &[])))), Some(Code::StoreFull));
    assert_eq!(bench.call(report("r")), Ok(Reply::Ok));
    assert_eq!(bench.call(action("a")), Ok(Reply::Ok));
    bench.log.set_short(false);
    assert_eq!(bench.call(submission("s")), Ok(Reply::Ok));
}

#[test]
fn a_store_out_of_reach_is_said_and_comes_back() {
    let bench = Bench::new(|_| {});
    bench.call(action("first")).unwrap();
    // The lane is at rest now: the next transaction is the command's.
    bench.log.fail_next_begin(unavailable());
    let away = bench.call(submission("a"));
    assert_eq!(away, Err(EngineError::Unavailable("on demand".to_owned())));
    assert_eq!(bench.call(submission("a")), Ok(Reply::Ok));
}

#[test]
fn a_lost_disk_stops_the_lane_for_good() {
    type Make = fn(String) -> StoreError;
    let ends: [(Make, u8); 3] = [
        (StoreError::Disk, DISK),
        (StoreError::Corrupt, CORRUPT),
        (StoreError::Unusable, UNUSABLE),
    ];
    for (error, exit_code) in ends {
        let (tell, told) = mpsc::channel();
        let bench = Bench::new(|o| {
            o.on_fatal = Some(Box::new(move |fatal| tell.send(fatal.clone()).unwrap()));
        });
        let first = bench.hold_lane();
        let sent = [submission("a"), report("b")].map(|c| bench.send(c));
        bench.log.next_commits([Some(error("on demand".to_owned()))]);
        bench.log.open_gate();
        assert_eq!(first.recv().unwrap(), Err(EngineError::Stopped));
        assert!(matches!(bench.handle.stage(), Stage::Failed(f) if f.code == exit_code));
        for rx in sent {
            assert_eq!(rx.recv().unwrap(), Err(EngineError::Stopped));
        }
        assert_eq!(told.recv().unwrap().code, exit_code);
        assert_eq!(bench.call(report("c")), Err(EngineError::Stopped));
        assert!(bench.log.commits().is_empty(), "nothing after the failing commit");
        assert_eq!(bench.engine.stop().unwrap_err().code, exit_code);
    }
}

#[test]
fn a_commit_of_unknown_outcome_is_not_tried_again() {
    let bench = Bench::new(|_| {});
    let commands = [submission("a"), submission("no:b"), report("c")];
    let lost = StoreError::Unknown("on demand".to_owned());
    let [a, b, c] = run(&bench, commands, vec![Some(lost)]);
    let unknown = Err(EngineError::OutcomeUnknown("on demand".to_owned()));
    assert_eq!((&a, &c), (&unknown, &unknown));
    assert_eq!(code(&b), Some(Code::WrongState), "a refusal holds either way");
    assert_eq!(bench.log.commits(), ["first"]);
    assert_eq!(bench.handle.stats().fallbacks, 0);
    bench.call(submission("later")).unwrap();
}

#[test]
fn what_is_in_doubt_raises_the_epoch_before_anything_else_and_is_said() {
    let (tx, said) = mpsc::channel();
    let bench = Bench::new(|options| {
        options.on_word = std::sync::Arc::new(move |word: &str| drop(tx.send(word.to_owned())));
    });
    bench.call(submission("before")).unwrap();
    bench.log.set_doubt("commits 7 to 9 are gone");
    // The first try fails as a whole, and the command alone still comes after the epoch.
    bench.log.next_commits([Some(unavailable())]);
    bench.call(submission("after")).unwrap();
    bench.call(submission("later")).unwrap();
    assert_eq!(bench.log.commits(), ["before", "RaiseEpoch after", "later"]);
    let word = said.recv().unwrap();
    assert_eq!(word, "shard 0: commits 7 to 9 are gone; the epoch of tokens is raised");
}
