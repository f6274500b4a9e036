//! Whatever the order, the repetition and the loss of notices: the same history. Random graphs
//! against a model that is too slow and too simple to be wrong in the same way.

use std::collections::BTreeMap;

use armarius_core::Command;
use armarius_core::flow::{Flow, Reference, When, check::check_together};
use armarius_core::text::Name;
use proptest::prelude::*;

use crate::lab::{Lab, check};
use crate::notation;

const BUILD: &str = "main on=commit: indexing depends=PREV ; \
     build-PDF depends=indexing cancels=PREV ; send depends=build-PDF ; log exclusive";

/// Every item's history as text: event names and tasks, whoever caused them and when.
fn histories(lab: &Lab) -> String {
    let mut lines: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for event in &lab.events {
        let item = lab.world.items.get(&event.item).expect("whole").expect("an item");
        let Some(revision) = item.ordinal else { continue };
        let task = event.task.map(|t| lab.name_of(t)).unwrap_or_default();
        lines.entry(revision).or_default().push(format!("{} {task}", event.name));
    }
    lines.iter().map(|(n, events)| format!("{n}: {}\n", events.join(", "))).collect()
}

/// Notices come in some order, some twice, some never; in the end somebody looks at the repository.
fn play(order: &[i64], lost: i64, twice: i64) -> Lab {
    let mut lab = check("archive");
    lab.slices = false;
    lab.definitions = vec![notation::flow(BUILD)];
    for revision in order.iter().filter(|r| **r != lost) {
        lab.run(&format!("notice {revision}"));
        if *revision == twice {
            lab.run(&format!("notice {revision} -> known"));
        }
        catch_up(&mut lab, noticed);
    }
    lab.run("look 6");
    catch_up(&mut lab, |_, next| next <= 6);
    lab.run(&format!("notice {twice} -> known"));
    for _ in 0..100 {
        let got = lab.answer("claim w");
        if got == "nothing" {
            return lab;
        }
        lab.run(&format!("report w {got} ok"));
    }
    panic!("work without end");
}

fn noticed(lab: &Lab, revision: i64) -> bool {
    lab.world.items.iter().any(|(_, item)| item.ordinal == Some(revision))
}

fn catch_up(lab: &mut Lab, wanted: impl Fn(&Lab, i64) -> bool) {
    loop {
        let next = lab.archive_row().planned + 1;
        if !wanted(lab, next) {
            return;
        }
        lab.must(lab.plan_of(next, &[]));
    }
}

#[test]
fn all_orders_of_six_notices_end_in_the_same_history() {
    let mut wanted = None;
    let mut order = [1, 2, 3, 4, 5, 6];
    let mut count = 0;
    permute(&mut order, 0, &mut |order| {
        count += 1;
        let lab = play(order, count % 8, count % 6 + 1);
        let told = histories(&lab);
        match &wanted {
            None => wanted = Some(told),
            Some(wanted) => assert_eq!(*wanted, told, "order {order:?}"),
        }
        if count % 40 == 0 {
            lab.check_history();
        }
    });
    assert_eq!(count, 720);
    assert!(wanted.is_some_and(|told| told.contains("6: revision.seen , task.waiting")));
}

fn permute(order: &mut [i64; 6], from: usize, each: &mut impl FnMut(&[i64; 6])) {
    if from == order.len() {
        return each(order);
    }
    for i in from..order.len() {
        order.swap(from, i);
        permute(order, from + 1, each);
        order.swap(from, i);
    }
}

/// How a task stands in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Waiting,
    Ready,
    Done,
    Failed,
    Superseded,
}

/// Revisions as lists of steps, and how each stands. Everything is looked at again and again until
/// nothing changes.
#[derive(Default)]
struct Model {
    revisions: Vec<Flow>,
    stands: BTreeMap<(usize, Name), Stand>,
    commits: Vec<bool>,
}

impl Model {
    fn plan(&mut self, flow: &Flow) {
        let revision = self.revisions.len();
        self.revisions.push(flow.clone());
        self.commits.push(false);
        for step in &flow.tasks {
            self.stands.insert((revision, step.name.clone()), Stand::Waiting);
        }
        self.settle();
    }

    fn end(&mut self, key: &(usize, Name), ok: bool) {
        self.stands.insert(key.clone(), if ok { Stand::Done } else { Stand::Failed });
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            let before = (self.stands.clone(), self.commits.clone());
            for revision in 0..self.revisions.len() {
                self.commits[revision] |= self.may_commit(revision);
                for step in self.revisions[revision].tasks.clone() {
                    self.look(revision, &step.name);
                }
            }
            if before == (self.stands.clone(), self.commits.clone()) {
                return;
            }
        }
    }

    fn may_commit(&self, revision: usize) -> bool {
        let Some(before) = revision.checked_sub(1) else { return true };
        let exclusive = self.revisions[before].tasks.iter().filter(|s| s.exclusive);
        let settled = |stand| matches!(stand, Some(Stand::Done | Stand::Superseded));
        let mut stands = exclusive.map(|s| self.stands.get(&(before, s.name.clone())).copied());
        self.commits[before] && stands.all(settled)
    }

    fn look(&mut self, revision: usize, name: &Name) {
        let key = (revision, name.clone());
        if self.stands[&key] != Stand::Waiting {
            return;
        }
        let step = self.revisions[revision].step(name).expect("a step").clone();
        let mut free = self.commits[revision];
        for depend in &step.depends {
            let (target, inner) = match &depend.on {
                Reference::Task(other) => (Some((revision, other.clone())), true),
                Reference::Prev => (self.earlier(revision, name), false),
                Reference::PrevTask(other) => (self.earlier(revision, other), false),
            };
            match target.and_then(|t| self.stands.get(&t).copied()) {
                Some(Stand::Superseded) if inner && depend.when == When::Done => {
                    return self.supersede(&key);
                }
                Some(Stand::Done | Stand::Superseded) | None => {}
                Some(Stand::Failed) if depend.when == When::Settled => {}
                Some(Stand::Waiting | Stand::Ready | Stand::Failed) => free = false,
            }
        }
        if free {
            self.stands.insert(key.clone(), Stand::Ready);
            self.cancel(&key);
        }
    }

    fn earlier(&self, revision: usize, name: &Name) -> Option<(usize, Name)> {
        let key = |r: usize| (r, name.clone());
        (0..revision).rev().map(key).find(|key| self.stands.contains_key(key))
    }

    fn supersede(&mut self, key: &(usize, Name)) {
        let stand = self.stands[key];
        if !matches!(stand, Stand::Waiting | Stand::Ready) {
            return;
        }
        self.stands.insert(key.clone(), Stand::Superseded);
        if stand == Stand::Waiting {
            self.cancel(key);
        }
    }

    fn cancel(&mut self, key: &(usize, Name)) {
        let step = self.revisions[key.0].step(&key.1).expect("a step").clone();
        for reference in &step.cancels {
            let (name, revisions) = match reference {
                Reference::Task(name) => (name, key.0..=key.0),
                Reference::Prev | Reference::PrevTask(_) if key.0 == 0 => continue,
                Reference::Prev => (&key.1, 0..=key.0 - 1),
                Reference::PrevTask(name) => (name, 0..=key.0 - 1),
            };
            for revision in revisions {
                let target = (revision, name.clone());
                if target != *key && self.stands.contains_key(&target) {
                    self.supersede(&target);
                }
            }
        }
    }
}

/// A definition of up to four tasks, perhaps one that makes no sense.
fn definition() -> impl Strategy<Value = Flow> {
    let names = ["a", "b", "c", "d"];
    let reference = |own: usize| {
        let mut choices = vec!["PREV".to_owned()];
        choices.extend(names.iter().map(|n| format!("PREV.{n}")));
        choices.extend(names[..own].iter().map(|n| (*n).to_owned()));
        prop::sample::select(choices)
    };
    // Behind a question mark: any end will do.
    let awaited = move |own: usize| {
        (reference(own), prop::bool::weighted(0.3))
            .prop_map(|(name, any)| if any { format!("{name}?") } else { name })
    };
    let step = move |own: usize| {
        let depends = prop::collection::btree_set(awaited(own), 0..3);
        let cancels = prop::collection::btree_set(reference(own), 0..2);
        let here = prop::bool::weighted(0.8);
        (Just(names[own]), depends, cancels, prop::bool::weighted(0.2), here).prop_map(
            |(name, depends, cancels, exclusive, here)| {
                let mut text = name.to_owned();
                let join = |set: &std::collections::BTreeSet<String>| {
                    set.iter().cloned().collect::<Vec<_>>().join(",")
                };
                if !depends.is_empty() {
                    text += &format!(" depends={}", join(&depends));
                }
                if !cancels.is_empty() {
                    text += &format!(" cancels={}", join(&cancels));
                }
                if exclusive {
                    text += " exclusive";
                }
                here.then_some(text)
            },
        )
    };
    (step(0), step(1), step(2), step(3)).prop_map(|(a, b, c, d)| {
        let steps: Vec<String> = [a, b, c, d].into_iter().flatten().collect();
        let steps = if steps.is_empty() { "a".to_owned() } else { steps.join(" ; ") };
        notation::flow(&format!("f on=commit: {steps}"))
    })
}

/// The next revision, or the end of a task that may run.
#[derive(Clone, Debug)]
enum Op {
    Plan(Box<Flow>),
    End { pick: u8, ok: bool },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => definition().prop_map(|flow| Op::Plan(Box::new(flow))),
        3 => (any::<u8>(), prop::bool::weighted(0.8)).prop_map(|(pick, ok)| Op::End { pick, ok }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..Default::default() })]

    #[test]
    fn random_graphs_stand_as_the_model_says(ops in prop::collection::vec(op(), 1..25)) {
        let mut lab = check("archive");
        let mut model = Model::default();
        for op in &ops {
            match op {
                Op::Plan(flow) => {
                    let alone = std::slice::from_ref(&**flow);
                    let sound = armarius_core::flow::check::check(flow).is_empty()
                        && check_together(alone).is_empty();
                    if !sound {
                        continue;
                    }
                    lab.definitions = alone.to_vec();
                    let next = lab.archive_row().planned + 1;
                    lab.must(lab.plan_of(next, &[]));
                    lab.errands();
                    model.plan(flow);
                }
                Op::End { pick, ok } => end_one(&mut lab, &mut model, *pick, *ok),
            }
            compare(&lab, &model);
        }
        lab.check_history();
    }
}

/// Claims everything that may run and ends one of it; the rest is given back.
fn end_one(lab: &mut Lab, model: &mut Model, pick: u8, ok: bool) {
    let got = lab.answer("claim w max=100");
    let names: Vec<&str> = got.split(' ').filter(|n| n.contains('@')).collect();
    if names.is_empty() {
        return;
    }
    let chosen = names[usize::from(pick) % names.len()];
    lab.run(&format!("report w {chosen} {}", if ok { "ok" } else { "fail" }));
    if names.len() > 1 {
        lab.run("give-back w");
    }
    lab.errands();
    let (step, revision) = chosen.trim_start_matches("f.").split_once("@rev-").expect("a task");
    let revision: usize = revision.parse().expect("a revision");
    model.end(&(revision - 1, Name::trusted(step)), ok);
}

fn compare(lab: &Lab, model: &Model) {
    use armarius_core::task::State;
    for ((revision, name), stand) in &model.stands {
        let id = lab.task_id(&format!("f.{name}@rev-{}", revision + 1));
        let state = lab.world.tasks.get(&id).expect("whole").expect("a task").state;
        let wanted = match stand {
            Stand::Waiting => State::Waiting,
            Stand::Ready => State::Ready,
            Stand::Done => State::Done,
            Stand::Failed => State::Failed,
            Stand::Superseded => State::Cancelled,
        };
        assert_eq!(state, wanted, "{name}@rev-{}", revision + 1);
    }
    for (revision, done) in model.commits.iter().enumerate() {
        let id = lab.task_id(&format!("COMMIT.COMMIT@rev-{}", revision + 1));
        let state = lab.world.tasks.get(&id).expect("whole").expect("a task").state;
        assert_eq!(state == State::Done, *done, "COMMIT@rev-{}", revision + 1);
    }
}

/// Planning twice changes nothing, whoever was quicker.
#[test]
fn two_who_watch_the_same_archive_plan_once() {
    let mut lab = check("archive");
    lab.definitions = vec![notation::flow(BUILD)];
    let plan = lab.plan_of(1, &[]);
    lab.must(plan.clone());
    let before = lab.events.len();
    lab.must(plan);
    lab.must(Command::NoticeRevision { archive: Name::trusted("c"), revision: 1 });
    assert_eq!(lab.events.len(), before);
}
