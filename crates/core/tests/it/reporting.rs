//! Outcomes, retries, deadlines, late results, idempotency.

use crate::lab::check;

fn flow(step: &str) -> String {
    format!("flow f records=e: s {step}")
}

#[test]
fn a_transient_failure_is_retried_with_growing_back_off() {
    check(&format!(
        "{}
        submit a f
        claim w
        report w f.s@a 75 -> applied
        task f.s@a -> ready transient
        claim w -> nothing
        tick 10
        claim w -> f.s@a
        report w f.s@a 75
        tick 10
        claim w -> nothing
        tick 10
        claim w -> f.s@a
        report w f.s@a 75
        task f.s@a -> failed exhausted
        history a -> task.ready task.leased task.ready task.leased task.ready task.leased e",
        flow("retries=2")
    ))
    .check_history();
}

#[test]
fn not_yet_spends_no_attempt() {
    let lab = check(&format!(
        "{}
        submit a f
        claim w
        report w f.s@a 99
        task f.s@a -> ready not-yet
        tick 10
        claim w -> f.s@a
        report w f.s@a ok",
        flow("")
    ));
    let task = lab.world.tasks.get(&lab.task_id("f.s@a")).unwrap().unwrap();
    assert_eq!(task.attempts, 1);
}

#[test]
fn a_permanent_failure_ends_it_and_is_recorded() {
    check(&format!(
        "{}
        submit a f
        claim w
        report w f.s@a 1
        task f.s@a -> failed permanent
        history a -> task.ready task.leased e
        retry f.s@a
        claim w -> f.s@a
        report w f.s@a 0
        task f.s@a -> done",
        flow("")
    ))
    .check_history();
}

#[test]
fn a_step_maps_its_own_exit_codes() {
    check(&format!(
        "{}
        submit a f
        claim w
        report w f.s@a 3
        task f.s@a -> ready transient",
        flow("retries=1 transient=3")
    ));
}

#[test]
fn a_late_success_is_recorded_and_changes_nothing() {
    check(&format!(
        "{}
        submit a f
        claim w
        tick 31
        report w f.s@a ok -> stale
        task f.s@a -> ready
        history a -> task.ready task.leased task.ready task.stale",
        flow("")
    ))
    .check_history();
}

#[test]
fn a_late_success_is_accepted_where_the_step_says_so_and_nobody_holds_it() {
    check(&format!(
        "{}
        submit a f
        claim w
        tick 31
        claim v -> f.s@a
        report w f.s@a ok -> stale
        give-back v
        report w f.s@a ok -> late
        task f.s@a -> done
        claim v -> nothing",
        flow("late")
    ))
    .check_history();
}

#[test]
fn a_hard_deadline_ends_an_attempt_and_asks_the_worker_to_stop() {
    check(&format!(
        "{}
        submit a f
        claim w
        later 20
        beat w -> ok
        later 20
        beat w -> ok
        tick 20
        task f.s@a -> failed timeout
        beat w -> stop f.s@a
        report w f.s@a stopped -> stopped
        beat w -> no: lease-over",
        flow("timeout=60")
    ))
    .check_history();
}

#[test]
fn silence_is_a_time_out_progress_is_not() {
    check(&format!(
        "{}
        submit a f
        claim w
        later 10
        beat w f.s@a -> ok
        tick 10
        task f.s@a -> leased
        later 10
        beat w
        tick 0
        task f.s@a -> failed timeout",
        flow("silence=15")
    ));
}

#[test]
fn the_same_idempotency_key_makes_one_round() {
    check(&format!(
        "{}
        submit a f id=x -> round 1
        submit a f id=x -> round 1 again
        submit a f -> round 2
        submit b f id=x -> no: key-reused
        event a seen ok id=e1 -> 3
        event a seen ok id=e1 -> 3 again
        event a seen ok -> 4",
        flow("")
    ));
}

#[test]
fn operators_cancel_skip_and_retry() {
    check(&format!(
        "{}
        submit a f
        cancel f.s@a
        task f.s@a -> cancelled operator
        cancel f.s@a -> no: wrong-state
        retry f.s@a
        task f.s@a -> ready
        skip f.s@a
        task f.s@a -> cancelled skipped
        retry f.s@a -> no: wrong-state
        claim w -> nothing",
        flow("")
    ))
    .check_history();
}

#[test]
fn cancelling_leased_work_raises_its_token_and_waits_for_the_stop() {
    check(&format!(
        "{}
        submit a f
        claim w
        cancel f.s@a
        report w f.s@a ok -> stale
        task f.s@a -> cancelled operator
        submit b f
        claim w
        cancel f.s@b
        beat w -> stop f.s@b
        tick 31
        beat w -> no: lease-over",
        flow("")
    ))
    .check_history();
}

#[test]
fn unknown_things_are_refused() {
    check(&format!(
        "{}
        submit a g -> no: no-such-flow
        touch nobody -> no: no-such-item
        release 9 -> no: no-such-hold
        batch seal 9 -> no: no-such-batch
        submit a f batch=9 -> no: no-such-batch
        submit a f payload=[] -> no: bad-json
        submit a f payload={{ -> no: bad-json
        submit a f priority=2000000 -> no: out-of-range
        event a task.x ok -> no: bad-name",
        flow("")
    ));
}

#[test]
fn a_deleted_item_keeps_its_history_and_takes_no_work() {
    check(&format!(
        "{}
        submit a f
        delete a
        task f.s@a -> cancelled operator
        submit a f -> no: wrong-state
        event a seen ok -> no: wrong-state
        history a -> task.ready item.deleted task.cancelled
        item a
        submit a f -> round 2",
        flow("")
    ))
    .check_history();
}

#[test]
fn a_cancel_raises_the_token_at_once() {
    let script = format!("{}\nsubmit a f\nclaim w", flow(""));
    let mut lab = check(&script);
    let task = lab.task_id("f.s@a");
    let granted = lab.world.tasks.get(&task).unwrap().unwrap().token;
    lab.run("cancel f.s@a");
    assert!(lab.world.tasks.get(&task).unwrap().unwrap().token > granted);
}

#[test]
fn a_manifest_is_written_once_and_a_stranger_cannot_change_it() {
    use armarius_core::command::{Ending, Report};
    use armarius_core::flow::Class;
    use armarius_core::rows::ManifestState;

    let mut lab = check(&format!("{}\nsubmit a f\nclaim w", flow("")));
    let task = lab.task_id("f.s@a");
    let (lease, row) = lab.world.leases.iter().next().map(|(l, r)| (*l, r.clone())).unwrap();
    let token = row.grips[0].token;
    for (actor, text) in [("w", "mine"), ("w", "again"), ("stranger", "theirs")] {
        let report = Report {
            lease,
            task,
            token,
            outcome: Ending::Class(Class::Success),
            detail: None,
            manifest: Some((ManifestState::Complete, text.into())),
            last: false,
        };
        lab.call(actor, armarius_core::Command::Report(report)).unwrap();
    }
    let manifest = lab.world.manifests.get(&(task, token)).unwrap().unwrap();
    assert_eq!(&*manifest.text, "mine");
}
