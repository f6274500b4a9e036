//! Steps and their edges: unknown names, circles, and steps that cancel what they depend on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::codec::COMMIT;
use super::super::{Reference, Step};

/// Circles reported at once; more would only repeat the first ones.
const CIRCLES_MAX: usize = 10;

/// A step and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Seat<'a> {
    /// Which flow.
    pub(super) flow: usize,
    /// Which step of that flow.
    pub(super) index: usize,
    /// The step.
    pub(super) step: &'a Step,
}

/// Steps that may name one another.
pub(super) struct Graph<'a> {
    pub(super) seats: Vec<Seat<'a>>,
    by_name: BTreeMap<&'a str, usize>,
}

/// A step that cancels what it depends on.
pub(super) struct Contradiction {
    /// The step.
    pub(super) seat: usize,
    /// Which of its `cancels`.
    pub(super) cancel: usize,
    /// The seats from the step to the one that has the dependency.
    pub(super) way: Vec<usize>,
}

impl<'a> Graph<'a> {
    /// Where a name is used twice, the first step has it.
    pub(super) fn new(seats: Vec<Seat<'a>>) -> Self {
        let mut by_name = BTreeMap::new();
        for (i, seat) in seats.iter().enumerate() {
            by_name.entry(seat.step.name.as_str()).or_insert(i);
        }
        Self { seats, by_name }
    }

    pub(super) fn seat_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.by_name.keys().copied()
    }

    /// The names from one seat to the next, with arrows.
    pub(super) fn way_text(&self, way: &[usize]) -> String {
        let names: Vec<&str> = way.iter().map(|&i| self.seats[i].step.name.as_str()).collect();
        names.join(" → ")
    }

    /// Whether the seats belong to more than one flow.
    pub(super) fn crosses_flows(&self, way: &[usize]) -> bool {
        way.windows(2).any(|pair| self.seats[pair[0]].flow != self.seats[pair[1]].flow)
    }

    /// Circles of dependencies, each as its seats in order. A step that depends on itself and
    /// `COMMIT`, on which all depend, are told apart elsewhere and form no circle here.
    pub(super) fn circles(&self) -> Vec<Vec<usize>> {
        let edges: Vec<Vec<usize>> = (0..self.seats.len()).map(|i| self.targets(i)).collect();
        let mut open: BTreeSet<usize> = (0..edges.len()).collect();
        let mut circles = Vec::new();
        while circles.len() < CIRCLES_MAX {
            peel(&edges, &mut open);
            let Some(&start) = open.first() else {
                break;
            };
            let circle = circle_from(&edges, &open, start);
            for seat in &circle {
                open.remove(seat);
            }
            circles.push(circle);
        }
        circles
    }

    /// Seats a seat depends on within the same round or revision.
    fn targets(&self, seat: usize) -> Vec<usize> {
        let step = self.seats[seat].step;
        if step.name.as_str() == COMMIT {
            return Vec::new();
        }
        let names = step.depends.iter().filter_map(|depend| match &depend.on {
            Reference::Task(name) if *name != step.name => Some(name),
            Reference::Task(_) | Reference::Prev | Reference::PrevTask(_) => None,
        });
        names.filter_map(|name| self.seat_of(name)).filter(|&to| to != seat).collect()
    }

    /// Every `cancels` that names something the step depends on, directly or by way of others.
    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        for (seat, Seat { step, .. }) in self.seats.iter().enumerate() {
            if step.cancels.is_empty() {
                continue;
            }
            let reach = self.reach(seat);
            for (cancel, reference) in step.cancels.iter().enumerate() {
                if let Some(&last) = reach.said_by.get(&meant(reference, step)) {
                    found.push(Contradiction { seat, cancel, way: reach.way_to(last) });
                }
            }
        }
        found
    }

    /// What a seat depends on, by the shortest way.
    fn reach(&self, start: usize) -> Reach<'a> {
        let mut reach = Reach { said_by: BTreeMap::new(), came_from: BTreeMap::new() };
        let mut seen = BTreeSet::from([start]);
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            let step = self.seats[at].step;
            for depend in &step.depends {
                reach.said_by.entry(meant(&depend.on, step)).or_insert(at);
            }
            for next in self.targets(at) {
                if seen.insert(next) {
                    reach.came_from.insert(next, at);
                    queue.push_back(next);
                }
            }
        }
        reach
    }
}

/// Everything one seat depends on.
struct Reach<'a> {
    /// Each dependency and the seat that has it.
    said_by: BTreeMap<(bool, &'a str), usize>,
    /// Each seat on the way and the one before it.
    came_from: BTreeMap<usize, usize>,
}

impl Reach<'_> {
    fn way_to(&self, last: usize) -> Vec<usize> {
        let mut way = vec![last];
        let mut at = last;
        while let Some(&before) = self.came_from.get(&at) {
            way.push(before);
            at = before;
        }
        way.reverse();
        way
    }
}

/// Whether a reference points to an earlier revision, and the task it names there.
fn meant<'a>(reference: &'a Reference, step: &'a Step) -> (bool, &'a str) {
    match reference {
        Reference::Prev => (true, step.name.as_str()),
        Reference::PrevTask(name) => (true, name.as_str()),
        Reference::Task(name) => (false, name.as_str()),
    }
}

/// Takes away, again and again, what depends on nothing that is left, and what nothing that is
/// left depends on: what then remains lies on circles or between them.
fn peel(edges: &[Vec<usize>], open: &mut BTreeSet<usize>) {
    loop {
        let before = open.len();
        let needed: BTreeSet<usize> = open.iter().flat_map(|&i| edges[i].iter().copied()).collect();
        let kept: BTreeSet<usize> = open
            .iter()
            .copied()
            .filter(|i| needed.contains(i) && edges[*i].iter().any(|to| open.contains(to)))
            .collect();
        *open = kept;
        if open.len() == before {
            return;
        }
    }
}

/// Follows edges among `open` until a seat comes a second time. Every open seat has such an edge.
fn circle_from(edges: &[Vec<usize>], open: &BTreeSet<usize>, start: usize) -> Vec<usize> {
    let mut way = vec![start];
    let mut at = start;
    while let Some(&next) = edges[at].iter().find(|to| open.contains(to)) {
        if let Some(first) = way.iter().position(|&seat| seat == next) {
            let mut circle = way.split_off(first);
            // The circle is told from its first step in the order of the files.
            let least = (0..circle.len()).min_by_key(|&i| circle[i]).unwrap_or(0);
            circle.rotate_left(least);
            return circle;
        }
        way.push(next);
        at = next;
    }
    way
}
