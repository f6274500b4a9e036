//! A flow, drawn: its steps, who waits for whom, and how their tasks stand.

use std::collections::BTreeMap;

use armarius_core::flow::{Flow, Reference, Step, When};
use armarius_wire::v1::status::Counts;
use maud::Markup;

use super::drawing::{self, Edge, Node};
use super::parts::{by_state, count, said};

/// Draws a flow with the counts of its steps.
pub(super) fn draw(flow: &Flow, counts: &BTreeMap<String, Counts>) -> Markup {
    let label = format!("{} steps of the flow {}", flow.tasks.len(), flow.name);
    let node = |step: &Step| node(step, counts.get(step.name.as_str()));
    let nodes: Vec<Node> = flow.tasks.iter().map(node).collect();
    drawing::draw(&label, &nodes, &edges(&flow.tasks))
}

fn node(step: &Step, counts: Option<&Counts>) -> Node {
    let busy = counts.map(by_state).into_iter().flatten().filter(|(_, n)| *n > 0);
    let told: Vec<String> =
        busy.map(|(state, n)| format!("{} {}", count(n), said(state.as_str()))).collect();
    let outer = outer_edges(step);
    let after = (!outer.is_empty()).then(|| format!("after {}", outer.join(", ")));
    let lately = (!told.is_empty()).then(|| told[..told.len().min(2)].join(", "));
    Node {
        name: step.name.to_string(),
        tell: after.into_iter().chain(lately).collect::<Vec<_>>().join(" · "),
        about: [&[step.name.to_string()], &*told].concat().join(", "),
        class: counts.map_or("", worst),
        ..Node::default()
    }
}

/// The word for how tasks stand, the most pressing one.
pub(super) fn worst(counts: &Counts) -> &'static str {
    match counts {
        Counts { failed: 1.., .. } => "failed",
        Counts { leased: 1.., .. } => "leased",
        Counts { held: 1.., .. } => "held",
        Counts { ready: 1.., .. } => "ready",
        Counts { waiting: 1.., .. } => "waiting",
        Counts { done: 1.., .. } => "done",
        _ => "",
    }
}

/// Edges within the flow.
fn edges(steps: &[Step]) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (to, step) in steps.iter().enumerate() {
        for depend in &step.depends {
            let Reference::Task(name) = &depend.on else { continue };
            let Some(from) = steps.iter().position(|other| other.name == *name) else { continue };
            let class = if depend.when == When::Settled { "settled" } else { "" };
            let label = String::new();
            edges.push(Edge { from, to, class, label, pulls: true, points_back: false });
        }
    }
    edges
}

/// Edges from the item before, in words.
fn outer_edges(step: &Step) -> Vec<String> {
    let word = |on: &Reference| match on {
        Reference::Task(_) => None,
        Reference::Prev => Some("PREV".to_owned()),
        Reference::PrevTask(name) => Some(format!("PREV:{name}")),
    };
    step.depends.iter().filter_map(|depend| word(&depend.on)).collect()
}
