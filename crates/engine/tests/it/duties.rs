//! What the lane does by itself, under the real rules, as time passes.

use std::time::Duration;

use armarius_core::command::{Command, HoldOn, Submit};
use armarius_core::flow::{Calendar, Missed, On, Overlap};
use armarius_core::ids::Span;
use armarius_core::refusal::Code;
use armarius_core::reply::Reply;
use armarius_core::task::State;

use crate::fake::{name, request};
use crate::groups::code;
use crate::small_world::{SmallWorld, claim_up_to, submit};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_lapsed_lease_gives_its_task_to_the_next_claim() {
    let world = SmallWorld::with_flow(|_| {});
    world.call(Command::Submit(submit("a"))).unwrap();
    let Ok(Reply::Claimed(Some(first))) = world.call(claim_up_to(1)) else { panic!("no work") };
    let second = world.claim_during("w2", || world.pass(MINUTE)).unwrap();
    assert_eq!(second.tasks[0].task, first.tasks[0].task);
    assert!(second.tasks[0].token > first.tasks[0].token);
    let late = Command::Heartbeat { lease: first.lease, progress: vec![] };
    assert_eq!(code(&world.call(late)), Some(Code::LeaseOver));
}

#[test]
fn a_clock_that_is_set_back_makes_no_lease_immortal() {
    let world = SmallWorld::with_flow(|_| {});
    world.call(Command::Submit(submit("a"))).unwrap();
    let Ok(Reply::Claimed(Some(first))) = world.call(claim_up_to(1)) else { panic!("no work") };
    let second = world.claim_during("w2", || world.pass_with_store_behind(60 * MINUTE, MINUTE));
    assert_eq!(second.unwrap().tasks[0].task, first.tasks[0].task);
    let end = world.stop();
    assert!(end.commits.values().is_sorted_by_key(|commit| commit.at));
}

#[test]
fn a_task_whose_time_has_come_is_handed_out() {
    let world = SmallWorld::with_flow(|_| {});
    let not_before = Some(world.now().plus(Span::seconds(60)));
    world.call(Command::Submit(Submit { not_before, ..submit("a") })).unwrap();
    assert_eq!(world.call(claim_up_to(1)), Ok(Reply::Claimed(None)));
    let granted = world.claim_during("w", || world.pass(MINUTE));
    assert_eq!(granted.unwrap().tasks.len(), 1);
}

#[test]
fn a_hold_that_ends_by_itself_wakes_who_waits() {
    let world = SmallWorld::with_flow(|_| {});
    let until = Some(world.now().plus(Span::seconds(60)));
    let on = HoldOn::Collection(name("c"));
    world.call(Command::Hold { on, reason: "lunch".into(), until }).unwrap();
    world.call(Command::Submit(submit("a"))).unwrap();
    assert_eq!(world.call(claim_up_to(1)), Ok(Reply::Claimed(None)));
    let granted = world.claim_during("w", || world.pass(MINUTE));
    assert_eq!(granted.unwrap().tasks.len(), 1);
    assert!(world.world().holds.is_empty());
}

#[test]
fn a_hold_that_is_released_wakes_who_waits() {
    let world = SmallWorld::with_flow(|_| {});
    let on = HoldOn::Flow(name("c"), name("f"));
    let held = world.call(Command::Hold { on, reason: "lunch".into(), until: None });
    let Ok(Reply::Hold(hold)) = held else { panic!("{held:?}") };
    world.call(Command::Submit(submit("a"))).unwrap();
    let granted = world.claim_during("w", || drop(world.call(Command::Release { hold })));
    assert_eq!(granted.unwrap().tasks.len(), 1);
}

#[test]
fn a_schedule_fires_each_slot_once() {
    let world = SmallWorld::with_flow(|flow| {
        flow.on = On::Schedule(Calendar {
            cron: "*/5 * * * *".into(),
            tz: "UTC".into(),
            missed: Missed::All,
            overlap: Overlap::Allow,
        });
    });
    let granted = world.claim_during("w", || world.pass(5 * MINUTE));
    assert_eq!(granted.unwrap().tasks.len(), 1);
    // Twelve more slots pass unseen; each fires, and none twice.
    world.pass(60 * MINUTE);
    world.wait_until(|w| w.tasks.len() == 13);
    world.call(claim_up_to(1)).unwrap();
    let end = world.stop();
    assert_eq!(end.tasks.len(), 13);
    let fired = end.events.values().filter(|e| &*e.name == "schedule.fired").count();
    assert_eq!(fired, 13);
}

#[test]
fn after_a_restart_live_leases_get_a_fresh_term() {
    let world = SmallWorld::with_flow(|_| {});
    world.call(Command::Submit(submit("a"))).unwrap();
    let Ok(Reply::Claimed(Some(held))) = world.call(claim_up_to(1)) else { panic!("no work") };
    let later = world.now().plus(Span::seconds(600));
    let world = SmallWorld::holding(world.stop(), later);
    let renewed = world.call(Command::Heartbeat { lease: held.lease, progress: vec![] });
    assert!(matches!(renewed, Ok(Reply::Renewed { .. })), "{renewed:?}");
}

#[test]
fn what_is_too_large_for_one_commit_is_finished_by_errands() {
    let world = SmallWorld::with_flow(|_| {});
    let opened = world.call(Command::OpenBatch { collection: name("c"), key: "b".into() });
    let Ok(Reply::Batch(batch)) = opened else { panic!("{opened:?}") };
    let members = (0..2_000)
        .map(|n| Submit { batch: Some(batch), ..submit(&format!("i{n}")) })
        .map(|s| request(Command::Submit(s)))
        .collect();
    assert!(world.handle.submit_many(members).iter().all(Result::is_ok));
    world.call(Command::CancelBatch { batch }).unwrap();
    world.wait_until(|w| {
        let open = |t: &armarius_core::rows::Task| t.state != State::Cancelled;
        w.errands.is_empty() && !w.tasks.values().any(open)
    });
    assert_eq!(world.handle.stats().stalls, 0);
}
