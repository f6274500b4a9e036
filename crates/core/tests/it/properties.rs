//! Random commands: after every step the invariants hold, a slice decides as the whole world does,
//! and at the end rows equal a fold of the events.

use armarius_core::command::{Claim, Ending, HoldOn, PutItem, Report, Submit};
use armarius_core::event::Outcome;
use armarius_core::flow::Class;
use armarius_core::ids::{BatchId, HoldId, ScheduleId, TaskId, Time, Token};
use armarius_core::rows::{BatchState, Counter};
use armarius_core::task::State;
use armarius_core::text::{Name, Text};
use armarius_core::{Command, Reply};
use proptest::prelude::*;

use crate::lab::{Lab, item};

const FLOWS: &str = "
flow one records=one: s retries=1 late
flow chain records=chain: a ; b depends=a ; c depends=a,b?
flow tight concurrency=2: s exclusive limit=h/1 ; t timeout=40
flow build on=commit: i depends=PREV ; p depends=i cancels=PREV ; q depends=p
flow bot success=one records=bot: s
flow solo success=bot failed=x records=solo touches singleton: s
flow cron cron overlap=replace: s
";

#[derive(Clone, Debug)]
enum Op {
    Submit { item: u8, flow: u8, priority: i32, after: Option<u8>, batch: bool, delay: bool },
    Claim { worker: u8, max: u32 },
    Report { worker: u8, pick: u8, ending: u8, last: bool },
    Beat { worker: u8 },
    GiveBack { worker: u8 },
    Event { item: u8, name: u8, ok: bool },
    Touch { item: u8 },
    Operate { verb: u8, pick: u8 },
    Hold { on: u8, pick: u8, short: bool },
    Release { pick: u8 },
    Batch { verb: u8 },
    Delete { item: u8 },
    Put { item: u8, priority: i32 },
    Fire,
    Tick { seconds: u8 },
    Later { seconds: u8 },
    Errand,
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    let b = any::<bool>;
    prop_oneof![
        8 => (0..6_u8, 0..5_u8, -1..2_i32, prop::option::weighted(0.2, 0..6_u8), b(), b()).prop_map(
            |(item, flow, priority, after, batch, delay)| Op::Submit {
                item, flow, priority, after, batch, delay
            }
        ),
        8 => (0..3_u8, 1..5_u32).prop_map(|(worker, max)| Op::Claim { worker, max }),
        10 => (0..3_u8, any::<u8>(), 0..6_u8, prop::bool::weighted(0.1)).prop_map(
            |(worker, pick, ending, last)| Op::Report { worker, pick, ending, last }
        ),
        2 => (0..3_u8).prop_map(|worker| Op::Beat { worker }),
        1 => (0..3_u8).prop_map(|worker| Op::GiveBack { worker }),
        3 => (0..6_u8, 0..3_u8, b()).prop_map(|(item, name, ok)| Op::Event { item, name, ok }),
        1 => (0..6_u8).prop_map(|item| Op::Touch { item }),
        4 => (0..4_u8, any::<u8>()).prop_map(|(verb, pick)| Op::Operate { verb, pick }),
        2 => (0..5_u8, any::<u8>(), b()).prop_map(|(on, pick, short)| Op::Hold { on, pick, short }),
        2 => any::<u8>().prop_map(|pick| Op::Release { pick }),
        2 => (0..6_u8).prop_map(|verb| Op::Batch { verb }),
        1 => (0..6_u8).prop_map(|item| Op::Delete { item }),
        2 => (0..6_u8, -2..3_i32).prop_map(|(item, priority)| Op::Put { item, priority }),
        1 => Just(Op::Fire),
        3 => (1..40_u8).prop_map(|seconds| Op::Tick { seconds }),
        1 => (1..40_u8).prop_map(|seconds| Op::Later { seconds }),
        2 => Just(Op::Errand),
        1 => Just(Op::Restart),
    ]
}

// tidy: long because there is one arm per operation
/// The command of an operation, given the world as it is.
fn command(lab: &Lab, op: &Op, now: i64) -> Option<(String, Command)> {
    let op_actor = "op".to_owned();
    let worker = |w: u8| format!("w{w}");
    let pick_task = |pick: u8| -> Option<TaskId> {
        let n = lab.count(Counter::Task);
        (n > 0).then(|| TaskId(i64::from(pick) % n + 1))
    };
    let lease = |w: u8| {
        let name = worker(w);
        lab.world.leases.iter().find(|(_, l)| *l.worker == *name).map(|(id, l)| (*id, l.clone()))
    };
    let batch = BatchId(lab.count(Counter::Batch));
    Some(match op {
        Op::Submit { .. } => (op_actor, Command::Submit(submit(lab, op, now)?)),
        Op::Claim { worker: w, max } => {
            let claim = Claim {
                worker: Name::trusted(&worker(*w)),
                labels: Vec::new(),
                ways: Vec::new(),
                steps: Vec::new(),
                collections: Vec::new(),
                max: *max,
            };
            (worker(*w), Command::Claim(claim))
        }
        Op::Report { worker: w, pick, ending, last } => {
            // Sometimes a report is for something its lease does not hold, or holds no longer.
            let (lease, row) = lease(*w)?;
            let grip = row.grips.get(usize::from(*pick) % (row.grips.len() + 1));
            let (task, token) = match grip {
                Some(grip) => (grip.task, grip.token),
                None => (pick_task(*pick)?, Token(1)),
            };
            let outcome = match ending {
                0..=2 => Ending::Class(Class::Success),
                3 => Ending::Class(Class::Permanent),
                4 => Ending::Class(Class::Transient),
                _ => Ending::Stopped,
            };
            let (detail, manifest) = (None, None);
            let report = Report { lease, task, token, outcome, detail, manifest, last: *last };
            (worker(*w), Command::Report(report))
        }
        Op::Beat { worker: w } => {
            let (lease, _) = lease(*w)?;
            (worker(*w), Command::Heartbeat { lease, progress: Vec::new() })
        }
        Op::GiveBack { worker: w } => (worker(*w), Command::GiveBack { lease: lease(*w)?.0 }),
        Op::Event { item: i, name, ok } => {
            let name = Name::trusted(["one", "bot", "x"][usize::from(*name)]);
            let outcome = if *ok { Outcome::Success } else { Outcome::Failure };
            (op_actor, Command::AddEvent { item: key(*i), name, outcome, detail: None })
        }
        Op::Touch { item: i } => (op_actor, Command::TouchItem { item: key(*i), detail: None }),
        Op::Operate { verb, pick } => {
            let task = pick_task(*pick)?;
            let reason = Text::from("");
            let command = match verb {
                0 => Command::Retry { task },
                1 => Command::Skip { task, reason },
                2 => Command::Cancel { task, reason },
                _ => Command::Prioritise { task, priority: i32::from(*pick % 5) },
            };
            (op_actor, command)
        }
        Op::Hold { on, pick, short } => {
            let on = match on {
                0 => HoldOn::Collection(Name::trusted("c")),
                1 => HoldOn::Flow(Name::trusted("c"), Name::trusted("one")),
                2 => HoldOn::Item(key(*pick % 6)),
                3 => HoldOn::Batch(batch),
                _ => HoldOn::Task(pick_task(*pick)?),
            };
            let until = short.then_some(Time(now + 20_000_000));
            (op_actor, Command::Hold { on, reason: "because".into(), until })
        }
        Op::Release { pick } => {
            let n = lab.count(Counter::Hold).max(1);
            (op_actor, Command::Release { hold: HoldId(i64::from(*pick) % n + 1) })
        }
        Op::Batch { verb } => (op_actor, batch_command(lab, *verb, batch)),
        Op::Delete { item: i } => (op_actor, Command::DeleteItem { item: key(*i) }),
        Op::Put { item: i, priority } => {
            let put = PutItem {
                item: key(*i),
                priority: Some(*priority),
                ordinal: (*i < 4).then_some(i64::from(*i) + 1),
                types: None,
                attributes: None,
            };
            (op_actor, Command::PutItem(put))
        }
        Op::Fire => (op_actor, Command::Fire { schedule: ScheduleId(1), slots: vec![Time(now)] }),
        Op::Errand => {
            let (_, errand, _) = lab.world.errands.iter().next()?;
            (op_actor, Command::RunErrand { errand: *errand })
        }
        Op::Restart => (op_actor, Command::Refresh),
        Op::Tick { .. } | Op::Later { .. } => return None,
    })
}

fn key(i: u8) -> armarius_core::address::ItemAddress {
    item(&format!("i{i}"))
}

fn batch_command(lab: &Lab, verb: u8, batch: BatchId) -> Command {
    let open = lab.world.batches.iter().any(|(_, b)| b.state == BatchState::Open);
    match verb {
        0 if !open => Command::OpenBatch { collection: Name::trusted("c"), key: "".into() },
        0 | 1 => Command::SealBatch { batch },
        2 => Command::CancelBatch { batch },
        3 => Command::RetryBatch { batch },
        4 => Command::ReportBatch { batch },
        _ => Command::DeleteBatch { batch },
    }
}

fn submit(lab: &Lab, op: &Op, now: i64) -> Option<Submit> {
    let Op::Submit { item: i, flow, priority, after, batch, delay } = op else { return None };
    let flow = ["one", "chain", "tight", "build", "one"][usize::from(*flow)];
    let open = lab.world.batches.iter().find(|(_, b)| b.state == BatchState::Open);
    let after = after.map(|a| {
        let round = u32::from(*i) % 2 + 1;
        armarius_core::address::TaskAddress {
            flow: Name::trusted("one"),
            step: Name::trusted("s"),
            item: key(a),
            part: "".into(),
            round,
        }
    });
    Some(Submit {
        item: key(*i),
        flow: Name::trusted(flow),
        payload: if *i < 3 { r#"{"h":"x"}"#.into() } else { "".into() },
        priority: Some(*priority),
        not_before: delay.then_some(Time(now + 15_000_000)),
        parts: if flow == "chain" && *i == 5 { vec!["x".into(), "y".into()] } else { Vec::new() },
        depends: after.into_iter().collect(),
        batch: open.filter(|_| *batch).map(|(id, _)| *id),
    })
}

/// Runs operations; every one is decided on the world and on a slice, and checked.
fn run(ops: &[Op]) -> Lab {
    let mut lab = Lab::new();
    lab.run(FLOWS);
    for i in 0..6 {
        let put = Op::Put { item: i, priority: 0 };
        let (actor, command) = command(&lab, &put, lab.now()).expect("an item");
        lab.call(&actor, command).expect("put");
    }
    for op in ops {
        match op {
            Op::Tick { seconds } => lab.tick(i64::from(*seconds)),
            Op::Later { seconds } => lab.pass(i64::from(*seconds)),
            op => {
                if let Some((actor, command)) = command(&lab, op, lab.now()) {
                    // Refusals are fine; that they change nothing is checked with the slice.
                    let _refused = lab.call(&actor, command).is_err();
                }
            }
        }
    }
    lab
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_commands_keep_the_invariants(ops in prop::collection::vec(op(), 1..120)) {
        let lab = run(&ops);
        lab.check_history();
    }

    /// After faults stop and workers are there, everything accepted is settled, or waits for
    /// something that has a name.
    #[test]
    fn nothing_is_silently_stuck(ops in prop::collection::vec(op(), 1..60)) {
        let mut lab = run(&ops);
        lab.slices = false;
        let holds: Vec<HoldId> = lab.world.holds.iter().map(|(id, _)| *id).collect();
        for hold in holds {
            lab.must(Command::Release { hold });
        }
        for _ in 0..200 {
            lab.tick(31);
            while work(&mut lab) {}
        }
        for (id, task) in lab.world.tasks.iter() {
            let named = match task.state {
                State::Done | State::Failed | State::Cancelled => true,
                State::Waiting => task.blockers > 0,
                State::Held | State::Ready | State::Leased => false,
            };
            prop_assert!(named, "task {id}: {task:?}");
        }
    }
}

/// Claims and finishes some work; false when there is none.
fn work(lab: &mut Lab) -> bool {
    let claim = Claim {
        worker: Name::trusted("last"),
        labels: Vec::new(),
        ways: Vec::new(),
        steps: Vec::new(),
        collections: Vec::new(),
        max: 100,
    };
    let Reply::Claimed(Some(granted)) = lab.call("last", Command::Claim(claim)).expect("claim")
    else {
        return false;
    };
    for task in granted.tasks {
        let report = Report {
            lease: granted.lease,
            task: task.task,
            token: task.token,
            outcome: Ending::Class(Class::Success),
            detail: None,
            manifest: None,
            last: false,
        };
        lab.call("last", Command::Report(report)).expect("report");
    }
    true
}
