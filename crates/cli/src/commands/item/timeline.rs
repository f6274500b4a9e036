//! An item's history as people read it.

use armarius_wire::v1::event::Event;
use armarius_wire::v1::item::{Item, Mark};

use crate::paper;

/// Events shown with an item.
pub(super) const SHOWN_MAX: i64 = 30;

/// How each event stands, as triggers see it.
pub(super) fn marks(item: &Item) -> String {
    let row = |mark: &Mark| {
        let seen = match (mark.hidden, mark.current) {
            (true, _) => "rewound, not seen by robots",
            (false, true) => "",
            (false, false) => "older than the content",
        };
        let from = if mark.imported { "imported" } else { "" };
        [
            mark.name.clone(),
            mark.outcome.clone(),
            mark.n.to_string(),
            mark.at.clone(),
            seen.to_owned(),
            from.to_owned(),
        ]
    };
    paper::table(["stands as", "outcome", "n", "at", "", ""], item.marks.iter().map(row).collect())
}

/// The newest events, one line each: when, what, how it ended, who, and in which work.
pub(super) fn lines(events: &[Event]) -> String {
    let row = |event: &Event| {
        [
            event.n.to_string(),
            when(event),
            event.name.clone(),
            event.outcome.clone().or_else(|| event.to.clone()).unwrap_or_default(),
            who(event),
            event.detail.as_ref().map_or_else(String::new, |d| d.get().to_owned()),
        ]
    };
    let head = ["n", "when", "what", "outcome", "who", "detail"];
    paper::table(head, events.iter().map(row).collect())
}

/// When it happened: as somebody says, where they do.
fn when(event: &Event) -> String {
    match event.said.as_ref().and_then(|said| said.at.as_ref()) {
        Some(at) => format!("{at} (told {})", event.at),
        None => event.at.clone(),
    }
}

/// Who did it: the robot with its version, and on whose behalf it was added.
pub(super) fn who(event: &Event) -> String {
    let said = event.said.as_ref().and_then(|said| said.agent.clone());
    let work = event.work.as_ref().map(|work| {
        let version = work.version.get(..7).unwrap_or(&work.version);
        let round = if work.round > 1 { format!("~{}", work.round) } else { String::new() };
        format!("{}.{}{round} {version}", work.flow, work.step)
    });
    let imported = event.said.as_ref().is_some_and(|said| said.imported);
    let by = if imported { format!("imported by {}", event.actor) } else { event.actor.clone() };
    said.into_iter().chain(work).chain([by]).collect::<Vec<_>>().join(", ")
}
