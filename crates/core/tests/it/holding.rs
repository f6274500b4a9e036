//! Holds.

use crate::lab::check;

const ONE: &str = "flow f: s";

#[test]
fn a_hold_on_a_collection_flow_or_step_closes_queues() {
    for on in ["collection", "flow f", "step f.s"] {
        check(&format!(
            "{ONE}
            submit a f
            hold {on} -> hold 1
            claim w -> nothing
            task f.s@a -> ready
            why f.s@a -> f.s@c/k/a is ready
            |   hold 1 by op: because [armarius hold release 1]
            hold {on} -> no: already-exists
            release 1
            claim w -> f.s@a"
        ));
    }
}

#[test]
fn a_hold_on_an_item_task_or_batch_is_met_by_a_claim() {
    for on in ["item a", "task f.s@a", "batch 1"] {
        check(&format!(
            "{ONE}
            batch open
            submit a f batch=1
            submit b f
            hold {on}
            task f.s@a -> ready
            why f.s@a -> f.s@c/k/a is ready
            |   hold 1 by op: because [armarius hold release 1]
            claim w max=2 -> f.s@b
            task f.s@a -> held
            release 1
            task f.s@a -> ready
            claim v -> f.s@a"
        ))
        .check_history();
    }
}

#[test]
fn a_hold_ends_by_itself() {
    check(&format!(
        "{ONE}
        submit a f
        hold collection for=60
        claim w -> nothing
        tick 61
        claim w -> f.s@a
        hold collection for=0 -> no: out-of-range"
    ));
}

#[test]
fn held_work_can_be_cancelled() {
    check(&format!(
        "{ONE}
        submit a f
        hold item a
        claim w -> nothing
        cancel f.s@a
        release 1
        task f.s@a -> cancelled operator"
    ))
    .check_history();
}
