//! Robots on a line: `NAME key=value …`, one per line; the last one is new.

use super::super::{Verdict, check_line};
use super::*;

fn robot(text: &str) -> Flow {
    let mut words = text.split_whitespace();
    let mut flow = Flow::manual(Name::trusted(words.next().unwrap()));
    let mut query = crate::flow::Query::default();
    let mut is_robot = true;
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let names = || value.split(',').map(Name::trusted).collect::<Vec<_>>();
        match key {
            "records" => flow.records = Some(Name::trusted(value)),
            "touches" => flow.touches = true,
            "manual" => is_robot = false,
            "kinds" => query.kinds = names(),
            "types" => query.types = names(),
            "success" => query.success = names(),
            "failed" => query.failed = names(),
            "absent" => query.absent = names(),
            "stale" => query.stale = names(),
            "items" => query.items = value.split(',').map(Into::into).collect(),
            other => panic!("{other}"),
        }
    }
    if is_robot {
        flow.on = On::Items(query);
    }
    normalise(&mut flow);
    flow
}

fn verdict(line: &[&str]) -> Verdict {
    let flows: Vec<Flow> = line.iter().map(|text| robot(text)).collect();
    let (new, others) = flows.split_last().unwrap();
    check_line(new, &others.iter().collect::<Vec<_>>())
}

/// What is told: the endless circle, or the warnings.
fn told(line: &[&str]) -> String {
    let Verdict { endless, warnings } = verdict(line);
    endless.map_or_else(|| warnings.join("; "), |circle| format!("endless: {circle}"))
}

#[test]
fn a_line_that_ends_is_fine() {
    for line in [
        &["scan manual records=scan", "ocr success=scan records=ocr"][..],
        &["scan manual records=scan", "a success=scan records=a", "b success=a records=b touches"],
        &["scan manual records=scan", "a success=scan absent=a records=a touches"],
        // Repairing something makes it be checked again, and that is the end if it works.
        &[
            "scan manual records=scan",
            "check success=scan records=check",
            "mend failed=check records=mend touches",
        ],
        // Two that change different kinds never meet.
        &["a kinds=page records=a touches", "b kinds=book records=b touches"],
    ] {
        assert_eq!(told(line), "", "{line:?}");
    }
}

#[test]
fn two_that_change_the_item_wake_each_other_for_ever() {
    assert_eq!(
        told(&["a kinds=page records=a touches", "b records=b touches"]),
        "endless: page x: b changes it and records `b`, then a changes it and records `a`, \
         then b changes it and records `b`"
    );
    assert_eq!(
        told(&["a success=scan records=a touches", "b success=a records=b touches"]),
        "endless: item x: b changes it and records `b`, then a changes it and records `a`, \
         then b changes it and records `b`"
    );
}

#[test]
fn one_that_changes_the_item_and_records_nothing_wakes_itself() {
    assert_eq!(told(&["a touches"]), "endless: item x: a changes it, then a changes it");
    assert_eq!(
        told(&["a success=scan touches"]),
        "endless: item x: a changes it, then a changes it"
    );
}

#[test]
fn three_in_a_circle_are_found() {
    let found = told(&[
        "a success=scan records=a touches absent=none",
        "b success=a records=b",
        "c success=b records=c touches",
    ]);
    assert!(found.starts_with("endless: item x: c changes it"), "{found}");
}

#[test]
fn a_circle_of_others_is_not_the_new_ones_fault() {
    let line = ["a records=a touches", "b records=b touches", "c success=b absent=c records=c"];
    assert_eq!(told(&line), "");
}

#[test]
fn work_that_is_repeated_while_something_fails_is_warned_of() {
    let line = [
        "scan manual records=scan",
        "check success=scan records=check",
        "mend failed=check touches",
    ];
    assert_eq!(
        told(&line),
        "as long as it fails, without end: item x: mend changes it, then mend changes it"
    );
}

#[test]
fn events_that_nobody_records_are_told() {
    assert_eq!(
        told(&["ocr success=scan records=ocr"]),
        "nobody here records `scan`: somebody must add it, `armarius event add`"
    );
    assert_eq!(
        told(&["ocr success=ocr records=ocr"]),
        "it waits for `ocr`, which nobody but itself records"
    );
}

#[test]
fn a_robot_that_can_never_wake_is_told_why() {
    assert_eq!(
        told(&[
            "scan manual records=scan",
            "a success=scan records=a",
            "b success=a records=b",
            "c success=b absent=a records=c"
        ]),
        "it will never wake by what the others do: `a` is there before it could begin"
    );
    // Whoever may come before the other is not called impossible.
    let line = ["scan manual records=scan", "a success=scan records=a", "b success=scan absent=a"];
    assert_eq!(told(&line), "");
}
