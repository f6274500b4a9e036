//! Dependencies, rounds, batches.

use crate::lab::check;

const CHAIN: &str = "flow f records=e: s ; t depends=s ; u depends=t";
const ONE: &str = "flow g: s";

#[test]
fn a_chain_runs_in_order_and_records_once() {
    check(&format!(
        "{CHAIN}
        submit a f
        task f.t@a -> waiting
        claim w max=9 -> f.s@a
        report w f.s@a ok
        claim w max=9 -> f.t@a
        report w f.t@a ok
        claim w max=9 -> f.u@a
        report w f.u@a ok
        states a -> ready waiting waiting leased done ready leased done ready leased done
        history a e -> e"
    ))
    .check_history();
}

#[test]
fn a_failure_blocks_until_retried_or_skipped() {
    check(&format!(
        "{CHAIN}
        submit a f
        claim w
        report w f.s@a fail
        task f.t@a -> waiting
        why f.t@a -> f.t@c/k/a is waiting
        |   f.s@c/k/a failed (permanent) [armarius task retry f.s@c/k/a, or skip it]
        retry f.s@a
        claim w
        report w f.s@a ok
        claim w -> f.t@a
        report w f.t@a fail
        skip f.t@a
        task f.u@a -> ready"
    ))
    .check_history();
}

#[test]
fn a_collection_waits_for_no_other() {
    check(&format!(
        "{ONE}
        submit a g
        elsewhere g.s@a -> no: across-collections
        elsewhere batch -> no: no-such-batch
        elsewhere id=k -> round 1
        elsewhere id=k -> round 1 again
        submit b g id=k -> round 1
        submit b g id=k -> round 1 again"
    ));
}

#[test]
fn an_operators_cancel_blocks_a_skip_does_not() {
    check(&format!(
        "{CHAIN}
        submit a f
        cancel f.s@a
        task f.t@a -> waiting
        retry f.s@a
        skip f.s@a
        task f.t@a -> ready"
    ));
}

#[test]
fn on_settled_accepts_any_end() {
    check(
        "flow f: s ; t depends=s?
        submit a f
        claim w
        report w f.s@a fail
        task f.t@a -> ready",
    );
}

#[test]
fn a_task_may_wait_for_one_that_does_not_exist_yet() {
    check(&format!(
        "{ONE}
        submit a g after=g.s@b
        task g.s@a -> waiting
        why g.s@a -> g.s@c/k/a is waiting
        |   g.s@c/k/b does not exist yet [submit it, or skip the task that waits for it]
        submit b g
        task g.s@a -> waiting
        claim w max=9 -> g.s@b
        report w g.s@b ok
        task g.s@a -> ready"
    ))
    .check_history();
}

#[test]
fn a_dependency_on_finished_work_is_satisfied_at_once() {
    check(&format!(
        "{ONE}
        submit a g
        claim w
        report w g.s@a ok
        submit b g after=g.s@a
        task g.s@b -> ready"
    ));
}

#[test]
fn a_circle_through_tasks_to_come_is_refused() {
    check(&format!(
        "{ONE}
        submit a g after=g.s@b
        submit b g after=g.s@c
        submit c g after=g.s@a -> no: cycle
        submit d g after=g.s@d -> no: cycle
        submit c g
        claim w -> g.s@c"
    ));
}

#[test]
fn parts_run_on_their_own() {
    check(&format!(
        "{CHAIN}
        submit a f parts=x,y
        claim w max=9 -> f.s@a#x f.s@a#y
        report w f.s@a#y ok
        task f.t@a#y -> ready
        task f.t@a#x -> waiting
        submit b f parts=x,x -> no: already-exists"
    ));
}

#[test]
fn many_dependents_become_ready_by_errand() {
    let mut script = String::from(ONE);
    script += "\nsubmit root g\n";
    for i in 0..1_000 {
        script += &format!("submit d{i} g after=g.s@root\n");
    }
    script += "claim w -> g.s@root\nreport w g.s@root ok\n";
    let mut lab = crate::lab::Lab::new();
    lab.slices = false;
    lab.run(&script);
    assert!(lab.world.errands.iter().next().is_some(), "too large for one commit");
    lab.slices = true;
    assert!(lab.errands() > 2);
    lab.run("counts s -> 1000 ready, 1 done");
    lab.check_history();
}

#[test]
fn a_batch_counts_exactly_and_reports_once() {
    check(&format!(
        "{ONE}
        batch open -> batch 1
        submit a g batch=1
        submit b g batch=1
        batch seal 1
        submit c g batch=1 -> no: batch-sealed
        batch show 1 -> processing 2 open 0 done 0 failed 0 cancelled
        claim w max=2
        report w g.s@a ok
        report w g.s@b fail
        batch show 1 -> failed 0 open 1 done 1 failed 0 cancelled"
    ));
}

#[test]
fn a_batch_of_chains_settles_when_nothing_can_go_on() {
    check(&format!(
        "{CHAIN}
        batch open
        submit a f batch=1
        submit b f batch=1
        batch seal 1
        claim w max=2
        report w f.s@a fail
        batch show 1 -> processing 1 open 0 done 1 failed 0 cancelled
        report w f.s@b ok
        claim w
        report w f.t@b ok
        claim w
        report w f.u@b ok
        batch show 1 -> failed 0 open 1 done 1 failed 0 cancelled
        letters -> post 1 failed 1 of 2
        batch retry 1
        batch show 1 -> failed 1 open 1 done 0 failed 0 cancelled
        batch report 1 -> no: wrong-state
        claim w max=9
        report w f.s@a ok
        claim w
        report w f.t@a ok
        claim w
        report w f.u@a ok
        batch show 1 -> failed 0 open 2 done 0 failed 0 cancelled
        batch report 1
        batch show 1 -> completed 0 open 2 done 0 failed 0 cancelled"
    ))
    .check_history();
}

#[test]
fn deleting_a_batch_cancels_what_is_open_and_keeps_the_rest() {
    check(&format!(
        "{ONE}
        batch open
        submit a g batch=1
        submit b g batch=1
        claim w
        report w g.s@a ok
        batch delete 1
        task g.s@a -> done
        task g.s@b -> cancelled operator
        batch show 1 -> deleted 0 open 1 done 0 failed 1 cancelled
        batch seal 1 -> no: wrong-state"
    ))
    .check_history();
}

#[test]
fn an_empty_batch_is_reported_when_sealed() {
    check(&format!(
        "{ONE}
        batch open
        batch seal 1
        batch show 1 -> completed 0 open 0 done 0 failed 0 cancelled"
    ));
}
