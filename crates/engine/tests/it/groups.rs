//! How commands share a commit, and who goes first.

use armarius_core::command::Command;
use armarius_core::flow::{Calendar, Flow, Missed, On, Overlap};
use armarius_core::ids::Span;
use armarius_core::refusal::Code;
use armarius_core::reply::Reply;
use armarius_engine::{EngineError, Outcome};

use crate::fake::{Bench, DAWN, action, claim, name, report, request, submission};

pub(crate) fn code(outcome: &Outcome) -> Option<Code> {
    match outcome {
        Err(EngineError::Refused(refusal)) => Some(refusal.code),
        Ok(_) | Err(_) => None,
    }
}

#[test]
fn a_single_command_is_committed_at_once() {
    let bench = Bench::new(|_| {});
    assert_eq!(bench.call(submission("a")), Ok(Reply::Ok));
    assert_eq!(bench.call(submission("b")), Ok(Reply::Ok));
    assert_eq!(bench.log.commits(), ["a", "b"]);
}

#[test]
fn what_waits_during_a_commit_shares_the_next_one_by_urgency() {
    let bench = Bench::new(|_| {});
    let first = bench.hold_lane();
    let sent: Vec<_> =
        [submission("s1"), submission("one:7"), action("a1"), report("r1"), report("r2")]
            .map(|c| bench.send(c))
            .into();
    let claimed = bench.send(Command::Claim(claim("w", &[])));
    bench.log.open_gate();
    first.recv().unwrap().unwrap();
    for rx in sent {
        assert_eq!(rx.recv().unwrap(), Ok(Reply::Ok));
    }
    // The claim was decided before the submission that would have fed it.
    assert_eq!(claimed.recv().unwrap(), Ok(Reply::Claimed(None)));
    assert_eq!(bench.log.commits(), ["first", "r1 r2 a1 s1 one:7"]);
}

#[test]
fn replies_leave_after_the_commit() {
    let bench = Bench::new(|_| {});
    let first = bench.hold_lane();
    let sent = [submission("s1"), report("r1"), report("no:r2")].map(|c| bench.send(c));
    bench.log.open_gate();
    first.recv().unwrap().unwrap();
    sent.into_iter().for_each(|rx| drop(rx.recv().unwrap()));
    let lines = bench.log.lines();
    let at = |line: &str| lines.iter().position(|l| l == line).unwrap();
    assert!(at("committed first") < at("answered first"));
    for answered in ["answered s1", "answered r1", "answered no:r2"] {
        assert!(at("committed r1 s1") < at(answered), "{answered}");
    }
}

#[test]
fn a_stream_of_reports_starves_nobody() {
    let bench = Bench::new(|o| o.group_rows_max = 10);
    let first = bench.hold_lane();
    let reports: Vec<_> = (0..12).map(|n| bench.send(report(&format!("r{n}")))).collect();
    let others = [action("a"), submission("s")].map(|c| bench.send(c));
    bench.log.open_gate();
    first.recv().unwrap().unwrap();
    others.into_iter().for_each(|rx| drop(rx.recv().unwrap().unwrap()));
    reports.into_iter().for_each(|rx| drop(rx.recv().unwrap().unwrap()));
    // Reports up to half of the group, then the others, then what room is left.
    assert_eq!(bench.log.commits()[1], "r0 r1 r2 r3 r4 a s r5 r6 r7");
    assert_eq!(bench.log.commits()[2], "r8 r9 r10 r11");
}

#[test]
fn one_large_command_does_not_push_the_others_out() {
    let bench = Bench::new(|o| o.group_rows_max = 10);
    let first = bench.hold_lane();
    let sent = [report("rows:50"), report("r"), submission("s")].map(|c| bench.send(c));
    bench.log.open_gate();
    first.recv().unwrap().unwrap();
    sent.into_iter().for_each(|rx| drop(rx.recv().unwrap().unwrap()));
    assert!(bench.log.commits()[1].ends_with("-49 s"), "{:?}", bench.log.commits());
    assert_eq!(bench.log.commits()[2], "r");
}

#[test]
fn a_refusal_disturbs_nobody() {
    let bench = Bench::new(|_| {});
    let first = bench.hold_lane();
    let sent = ["a", "no:b", "need:c", "d"].map(|l| bench.send(submission(l)));
    bench.log.open_gate();
    first.recv().unwrap().unwrap();
    let [a, b, c, d] = sent.map(|rx| rx.recv().unwrap());
    assert_eq!((a.is_ok(), code(&b)), (true, Some(Code::WrongState)));
    assert!(c.is_ok() && d.is_ok());
    assert_eq!(bench.log.commits(), ["first", "a need:c d"]);
}

#[test]
fn nothing_changed_means_no_commit() {
    let bench = Bench::new(|_| {});
    assert_eq!(code(&bench.call(action("no:a"))), Some(Code::WrongState));
    assert!(bench.log.commits().is_empty());
}

#[test]
fn a_bulk_keeps_its_order_and_each_its_own_outcome() {
    let bench = Bench::new(|o| o.group_rows_max = 4);
    let labels = ["s0", "r1", "no:2", "a3", "s4", "s5", "s6"];
    let make: [fn(&str) -> Command; 7] =
        [submission, report, action, action, submission, submission, submission];
    let bulk = labels.iter().zip(make).map(|(l, make)| request(make(l))).collect();
    let outcomes = bench.handle.submit_many(bulk);
    assert_eq!(outcomes.len(), 7);
    for (n, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_ok(), n != 2, "{n}: {outcome:?}");
    }
    // Spread over groups of four rows, in order, the urgent ones among them too.
    assert_eq!(bench.log.commits(), ["s0 r1 a3 s4", "s5 s6"]);
    assert!(bench.handle.submit_many(Vec::new()).is_empty());
}

#[test]
fn a_full_line_is_busy_and_the_others_are_not() {
    let bench = Bench::new(|o| o.line_commands_max = 2);
    let first = bench.hold_lane();
    let sent = ["s1", "s2"].map(|l| bench.send(submission(l)));
    let refused = bench.handle.try_call(name("t"), None, submission("s3"));
    assert_eq!(code(&refused), Some(Code::Busy));
    let urgent = bench.send(report("r1"));
    let waits = bench.handle.clone();
    let waiter = std::thread::spawn(move || waits.call(name("t"), None, submission("s4")));
    bench.log.open_gate();
    first.recv().unwrap().unwrap();
    sent.into_iter().for_each(|rx| drop(rx.recv().unwrap().unwrap()));
    assert_eq!(urgent.recv().unwrap(), Ok(Reply::Ok));
    assert_eq!(waiter.join().unwrap(), Ok(Reply::Ok));
    assert_eq!(bench.log.commits()[1].split(' ').next(), Some("r1"));
}

#[test]
fn errands_run_ahead_of_submissions_with_others_between_their_pieces() {
    let bench = Bench::new(|o| o.group_rows_max = 10);
    let first = bench.hold_lane();
    let feed: Vec<_> = (0..20).map(|n| format!("s{n}")).collect();
    let sent: Vec<_> = std::iter::once("errand:12")
        .chain(feed.iter().map(String::as_str))
        .map(|label| bench.send(submission(label)))
        .collect();
    bench.log.open_gate();
    first.recv().unwrap().unwrap();
    sent.into_iter().for_each(|rx| drop(rx.recv().unwrap().unwrap()));
    bench.log.wait_for("piece1");
    let commits = bench.log.commits();
    let third: Vec<&str> = commits[2].split(' ').collect();
    assert!(third[0].starts_with("piece"), "errands first: {commits:?}");
    assert!(third.last().is_some_and(|l| l.starts_with('s')), "others between: {commits:?}");
    let pieces = commits.iter().flat_map(|c| c.split(' ')).filter(|l| l.starts_with("piece"));
    let expected: Vec<String> = (1..=12).rev().map(|n| format!("piece{n}")).collect();
    assert_eq!(pieces.collect::<Vec<_>>(), expected, "each piece once, in order");
}

#[test]
fn time_never_goes_back() {
    let bench = Bench::new(|_| {});
    for seconds in [100, 40, 101] {
        bench.log.set_wall(DAWN.plus(Span::seconds(seconds)));
        bench.call(submission("a")).unwrap();
    }
    let times = [100, 100, 101].map(|s| DAWN.plus(Span::seconds(s)));
    assert_eq!(bench.log.times(), times);
}

#[test]
fn a_calendar_that_cannot_be_read_is_refused_before_the_rules_see_it() {
    let bench = Bench::new(|_| {});
    let mut flow = Flow::manual(name("nightly"));
    flow.on = On::Schedule(Calendar {
        cron: "0 0 30 2 *".into(),
        tz: "UTC".into(),
        missed: Missed::Latest,
        overlap: Overlap::Skip,
    });
    let outcome = bench.call(Command::ApplyFlow { collection: name("c"), flow: Box::new(flow) });
    assert_eq!(code(&outcome), Some(Code::BadFlow));
}

#[test]
fn stats_count_what_was_done() {
    let bench = Bench::new(|_| {});
    bench.call(submission("a")).unwrap();
    let no = bench.call(submission("no:b"));
    assert!(no.is_err());
    let stats = bench.handle.stats();
    assert_eq!((stats.commits, stats.commands, stats.refused, stats.failed), (1, 1, 1, 0));
    // The row itself and the clock's high-water mark.
    assert_eq!((stats.rows, stats.rows_max), (2, 2));
    assert!(stats.waiting.iter().all(|(_, n)| *n <= 1));
}
