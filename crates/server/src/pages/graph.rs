//! A flow, drawn: steps in layers from left to right, edges as curves.
//!
//! A step stands one layer behind the last of those it depends on; within a layer steps stand near
//! what they depend on. That is all, and enough for flows people can read.

use std::collections::BTreeMap;

use armarius_core::flow::{Flow, Reference, Step, When};
use armarius_wire::v1::status::Counts;
use maud::{Markup, html};

use super::parts::{by_state, count, said};

/// Size of a step.
const BOX: (i32, i32) = (168, 46);
/// Room between layers and between steps of a layer.
const GAP: (i32, i32) = (56, 18);
/// Room around the drawing.
const EDGE: i32 = 8;
/// Characters of a name that fit.
const NAME_MAX: usize = 21;
/// Passes that bring steps nearer to what they depend on.
const PASSES: usize = 4;

/// Where a step stands.
#[derive(Clone, Copy)]
struct Spot {
    layer: usize,
    row: usize,
}

/// Draws a flow with the counts of its steps.
pub(super) fn draw(flow: &Flow, counts: &BTreeMap<String, Counts>) -> Markup {
    let spots = arrange(&flow.tasks);
    let layers = spots.iter().map(|spot| spot.layer + 1).max().unwrap_or(0);
    let rows = spots.iter().map(|spot| spot.row + 1).max().unwrap_or(0);
    let span = |n: usize, size: i32, gap: i32| {
        let n = i32::try_from(n).unwrap_or(0);
        n * size + (n - 1).max(0) * gap + 2 * EDGE
    };
    let (width, height) = (span(layers, BOX.0, GAP.0), span(rows, BOX.1, GAP.1));
    let label = format!("{} steps of the flow {}", flow.tasks.len(), flow.name);
    html! {
        svg.graph width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            role="img" aria-label=(label) {
            @for (place, step) in flow.tasks.iter().enumerate() {
                @for (from, settled) in inner_edges(&flow.tasks, step) {
                    path class=(if settled { "edge settled" } else { "edge" })
                        d=(curve(spots[from], spots[place])) {}
                }
            }
            @for (step, spot) in flow.tasks.iter().zip(&spots) {
                (node(step, *spot, counts.get(step.name.as_str())))
            }
        }
    }
}

fn node(step: &Step, spot: Spot, counts: Option<&Counts>) -> Markup {
    let (x, y) = corner(spot);
    let name: String = step.name.chars().take(NAME_MAX).collect();
    let name = if name.len() < step.name.len() { format!("{name}…") } else { name };
    let outer = outer_edges(step);
    let busy = counts.map(by_state).into_iter().flatten().filter(|(_, n)| *n > 0);
    let told: Vec<String> =
        busy.map(|(state, n)| format!("{} {}", count(n), said(state.as_str()))).collect();
    let worst = counts.map_or("", |counts| match counts {
        Counts { failed: 1.., .. } => "failed",
        Counts { leased: 1.., .. } => "leased",
        Counts { held: 1.., .. } => "held",
        Counts { ready: 1.., .. } => "ready",
        Counts { waiting: 1.., .. } => "waiting",
        Counts { done: 1.., .. } => "done",
        _ => "",
    });
    html! { g class={ "step " (worst) } {
        title { (step.name) @for one in &told { ", " (one) } }
        rect x=(x) y=(y) width=(BOX.0) height=(BOX.1) rx="3" {}
        text.name x=(x + 10) y=(y + 19) { (name) }
        text.tell x=(x + 10) y=(y + 36) {
            @if !outer.is_empty() { "after " (outer.join(", ")) @if !told.is_empty() { " · " } }
            (told.iter().take(2).cloned().collect::<Vec<_>>().join(", "))
        }
    } }
}

/// Edges within the flow: from which step, and whether any end will do.
fn inner_edges<'f>(steps: &'f [Step], step: &'f Step) -> impl Iterator<Item = (usize, bool)> + 'f {
    step.depends.iter().filter_map(|depend| match &depend.on {
        Reference::Task(name) => {
            let from = steps.iter().position(|other| other.name == *name)?;
            Some((from, depend.when == When::Settled))
        }
        Reference::Prev | Reference::PrevTask(_) => None,
    })
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

/// Finds a place for every step. Definitions have no circles; if one had, layers would stop growing
/// at the number of steps.
fn arrange(steps: &[Step]) -> Vec<Spot> {
    let mut layers = vec![0_usize; steps.len()];
    for _ in 0..steps.len() {
        let mut moved = false;
        for (place, step) in steps.iter().enumerate() {
            let behind = inner_edges(steps, step).map(|(from, _)| layers[from] + 1).max();
            let wanted = behind.unwrap_or(0).min(steps.len());
            moved |= layers[place] != wanted;
            layers[place] = wanted;
        }
        if !moved {
            break;
        }
    }
    let mut rows = vec![0_usize; steps.len()];
    for pass in 0..PASSES {
        for layer in 0..=layers.iter().copied().max().unwrap_or(0) {
            let mut here: Vec<usize> = (0..steps.len()).filter(|p| layers[*p] == layer).collect();
            if pass > 0 {
                here.sort_by_key(|place| pull(steps, &rows, *place));
            }
            here.iter().enumerate().for_each(|(row, place)| rows[*place] = row);
        }
    }
    layers.into_iter().zip(rows).map(|(layer, row)| Spot { layer, row }).collect()
}

/// The middle of what a step depends on, in thousandths of a row; its own row when of nothing.
fn pull(steps: &[Step], rows: &[usize], place: usize) -> usize {
    let from: Vec<usize> = inner_edges(steps, &steps[place]).map(|(from, _)| rows[from]).collect();
    match from.len() {
        0 => rows[place] * 1_000,
        n => from.iter().sum::<usize>() * 1_000 / n,
    }
}

fn corner(spot: Spot) -> (i32, i32) {
    let at = |n: usize, size: i32, gap: i32| i32::try_from(n).unwrap_or(0) * (size + gap) + EDGE;
    (at(spot.layer, BOX.0, GAP.0), at(spot.row, BOX.1, GAP.1))
}

fn curve(from: Spot, to: Spot) -> String {
    let ((x, y), (to_x, to_y)) = (corner(from), corner(to));
    let (x, y, to_y) = (x + BOX.0, y + BOX.1 / 2, to_y + BOX.1 / 2);
    let middle = (x + to_x) / 2;
    format!("M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use armarius_core::flow::Depend;
    use armarius_core::text::Name;

    fn steps(text: &str) -> Vec<Step> {
        let one = |line: &str| {
            let (name, after) = line.split_once(':').unwrap_or((line, ""));
            let mut step = Step::outside(Name::trusted(name));
            let on = |name| Depend { on: Reference::Task(Name::trusted(name)), when: When::Done };
            step.depends = after.split_whitespace().map(on).collect();
            step
        };
        text.split(';').map(str::trim).map(one).collect()
    }

    #[test]
    fn a_step_stands_behind_what_it_depends_on() {
        for (text, wanted) in [
            ("a", "0.0"),
            ("a; b: a; c: b", "0.0 1.0 2.0"),
            ("a; b: a; c: a; d: b c", "0.0 1.0 1.1 2.0"),
            // Crossed at first, straight in the end.
            ("a; b; c: b; d: a", "0.0 0.1 1.1 1.0"),
            ("a; b: a; c; d: b c", "0.0 1.0 0.1 2.0"),
        ] {
            let spots = arrange(&steps(text));
            let told: Vec<String> =
                spots.iter().map(|s| format!("{}.{}", s.layer, s.row)).collect();
            assert_eq!(told.join(" "), wanted, "{text}");
        }
    }

    #[test]
    fn names_are_text_and_cut_when_long() {
        let mut flow = Flow::manual(Name::trusted("f"));
        flow.tasks = steps("<script>; a-very-long-name-of-a-step-indeed: <script>");
        let text = draw(&flow, &BTreeMap::new()).into_string();
        assert!(!text.contains("<script>"), "{text}");
        assert!(text.contains("a-very-long-name-of-a…"), "{text}");
    }
}
