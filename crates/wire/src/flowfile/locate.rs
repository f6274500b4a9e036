//! From a path in a flow back to a place in its file.

use armarius_core::flow::check::PathPart;

use super::node::{Kind, Node, Place};

/// Where a path leads; where the file is shorter than the path, the last value on the way.
pub(super) fn place_of(root: &Node, path: &[PathPart]) -> Place {
    let mut at = root;
    for part in path {
        let next = match part {
            // A bare list of tasks is its own `tasks`.
            PathPart::Field("tasks") if matches!(root.kind, Kind::List(_)) => Some(at),
            PathPart::Field("on") => at.get("on").map(settings),
            PathPart::Field(key) => at.get(key),
            PathPart::Key(key) => at.get(key),
            PathPart::Index(index) => match &at.kind {
                Kind::List(list) => list.get(*index),
                Kind::Nothing | Kind::Plain(_) | Kind::Text(_) | Kind::Map(_) => None,
            },
        };
        let Some(next) = next else {
            break;
        };
        at = next;
    }
    at.place
}

/// The settings of a trigger: `{…}` in `on: {items: {…}}`.
fn settings(on: &Node) -> &Node {
    match &on.kind {
        Kind::Map(entries) => entries.first().map_or(on, |(_, settings)| settings),
        Kind::Nothing | Kind::Plain(_) | Kind::Text(_) | Kind::List(_) => on,
    }
}
