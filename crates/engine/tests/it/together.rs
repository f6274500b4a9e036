//! The real rules: commands of one group see each other, and a failed commit leaves no trace.

use armarius_core::command::{Command, Ending, Report};
use armarius_core::flow::{Class, Flow, Step};
use armarius_core::reply::{Granted, Reply};
use armarius_engine::Outcome;
use armarius_store::World;

use crate::fake::{name, request};
use crate::small_world::{SmallWorld, claim_up_to, submit};

fn granted(outcome: &Outcome) -> Option<Granted> {
    match outcome {
        Ok(Reply::Claimed(granted)) => granted.clone(),
        other => panic!("{other:?}"),
    }
}

fn bulk(world: &SmallWorld, commands: Vec<Command>) -> Vec<Outcome> {
    world.handle.submit_many(commands.into_iter().map(request).collect())
}

#[test]
fn submit_and_claim_in_one_group() {
    let world = SmallWorld::with_flow(|_| {});
    let before = world.world().commits.len();
    let outcomes = bulk(&world, vec![Command::Submit(submit("a")), claim_up_to(1)]);
    assert_eq!(granted(&outcomes[1]).unwrap().tasks.len(), 1);
    assert_eq!(world.world().commits.len(), before + 1);
}

#[test]
fn two_claims_in_one_group() {
    let world = SmallWorld::with_flow(|_| {});
    let submits = ["a", "b", "c"].map(|key| Command::Submit(submit(key)));
    assert!(bulk(&world, submits.into()).iter().all(Result::is_ok));
    let outcomes = bulk(&world, vec![claim_up_to(2), claim_up_to(2), claim_up_to(2)]);
    let [one, two, three] = [0, 1, 2].map(|n| granted(&outcomes[n]));
    let tasks = |g: &Option<Granted>| -> Vec<i64> {
        g.iter().flat_map(|g| g.tasks.iter().map(|t| t.task.0)).collect()
    };
    assert_eq!((tasks(&one).len(), tasks(&two).len(), three), (2, 1, None));
    assert!(!tasks(&one).contains(&tasks(&two)[0]));
    assert_ne!(one.map(|g| g.lease), two.map(|g| g.lease));
}

/// A hundred submissions ask whether their items exist; that is one question of a far store, not a
/// hundred. A few more are the lane's own, and a group that filled up meanwhile.
#[test]
fn a_far_store_is_asked_once_for_many() {
    let world = SmallWorld::with_flow(|_| {});
    let before = world.loads();
    let submits = (0..100).map(|n| Command::Submit(submit(&format!("i{n}")))).collect();
    assert!(bulk(&world, submits).iter().all(Result::is_ok));
    let loads = world.loads() - before;
    assert!(loads <= 20, "{loads} questions");
}

/// A claim looks at the definitions of all flows with work. When they have left the cache, or were
/// never in it, they are one question, however many there are.
#[test]
fn a_claim_asks_for_many_flows_at_once() {
    const FLOWS: usize = 60;
    let world = SmallWorld::with_flow(|_| {});
    for n in 0..FLOWS {
        let mut flow = Flow::manual(name(&format!("f{n}")));
        flow.tasks.push(Step::outside(name("s")));
        let apply = Command::ApplyFlow { collection: name("c"), flow: Box::new(flow) };
        world.call(apply).unwrap();
        let mut submit = submit(&format!("i{n}"));
        submit.flow = name(&format!("f{n}"));
        world.call(Command::Submit(submit)).unwrap();
    }
    let at = world.now();
    let world = SmallWorld::holding(world.stop(), at);
    let before = world.loads();
    assert!(granted(&world.call(claim_up_to(1))).is_some());
    let loads = world.loads() - before;
    assert!(loads < FLOWS / 2, "{loads} questions");
}

/// Submits, claims and reports in one bulk whose first commits fail.
fn lifecycle(failures: usize) -> (Vec<Outcome>, World) {
    let world = SmallWorld::with_flow(|_| {});
    bulk(&world, ["a", "b"].map(|key| Command::Submit(submit(key))).into());
    let held = granted(&world.call(claim_up_to(1))).unwrap();
    world.fail_commits(failures);
    let report = Report {
        lease: held.lease,
        task: held.tasks[0].task,
        token: held.tasks[0].token,
        outcome: Ending::Class(Class::Success),
        detail: None,
        manifest: None,
        last: true,
    };
    let outcomes = bulk(
        &world,
        vec![
            Command::Submit(submit("c")),
            Command::Report(report),
            claim_up_to(5),
            Command::Submit(submit("c")),
            Command::DeleteItem { item: submit("b").item },
        ],
    );
    let mut end = world.stop();
    // Which commands shared a commit is not part of what they did.
    end.commits.clear();
    (outcomes, end)
}

#[test]
fn a_failed_commit_then_the_same_commands_again() {
    let (outcomes, world) = lifecycle(0);
    let (again, world_again) = lifecycle(1);
    assert_eq!(again, outcomes);
    assert_eq!(world_again.differences(&world), Vec::<String>::new());
    assert!(outcomes[1].is_ok() && granted(&outcomes[2]).is_some(), "{outcomes:?}");
}

#[test]
fn questions_are_answered_beside_the_lane() {
    let world = SmallWorld::with_flow(|_| {});
    let Ok(Reply::Round { item, .. }) = world.call(Command::Submit(submit("a"))) else {
        panic!("no round");
    };
    let events = world.handle.question(|reader| reader.events(item, 0, 10)).unwrap();
    assert!(!events.is_empty());
}
