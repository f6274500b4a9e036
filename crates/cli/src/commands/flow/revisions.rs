//! The tasks of several revisions with the same definitions, and who waits for whom.
//!
//! One line per edge, without those that follow from others; what every revision has by itself is
//! marked.

use std::collections::{BTreeMap, BTreeSet};

use armarius_core::flow::codec::COMMIT;
use armarius_core::flow::{Flow, On, Reference, Step};

/// A task of a revision.
type Node = (u32, String);

struct Edge {
    from: Node,
    to: Node,
    cancels: bool,
    implicit: bool,
}

/// Draws revisions `first..=last`; the one before them has no definitions.
pub(super) fn text(flows: &[Flow], first: u32, last: u32) -> String {
    let is_commit = |flow: &&Flow| matches!(flow.on, On::Commit { .. });
    let steps: Vec<&Step> = flows.iter().filter(is_commit).flat_map(|flow| &flow.tasks).collect();
    let mut edges = Vec::new();
    for revision in first..=last {
        commit(&mut edges, &steps, revision, first);
        for step in steps.iter().filter(|step| step.name.as_str() != COMMIT) {
            task(&mut edges, step, revision, first);
        }
    }
    let kept = reduce(&edges);
    let width = |node: fn(&Edge) -> &Node| {
        kept.iter().map(|edge| shown(node(edge)).chars().count()).max().unwrap_or(0)
    };
    let (left, right) = (width(|edge| &edge.to), width(|edge| &edge.from));
    let mut out = String::new();
    for edge in kept {
        let arrow = if edge.cancels { "<!=" } else { "<--" };
        let (to, from) = (shown(&edge.to), shown(&edge.from));
        let note = format!("  // added implicitly with rev-{}", edge.from.0);
        let note = if edge.implicit { note.as_str() } else { "" };
        let line = format!("{to:left$} {arrow} {from:right$}{note}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn commit(edges: &mut Vec<Edge>, steps: &[&Step], revision: u32, first: u32) {
    let own = (revision, COMMIT.to_owned());
    let mut add = |to: &str, implicit: bool| {
        let edge =
            Edge { from: own.clone(), to: (revision - 1, to.to_owned()), cancels: false, implicit };
        edges.push(edge);
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
    let mut add = |to: Node, cancels: bool, implicit: bool| {
        edges.push(Edge { from: own.clone(), to, cancels, implicit });
    };
    let before = |reference: &Reference| match reference {
        Reference::Prev => Some(step.name.to_string()),
        Reference::PrevTask(name) => Some(name.to_string()),
        Reference::Task(_) => None,
    };
    add((revision, COMMIT.to_owned()), false, true);
    let earlier = |name: String| (revision > first || name == COMMIT).then(|| (revision - 1, name));
    let depends = || step.depends.iter().map(|depend| &depend.on);
    for to in depends().filter_map(before).filter_map(earlier) {
        add(to, false, false);
    }
    for reference in &step.cancels {
        match before(reference) {
            Some(name) => {
                if let Some(to) = earlier(name) {
                    add(to, true, false);
                }
            }
            None => {
                if let Reference::Task(name) = reference {
                    add((revision, name.to_string()), true, false);
                }
            }
        }
    }
    for reference in depends() {
        if let Reference::Task(name) = reference {
            add((revision, name.to_string()), false, false);
        }
    }
}

/// Leaves out what follows from other edges.
fn reduce(edges: &[Edge]) -> Vec<&Edge> {
    let mut next: BTreeMap<&Node, BTreeSet<&Node>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| !edge.cancels) {
        next.entry(&edge.from).or_default().insert(&edge.to);
    }
    let follows = |edge: &Edge| {
        let mut open: Vec<&Node> = next
            .get(&edge.from)
            .into_iter()
            .flatten()
            .copied()
            .filter(|n| **n != edge.to)
            .collect();
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

fn shown((revision, name): &Node) -> String {
    let name = if name == COMMIT { "committed" } else { name };
    format!("rev-{revision}:{name}")
}

#[cfg(test)]
mod tests {
    use armarius_wire::flowfile::{Home, Source, read};

    use super::*;

    #[test]
    fn the_two_task_definition_gives_eight_lines() {
        let definition = "
- name: indexing
  depends:
    - PREV
  run: outside
- name: build-PDF
  depends:
    - indexing
  cancels:
    - PREV
  run: outside
";
        let source = Source { file_name: "main.yaml", text: definition };
        let flow = read(&source, Home::Archive).unwrap();
        let wanted = "\
rev-1:committed <-- rev-2:committed  // added implicitly with rev-2
rev-2:committed <-- rev-2:indexing   // added implicitly with rev-2
rev-2:indexing  <-- rev-2:build-PDF
rev-2:committed <-- rev-3:committed  // added implicitly with rev-3
rev-3:committed <-- rev-3:indexing   // added implicitly with rev-3
rev-2:indexing  <-- rev-3:indexing
rev-2:build-PDF <!= rev-3:build-PDF
rev-3:indexing  <-- rev-3:build-PDF
";
        assert_eq!(text(&[flow], 2, 3), wanted);
    }
}
