//! The tasks of several revisions with the same definitions, and who waits for whom.
//!
//! One line per edge, without those that follow from others; what every revision has by itself is
//! marked.

use armarius_core::flow::codec::COMMIT;
use armarius_core::flow::revisions::{Edge, Node, edges, reduce};
use armarius_core::flow::{Flow, On, Step};
use serde::Serialize;

/// What is drawn.
#[derive(Debug, Serialize)]
pub(super) struct Drawing {
    edges: Vec<Line>,
}

/// One edge: `task` waits for `on`, or makes it superfluous.
#[derive(Debug, Serialize)]
struct Line {
    task: At,
    on: At,
    cancels: bool,
    implicit: bool,
}

#[derive(Debug, Serialize)]
struct At {
    revision: u32,
    name: String,
}

/// Draws revisions `first..=last`; the one before them has no definitions.
pub(super) fn drawn(flows: &[Flow], first: u32, last: u32) -> Drawing {
    let is_commit = |flow: &&Flow| matches!(flow.on, On::Commit { .. });
    let steps: Vec<&Step> = flows.iter().filter(is_commit).flat_map(|flow| &flow.tasks).collect();
    let edges = edges(&steps, first, last);
    let at = |(revision, name): &Node| At { revision: *revision, name: name.clone() };
    let line = |edge: &Edge| Line {
        task: at(&edge.from),
        on: at(&edge.to),
        cancels: edge.cancels,
        implicit: edge.implicit,
    };
    Drawing { edges: reduce(&edges).iter().map(|edge| line(edge)).collect() }
}

/// One line per edge.
pub(super) fn text(drawing: &Drawing) -> String {
    let width = |at: fn(&Line) -> &At| {
        drawing.edges.iter().map(|line| shown(at(line)).chars().count()).max().unwrap_or(0)
    };
    let (left, right) = (width(|line| &line.on), width(|line| &line.task));
    let mut out = String::new();
    for edge in &drawing.edges {
        let arrow = if edge.cancels { "<!=" } else { "<--" };
        let (to, from) = (shown(&edge.on), shown(&edge.task));
        let note = format!("  // added implicitly with rev-{}", edge.task.revision);
        let note = if edge.implicit { note.as_str() } else { "" };
        let line = format!("{to:left$} {arrow} {from:right$}{note}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn shown(at: &At) -> String {
    let name = if at.name == COMMIT { "committed" } else { &at.name };
    format!("rev-{}:{name}", at.revision)
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
        assert_eq!(text(&drawn(&[flow], 2, 3)), wanted);
    }
}
