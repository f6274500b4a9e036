//! What is wrong with an assembly line: robots that wake each other for ever, or never wake.
//!
//! The line is tried out on paper. An item of every kind the new robot may meet is put on it, what
//! comes from outside has happened, and every robot does its work as the rules would let it. A
//! state that comes back means a loop, and the way there is the example that people are shown.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Flow, On, Query};
use crate::event::Outcome;
use crate::text::Name;

/// Steps of one trial; a line that needs more is not judged.
const STEPS_MAX: usize = 5_000;
/// Kinds and keys of items that are tried.
const ITEMS_MAX: usize = 64;

/// What is wrong with a robot among others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// It would run for ever, even if everything works: how.
    pub endless: Option<String>,
    /// What is probably not meant.
    pub warnings: Vec<String>,
}

/// Tries a robot on the line of the other flows of its collection.
#[must_use]
pub fn check_line(robot: &Flow, others: &[&Flow]) -> Verdict {
    let On::Items(query) = &robot.on else { return Verdict::default() };
    let mut verdict = Verdict::default();
    let mut ran = false;
    let mut last = None;
    for (kind, key) in items(query, others) {
        for order in [Place::First, Place::Last] {
            for failing in [false, true] {
                let mut trial = Trial::new(robot, others, (&kind, &key), order, failing);
                let circle = trial.run();
                ran |= trial.ran_own();
                if let Some(circle) = circle {
                    let text = format!("{kind} {key}: {circle}");
                    if failing && verdict.warnings.is_empty() {
                        verdict.warnings.push(format!("as long as it fails, without end: {text}"));
                    } else if !failing {
                        verdict.endless.get_or_insert(text);
                    }
                }
                last.get_or_insert(trial);
            }
        }
    }
    verdict.warnings.extend(nobody_records(robot, query, others));
    if !ran && verdict.warnings.is_empty() {
        verdict.warnings.extend(last.and_then(|trial| trial.unmet(query)));
    }
    let mut seen = BTreeSet::new();
    verdict.warnings.retain(|warning| seen.insert(warning.clone()));
    verdict
}

/// Kinds and keys of the items that the robot may meet, and at which others differ.
fn items(query: &Query, others: &[&Flow]) -> Vec<(String, String)> {
    let queries: Vec<&Query> = others.iter().filter_map(|flow| query_of(flow)).collect();
    let mut kinds: Vec<String> = query.kinds.iter().map(Name::to_string).collect();
    if kinds.is_empty() {
        kinds.push("item".to_owned());
        kinds.extend(queries.iter().flat_map(|q| q.kinds.iter().map(Name::to_string)));
    }
    let mut keys: Vec<String> = query.items.iter().map(|key| key.to_string()).collect();
    if keys.is_empty() {
        keys.push("x".to_owned());
        keys.extend(queries.iter().flat_map(|q| q.items.iter().map(|key| key.to_string())));
    }
    let mut seen = BTreeSet::new();
    let pairs = kinds.iter().flat_map(|kind| keys.iter().map(|key| (kind.clone(), key.clone())));
    pairs.filter(|pair| seen.insert(pair.clone())).take(ITEMS_MAX).collect()
}

fn query_of(flow: &Flow) -> Option<&Query> {
    match &flow.on {
        On::Items(query) => Some(query),
        On::Commit { .. }
        | On::Lot
        | On::Submission
        | On::Pairs { .. }
        | On::Schedule(_)
        | On::Manual => None,
    }
}

/// Events the robot waits for that no flow of the collection records.
fn nobody_records(robot: &Flow, query: &Query, others: &[&Flow]) -> Vec<String> {
    let recorded: BTreeSet<&Name> = others.iter().filter_map(|f| f.records.as_ref()).collect();
    let wanted = query.success.iter().chain(&query.failed);
    let missing = wanted.filter(|name| !recorded.contains(name));
    let tell = |name: &Name| {
        if robot.records.as_ref() == Some(name) {
            format!("it waits for `{name}`, which nobody but itself records")
        } else {
            format!("nobody here records `{name}`: somebody must add it, `armarius event add`")
        }
    };
    missing.map(tell).collect()
}

/// Where the new robot stands among the others, for those that could go at the same time.
#[derive(Clone, Copy)]
enum Place {
    First,
    Last,
}

#[derive(Clone, Copy)]
struct Mark {
    n: i64,
    outcome: Outcome,
    based_on: i64,
}

/// One item on the line.
struct Trial<'f> {
    /// The robots that mean this item.
    robots: Vec<(&'f Flow, &'f Query)>,
    own: &'f Name,
    marks: BTreeMap<&'f Name, Mark>,
    /// Events whose work fails.
    failing: BTreeSet<&'f Name>,
    content: i64,
    n: i64,
    /// What each robot saw when it last ran.
    seen: Vec<Option<Vec<i64>>>,
    ran: Vec<usize>,
}

impl<'f> Trial<'f> {
    fn new(
        robot: &'f Flow,
        others: &[&'f Flow],
        (kind, key): (&str, &str),
        order: Place,
        failing: bool,
    ) -> Self {
        let mut flows: Vec<&Flow> =
            others.iter().copied().filter(|f| f.name != robot.name).collect();
        match order {
            Place::First => flows.insert(0, robot),
            Place::Last => flows.push(robot),
        }
        let means = |query: &Query| {
            (query.kinds.is_empty() || query.kinds.iter().any(|k| k.as_str() == kind))
                && (query.items.is_empty() || query.items.iter().any(|k| **k == *key))
        };
        let robots: Vec<(&Flow, &Query)> = flows
            .into_iter()
            .filter_map(|flow| query_of(flow).filter(|query| means(query)).map(|q| (flow, q)))
            .collect();
        let seen = vec![None; robots.len()];
        let failing = if failing {
            robots.iter().flat_map(|(_, query)| &query.failed).collect()
        } else {
            BTreeSet::new()
        };
        let (marks, ran) = (BTreeMap::new(), Vec::new());
        let mut trial =
            Self { robots, own: &robot.name, marks, failing, content: 1, n: 1, seen, ran };
        trial.happen_outside(robot);
        trial
    }

    /// What no robot records has happened, in the way the new robot wants it, or another one.
    fn happen_outside(&mut self, robot: &'f Flow) {
        let recorded: BTreeSet<&Name> =
            self.robots.iter().filter_map(|(flow, _)| flow.records.as_ref()).collect();
        let own = query_of(robot);
        let unwanted: BTreeSet<&Name> = own.iter().flat_map(|q| &q.absent).collect();
        let rest = self.robots.iter().map(|(_, query)| *query);
        let queries: Vec<&Query> = own.into_iter().chain(rest).collect();
        for query in queries {
            let good = query.success.iter().map(|name| (name, Outcome::Success));
            let bad = query.failed.iter().map(|name| (name, Outcome::Failure));
            for (name, outcome) in good.chain(bad) {
                let known = self.marks.contains_key(name) || unwanted.contains(name);
                if !recorded.contains(name) && !known {
                    self.n += 1;
                    let mark = Mark { n: self.n, outcome, based_on: self.content };
                    self.marks.insert(name, mark);
                }
            }
        }
    }

    /// Lets robots work until none wakes, or until a state comes back: then tells the circle, if
    /// the new robot is part of it.
    fn run(&mut self) -> Option<String> {
        let mut states: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for step in 0..STEPS_MAX {
            if let Some(first) = states.insert(self.state(), step) {
                return self.circle(first);
            }
            let next = (0..self.robots.len()).find(|place| self.wakes(*place))?;
            self.work(next);
        }
        None
    }

    fn ran_own(&self) -> bool {
        self.ran.iter().any(|place| self.robots[*place].0.name == *self.own)
    }

    fn circle(&self, first: usize) -> Option<String> {
        let names: Vec<&Flow> = self.ran[first..].iter().map(|p| self.robots[*p].0).collect();
        let start = names.iter().position(|flow| flow.name == *self.own)?;
        let round = names[start..].iter().chain(&names[..=start]);
        let told = round.map(|flow| match (&flow.records, flow.touches) {
            (Some(name), true) => format!("{} changes it and records `{name}`", flow.name),
            (Some(name), false) => format!("{} records `{name}`", flow.name),
            (None, true) => format!("{} changes it", flow.name),
            (None, false) => flow.name.to_string(),
        });
        Some(told.collect::<Vec<_>>().join(", then "))
    }

    fn holds(&self, query: &Query) -> bool {
        self.unmet_condition(query).is_none()
    }

    fn unmet_condition(&self, query: &Query) -> Option<(Name, &'static str)> {
        let mark = |name: &Name| self.marks.get(name);
        let is = |name: &Name, outcome| mark(name).is_some_and(|m| m.outcome == outcome);
        let current = |name: &Name| mark(name).is_some_and(|m| m.based_on >= self.content);
        let good = query.success.iter().find(|name| !is(name, Outcome::Success));
        let bad = query.failed.iter().find(|name| !is(name, Outcome::Failure));
        let there = query.absent.iter().find(|name| mark(name).is_some());
        let new = query.stale.iter().find(|name| current(name));
        let found = [
            good.map(|name| (name, "is never a success")),
            bad.map(|name| (name, "is never a failure")),
            there.map(|name| (name, "is there before it could begin")),
            new.map(|name| (name, "is never outdated")),
        ];
        found.into_iter().flatten().next().map(|(name, why)| (name.clone(), why))
    }

    /// Why the robot never woke, seen from the end of the line.
    fn unmet(&self, query: &Query) -> Option<String> {
        let (name, why) = self.unmet_condition(query)?;
        Some(format!("it will never wake by what the others do: `{name}` {why}"))
    }

    fn fingerprint(&self, query: &Query) -> Vec<i64> {
        let numbers = query.names().map(|name| self.marks.get(name).map_or(0, |m| m.n));
        std::iter::once(self.content).chain(numbers).collect()
    }

    fn wakes(&self, place: usize) -> bool {
        let query = self.robots[place].1;
        self.holds(query) && self.seen[place] != Some(self.fingerprint(query))
    }

    fn work(&mut self, place: usize) {
        let (flow, query) = self.robots[place];
        self.seen[place] = Some(self.fingerprint(query));
        self.ran.push(place);
        let fails = flow.records.as_ref().is_some_and(|name| self.failing.contains(name));
        let outcome = if fails { Outcome::Failure } else { Outcome::Success };
        self.n += 1;
        if flow.touches && outcome == Outcome::Success {
            self.content = self.n;
        }
        if let Some(name) = &flow.records {
            self.marks.insert(name, Mark { n: self.n, outcome, based_on: self.content });
        }
    }

    /// Everything that decides what happens next.
    fn state(&self) -> Vec<u8> {
        let marks = self.marks.values().map(|mark| {
            let current = u8::from(mark.based_on >= self.content);
            1 + current + 2 * u8::from(mark.outcome == Outcome::Success)
        });
        let names = self.marks.keys().flat_map(|name| name.bytes().chain([0]));
        let wakes = (0..self.robots.len()).map(|place| {
            let fresh = self.seen[place] != Some(self.fingerprint(self.robots[place].1));
            u8::from(fresh)
        });
        names.chain(marks).chain(wakes).collect()
    }
}
