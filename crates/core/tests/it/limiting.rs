//! Limits: per key, per flow, exclusive, singleton.

use crate::lab::check;

#[test]
fn a_limited_key_has_its_own_line() {
    check(
        r#"flow f: s limit=host/1
        submit a f payload={"host":"x"}
        submit b f payload={"host":"x"}
        submit c f payload={"host":"y"}
        claim w max=9 -> f.s@a f.s@c
        why f.s@b -> f.s@c/k/b is ready
        |   limit step:f.s@c#host=x: 1 of 1 slots taken [wait for one, or raise the limit]
        report w f.s@a ok
        claim w max=9 -> f.s@b"#,
    )
    .check_history();
}

#[test]
fn a_slot_dies_with_its_lease() {
    check(
        "flow f concurrency=1: s
        submit a f
        submit b f
        claim w max=2 -> f.s@a
        tick 31
        claim v max=2 -> f.s@b
        report v f.s@b ok
        claim v max=2 -> f.s@a",
    );
}

#[test]
fn a_priority_reorders_a_line() {
    check(
        "flow f concurrency=1: s
        submit a f
        submit b f
        submit c f
        priority f.s@c 5
        claim w -> f.s@a
        report w f.s@a ok
        claim w -> f.s@c",
    );
}

#[test]
fn an_exclusive_task_that_will_not_stop_keeps_its_slot_until_its_lease_lapses() {
    check(
        "flow f: s exclusive
        submit a f
        submit b f
        claim w max=2 -> f.s@a
        cancel f.s@a
        claim v -> nothing
        beat w -> stop f.s@a
        tick 29
        claim v -> nothing
        tick 2
        claim v -> f.s@b",
    )
    .check_history();
}

#[test]
fn a_confirmed_stop_frees_the_slot_at_once() {
    check(
        "flow f: s exclusive
        submit a f
        submit b f
        claim w
        cancel f.s@a
        report w f.s@a stopped -> stopped
        claim v -> f.s@b",
    );
}

#[test]
fn two_limits_are_passed_in_turn() {
    check(
        r#"flow f concurrency=2: s limit=host/1
        submit a f payload={"host":"x"}
        submit b f payload={"host":"x"}
        submit c f payload={"host":"y"}
        claim w max=9 -> f.s@a
        report w f.s@a ok
        claim w max=9 -> f.s@b f.s@c"#,
    );
}

#[test]
fn a_singleton_has_one_claimant() {
    check(
        "flow f singleton: s
        submit a f
        submit b f
        claim w -> f.s@a
        claim v -> nothing
        claim v step=f.s -> no: robot-busy
        report w f.s@a ok
        claim v step=f.s -> f.s@b
        later 31
        submit c f
        claim w -> f.s@c",
    );
}
