//! Rewinding: marks become invisible to triggers, and nothing is erased.

use crate::lab::check;

const LINE: &str = "
flow ocr success=scan records=ocr: s
flow check success=ocr records=check: s
item a
event a scan ok
claim w
report w ocr.s@a ok
claim w
";

#[test]
fn from_an_event_on_the_line_runs_again() {
    check(&format!(
        "{LINE}
        report w check.s@a fail
        marks a -> check failure, ocr success, scan success
        claim w -> nothing
        rewind a from=ocr -> check ocr
        marks a -> check failure hidden, ocr success hidden, scan success
        history a item.rewound -> item.rewound
        claim w -> ocr.s@a~2
        report w ocr.s@a~2 ok
        claim w -> check.s@a~2
        report w check.s@a~2 ok
        marks a -> check success, ocr success, scan success
        claim w -> nothing"
    ))
    .check_history();
}

#[test]
fn from_the_first_failure_only_what_came_after_runs_again() {
    check(&format!(
        "{LINE}
        report w check.s@a fail
        rewind a from=failure -> check
        task check.s@a -> cancelled superseded
        claim w -> check.s@a~2
        report w check.s@a~2 ok
        rewind a from=failure -> no: wrong-state"
    ))
    .check_history();
}

#[test]
fn an_old_failure_that_was_made_good_is_no_failure() {
    check(
        "item a
        event a x bad
        event a x ok
        event a y bad
        rewind a from=failure -> y",
    );
}

#[test]
fn twice_is_once_more() {
    check(&format!(
        "{LINE}
        report w check.s@a ok
        rewind a from=check -> check
        claim w -> check.s@a~2
        report w check.s@a~2 ok
        rewind a from=check -> check
        rewind a from=check -> no: wrong-state
        claim w -> check.s@a~3
        report w check.s@a~3 ok
        claim w -> nothing"
    ))
    .check_history();
}

#[test]
fn by_number_and_beyond_it() {
    check(
        "item a
        event a x ok -> 2
        event a y ok -> 3
        event a z ok -> 4
        rewind a from=9 -> no: out-of-range
        rewind a from=3 -> y z
        rewind a from=3 -> no: wrong-state
        rewind a from=1 -> x
        rewind a from=nothing -> no: wrong-state",
    )
    .check_history();
}

#[test]
fn leased_work_whose_trigger_is_gone_loses_its_token() {
    // `check` is leased when the event it waited for is rewound.
    check(&format!(
        "{LINE}
        task check.s@a -> leased
        rewind a from=ocr -> ocr
        task check.s@a -> cancelled trigger-gone
        beat w -> stop check.s@a
        report w check.s@a ok -> stale
        marks a -> ocr success hidden, scan success
        claim v -> ocr.s@a~2
        report v ocr.s@a~2 ok
        claim v -> check.s@a~2"
    ))
    .check_history();
}

#[test]
fn leased_work_whose_trigger_still_holds_runs_on() {
    check(&format!(
        "{LINE}
        event a other ok
        rewind a from=other -> other
        task check.s@a -> leased
        report w check.s@a ok -> applied"
    ));
}

#[test]
fn an_event_from_outside_that_was_rewound_must_come_again() {
    check(
        "flow ocr success=scan records=ocr: s
        item a
        event a scan ok
        task ocr.s@a -> ready
        rewind a from=scan
        task ocr.s@a -> cancelled trigger-gone
        claim w -> nothing
        event a scan ok
        claim w -> ocr.s@a~2",
    )
    .check_history();
}

#[test]
fn what_was_imported_stands_below_what_happened_here() {
    check(
        "item a
        event a scan ok -> 2
        say a scan bad import=1 -> 3
        marks a -> scan success
        say a old bad import=2 -> 4
        say a old ok import=3 -> 5
        marks a -> old success imported, scan success
        rewind a from=scan -> scan
        marks a -> old success imported, scan success hidden
        rewind a from=old -> old
        event a old bad
        marks a -> old failure, scan success hidden",
    )
    .check_history();
}

#[test]
fn an_imported_event_is_known_by_its_item_and_id() {
    check(
        "item a
        item b
        say a scan ok import=x at=2014-01-07 -> 2
        say a scan ok import=x at=2014-01-07 -> 2 again
        say a scan bad import=x -> no: key-reused
        say b scan ok import=x -> 2",
    )
    .check_history();
}

#[test]
fn imported_events_wake_robots_and_are_as_old_as_the_item() {
    check(
        "flow r success=scan absent=ocr records=ocr: s
        flow u stale=old records=up: s
        item a
        say a scan ok import=1
        claim w step=r.s -> r.s@a
        say a old ok import=2
        task u.s@a -> cancelled trigger-gone
        touch a
        task u.s@a~2 -> ready
        marks a -> old success imported old, scan success imported old",
    )
    .check_history();
}

#[test]
fn what_is_said_is_information() {
    check(
        "item a
        say a scan ok at=2030-01-01T00:00:00Z by=somebody -> 2
        say a scan bad at=1999-01-01T00:00:00Z -> 3
        marks a -> scan failure",
    )
    .check_history();
}
