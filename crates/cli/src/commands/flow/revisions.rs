//! The tasks of several revisions with the same definitions, and who waits for whom.
//!
//! One line per edge, without those that follow from others; what every revision has by itself is
//! marked.

use armarius_core::flow::codec::COMMIT;
use armarius_core::flow::revisions::{Edge, Node, edges, reduce};
use armarius_core::flow::{Flow, On, Step};

/// Draws revisions `first..=last`; the one before them has no definitions.
pub(super) fn text(flows: &[Flow], first: u32, last: u32) -> String {
    let is_commit = |flow: &&Flow| matches!(flow.on, On::Commit { .. });
    let steps: Vec<&Step> = flows.iter().filter(is_commit).flat_map(|flow| &flow.tasks).collect();
    let edges = edges(&steps, first, last);
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
