//! Robots that wake each other for ever are stopped, item by item.

use crate::lab::Lab;

/// Works on whatever comes, at most so often; answers how often.
fn work(lab: &mut Lab, max: usize, touch: bool) -> usize {
    for n in 0..max {
        let claimed = lab.answer("claim w");
        if claimed == "nothing" {
            return n;
        }
        if touch {
            lab.run("touch a");
        }
        lab.run(&format!("report w {claimed} ok"));
    }
    max
}

#[test]
fn a_command_that_touches_its_own_item_behind_our_back_is_stopped() {
    let mut lab = Lab::new();
    lab.slices = false;
    lab.run("flow r success=scan records=ocr: s\nitem a\nevent a scan ok");
    assert_eq!(work(&mut lab, 1_000, true), 102, "the budget and one for each robot");
    lab.run("holds -> 1 Item(ItemId(2))");
    lab.run("counts s -> 1 held, 102 done");
    // A person may let it go on.
    lab.run("release 1\nerrands");
    assert_eq!(work(&mut lab, 3, true), 3);
    lab.check_history();
}

#[test]
fn slow_changes_are_no_loop() {
    let mut lab = Lab::new();
    lab.slices = false;
    lab.run("flow r success=scan records=ocr: s\nitem a\nevent a scan ok");
    for _ in 0..300 {
        lab.pass(11);
        assert_eq!(work(&mut lab, 1, true), 1);
    }
    lab.run("holds -> ");
}

#[test]
fn two_robots_that_touch_and_record_in_turn_are_stopped() {
    // Neither says that it touches, so nobody could tell beforehand.
    let mut lab = Lab::new();
    lab.slices = false;
    lab.run("flow r success=scan records=one: s\nflow t success=one records=two: s");
    lab.run("item a\nitem b\nevent a scan ok");
    let rounds = work(&mut lab, 1_000, true);
    assert!((100..=300).contains(&rounds), "stopped after {rounds} rounds");
    lab.run("holds -> 1 Item(ItemId(2))");
    // Others go on, and the rest of the line with them.
    lab.run("event b scan ok\nclaim w -> r.s@b\nreport w r.s@b ok\nclaim w -> t.s@b");
    lab.check_history();
}

#[test]
fn two_robots_that_say_so_touch_and_record_and_come_to_rest() {
    let mut lab = Lab::new();
    lab.run("flow r success=scan records=one touches absent=one: s");
    lab.run("flow t success=one records=two touches: s\nitem a\nevent a scan ok");
    assert_eq!(work(&mut lab, 10, false), 2, "each once");
    // Somebody else's change concerns only the one that follows the content.
    lab.run("touch a");
    assert_eq!(work(&mut lab, 10, false), 1);
    lab.run("marks a -> one success old, scan success old, two success\nholds -> ");
    lab.check_history();
}
