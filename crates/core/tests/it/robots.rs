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
    script += ROBOT;
    let mut lab = crate::lab::Lab::new();
    lab.slices = false;
    lab.run(&script);
    lab.slices = true;
    lab.errands();
    lab.run("counts s -> 5 ready");
    lab.run("remove-flow r\nerrands\ncounts s -> 5 cancelled");
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
