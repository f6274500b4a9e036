//! Claims, leases, tokens.

use crate::lab::check;

const ONE: &str = "flow f: s";

#[test]
fn a_task_goes_from_ready_to_done() {
    let lab = check(&format!(
        "{ONE}
        submit a f -> round 1
        task f.s@a -> ready
        claim w -> f.s@a
        task f.s@a -> leased
        report w f.s@a ok -> applied
        task f.s@a -> done
        counts s -> 1 done
        history a -> task.ready task.leased task.done"
    ));
    lab.check_history();
}

#[test]
fn higher_priority_goes_first_then_the_older_item() {
    check(&format!(
        "{ONE}
        submit a f
        later 1
        submit b f priority=5
        later 1
        submit c f priority=5
        claim w max=3 -> f.s@b f.s@c f.s@a"
    ));
}

#[test]
fn order_newest_takes_the_newer_item_first() {
    check(
        "flow f newest: s
        submit a f
        later 1
        submit b f
        claim w max=2 -> f.s@b f.s@a",
    );
}

#[test]
fn labels_must_all_be_there() {
    check(
        "flow f: s labels=gpu,big
        submit a f
        claim w -> nothing
        claim w labels=gpu -> nothing
        claim w labels=big,gpu,more -> f.s@a",
    );
}

#[test]
fn a_worker_gets_only_what_it_can_run() {
    check(
        "flow f: c way=command; s way=script; i way=image; o; b way=built-in
        submit a f
        claim w ways=image -> f.i@a
        claim w ways=image -> nothing
        claim w ways=command,script max=9 -> f.c@a f.s@a
        claim w ways=built-in max=9 -> f.b@a
        claim w max=9 -> f.o@a",
    );
}

#[test]
fn the_newest_version_says_how_a_step_is_run() {
    check(
        "flow f: s way=command
        submit a f
        flow f: s way=image
        claim w ways=command -> nothing
        claim w ways=image -> f.s@a",
    );
}

#[test]
fn a_priority_changes_while_queued() {
    check(&format!(
        "{ONE}
        submit a f
        submit b f
        priority f.s@b 9
        claim w -> f.s@b
        item-priority a 3
        submit c f priority=2
        claim w -> f.s@a"
    ));
}

#[test]
fn a_lapsed_lease_makes_the_task_ready_with_a_higher_token() {
    check(&format!(
        "{ONE}
        submit a f
        claim w
        tick 31
        task f.s@a -> ready
        claim v -> f.s@a
        report w f.s@a ok -> stale
        task f.s@a -> leased
        report v f.s@a ok -> applied
        task f.s@a -> done"
    ));
}

#[test]
fn an_expired_lease_is_never_revived_even_if_nobody_noticed() {
    check(&format!(
        "{ONE}
        submit a f
        claim w
        later 31
        beat w -> no: lease-over
        report w f.s@a ok -> stale
        task f.s@a -> leased
        tick 0
        task f.s@a -> ready"
    ));
}

#[test]
fn heartbeats_and_reports_renew() {
    check(&format!(
        "{ONE}
        submit a f
        submit b f
        claim w max=2
        tick 20
        beat w -> ok
        tick 20
        report w f.s@a ok -> applied
        tick 20
        report w f.s@b ok -> applied"
    ));
}

#[test]
fn final_gives_back_what_is_left() {
    check(&format!(
        "{ONE}
        submit a f
        submit b f
        submit c f
        claim w max=3
        report w f.s@b ok last -> applied
        task f.s@a -> ready
        task f.s@b -> done
        beat w -> no: lease-over
        report w f.s@c ok -> stale
        claim v max=3 -> f.s@a f.s@c"
    ));
}

#[test]
fn a_task_that_keeps_killing_its_worker_is_poison() {
    check(&format!(
        "{ONE}
        submit a f
        claim w
        tick 31
        claim w
        tick 31
        claim w
        tick 31
        task f.s@a -> failed poison"
    ));
}

#[test]
fn a_lease_of_somebody_else_is_not_shown() {
    let mut lab = check(&format!("{ONE}\nsubmit a f\nclaim w"));
    let lease = *lab.world.leases.iter().next().expect("a lease").0;
    let command = armarius_core::Command::Heartbeat { lease, progress: Vec::new() };
    let refusal = lab.call("stranger", command).expect_err("refused");
    assert_eq!(refusal.code, armarius_core::Code::LeaseOver);
}

#[test]
fn collections_of_equal_priority_take_turns() {
    use armarius_core::command::Submit;
    use armarius_core::text::Name;
    use armarius_core::{Command, Reply};

    let mut lab = check(ONE);
    let d = Name::trusted("d");
    lab.must(Command::PutCollection { name: d.clone(), notify: Vec::new() });
    let flow = Box::new(crate::notation::flow(ONE.trim_start_matches("flow ")));
    lab.must(Command::ApplyFlow { collection: d, flow });
    for (collection, key) in [("c", "a"), ("c", "b"), ("d", "x"), ("d", "y")] {
        let mut item = crate::lab::item(key);
        item.collection = Name::trusted(collection);
        lab.must(Command::Submit(Submit {
            item,
            flow: Name::trusted("f"),
            payload: "".into(),
            priority: None,
            not_before: None,
            parts: Vec::new(),
            depends: Vec::new(),
            batch: None,
        }));
    }
    let mut got = String::new();
    for _ in 0..4 {
        let claim = armarius_core::command::Claim {
            worker: Name::trusted("w"),
            labels: Vec::new(),
            ways: Vec::new(),
            steps: Vec::new(),
            collections: Vec::new(),
            max: 1,
        };
        let Reply::Claimed(Some(granted)) = lab.must(Command::Claim(claim)) else { panic!() };
        got += &granted.tasks[0].item.key;
    }
    assert_eq!(got, "axby");
}

#[test]
fn an_epoch_keeps_tokens_apart_from_a_restored_past() {
    let lab = check(&format!(
        "{ONE}
        submit a f
        claim w
        raise-epoch
        tick 31
        claim w"
    ));
    let (_, lease) = lab.world.leases.iter().next().expect("a lease");
    assert!(lease.grips[0].token.0 >> 48 == 1, "{:?}", lease.grips);
}

#[test]
fn recalled_work_is_ready_again_and_its_worker_disturbs_nobody() {
    check(&format!(
        "{ONE}
        submit a f
        claim w -> f.s@a
        raise-epoch
        recall
        report w f.s@a ok -> stale
        task f.s@a -> ready
        claim v -> f.s@a
        report w f.s@a ok -> stale
        report v f.s@a ok -> applied"
    ));
}

#[test]
fn after_a_restart_leases_get_a_fresh_term() {
    check(&format!(
        "{ONE}
        submit a f
        claim w
        later 25
        restart
        tick 20
        report w f.s@a ok -> applied"
    ));
}

#[test]
fn bad_claims_are_refused() {
    check(&format!(
        "{ONE}\nclaim w max=0 -> no: out-of-range\nclaim w max=1001 -> no: out-of-range"
    ));
}

#[test]
fn why_tells_work_that_nobody_does_from_work_that_is_being_done() {
    let mut lab = check(
        "flow f: s
        submit a f
        submit b f",
    );
    let idle = lab.answer("why f.s@b");
    assert!(idle.contains("behind 1 in its queue, waiting for a worker"), "{idle}");
    assert!(!idle.contains("at work"), "{idle}");
    lab.run("claim w -> f.s@a");
    let busy = lab.answer("why f.s@b");
    assert!(busy.contains("; 1 at work on this step") && busy.contains("wait for one"), "{busy}");
}
