//! Archives: every revision runs its own workflow, in order.

use crate::lab::{Lab, check};

/// The two-task definition of the revision story.
const BUILD: &str =
    "define main on=commit: indexing depends=PREV ; build-PDF depends=indexing cancels=PREV";

/// The events of a script that people would call steps: notices, COMMITs, and what happens to the
/// other tasks.
fn steps(lab: &Lab) -> Vec<String> {
    let mut steps = Vec::new();
    for event in &lab.events {
        let item = lab.world.items.get(&event.item).expect("whole").expect("an item");
        let name = match event.task {
            Some(task) => {
                let name = lab.name_of(task);
                name.rsplit(['.', '@']).nth(1).expect("a step").to_owned()
            }
            None => String::new(),
        };
        let what = event.name.as_str();
        let told = matches!(
            (what, name.as_str()),
            ("revision.seen" | "task.leased" | "task.done" | "task.cancelled", _)
                | ("task.waiting", "COMMIT")
        );
        if told {
            steps.push(format!("rev-{} {name} {what}", item.key).replace("  ", " "));
        }
    }
    steps
}

/// The worked example: revision 3 is noticed before revision 2.
#[test]
fn the_fourteen_steps_in_exactly_their_order() {
    let mut lab = check(&format!(
        "archive
        {BUILD}
        notice 1
        plan 1
        claim w max=9
        report w main.indexing@rev-1 ok
        claim w max=9
        report w main.build-PDF@rev-1 ok"
    ));
    lab.events.clear();
    lab.run(
        "notice 3
        awaiting -> revision 2 since 1000
        claim w -> nothing
        notice 2
        plan 2
        plan 3
        claim w -> main.indexing@rev-2
        report w main.indexing@rev-2 ok
        claim a -> main.build-PDF@rev-2
        claim b -> main.indexing@rev-3
        report b main.indexing@rev-3 ok
        beat a -> stop main.build-PDF@rev-2
        report a main.build-PDF@rev-2 stopped
        claim w -> main.build-PDF@rev-3
        report w main.build-PDF@rev-3 ok
        awaiting -> nothing",
    );
    let wanted = "\
rev-3 revision.seen
rev-3 COMMIT task.waiting
rev-2 revision.seen
rev-2 COMMIT task.waiting
rev-2 COMMIT task.done
rev-3 COMMIT task.done
rev-2 indexing task.leased
rev-2 indexing task.done
rev-2 build-PDF task.leased
rev-3 indexing task.leased
rev-3 indexing task.done
rev-2 build-PDF task.cancelled
rev-3 build-PDF task.leased
rev-3 build-PDF task.done";
    assert_eq!(steps(&lab).join("\n"), wanted);
}

#[test]
fn a_task_that_depends_on_a_superseded_one_of_its_revision_never_runs() {
    check(
        "archive
        define f on=commit: pdf cancels=PREV ; send depends=pdf ; count depends=PREV.pdf
        plan 1
        claim w step=f.pdf -> f.pdf@rev-1
        plan 2
        task f.pdf@rev-1 -> cancelled superseded
        task f.send@rev-1 -> cancelled superseded
        task f.count@rev-2 -> ready
        claim w step=f.send -> nothing
        claim w step=f.pdf -> f.pdf@rev-2
        report w f.pdf@rev-2 ok
        claim w step=f.send -> f.send@rev-2",
    )
    .check_history();
}

/// Clearing away, or telling somebody, is what `on: settled` is for.
#[test]
fn a_task_that_accepts_any_end_runs_after_a_superseded_one() {
    check(
        "archive
        define f on=commit: pdf cancels=PREV ; tidy depends=pdf?
        define g on=commit: send depends=pdf,tidy? ; both depends=pdf?,tidy
        plan 1
        claim w step=f.pdf -> f.pdf@rev-1
        plan 2
        task f.pdf@rev-1 -> cancelled superseded
        task f.tidy@rev-1 -> ready
        task g.send@rev-1 -> cancelled superseded
        task g.both@rev-1 -> waiting
        claim v step=f.tidy -> f.tidy@rev-1
        report v f.tidy@rev-1 ok
        task g.both@rev-1 -> ready
        task f.tidy@rev-2 -> waiting",
    )
    .check_history();
    // Two references to one task: the stricter counts.
    for depends in ["PREV,PREV.pdf?", "PREV?,PREV.pdf"] {
        check(&format!(
            "archive
            define f on=commit: pdf depends={depends}
            plan 1
            plan 2
            claim w -> f.pdf@rev-1
            report w f.pdf@rev-1 fail
            task f.pdf@rev-2 -> waiting"
        ));
    }
}

/// `task@a/b/7` would be a task of `a`.
#[test]
fn the_name_of_an_archive_has_no_slash() {
    check(
        "archive name=a/b -> no: bad-name
        archive name=../../evil -> no: bad-name
        archive name=a.b -> ok",
    );
}

#[test]
fn revision_four_supersedes_two_and_three_at_once() {
    check(&format!(
        "archive first=2
        {BUILD}
        plan 2
        plan 3
        plan 4
        hold step main.build-PDF
        claim w
        report w main.indexing@rev-2 ok
        task main.build-PDF@rev-2 -> ready
        release 1
        claim slow -> main.build-PDF@rev-2
        skip main.indexing@rev-3
        task main.build-PDF@rev-3 -> ready
        task main.build-PDF@rev-2 -> cancelled superseded"
    ))
    .check_history();
    // A canceller that is held back supersedes everything before it the moment it is ready.
    check(
        "archive first=2
        define f on=commit: a ; b depends=a cancels=PREV.x ; x
        plan 2
        plan 3
        plan 4
        claim w step=f.x max=9 -> f.x@rev-2 f.x@rev-3 f.x@rev-4
        skip f.a@rev-4
        task f.x@rev-2 -> cancelled superseded
        task f.x@rev-3 -> cancelled superseded
        task f.x@rev-4 -> leased
        beat w -> stop f.x@rev-2 f.x@rev-3",
    )
    .check_history();
}

#[test]
fn a_task_missing_in_one_revision_keeps_its_order() {
    check(
        "archive
        define f on=commit: index depends=PREV
        plan 1
        define
        define f on=commit: other
        plan 2
        define
        define f on=commit: index depends=PREV
        plan 3
        task f.index@rev-3 -> waiting
        claim w step=f.index -> f.index@rev-1
        report w f.index@rev-1 ok
        task f.index@rev-3 -> ready",
    )
    .check_history();
}

#[test]
fn a_task_that_moves_to_another_file_keeps_its_order() {
    check(
        "archive
        define one on=commit: index depends=PREV
        plan 1
        define
        define two on=commit: index depends=PREV ; pdf depends=index cancels=PREV
        plan 2
        task two.index@rev-2 -> waiting
        skip one.index@rev-1
        task two.index@rev-2 -> ready",
    )
    .check_history();
}

#[test]
fn dependencies_cross_files_within_a_revision() {
    check(
        "archive
        define a on=commit: index
        define b on=commit: pdf depends=index cancels=PREV ; send depends=pdf
        plan 1
        claim w max=9 -> a.index@rev-1
        task b.pdf@rev-1 -> waiting
        report w a.index@rev-1 ok
        claim w max=9 -> b.pdf@rev-1",
    )
    .check_history();
}

#[test]
fn a_duplicate_name_in_two_files_fails_its_own_revision_only() {
    check(
        "archive
        define a on=commit: index
        define b on=commit: index
        plan 1
        history rev-1 -> revision.seen task.waiting revision.invalid task.done
        define
        define a on=commit: index
        plan 2
        task a.index@rev-2 -> ready",
    )
    .check_history();
}

#[test]
fn an_invalid_definition_runs_nothing_and_blocks_nothing() {
    check(
        "archive
        define f on=commit: a
        invalid 1
        plan 2
        history rev-1 revision.invalid -> revision.invalid
        task COMMIT.COMMIT@rev-1 -> done
        claim w max=9 -> f.a@rev-2",
    )
    .check_history();
}

#[test]
fn exclusive_tasks_hold_back_the_next_revision_and_others_do_not() {
    check(
        "archive
        define f on=commit: index exclusive ; pdf
        plan 1
        plan 2
        task COMMIT.COMMIT@rev-1 -> done
        task COMMIT.COMMIT@rev-2 -> waiting
        task f.pdf@rev-2 -> waiting
        claim w step=f.index -> f.index@rev-1
        report w f.index@rev-1 ok
        task COMMIT.COMMIT@rev-2 -> done
        claim w max=9 step=f.pdf -> f.pdf@rev-1 f.pdf@rev-2",
    )
    .check_history();
}

#[test]
fn an_exclusive_task_that_fails_stops_the_archive_until_it_is_retried_or_skipped() {
    check(
        "archive
        define f on=commit: index exclusive
        plan 1
        plan 2
        plan 3
        claim w -> f.index@rev-1
        report w f.index@rev-1 fail
        task COMMIT.COMMIT@rev-2 -> waiting
        skip COMMIT.COMMIT@rev-2 -> no: wrong-state
        retry f.index@rev-1
        claim w -> f.index@rev-1
        report w f.index@rev-1 ok
        task f.index@rev-2 -> ready
        claim w
        report w f.index@rev-2 fail
        task COMMIT.COMMIT@rev-3 -> waiting
        skip f.index@rev-2
        task COMMIT.COMMIT@rev-3 -> done",
    )
    .check_history();
}

#[test]
fn why_names_the_failed_task_that_stops_an_archive() {
    let mut lab = check(
        "archive
        define f on=commit: index exclusive
        plan 1
        plan 2
        claim w
        report w f.index@rev-1 fail",
    );
    let why = lab.answer("why COMMIT.COMMIT@rev-2");
    let clear = "armarius task retry f.index@c/revision/1, or skip it";
    assert!(why.contains("f.index@c/revision/1 failed (permanent)"), "{why}");
    assert!(why.contains(clear), "{why}");
}

#[test]
fn an_exclusive_task_waits_for_one_that_is_being_stopped() {
    check(
        "archive
        define f on=commit: lock exclusive cancels=PREV
        plan 1
        claim w -> f.lock@rev-1
        plan 2
        task COMMIT.COMMIT@rev-2 -> waiting
        skip f.lock@rev-1
        task f.lock@rev-2 -> ready
        claim v -> nothing
        report w f.lock@rev-1 stopped
        claim v -> f.lock@rev-2",
    )
    .check_history();
}

#[test]
fn commit_may_wait_for_more() {
    check(
        "archive
        define f on=commit: COMMIT depends=PREV.pdf ; pdf
        plan 1
        plan 2
        task COMMIT.COMMIT@rev-2 -> waiting
        claim w -> f.pdf@rev-1
        report w f.pdf@rev-1 ok
        task COMMIT.COMMIT@rev-2 -> done",
    )
    .check_history();
}

#[test]
fn without_trust_definitions_are_shown_and_nothing_of_them_runs() {
    check(
        "archive untrusted
        define f on=commit: a
        plan 1
        history rev-1 revision.untrusted -> revision.untrusted
        claim w -> nothing
        start f 1 -> no: wrong-state
        archive
        plan 2
        claim w -> f.a@rev-2",
    )
    .check_history();
}

#[test]
fn a_loop_of_commits_ends_in_a_named_state() {
    check(
        "archive
        define f on=commit: a
        plan 1 depth=7
        task f.a@rev-1 -> ready
        plan 2 depth=8
        history rev-2 -> revision.seen task.waiting revision.runaway task.done
        plan 3
        task f.a@rev-3 -> ready
        archive depth-max=0 -> no: out-of-range
        archive depth-max=65 -> no: out-of-range
        archive depth-max=10
        archive
        plan 4 depth=9
        task f.a@rev-4 -> ready
        plan 5 depth=10
        history rev-5 revision.runaway -> revision.runaway",
    )
    .check_history();
}

#[test]
fn filters_leave_out_what_a_revision_does_not_concern() {
    check(
        "archive
        define docs on=commit paths=docs/**: pdf
        define all on=commit ignore=robot: index ; check depends=pdf
        plan 1 paths=src/a,docs/b
        task docs.pdf@rev-1 -> ready
        plan 2 paths=src/a
        claim w step=all.check -> all.check@rev-2
        plan 3 author=robot paths=docs/x
        claim w step=docs.pdf max=9 -> docs.pdf@rev-1 docs.pdf@rev-3
        claim w step=all.index max=9 -> all.index@rev-1 all.index@rev-2",
    )
    .check_history();
}

#[test]
fn a_flow_is_started_by_hand_at_a_revision() {
    check(
        "archive
        define f on=commit: a
        define tidy: sweep ; report depends=sweep
        plan 1
        plan 2
        start tidy 3 -> no: no-such-item
        start tidy 1 -> round 1
        claim w step=tidy.sweep -> tidy.sweep@rev-1
        start tidy 1 -> round 2
        start f 2 -> round 2
        claim w step=f.a max=9 -> f.a@rev-1 f.a@rev-2 f.a@rev-2~2",
    )
    .check_history();
}

#[test]
fn a_schedule_runs_on_the_newest_revision() {
    check(
        "archive
        define f on=commit: a
        define nightly cron overlap=skip: tidy
        plan 1
        plan 2
        later 120
        fire 1060 -> fired 1
        fire 1060 -> fired 0
        claim w step=nightly.tidy -> nightly.tidy@rev-2
        plan 3
        fire 1120 -> fired 0
        report w nightly.tidy@rev-2 ok
        later 60
        fire 1180 -> fired 1
        claim w step=nightly.tidy -> nightly.tidy@rev-3
        define
        define f on=commit: a
        plan 4
        later 60
        fire 1240 -> fired 0",
    )
    .check_history();
}

/// Whoever opens a round on a revision: nothing of it runs before its COMMIT.
#[test]
fn every_task_waits_for_the_commit_of_its_revision() {
    check(
        "archive
        define f on=commit: index exclusive
        define nightly cron overlap=skip: tidy ; tell depends=tidy
        define hand: sweep
        define robot kinds=revision records=seen: peek
        plan 1
        claim w step=robot.peek -> robot.peek@rev-1
        plan 2
        task COMMIT.COMMIT@rev-2 -> waiting
        later 60
        fire 1060 -> fired 1
        start hand 2 -> round 1
        submit rev-2 hand
        task nightly.tidy@rev-2 -> waiting
        task hand.sweep@rev-2 -> waiting
        task hand.sweep@rev-2~2 -> waiting
        task robot.peek@rev-2 -> waiting
        claim v step=f.index -> f.index@rev-1
        report v f.index@rev-1 fail
        later 60
        fire 1120 -> fired 0
        task nightly.tidy@rev-2 -> waiting
        skip f.index@rev-1
        task COMMIT.COMMIT@rev-2 -> done
        task nightly.tidy@rev-2 -> ready
        task nightly.tell@rev-2 -> waiting
        task hand.sweep@rev-2 -> ready
        task hand.sweep@rev-2~2 -> ready
        task robot.peek@rev-2 -> ready",
    )
    .check_history();
}

/// Also what would wait for it only through a task that an operator skips.
#[test]
fn whoever_is_skipped_no_task_runs_before_its_commit() {
    check(
        "archive
        define main on=commit: lock exclusive ; index ; build depends=index
        plan 1
        claim w step=main.lock -> main.lock@rev-1
        claim v max=9 -> main.index@rev-1
        plan 2
        skip main.index@rev-2
        task main.build@rev-2 -> waiting
        report w main.lock@rev-1 ok
        task main.build@rev-2 -> ready",
    );
}
