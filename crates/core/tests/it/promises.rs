//! What robots promise, under random events: at every grant the trigger held, and every item that
//! satisfies a trigger is granted.

use armarius_core::decide::{query_holds, standing};
use armarius_core::flow::On;
use armarius_core::ids::{ItemId, TaskId};
use armarius_core::rows::FlowRow;
use armarius_core::task::{Cause, State};
use proptest::prelude::*;

use crate::lab::Lab;

/// Robots in two versions each; which one is registered changes.
const ROBOTS: [[&str; 2]; 5] = [
    ["flow ocr success=scan records=ocr: s retries=1", "flow ocr success=scan,x records=ocr: s"],
    [
        "flow pdf success=ocr records=pdf touches absent=pdf: s",
        "flow pdf success=ocr records=pdf: s",
    ],
    [
        "flow fix failed=ocr stale=fix records=fix: a ; b depends=a",
        "flow fix failed=ocr records=fix: a",
    ],
    ["flow img types=image stale=img records=img: s", "flow img types=image,page records=img: s"],
    ["flow see success=pdf: s", "flow see success=pdf absent=x: s"],
];
const ITEMS: [&str; 3] = ["a", "b", "d"];
const NAMES: [&str; 4] = ["scan", "ocr", "x", "pdf"];
const TYPES: [&str; 3] = ["image", "image,page", "sound"];

#[derive(Clone, Debug)]
enum Op {
    Line(String),
    Claim(u8),
    Report(u8, u8),
    Retry(u8),
}

fn op() -> impl Strategy<Value = Op> {
    let item = || prop::sample::select(&ITEMS[..]);
    let name = || prop::sample::select(&NAMES[..]);
    let ok = || prop::bool::weighted(0.7).prop_map(|ok| if ok { "ok" } else { "bad" });
    prop_oneof![
        8 => (item(), name(), ok()).prop_map(|(i, n, o)| Op::Line(format!("event {i} {n} {o}"))),
        1 => (item(), name(), ok(), 0..9_u8)
            .prop_map(|(i, n, o, id)| Op::Line(format!("say {i} {n} {o} import={id}"))),
        3 => item().prop_map(|i| Op::Line(format!("touch {i}"))),
        2 => (item(), prop::sample::select(&TYPES[..]))
            .prop_map(|(i, t)| Op::Line(format!("item {i} types={t}"))),
        1 => item().prop_map(|i| Op::Line(format!("delete {i}"))),
        2 => (item(), name()).prop_map(|(i, n)| Op::Line(format!("rewind {i} from={n}"))),
        1 => item().prop_map(|i| Op::Line(format!("rewind {i} from=failure"))),
        1 => (0..5_usize, 0..2_usize).prop_map(|(r, v)| Op::Line(ROBOTS[r][v].to_owned())),
        1 => prop::sample::select(&["ocr", "pdf", "fix", "img", "see"][..])
            .prop_map(|f| Op::Line(format!("remove-flow {f}"))),
        1 => Just(Op::Line("errands".to_owned())),
        1 => Just(Op::Line("tick 31".to_owned())),
        1 => (0..3_u8).prop_map(|w| Op::Line(format!("give-back w{w}"))),
        8 => (0..3_u8).prop_map(Op::Claim),
        8 => (0..3_u8, 0..6_u8).prop_map(|(w, ending)| Op::Report(w, ending)),
        2 => any::<u8>().prop_map(Op::Retry),
    ]
}

/// Whether a robot's query holds, by the rows alone.
fn trigger_holds(lab: &Lab, flow: &FlowRow, item: ItemId) -> bool {
    let version = lab.world.versions.get(&flow.version).expect("whole").expect("a version");
    let On::Items(query) = &version.def.on else { return false };
    let row = lab.world.items.get(&item).expect("whole").expect("an item");
    query_holds(query, row, |name| {
        let mark = lab.world.marks.get(&(item, name.clone())).expect("whole");
        mark.and_then(|mark| standing(mark, row))
    })
}

/// Claims, and looks at every grant.
fn claim(lab: &mut Lab, worker: u8, max: u8) -> bool {
    let granted = lab.answer(&format!("claim w{worker} max={max}"));
    if granted == "nothing" {
        return false;
    }
    for task in granted.split(' ') {
        let id = lab.task_id(task);
        let body = lab.world.bodies.get(&id).expect("whole").expect("a body");
        let flow = lab.world.flows.get(&body.flow).expect("whole").expect("a flow");
        let pending = lab.world.errands.iter().next().is_some();
        assert!(
            flow.removed || pending || trigger_holds(lab, flow, body.item),
            "{task} was granted, and its trigger does not hold"
        );
    }
    true
}

fn play(lab: &mut Lab, op: &Op) {
    match op {
        Op::Line(line) => drop(lab.answer_if_possible(line)),
        Op::Claim(worker) => drop(claim(lab, *worker, 2)),
        Op::Report(worker, ending) => {
            let worker = format!("w{worker}");
            let lease = lab.world.leases.iter().find(|(_, l)| *l.worker == *worker);
            let Some(grip) = lease.and_then(|(_, l)| l.grips.first()).copied() else { return };
            let task = lab.name_of(grip.task);
            let how = ["ok", "ok", "ok", "fail", "transient", "stopped"][usize::from(*ending)];
            drop(lab.answer_if_possible(&format!("report {worker} {task} {how}")));
        }
        Op::Retry(pick) => {
            let failed = lab.world.tasks.iter().filter(|(_, t)| t.state == State::Failed);
            let failed: Vec<TaskId> = failed.map(|(id, _)| *id).collect();
            if let Some(id) = failed.get(usize::from(*pick) % failed.len().max(1)) {
                let task = lab.name_of(*id);
                drop(lab.answer(&format!("retry {task}")));
            }
        }
    }
}

/// Every item that satisfies a trigger had its round, and the round came to an end.
fn check_all_granted(lab: &Lab) {
    for (_, flow) in lab.world.flows.iter().filter(|(_, flow)| !flow.removed) {
        for (id, item) in lab.world.items.iter().filter(|(id, _)| trigger_holds(lab, flow, **id)) {
            let bodies = lab.world.bodies.iter().map(|(_, body)| body);
            let own = bodies.filter(|b| b.item == *id && b.flow == flow.id);
            let last = own.max_by_key(|b| b.round);
            let last = last.unwrap_or_else(|| panic!("{} never came to {}", flow.name, item.key));
            let task = lab.world.tasks.get(&last.id).expect("whole").expect("a task");
            let saw = format!("content {}", item.changed_seq);
            let fresh = last.fingerprint.split([',', ' ']).take(2).eq(saw.split(' '));
            assert!(
                task.state.is_settled() && task.cause != Cause::TriggerGone && fresh,
                "{} on {}: {task:?}, {}",
                flow.name,
                item.key,
                last.fingerprint
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        max_shrink_iters: 4_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn robots_keep_their_promises(ops in prop::collection::vec(op(), 1..90)) {
        let mut lab = Lab::new();
        for item in ITEMS {
            lab.run(&format!("item {item} types=image"));
        }
        for [robot, _] in ROBOTS {
            lab.run(robot);
        }
        for op in &ops {
            play(&mut lab, op);
        }
        lab.check_history();
        // Afterwards everybody works, without trouble, until nothing is left.
        lab.slices = false;
        for _ in 0..200 {
            lab.tick(31);
            while claim(&mut lab, 9, 50) {
                let (_, lease) = lab.world.leases.iter().next().expect("a lease");
                let tasks: Vec<String> = lease.grips.iter().map(|g| lab.name_of(g.task)).collect();
                for task in tasks {
                    lab.run(&format!("report w9 {task} ok"));
                }
            }
        }
        lab.check_history();
        check_all_granted(&lab);
    }
}
