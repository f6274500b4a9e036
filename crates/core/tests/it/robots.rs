//! Standing queries.

use armarius_core::decide::{Standing, query_holds};
use armarius_core::event::Outcome;
use armarius_core::flow::Query;
use armarius_core::ids::{CollectionId, ItemId, Time};
use armarius_core::rows::Item;
use armarius_core::text::Name;

use crate::lab::check;

const ROBOT: &str = "flow r success=scan records=ocr: s";

#[test]
fn the_truth_table_of_a_query() {
    let item = Item {
        id: ItemId(1),
        collection: CollectionId(1),
        kind: Name::trusted("k"),
        key: "a".into(),
        priority: 0,
        first_seen_at: Time(0),
        ordinal: None,
        types: Vec::new(),
        attributes: "".into(),
        changed_seq: 1,
        deleted: false,
    };
    let at = |outcome, current| Some(Standing { outcome, current });
    let stands = [
        ("none", None),
        ("ok new", at(Outcome::Success, true)),
        ("ok old", at(Outcome::Success, false)),
        ("bad new", at(Outcome::Failure, true)),
        ("bad old", at(Outcome::Failure, false)),
    ];
    let e = || vec![Name::trusted("e")];
    let queries = [
        ("success", Query { success: e(), ..Query::default() }, "ok new, ok old"),
        ("failed", Query { failed: e(), ..Query::default() }, "bad new, bad old"),
        ("absent", Query { absent: e(), ..Query::default() }, "none"),
        ("stale", Query { stale: e(), ..Query::default() }, "none, ok old, bad old"),
        ("all", Query::default(), "none, ok new, ok old, bad new, bad old"),
    ];
    for (name, query, wanted) in queries {
        let held = stands.iter().filter(|(_, s)| query_holds(&query, &item, |_| *s));
        let held: Vec<&str> = held.map(|(name, _)| *name).collect();
        assert_eq!(held.join(", "), wanted, "{name}");
    }
}

#[test]
fn a_robot_wakes_when_its_event_has_happened() {
    check(&format!(
        "{ROBOT}
        item a
        claim w -> nothing
        event a scan ok
        claim w -> r.s@a
        report w r.s@a ok
        claim w -> nothing
        history a -> item.put scan task.ready task.leased ocr"
    ))
    .check_history();
}

#[test]
fn recording_alone_wakes_nobody_for_ever() {
    check(&format!(
        "{ROBOT}
        item a
        event a scan ok
        claim w
        report w r.s@a fail
        claim w -> nothing
        event a other ok
        claim w -> nothing
        retry r.s@a
        claim w -> r.s@a"
    ));
}

#[test]
fn content_changed_while_a_robot_runs_makes_its_result_stale() {
    check(&format!(
        "{ROBOT}
        item a
        event a scan ok
        claim w -> r.s@a
        touch a
        report w r.s@a ok -> applied
        claim w -> r.s@a~2
        report w r.s@a~2 ok
        claim w -> nothing"
    ))
    .check_history();
}

#[test]
fn a_trigger_that_is_gone_withdraws_what_nobody_took() {
    check(&format!(
        "{ROBOT}
        item a
        event a scan ok
        task r.s@a -> ready
        event a scan bad
        task r.s@a -> cancelled trigger-gone
        event a scan ok
        claim w -> r.s@a~2
        event a scan bad
        task r.s@a~2 -> leased
        report w r.s@a~2 ok -> applied"
    ))
    .check_history();
}

#[test]
fn a_robot_registered_late_is_asked_about_every_item() {
    let mut script = String::new();
    for i in 0..500 {
        script += &format!("item i{i}\n");
        if i % 100 == 0 {
            script += &format!("event i{i} scan ok\n");
        }
    }
    let mut lab = crate::lab::Lab::new();
    // Only the registration is decided on slices, too: it must not ask item by item.
    lab.slices = false;
    lab.run(&script);
    lab.slices = true;
    lab.run(ROBOT);
    lab.errands();
    lab.run("counts s -> 5 ready");
    lab.run("remove-flow r\nerrands\ncounts s -> 5 cancelled");
    lab.run("flow all success= records=all: t\nerrands\ncounts t -> 500 ready");
    lab.run("flow all success=scan records=all: t\nerrands\ncounts t -> 5 ready, 495 cancelled");
    lab.check_history();
}

#[test]
fn work_that_changes_its_item_does_not_wake_itself() {
    check(
        "flow r success=scan records=ocr touches: s
        item a
        event a scan ok
        claim w
        report w r.s@a ok
        claim w -> nothing
        touch a
        claim w -> r.s@a~2",
    );
}

#[test]
fn a_change_by_somebody_else_makes_touching_work_stale_too() {
    check(
        "flow r success=scan records=ocr touches: s
        item a
        event a scan ok
        claim w -> r.s@a
        touch a
        report w r.s@a ok
        claim w -> r.s@a~2",
    );
}

#[test]
fn several_robots_work_on_one_item_at_once() {
    check(
        "flow r success=scan records=ocr: s
        flow t success=scan records=tif: s
        flow u success=ocr,tif records=end: s
        item a
        event a scan ok
        claim v max=1 -> r.s@a
        claim w max=1 -> t.s@a
        claim x -> nothing
        report v r.s@a ok
        claim x -> nothing
        report w t.s@a ok
        claim x -> u.s@a",
    )
    .check_history();
}

#[test]
fn one_robot_has_one_round_per_item() {
    check(&format!(
        "{ROBOT}
        item a
        event a scan ok
        claim v -> r.s@a
        event a scan ok
        touch a
        claim w -> nothing
        report v r.s@a ok
        claim w -> r.s@a~2"
    ));
}

#[test]
fn a_retry_by_a_person_is_not_withdrawn_by_unrelated_news() {
    check(&format!(
        "{ROBOT}
        flow n failed=ocr records=told: s
        item a
        event a scan ok
        claim w step=r.s
        report w r.s@a fail
        marks a -> ocr failure, scan success
        task n.s@a -> ready
        retry r.s@a
        marks a -> ocr failure hidden, scan success
        task n.s@a -> cancelled trigger-gone
        event a scan ok
        event a other ok
        claim w -> r.s@a
        report w r.s@a ok
        marks a -> ocr success, other success, scan success"
    ))
    .check_history();
}

#[test]
fn work_that_is_outlived_is_not_tried_again() {
    check(&format!(
        "{ROBOT}
        item a
        event a scan ok
        claim w
        report w r.s@a fail
        event a scan bad
        retry r.s@a -> no: wrong-state
        event a scan ok
        touch a
        task r.s@a -> cancelled superseded
        task r.s@a~2 -> ready
        retry r.s@a -> no: wrong-state"
    ))
    .check_history();
}

#[test]
fn a_round_somebody_asked_for_needs_no_trigger() {
    check(&format!(
        "{ROBOT}
        item a
        submit a r
        event a other ok
        event a scan bad
        claim w -> r.s@a
        report w r.s@a ok
        marks a -> ocr success, other success, scan failure"
    ));
}

#[test]
fn steps_of_a_round_whose_trigger_goes_record_nothing() {
    check(
        "flow r success=scan records=ocr: a ; b depends=a
        item i
        event i scan ok
        claim w -> r.a@i
        event i scan bad
        task r.b@i -> cancelled trigger-gone
        report w r.a@i ok -> applied
        marks i -> scan failure
        event i scan ok
        claim w -> r.a@i~2
        report w r.a@i~2 ok
        claim w -> r.b@i~2
        report w r.b@i~2 ok
        marks i -> ocr success, scan success",
    )
    .check_history();
}

#[test]
fn a_failed_step_does_not_keep_its_item_from_the_next_round() {
    check(
        "flow r success=scan records=ocr: a ; b depends=a
        item i
        event i scan ok
        claim w -> r.a@i
        report w r.a@i fail
        task r.b@i -> waiting
        touch i
        claim w -> r.a@i~2
        task r.a@i -> cancelled superseded
        task r.b@i -> cancelled superseded
        counts b -> 1 waiting, 1 cancelled",
    )
    .check_history();
}

#[test]
fn a_new_version_without_a_step_still_sees_its_round() {
    check(
        "flow r success=scan records=ocr: a
        item i
        event i scan ok
        claim w -> r.a@i
        flow r success=scan records=ocr: b
        errands
        claim v -> nothing
        report w r.a@i ok
        claim v -> nothing
        touch i
        claim v -> r.b@i~2",
    )
    .check_history();
}

#[test]
fn an_item_that_comes_back_is_worked_on_again() {
    check(&format!(
        "{ROBOT}
        item a types=image
        event a scan ok
        delete a
        task r.s@a -> cancelled trigger-gone
        item a types=image
        claim w -> r.s@a~2"
    ));
    check(
        "flow r types=image: s
        item a types=image
        item a types=page
        task r.s@a -> cancelled trigger-gone
        item a types=image
        claim w -> r.s@a~2",
    );
}

#[test]
fn a_time_out_or_a_lost_worker_is_a_failure_event() {
    check(
        "flow r success=scan records=ocr: s timeout=40
        item a
        event a scan ok
        claim w
        later 20
        beat w
        tick 25
        marks a -> ocr failure, scan success
        report w r.s@a ok -> stale
        marks a -> ocr failure, scan success",
    )
    .check_history();
    check(
        "flow r success=scan records=ocr: s
        item a
        event a scan ok
        claim w
        tick 60
        claim w
        tick 60
        claim w
        tick 60
        task r.s@a -> failed poison
        marks a -> ocr failure, scan success
        claim w -> nothing",
    )
    .check_history();
}

#[test]
fn a_robot_that_lost_its_lease_changes_nothing() {
    check(&format!(
        "{ROBOT}
        item a
        event a scan ok
        claim hung -> r.s@a
        tick 60
        claim w -> r.s@a
        report hung r.s@a ok -> stale
        marks a -> scan success
        task r.s@a -> leased
        report w r.s@a fail
        marks a -> ocr failure, scan success"
    ))
    .check_history();
}

#[test]
fn a_late_success_that_is_accepted_is_as_old_as_its_round() {
    check(
        "flow r success=scan records=ocr: s late
        item a
        event a scan ok
        claim hung -> r.s@a
        tick 60
        touch a
        report hung r.s@a ok -> late
        marks a -> ocr success old, scan success old
        claim w -> r.s@a~2",
    )
    .check_history();
}

#[test]
fn a_second_instance_of_a_singleton_is_told_so() {
    check(
        "flow r singleton max-items=2 success=scan records=ocr: s
        item a
        item b
        item d
        event a scan ok
        event b scan ok
        event d scan ok
        claim v max=9 -> r.s@a r.s@b
        claim w step=r.s -> no: robot-busy
        claim w -> nothing
        report v r.s@a ok
        claim w step=r.s -> no: robot-busy
        report v r.s@b ok
        claim w step=r.s -> r.s@d
        tick 60
        claim v step=r.s -> r.s@d
        report w r.s@d ok -> stale",
    )
    .check_history();
}

#[test]
fn concurrency_bounds_what_runs_at_once() {
    check(
        "flow r concurrency=2 success=scan records=ocr: s
        item a
        item b
        item d
        event a scan ok
        event b scan ok
        event d scan ok
        claim v max=9 -> r.s@a r.s@b
        claim w -> nothing
        report v r.s@a ok
        claim w -> r.s@d",
    );
}

#[test]
fn robots_that_would_wake_each_other_for_ever_are_refused() {
    check(
        "flow a success=scan records=a touches: s
        flow b success=scan records=b touches: s -> no: bad-flow
        flow b success=scan records=b touches absent=b: s -> ok
        flow d success= touches: s -> no: bad-flow
        flow b success=a records=b touches: s -> no: bad-flow
        item i
        event i scan ok
        claim w -> a.s@i",
    );
}
