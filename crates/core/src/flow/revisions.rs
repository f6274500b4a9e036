//! Who waits for whom among the tasks of revisions that have the same definitions.
//!
//! What every revision has by itself is marked as implicit: its `COMMIT`, and that its tasks wait
//! for it. A picture leaves out what follows from other edges; [`reduce`] says which those are.

use std::collections::{BTreeMap, BTreeSet};

use super::codec::COMMIT;
use super::{Reference, Step, When};

/// A task of a revision.
pub type Node = (u32, String);

/// One task looks back at another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The task that waits or supersedes.
    pub from: Node,
    /// The task it looks at.
    pub to: Node,
    /// Whether it supersedes it, rather than waiting for it.
    pub cancels: bool,
    /// Whether any end of it will do.
    pub settled: bool,
    /// Whether no definition says so.
    pub implicit: bool,
}

/// All edges of the revisions `first..=last`; the one before them has no definitions.
#[must_use]
pub fn edges(steps: &[&Step], first: u32, last: u32) -> Vec<Edge> {
    let mut edges = Vec::new();
    for revision in first..=last {
        commit(&mut edges, steps, revision, first);
        for step in steps.iter().filter(|step| step.name.as_str() != COMMIT) {
            task(&mut edges, step, revision, first);
        }
    }
    edges
}

fn commit(edges: &mut Vec<Edge>, steps: &[&Step], revision: u32, first: u32) {
    let own = (revision, COMMIT.to_owned());
    let mut add = |to: &str, implicit: bool| {
        let (from, to) = (own.clone(), (revision - 1, to.to_owned()));
        edges.push(Edge { from, to, cancels: false, settled: false, implicit });
    };
    add(COMMIT, true);
    if revision == first {
        return;
    }
    for step in steps {
        if step.exclusive {
            add(&step.name, true);
        }
        let more = step.depends.iter().filter(|_| step.name.as_str() == COMMIT);
        for depend in more {
            match &depend.on {
                Reference::Prev | Reference::Task(_) => {}
                Reference::PrevTask(name) => add(name, false),
            }
        }
    }
}

fn task(edges: &mut Vec<Edge>, step: &Step, revision: u32, first: u32) {
    let own = (revision, step.name.to_string());
    let mut add = |to: Node, cancels: bool, settled: bool, implicit: bool| {
        edges.push(Edge { from: own.clone(), to, cancels, settled, implicit });
    };
    let before = |reference: &Reference| match reference {
        Reference::Prev => Some(step.name.to_string()),
        Reference::PrevTask(name) => Some(name.to_string()),
        Reference::Task(_) => None,
    };
    add((revision, COMMIT.to_owned()), false, false, true);
    let earlier = |name: String| (revision > first || name == COMMIT).then(|| (revision - 1, name));
    for depend in &step.depends {
        if let Some(to) = before(&depend.on).and_then(earlier) {
            add(to, false, depend.when == When::Settled, false);
        }
    }
    for reference in &step.cancels {
        match reference {
            Reference::Task(name) => add((revision, name.to_string()), true, false, false),
            Reference::Prev | Reference::PrevTask(_) => {
                if let Some(to) = before(reference).and_then(earlier) {
                    add(to, true, false, false);
                }
            }
        }
    }
    for depend in &step.depends {
        if let Reference::Task(name) = &depend.on {
            add((revision, name.to_string()), false, depend.when == When::Settled, false);
        }
    }
}

/// Leaves out what follows from other edges.
#[must_use]
pub fn reduce(edges: &[Edge]) -> Vec<&Edge> {
    let mut next: BTreeMap<&Node, BTreeSet<&Node>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| !edge.cancels) {
        next.entry(&edge.from).or_default().insert(&edge.to);
    }
    let follows = |edge: &Edge| {
        let beside = next.get(&edge.from).into_iter().flatten().copied();
        let mut open: Vec<&Node> = beside.filter(|node| **node != edge.to).collect();
        let mut seen: BTreeSet<&Node> = open.iter().copied().collect();
        while let Some(node) = open.pop() {
            if *node == edge.to {
                return true;
            }
            for more in next.get(node).into_iter().flatten() {
                if seen.insert(more) {
                    open.push(more);
                }
            }
        }
        false
    };
    edges.iter().filter(|edge| edge.cancels || !follows(edge)).collect()
}
