//! A flow as a picture: a tree of steps for the terminal, or DOT for Graphviz.

use std::collections::BTreeSet;

use armarius_core::flow::{Depend, Flow, Reference, Step, When};
use armarius_core::text::Name;

/// The steps as a tree: under each step those that wait for it. A step that waits for several is
/// drawn whole under the first and named again, with `↑`, under the others.
pub(super) fn text(flow: &Flow) -> String {
    let mut drawing = Drawing { flow, drawn: BTreeSet::new(), out: format!("{}\n", flow.name) };
    let roots: Vec<&Step> = flow.tasks.iter().filter(|step| inner(step).count() == 0).collect();
    let last = roots.len().saturating_sub(1);
    for (n, root) in roots.iter().enumerate() {
        drawing.step(root, None, "", n == last);
    }
    drawing.out
}

struct Drawing<'f> {
    flow: &'f Flow,
    drawn: BTreeSet<&'f Name>,
    out: String,
}

impl<'f> Drawing<'f> {
    fn step(&mut self, step: &'f Step, edge: Option<&Depend>, indent: &str, is_last: bool) {
        let branch = if is_last { "└─" } else { "├─" };
        let arrow = match edge.map(|edge| edge.when) {
            Some(When::Settled) => "(any end)─► ",
            Some(When::Done) => "► ",
            None => " ",
        };
        let is_new = self.drawn.insert(&step.name);
        let note = if is_new { notes(step) } else { " ↑".to_owned() };
        self.out.push_str(&format!("{indent}{branch}{arrow}{}{note}\n", step.name));
        if !is_new {
            return;
        }
        let below = format!("{indent}{}", if is_last { "   " } else { "│  " });
        let next: Vec<(&Step, &Depend)> = self
            .flow
            .tasks
            .iter()
            .filter_map(|other| {
                let edge = inner(other).find(|(on, _)| **on == step.name);
                edge.map(|(_, depend)| (other, depend))
            })
            .collect();
        let last = next.len().saturating_sub(1);
        for (n, (other, edge)) in next.into_iter().enumerate() {
            self.step(other, Some(edge), &below, n == last);
        }
    }
}

/// What a step waits for within its round.
fn inner(step: &Step) -> impl Iterator<Item = (&Name, &Depend)> {
    step.depends.iter().filter_map(|depend| match &depend.on {
        Reference::Task(name) => Some((name, depend)),
        Reference::Prev | Reference::PrevTask(_) => None,
    })
}

/// What does not show in the tree.
fn notes(step: &Step) -> String {
    let mut notes = Vec::new();
    let outer = step.depends.iter().filter_map(|depend| match &depend.on {
        Reference::Task(_) => None,
        Reference::Prev => Some("after PREV".to_owned()),
        Reference::PrevTask(name) => Some(format!("after PREV:{name}")),
    });
    notes.extend(outer);
    notes.extend(step.cancels.iter().map(|other| format!("cancels {}", named(other))));
    if step.exclusive {
        notes.push("exclusive".to_owned());
    }
    if step.retries > 0 {
        notes.push(format!("{} retries", step.retries));
    }
    if !step.labels.is_empty() {
        let labels: Vec<&str> = step.labels.iter().map(Name::as_str).collect();
        notes.push(format!("needs {}", labels.join(", ")));
    }
    if notes.is_empty() { String::new() } else { format!("  [{}]", notes.join("; ")) }
}

fn named(reference: &Reference) -> String {
    match reference {
        Reference::Task(name) => name.to_string(),
        Reference::Prev => "PREV".to_owned(),
        Reference::PrevTask(name) => format!("PREV:{name}"),
    }
}

/// The same for Graphviz.
pub(super) fn dot(flow: &Flow) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut out =
        format!("digraph {} {{\n  rankdir=LR;\n  node [shape=box];\n", quoted(&flow.name));
    for step in &flow.tasks {
        out.push_str(&format!("  {};\n", quoted(&step.name)));
        for depend in &step.depends {
            let style = match depend.when {
                When::Done => "",
                When::Settled => " [style=dashed, label=\"any end\"]",
            };
            let (from, to) = (quoted(&named(&depend.on)), quoted(&step.name));
            out.push_str(&format!("  {from} -> {to}{style};\n"));
        }
        for other in &step.cancels {
            let (from, to) = (quoted(&step.name), quoted(&named(other)));
            out.push_str(&format!("  {from} -> {to} [color=red, label=\"cancels\"];\n"));
        }
    }
    out.push_str("}\n");
    out
}

#[cfg(test)]
mod tests {
    use armarius_wire::flowfile::{self, Home, Source};

    use super::*;

    fn flow(text: &str) -> Flow {
        flowfile::read(&Source { file_name: "f.yaml", text }, Home::Server).unwrap()
    }

    #[test]
    fn a_step_that_waits_for_two_is_drawn_once() {
        let flow = flow(
            "tasks:
              - { name: fetch, run: outside, retries: 2 }
              - { name: sum, run: outside, depends: [fetch] }
              - { name: ocr, run: outside, depends: [fetch], labels: [gpu] }
              - { name: record, run: outside, depends: [sum, {task: ocr, on: settled}] }",
        );
        let wanted = "\
f
└─ fetch  [2 retries]
   ├─► sum
   │  └─► record
   └─► ocr  [needs gpu]
      └─(any end)─► record ↑
";
        assert_eq!(text(&flow), wanted);
        assert!(dot(&flow).contains("\"ocr\" -> \"record\" [style=dashed"), "{}", dot(&flow));
    }
}
