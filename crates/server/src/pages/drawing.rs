//! Boxes in layers from left to right, and curves between them.
//!
//! A box stands one layer behind the last of those that pull it; within a layer boxes stand near
//! what pulls them. A curve that spans several layers gets a place of its own in each, so that it
//! passes beside boxes and not behind them. That is all, and enough for what people can read.

use std::collections::BTreeSet;

use maud::{Markup, html};

/// Width of a box, and its height unless many curves end at one.
const BOX: (i32, i32) = (168, 46);
/// Room between the ends of curves at one box, without and with words on them.
const PORT: (i32, i32) = (12, 20);
/// Height of a row that only curves pass through.
const THIN: i32 = 10;
/// Room between layers, without and with words on the curves, and between boxes of a layer.
const GAP: (i32, i32, i32) = (56, 132, 18);
/// Room around the drawing.
const EDGE: i32 = 8;
/// Characters of a name that fit.
const NAME_MAX: usize = 21;
/// Characters of the line below it that fit.
const TELL_MAX: usize = 25;
/// Characters of a word on a curve that fit.
const LABEL_MAX: usize = 18;
/// Passes that bring boxes nearer to what pulls them.
const PASSES: usize = 4;
/// Boxes and curves that are drawn; more cannot be read.
const BOXES_MAX: usize = 150;
const CURVES_MAX: usize = 600;

/// A box.
#[derive(Default)]
pub(super) struct Node {
    pub(super) name: String,
    /// The line below the name.
    pub(super) tell: String,
    /// All about it, for those who point at it.
    pub(super) about: String,
    /// How it is coloured: a word of ours.
    pub(super) class: &'static str,
    /// Where it leads.
    pub(super) href: Option<String>,
    /// Whether it stands just before the first it pulls, rather than at the beginning.
    pub(super) late: bool,
}

/// A curve.
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// How it is drawn: a word of ours.
    pub(super) class: &'static str,
    pub(super) label: String,
    /// Whether its end stands behind its beginning.
    pub(super) pulls: bool,
    /// Whether it points at its beginning.
    pub(super) points_back: bool,
}

/// Where a box stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) layer: usize,
    pub(super) row: usize,
}

/// Sizes of one drawing.
struct Sizes {
    /// Height of a box.
    tall: i32,
    /// Room between layers.
    gap: i32,
    /// Where each row begins and how tall it is.
    rows: Vec<(i32, i32)>,
}

impl Sizes {
    fn of(plan: &Plan, edges: &[Edge]) -> Self {
        let boxes = 0..plan.spots.len();
        let ends = boxes.map(|node| plan.ends_at(edges, node).len()).max().unwrap_or(0);
        let named = edges.iter().any(|edge| !edge.label.is_empty());
        let (port, gap) = if named { (PORT.1, GAP.1) } else { (PORT.0, GAP.0) };
        let tall = BOX.1.max(port * (number(ends) + 1));
        let last = plan.taken().map(|spot| spot.row + 1).max().unwrap_or(0);
        let mut rows = Vec::with_capacity(last);
        let mut top = EDGE;
        for row in 0..last {
            let high = if plan.spots.iter().any(|spot| spot.row == row) { tall } else { THIN };
            rows.push((top, high));
            top += high + GAP.2;
        }
        Self { tall, gap, rows }
    }

    fn corner(&self, spot: Spot) -> (i32, i32) {
        let top = self.rows.get(spot.row).map_or(EDGE, |(top, _)| *top);
        (number(spot.layer) * (BOX.0 + self.gap) + EDGE, top)
    }

    fn width(&self, layers: usize) -> i32 {
        number(layers) * BOX.0 + number(layers.max(1) - 1) * self.gap + 2 * EDGE
    }

    fn height(&self) -> i32 {
        self.rows.last().map_or(0, |(top, high)| top + high) + EDGE
    }
}

/// Draws boxes and curves.
pub(super) fn draw(label: &str, nodes: &[Node], edges: &[Edge]) -> Markup {
    if nodes.len() > BOXES_MAX || edges.len() > CURVES_MAX {
        return html! { p.quiet { (label) ": too many to be drawn." } };
    }
    let plan = Plan::of(nodes, edges);
    let sizes = Sizes::of(&plan, edges);
    let layers = plan.taken().map(|spot| spot.layer + 1).max().unwrap_or(0);
    // Curves that go back pass below everything.
    let goes_back = |n: usize| plan.ways[n].is_none() && edges[n].from != edges[n].to;
    let below = if (0..edges.len()).any(goes_back) { 2 * GAP.2 } else { 0 };
    let (width, height) = (sizes.width(layers), sizes.height() + below);
    let leads = nodes.iter().any(|node| node.href.is_some());
    html! {
        svg.graph width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) }
            role=(if leads { "group" } else { "img" }) aria-label=(label) {
            @for n in (0..edges.len()).filter(|n| edges[*n].from != edges[*n].to) {
                (curve(&plan, edges, n, &sizes, height))
            }
            @for (node, spot) in nodes.iter().zip(&plan.spots) { (one(node, *spot, &sizes)) }
        }
    }
}

/// The order in which boxes are read: layer by layer.
pub(super) fn order(nodes: &[Node], edges: &[Edge]) -> Vec<usize> {
    let plan = Plan::of(nodes, edges);
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|node| plan.spots[*node]);
    order
}

fn one(node: &Node, spot: Spot, sizes: &Sizes) -> Markup {
    let (x, y) = sizes.corner(spot);
    let top = y + (sizes.tall - BOX.1) / 2;
    let drawn = html! { g class={ "step " (node.class) } {
        title { (node.about) }
        rect x=(x) y=(y) width=(BOX.0) height=(sizes.tall) rx="3" {}
        text.name x=(x + 10) y=(top + 19) { (short(&node.name, NAME_MAX)) }
        text.tell x=(x + 10) y=(top + 36) { (short(&node.tell, TELL_MAX)) }
    } };
    html! { @match &node.href {
        Some(href) => a href=(href) { (drawn) },
        None => (drawn),
    } }
}

fn curve(plan: &Plan, edges: &[Edge], n: usize, sizes: &Sizes, height: i32) -> Markup {
    let edge = &edges[n];
    let (x, y) = sizes.corner(plan.spots[edge.from]);
    let (to_x, to_y) = sizes.corner(plan.spots[edge.to]);
    let port = plan.ends_at(edges, edge.to).iter().position(|end| *end == n);
    let ends = number(plan.ends_at(edges, edge.to).len());
    let to_y = to_y + sizes.tall * (number(port.unwrap_or(0)) + 1) / (ends + 1);
    let (start, middle_y) = (x + BOX.0, y + sizes.tall / 2);
    let class = format!("edge {}", edge.class);
    let Some(way) = &plan.ways[n] else {
        // Back to an earlier layer, below everything.
        let floor = height - EDGE;
        let (x, y, to_x) = (x + BOX.0 / 2, y + sizes.tall, to_x + BOX.0 / 2);
        let bottom = sizes.corner(plan.spots[edge.to]).1 + sizes.tall;
        return html! {
            path class=(class) d={ "M" (x) " " (y) "C" (x) " " (floor) " " (to_x) " " (floor) " "
                (to_x) " " (bottom) } {}
            text.word x=((x + to_x) / 2) y=(floor - 4) text-anchor="middle" {
                (short(&edge.label, LABEL_MAX)) }
        };
    };
    let mut path = format!("M{start} {middle_y}");
    let (mut from, mut from_y) = (start, middle_y);
    for place in way {
        let spot = plan.places[*place];
        let (x, y) = sizes.corner(spot);
        let y = y + sizes.rows.get(spot.row).map_or(0, |(_, high)| high / 2);
        path.push_str(&bend((from, from_y), (x, y)));
        path.push_str(&format!("H{}", x + BOX.0));
        (from, from_y) = (x + BOX.0, y);
    }
    path.push_str(&bend((from, from_y), (to_x, to_y)));
    let head = if edge.points_back {
        format!("M{start} {middle_y}l7 -3.5v7z")
    } else {
        format!("M{to_x} {to_y}l-7 -3.5v7z")
    };
    html! {
        path class=(class) d=(path) {}
        path class={ "head " (edge.class) } d=(head) {}
        @if !edge.label.is_empty() {
            text.word x=(to_x - 10) y=(to_y - 4) text-anchor="end" {
                title { (edge.label) } (short(&edge.label, LABEL_MAX)) }
        }
    }
}

fn bend((x, y): (i32, i32), (to_x, to_y): (i32, i32)) -> String {
    let middle = (x + to_x) / 2;
    format!("C{middle} {y} {middle} {to_y} {to_x} {to_y}")
}

/// Where everything is.
struct Plan {
    /// The place of each box.
    spots: Vec<Spot>,
    /// Places that curves pass through.
    places: Vec<Spot>,
    /// For each curve the places it passes; `None` when it goes back.
    ways: Vec<Option<Vec<usize>>>,
}

impl Plan {
    fn of(boxes: &[Node], edges: &[Edge]) -> Self {
        let nodes = boxes.len();
        let forward = forward(nodes, edges);
        let mut layers = layers(boxes, edges, &forward);
        // Whoever stands somewhere is a point: boxes first, then the places of long curves.
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        let mut ways = Vec::with_capacity(edges.len());
        for edge in edges {
            if layers[edge.from] >= layers[edge.to] {
                ways.push(None);
                continue;
            }
            let mut last = edge.from;
            let mut way = Vec::new();
            for layer in layers[edge.from] + 1..layers[edge.to] {
                layers.push(layer);
                before.push(vec![last]);
                last = layers.len() - 1;
                way.push(last - nodes);
            }
            before[edge.to].push(last);
            ways.push(Some(way));
        }
        let rows = rows(&layers, &before);
        let all = layers.iter().zip(rows).map(|(layer, row)| Spot { layer: *layer, row });
        let mut spots: Vec<Spot> = all.collect();
        let places = spots.split_off(nodes);
        Self { spots, places, ways }
    }

    /// Where anything is.
    fn taken(&self) -> impl Iterator<Item = &Spot> {
        self.spots.iter().chain(&self.places)
    }

    /// The curves that end at a box from the left, from top to bottom.
    fn ends_at(&self, edges: &[Edge], node: usize) -> Vec<usize> {
        let ends = (0..edges.len()).filter(|n| edges[*n].to == node && self.ways[*n].is_some());
        let mut ends: Vec<usize> = ends.collect();
        ends.sort_by_key(|n| {
            let last = self.ways[*n].as_ref().and_then(|way| way.last());
            last.map_or(self.spots[edges[*n].from], |place| self.places[*place]).row
        });
        ends
    }
}

/// The pulling edges that close no circle, taken in order.
fn forward(nodes: usize, edges: &[Edge]) -> Vec<bool> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let mut kept = vec![false; edges.len()];
    for (n, edge) in edges.iter().enumerate().filter(|(_, edge)| edge.pulls) {
        let (mut open, mut seen) = (vec![edge.to], BTreeSet::from([edge.to]));
        while let Some(node) = open.pop() {
            open.extend(next[node].iter().copied().filter(|more| seen.insert(*more)));
        }
        if !seen.contains(&edge.from) {
            next[edge.from].push(edge.to);
            kept[n] = true;
        }
    }
    kept
}

fn layers(boxes: &[Node], edges: &[Edge], forward: &[bool]) -> Vec<usize> {
    let mut layers = vec![0_usize; boxes.len()];
    let pulling = || edges.iter().zip(forward).filter(|(_, kept)| **kept).map(|(edge, _)| edge);
    for _ in boxes {
        let mut moved = false;
        for edge in pulling() {
            let wanted = layers[edge.from] + 1;
            if layers[edge.to] < wanted {
                layers[edge.to] = wanted;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    for (n, _) in boxes.iter().enumerate().filter(|(_, node)| node.late) {
        let first = pulling().filter(|edge| edge.from == n).map(|edge| layers[edge.to]).min();
        layers[n] = layers[n].max(first.unwrap_or(0).saturating_sub(1));
    }
    layers
}

fn rows(layers: &[usize], before: &[Vec<usize>]) -> Vec<usize> {
    let mut rows = vec![0_usize; layers.len()];
    for pass in 0..PASSES {
        for layer in 0..=layers.iter().copied().max().unwrap_or(0) {
            let mut here: Vec<usize> = (0..layers.len()).filter(|p| layers[*p] == layer).collect();
            if pass > 0 {
                here.sort_by_key(|point| pull(&before[*point], &rows, *point));
            }
            here.iter().enumerate().for_each(|(row, point)| rows[*point] = row);
        }
    }
    rows
}

/// The middle of what pulls a point, in thousandths of a row; its own row when nothing does.
fn pull(before: &[usize], rows: &[usize], point: usize) -> usize {
    match before.len() {
        0 => rows[point] * 1_000,
        n => before.iter().map(|from| rows[*from]).sum::<usize>() * 1_000 / n,
    }
}

fn number(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(0)
}

fn short(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a; b: a` is: b stands behind a.
    fn graph(text: &str) -> (Vec<Node>, Vec<Edge>) {
        let lines: Vec<(&str, &str)> = text
            .split(';')
            .map(|line| line.trim().split_once(':').unwrap_or((line.trim(), "")))
            .collect();
        let at = |name: &str| lines.iter().position(|(own, _)| *own == name).unwrap();
        let mut edges = Vec::new();
        for (name, after) in &lines {
            for from in after.split_whitespace() {
                let (from, to) = (at(from), at(name));
                let label = from.to_string();
                edges.push(Edge { from, to, class: "", label, pulls: true, points_back: false });
            }
        }
        let node = |(name, _): &(&str, &str)| Node { name: (*name).to_owned(), ..Node::default() };
        (lines.iter().map(node).collect(), edges)
    }

    #[test]
    fn a_box_stands_behind_what_pulls_it() {
        for (text, wanted) in [
            ("a", "0.0"),
            ("a; b: a; c: b", "0.0 1.0 2.0"),
            ("a; b: a; c: a; d: b c", "0.0 1.0 1.1 2.0"),
            // Crossed at first, straight in the end.
            ("a; b; c: b; d: a", "0.0 0.1 1.1 1.0"),
            ("a; b: a; c; d: b c", "0.0 1.0 0.1 2.0"),
            // A circle is cut where it closes.
            ("a: c; b: a; c: b", "1.0 2.0 0.0"),
            ("a: a", "0.0"),
        ] {
            let (nodes, edges) = graph(text);
            let plan = Plan::of(&nodes, &edges);
            let told: Vec<String> =
                plan.spots.iter().map(|s| format!("{}.{}", s.layer, s.row)).collect();
            assert_eq!(told.join(" "), wanted, "{text}");
        }
    }

    #[test]
    fn a_long_curve_passes_beside_boxes() {
        let (nodes, edges) = graph("a; b: a; c: b; d: c a");
        let plan = Plan::of(&nodes, &edges);
        let long = plan.ways[3].as_ref().unwrap();
        let places: Vec<Spot> = long.iter().map(|place| plan.places[*place]).collect();
        assert_eq!(places, [Spot { layer: 1, row: 1 }, Spot { layer: 2, row: 1 }]);
        assert_eq!(order(&nodes, &edges), [0, 1, 2, 3]);
        // What comes from outside comes late.
        let (mut nodes, edges) = graph("a; b: a; c: b; out; d: c out");
        nodes[3].late = true;
        assert_eq!(order(&nodes, &edges), [0, 1, 2, 3, 4]);
        assert_eq!(Plan::of(&nodes, &edges).spots[3], Spot { layer: 2, row: 1 });
    }

    #[test]
    fn names_are_text_and_cut_when_long() {
        let (mut nodes, edges) = graph("a; b: a");
        nodes[0].name = "<script>".to_owned();
        nodes[1].name = "a-very-long-name-of-a-step-indeed".to_owned();
        let text = draw("two", &nodes, &edges).into_string();
        assert!(!text.contains("<script>"), "{text}");
        assert!(text.contains("a-very-long-name-of-a…"), "{text}");
    }

    #[test]
    fn too_many_are_not_drawn() {
        let nodes: Vec<Node> = (0..=BOXES_MAX).map(|_| Node::default()).collect();
        assert!(draw("all", &nodes, &[]).into_string().contains("too many"));
    }
}
