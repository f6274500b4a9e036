//! What everybody was told, and what the database says about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;

use armarius_core::event::Event;
use armarius_core::ids::{TaskId, Token};
use armarius_core::reply::Reply;
use armarius_core::task::State;
use armarius_sim::{Player, Step, fan};
use armarius_store::World;

/// What a worker was told about a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Told {
    Applied,
    Stale,
    Unknown,
}

/// What everybody was told.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    /// Keys that were submitted, and the tasks that were named.
    keys: BTreeMap<String, BTreeSet<i64>>,
    /// Who was told of each grant.
    grants: BTreeMap<(i64, i64), Vec<usize>>,
    reports: BTreeMap<(i64, i64), BTreeSet<Told>>,
}

/// What came of the comparison.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) wrong: Vec<String>,
    submitted: usize,
    grants: usize,
    applied: usize,
    stale: usize,
    unknown: usize,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { submitted, grants, applied, stale, unknown, .. } = self;
        write!(
            f,
            "{submitted} submitted, {grants} granted, {applied} applied, {stale} stale, \
             {unknown} reports of unknown outcome"
        )
    }
}

impl Ledger {
    pub(crate) fn asked(&self, key: &str) {
        self.0.lock().unwrap().keys.entry(key.to_owned()).or_default();
    }

    pub(crate) fn submitted(&self, key: &str, task: i64) {
        self.0.lock().unwrap().keys.entry(key.to_owned()).or_default().insert(task);
    }

    pub(crate) fn granted(&self, who: usize, task: i64, token: i64) {
        self.0.lock().unwrap().grants.entry((task, token)).or_default().push(who);
    }

    pub(crate) fn reported(&self, task: i64, token: i64, told: Told) {
        self.0.lock().unwrap().reports.entry((task, token)).or_default().insert(told);
    }

    /// Submissions nobody has answered yet.
    pub(crate) fn unanswered(&self) -> usize {
        self.0.lock().unwrap().keys.values().filter(|tasks| tasks.is_empty()).count()
    }

    /// Holds everything against the worlds of all shards.
    pub(crate) fn check(&self, worlds: &[World]) -> Verdict {
        let pages = self.0.lock().unwrap();
        let mut wrong = Vec::new();
        pages.check_submissions(worlds, &mut wrong);
        pages.check_grants(&histories(worlds), &mut wrong);
        let told = |wanted| pages.reports.values().filter(|told| told.contains(&wanted)).count();
        Verdict {
            submitted: pages.keys.len(),
            grants: pages.grants.len(),
            applied: told(Told::Applied),
            stale: told(Told::Stale),
            unknown: told(Told::Unknown),
            wrong,
        }
    }
}

/// What happened to each task, oldest first.
fn histories(worlds: &[World]) -> BTreeMap<i64, Vec<&Event>> {
    let mut histories: BTreeMap<i64, Vec<&Event>> = BTreeMap::new();
    for event in worlds.iter().flat_map(|world| world.events.values()) {
        if let Some(TaskId(task)) = event.task {
            histories.entry(task).or_default().push(event);
        }
    }
    histories
}

impl Pages {
    /// A submission that was acknowledged has one task, and it is the one that was named.
    fn check_submissions(&self, worlds: &[World], wrong: &mut Vec<String>) {
        let mut there: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for world in worlds {
            for body in world.bodies.values() {
                let Some(item) = world.items.get(&body.item) else { continue };
                there.entry(&item.key).or_default().push(body.id.0);
            }
        }
        for (key, named) in &self.keys {
            let found = there.get(key.as_str()).cloned().unwrap_or_default();
            let named: Vec<i64> = named.iter().copied().collect();
            if found.len() != 1 || (!named.is_empty() && named != found) {
                wrong.push(format!("{key}: told of tasks {named:?}, there are {found:?}"));
            }
        }
    }

    /// Every grant is in the history of its task and went to one worker; what was applied ended the
    /// task under its token, once.
    fn check_grants(&self, histories: &BTreeMap<i64, Vec<&Event>>, wrong: &mut Vec<String>) {
        for ((task, token), workers) in &self.grants {
            if workers.len() != 1 {
                wrong.push(format!("task {task}, token {token}: granted to {workers:?}"));
            }
            let events = histories.get(task).map_or(&[][..], Vec::as_slice);
            let of = |state: State| {
                let here = events.iter().filter(move |e| e.to == Some(state));
                here.filter(|e| e.token == Some(Token(*token))).count()
            };
            if of(State::Leased) != 1 {
                wrong.push(format!("task {task}, token {token}: {} grants", of(State::Leased)));
            }
            let told = self.reports.get(&(*task, *token));
            let applied = told.is_some_and(|told| told.contains(&Told::Applied));
            if applied && of(State::Done) != 1 {
                wrong
                    .push(format!("task {task}, token {token}: applied, {} ends", of(State::Done)));
            }
        }
        for (task, events) in histories {
            let tokens: Vec<Token> = events
                .iter()
                .filter(|e| e.to == Some(State::Leased))
                .filter_map(|e| e.token)
                .collect();
            if !tokens.is_sorted_by(|a, b| a < b) {
                wrong.push(format!("task {task}: tokens {tokens:?} do not grow"));
            }
            let ends = events.iter().filter(|e| e.to == Some(State::Done)).count();
            if ends != 1 {
                wrong.push(format!("task {task}: done {ends} times"));
            }
        }
    }
}

/// A ledger and the world that fits it: one task, submitted, granted and done.
fn honest() -> (Ledger, World) {
    let (clock, hand) = armarius_store::Clock::hand(armarius_sim::script::BEGIN);
    let mut player = Player::new(armarius_store::Memory::with_clock(clock), hand, 1, 0);
    let mut play = |step: Step| player.play(&step).unwrap().unwrap();
    fan::home().into_iter().for_each(|step| drop(play(step)));
    let submit = fan::step(fan::submit("a", Vec::new(), None));
    let Reply::Round { task, .. } = play(submit) else { panic!("no round") };
    let Reply::Claimed(Some(granted)) = play(fan::claim(1)) else { panic!("no grant") };
    let token = granted.tasks[0].token;
    fan::reports(&granted).into_iter().for_each(|step| drop(play(step)));
    let ledger = Ledger::default();
    ledger.submitted("a", task.0);
    ledger.granted(1, task.0, token.0);
    ledger.reported(task.0, token.0, Told::Applied);
    (ledger, player.store.dump())
}

/// Each lie is found, and the truth is not taken for one.
#[test]
fn a_lie_is_found() {
    let (ledger, world) = honest();
    assert_eq!(ledger.check(std::slice::from_ref(&world)).wrong, Vec::<String>::new());
    let task = *world.tasks.keys().next().unwrap();
    let lost = World::default();
    assert!(!ledger.check(&[lost]).wrong.is_empty(), "everything was lost");
    let twice = [world.clone(), world.clone()];
    assert!(!ledger.check(&twice).wrong.is_empty(), "a submission was done twice");
    let mut unfinished = world.clone();
    unfinished.events.retain(|_, event| event.to != Some(State::Done));
    assert!(!ledger.check(&[unfinished]).wrong.is_empty(), "a report was lost");
    let (other, _) = honest();
    other.granted(2, task.0, 1);
    assert!(!other.check(std::slice::from_ref(&world)).wrong.is_empty(), "two held one token");
    let (other, _) = honest();
    other.granted(3, task.0, 7);
    assert!(!other.check(&[world]).wrong.is_empty(), "a grant that never was");
}
