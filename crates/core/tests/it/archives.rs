//! Archives as repositories: what is awaited, what changed its past, who is told.

use crate::lab::check;

#[test]
fn a_missing_revision_is_awaited_by_name_and_can_be_skipped() {
    check(
        "archive
        define f on=commit: a
        plan 1
        later 5
        notice 4
        awaiting -> revision 2 since 1005
        why COMMIT.COMMIT@rev-4 -> COMMIT.COMMIT@c/revision/4 is waiting
        |   awaiting revision 2 of archive c [armarius archive show c, or skip the revision]
        plan 3 -> no: wrong-state
        pass-over 3 -> no: wrong-state
        pass-over 2 -> new
        history rev-2 -> revision.seen task.waiting revision.skipped task.done
        later 5
        plan 3
        awaiting -> revision 4 since 1010
        plan 4
        awaiting -> nothing
        plan 4 -> known
        plan 2 -> known
        pass-over 5 -> no: wrong-state
        look 5
        pass-over 5 -> new",
    )
    .check_history();
}

#[test]
fn a_skipped_revision_keeps_the_order_of_its_neighbours() {
    check(
        "archive
        define f on=commit: a exclusive
        plan 1
        notice 2
        pass-over 2
        plan 3
        task COMMIT.COMMIT@rev-2 -> waiting
        task COMMIT.COMMIT@rev-3 -> waiting
        claim w
        report w f.a@rev-1 ok
        task COMMIT.COMMIT@rev-3 -> done",
    )
    .check_history();
}

#[test]
fn a_repository_that_changed_its_past_stops_its_archive() {
    for news in ["rewritten", "replaced", "0"] {
        check(&format!(
            "archive
            define f on=commit: a
            look 1
            plan 1
            look {news}
            plan 2 -> no: wrong-state
            notice 2 -> no: wrong-state
            claim w -> f.a@rev-1
            resume
            resume -> no: wrong-state
            plan 2 -> new"
        ))
        .check_history();
    }
    check(
        "archive
        look 3
        awaiting -> revision 1 since 1000
        look gone
        awaiting -> revision 1 since 1000 unreachable: no such folder
        look gone
        look 3
        awaiting -> revision 1 since 1000 unreachable: no such folder
        plan 1
        awaiting -> revision 2 since 1000",
    );
}

/// An operator takes a rewritten history as it is: what was planned stays, the next number is next.
#[test]
fn a_history_that_changed_can_be_accepted() {
    let lab = check(
        "archive
        define f on=commit: a
        look 3
        plan 1
        plan 2
        accept 3 -> no: wrong-state
        look rewritten
        accept 3 id=b2
        told -> put stopped accepted
        stands -> watched since 1000
        awaiting -> revision 3 since 1000
        plan 2 -> known
        plan 3 -> new
        look 3
        look 2
        stands -> stopped since 1000: the repository has revisions up to 2, but 3 is planned",
    );
    lab.check_history();
    let told = lab.events.iter().find(|event| event.name.as_str() == "archive.accepted");
    let detail = told.and_then(|event| event.detail.clone()).expect("a detail");
    assert!(detail.contains(r#""id":{"is":"b2","was":""}"#), "{detail}");
    assert!(detail.contains("the branch was tidied"), "{detail}");
    // A shorter one: nothing is awaited until there are more revisions than were planned.
    let mut lab = check(
        "archive
        define f on=commit: a
        look 5
        plan 1
        plan 2
        plan 3
        look 1
        later 5
        accept 1
        stands -> watched since 1005
        awaiting -> nothing
        look 1
        look 2
        stands -> watched since 1005
        look 1
        stands -> stopped since 1005: the repository has revisions up to 1, but 2 was there
        accept 1
        look 3
        awaiting -> nothing
        later 5
        look 4
        awaiting -> revision 4 since 1010
        plan 4 -> new
        look 3
        stands -> stopped since 1010: the repository has revisions up to 3, but 4 is planned",
    );
    lab.run("look replaced\naccept 4\nlook 4\nawaiting -> nothing");
    lab.check_history();
}

/// The repository answers, but one of its revisions cannot be read, try after try.
#[test]
fn a_revision_that_cannot_be_read_is_told_once_and_its_end_once() {
    check(
        "archive
        define f on=commit: a
        look 2
        plan 1
        later 5
        look broken
        later 5
        look 2
        look broken
        later 5
        look 3
        look broken
        stands -> unreachable since 1005: revision 2 is broken
        told -> put unreachable
        later 5
        look gone
        stands -> unreachable since 1005: no such folder
        look 3
        plan 2
        stands -> watched since 1020
        told -> put unreachable reached
        look broken
        pass-over 3
        stands -> unreachable since 1020: revision 2 is broken
        look 3
        stands -> watched since 1020
        told -> put unreachable reached unreachable reached",
    )
    .check_history();
}

#[test]
fn nobody_else_makes_or_unmakes_revisions() {
    check(
        "archive
        define f on=commit: a
        plan 1
        item rev-2 -> no: wrong-state
        submit rev-2 f -> no: wrong-state
        delete rev-1 -> no: wrong-state
        event rev-1 revision.planned ok -> no: bad-name
        notice 2000000 -> no: out-of-range
        unwatch
        plan 2 -> no: no-such-archive
        archive
        plan 2 -> new",
    )
    .check_history();
}

#[test]
fn an_archive_that_begins_later_waits_until_its_repository_is_there() {
    check(
        "archive first=3
        define f on=commit: a
        look 0
        awaiting -> nothing
        look replaced
        look 2
        awaiting -> nothing
        look 3
        awaiting -> revision 3 since 1000
        plan 3
        look 2
        awaiting -> nothing stopped: the repository has revisions up to 2, but 3 is planned",
    )
    .check_history();
}

#[test]
fn an_archive_that_never_planned_anything_may_become_another() {
    check(
        "archive first=100
        define f on=commit: a
        look 3
        unwatch
        archive
        look 3
        awaiting -> revision 1 since 1000
        archive first=2
        awaiting -> nothing
        notice 3
        archive -> no: already-exists
        plan 2
        archive first=2",
    )
    .check_history();
    check(
        "archive
        define f on=commit: a
        plan 1
        unwatch
        archive first=2 -> no: already-exists",
    );
    // What was said once and not now stays.
    let lab = check("archive first=50 depth-max=3\narchive first=60");
    assert_eq!((lab.archive_row().first, lab.archive_row().depth_max), (60, 3));
}

#[test]
fn those_who_are_told_about_an_archive_hear_what_needs_somebody() {
    check(
        "archive
        define main on=commit: indexing
        look 1
        plan 1
        letters ->
        claim w -> main.indexing@rev-1
        report w main.indexing@rev-1 1
        letters -> post 1 task.failed 1 indexing permanent
        look 2
        invalid 2
        plan 3 depth=9
        look rewritten
        letters -> post 1 task.failed 1 indexing permanent, post 2 revision.invalid 2, \
        post 3 revision.runaway 3, post 4 archive.stopped",
    );
}
