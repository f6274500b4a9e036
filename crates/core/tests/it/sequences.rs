//! Items in a sequence: earlier and later instances of a step, superseding; schedules.

use crate::lab::check;

/// The two-task definition of the revision story.
const BUILD: &str = "flow f on=commit: index depends=PREV ; pdf depends=index cancels=PREV";

#[test]
fn a_later_build_supersedes_a_running_one() {
    check(&format!(
        "{BUILD}
        item r2 ordinal=2
        item r3 ordinal=3
        submit r2 f
        submit r3 f
        claim w -> f.index@r2
        report w f.index@r2 ok
        claim w max=9 -> f.pdf@r2 f.index@r3
        report w f.index@r3 ok
        task f.pdf@r2 -> cancelled superseded
        beat w -> stop f.pdf@r2
        report w f.pdf@r2 ok -> stale
        claim w -> f.pdf@r3
        report w f.pdf@r3 ok -> applied"
    ))
    .check_history();
}

#[test]
fn revision_four_supersedes_two_and_three_at_once() {
    check(&format!(
        "{BUILD}
        item r2 ordinal=2
        item r3 ordinal=3
        item r4 ordinal=4
        submit r2 f
        submit r3 f
        submit r4 f
        hold step f.pdf
        claim w
        report w f.index@r2 ok
        claim w
        report w f.index@r3 ok
        task f.pdf@r2 -> cancelled superseded
        task f.pdf@r3 -> ready
        claim w
        report w f.index@r4 ok
        task f.pdf@r3 -> cancelled superseded
        task f.pdf@r4 -> ready"
    ))
    .check_history();
}

#[test]
fn a_waiting_task_superseded_does_its_own_superseding() {
    // r3's c would have ended r2's x when it became ready; r4's d ends r3's c before that.
    check(
        "flow f on=commit: a ; x ; c depends=a cancels=PREV.x ; d cancels=PREV.c
        item r2 ordinal=2
        item r3 ordinal=3
        item r4 ordinal=4
        submit r2 f
        submit r3 f
        task f.c@r2 -> cancelled superseded
        task f.c@r3 -> waiting
        task f.x@r2 -> ready
        submit r4 f
        task f.c@r3 -> cancelled superseded
        task f.x@r2 -> cancelled superseded
        task f.x@r3 -> ready",
    )
    .check_history();
}

#[test]
fn dependents_of_a_superseded_task_go_with_it_in_their_own_revision_only() {
    check(
        "flow f on=commit: a cancels=PREV ; b depends=a ; c depends=PREV.a
        item r2 ordinal=2
        item r3 ordinal=3
        submit r2 f
        task f.b@r2 -> waiting
        submit r3 f
        task f.a@r2 -> cancelled superseded
        task f.b@r2 -> cancelled superseded
        task f.c@r3 -> ready
        task f.b@r3 -> waiting",
    )
    .check_history();
}

#[test]
fn the_order_of_steps_in_a_file_does_not_hide_the_previous_revision() {
    check(
        "flow f on=commit: a ; b depends=PREV.a
        item r2 ordinal=2
        item r3 ordinal=3
        submit r2 f
        submit r3 f
        task f.b@r3 -> waiting
        claim w step=f.a -> f.a@r2
        report w f.a@r2 ok
        task f.b@r3 -> ready",
    )
    .check_history();
}

#[test]
fn a_superseded_task_is_not_retried() {
    check(&format!(
        "{BUILD}
        item r2 ordinal=2
        item r3 ordinal=3
        submit r2 f
        submit r3 f
        claim w
        report w f.index@r2 ok
        claim w max=2
        report w f.index@r3 ok
        retry f.pdf@r2 -> no: wrong-state"
    ));
}

fn scheduled(policy: &str) -> String {
    format!("flow f cron {policy}: s")
}

/// Scripts begin at second 1,000; schedule items are of another kind, so counts tell the story.
#[test]
fn each_slot_fires_once() {
    check(&format!(
        "{}
        later 120
        fire 1060 -> fired 1
        fire 1060 -> fired 0
        fire 1060 1120 -> fired 1
        fire 1060 1120 -> fired 0
        fire 1180 -> fired 0
        counts s -> 2 ready",
        scheduled("overlap=allow")
    ));
}

#[test]
fn a_slot_is_skipped_while_the_previous_one_is_at_work() {
    check(&format!(
        "{}
        later 120
        fire 1060 -> fired 1
        fire 1120 -> fired 0
        counts s -> 1 ready",
        scheduled("overlap=skip")
    ));
}

#[test]
fn missed_slots_follow_the_policy() {
    for (policy, fired) in [("latest", 1), ("all", 3), ("skip", 0)] {
        check(
            &format!(
                "{}
            later 1000
            fire 1060 1120 1180 -> fired {fired}
            counts s -> {fired} ready",
                scheduled(&format!("missed={policy} overlap=allow"))
            )
            .replace("counts s -> 0 ready", ""),
        );
    }
}

#[test]
fn a_replacing_schedule_ends_the_previous_round() {
    check(&format!(
        "{}
        later 200
        fire 1060 -> fired 1
        fire 1120 -> fired 1
        counts s -> 1 ready, 1 cancelled",
        scheduled("overlap=replace")
    ))
    .check_history();
}
