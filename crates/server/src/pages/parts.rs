//! Small parts that many pages show: states, moments, counts, links, tables.

use armarius_core::ids::Time;
use armarius_core::task::State;
use armarius_wire::client::segment;
use armarius_wire::v1::status::Counts;
use armarius_wire::v1::task::Task;
use armarius_wire::v1::time;
use maud::{Markup, html};

use crate::api::now;

/// Characters of a JSON text that are shown.
const JSON_SHOWN_MAX: usize = 4_000;

/// A state, by word and colour.
pub(super) fn badge(state: &str) -> Markup {
    html! { span class={ "state " (class(state)) } { (said(state)) } }
}

/// Another word in the colour of a state.
pub(super) fn badge_as(state: State, word: &str) -> Markup {
    html! { span class={ "state " (state.as_str()) } { (word) } }
}

/// How a revision stands, by word and colour.
pub(super) fn revision_badge(state: &str) -> Markup {
    let like = match state {
        "done" => State::Done,
        "open" => State::Leased,
        "failed" | "invalid" | "runaway" => State::Failed,
        "untrusted" => State::Held,
        "skipped" => State::Cancelled,
        _ => State::Waiting,
    };
    badge_as(like, state)
}

/// What people call a state.
pub(super) fn said(state: &str) -> &str {
    if state == State::Leased.as_str() { "running" } else { state }
}

/// Only words of ours become names of classes.
fn class(state: &str) -> &'static str {
    let known = State::ALL.into_iter().find(|known| known.as_str() == state);
    known.map_or("other", State::as_str)
}

/// How long ago, with the exact moment behind it.
pub(super) fn ago(moment: &str) -> Markup {
    let Some(at) = time::parse(moment) else { return html! { (moment) } };
    html! { time datetime=(moment) title=(moment) data-ago { (distance(at, now())) } }
}

/// For how long already.
pub(super) fn lasting(moment: &str) -> Markup {
    let Some(at) = time::parse(moment) else { return html! { (moment) } };
    let text = length(u64::try_from((now().0 - at.0) / 1_000_000).unwrap_or(0));
    html! { time datetime=(moment) title=(moment) data-ago="for" { (text) } }
}

/// As [`ago`].
pub(super) fn ago_at(at: Time) -> Markup {
    ago(&time::text(at))
}

fn distance(at: Time, now: Time) -> String {
    let seconds = (now.0 - at.0) / 1_000_000;
    let (text, past) = (length(seconds.unsigned_abs()), seconds >= 0);
    match (seconds.unsigned_abs(), past) {
        (0..=4, _) => "now".to_owned(),
        (_, true) => format!("{text} ago"),
        (_, false) => format!("in {text}"),
    }
}

/// A length of time in its largest unit.
pub(super) fn length(seconds: u64) -> String {
    match seconds {
        0..=89 => format!("{seconds} s"),
        90..=5_399 => format!("{} min", seconds / 60),
        5_400..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Microseconds between two moments, if both are known.
pub(super) fn between(from: &str, to: &str) -> Option<u64> {
    let (from, to) = (time::parse(from)?, time::parse(to)?);
    Some(u64::try_from(to.0 - from.0).unwrap_or(0))
}

/// How long work took.
pub(super) fn took(micros: u64) -> String {
    match micros {
        0..=999_999 => format!("{} ms", micros / 1_000),
        1_000_000..=9_999_999 => format!("{}.{} s", micros / 1_000_000, micros / 100_000 % 10),
        _ => length(micros / 1_000_000),
    }
}

/// A number with thin spaces between thousands.
pub(super) fn count(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    if n < 0 { format!("-{out}") } else { out }
}

/// Counts by state in the order in which work goes.
pub(super) fn by_state(counts: &Counts) -> [(State, i64); 7] {
    [
        (State::Waiting, counts.waiting),
        (State::Held, counts.held),
        (State::Ready, counts.ready),
        (State::Leased, counts.leased),
        (State::Failed, counts.failed),
        (State::Cancelled, counts.cancelled),
        (State::Done, counts.done),
    ]
}

/// The cells of a row of counts; each leads to its tasks.
pub(super) fn count_cells(counts: &Counts, query: &str) -> Markup {
    html! {
        @for (state, n) in by_state(counts) {
            td.n {
                @if n == 0 { span.none { "·" } }
                @else {
                    a class={ "count " (state.as_str()) }
                        href={ "/tasks?" (query) "&state=" (state.as_str()) } { (count(n)) }
                }
            }
        }
    }
}

/// The heads of those cells.
pub(super) fn count_heads() -> Markup {
    html! { @for (state, _) in by_state(&Counts::default())
    { th.n scope="col" { (said(state.as_str())) } } }
}

/// Tasks as rows.
pub(super) fn tasks(tasks: &[Task]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "task" } th scope="col" { "state" } th scope="col" { "since" }
                th.n.wide scope="col" { "attempts" } th.n.wide scope="col" { "priority" }
                th.wide scope="col" { "worker" }
            } }
            tbody { @for task in tasks { tr {
                td.address { a href={ "/task?id=" (task.task) } { (task.address) } }
                td { (badge(&task.state)) @if !task.cause.is_empty()
                    { " " span.quiet { (task.cause) } } }
                td { (ago(&task.since)) }
                td.n.wide { (task.attempts) }
                td.n.wide { (task.priority) }
                td.wide { (task.worker.as_deref().unwrap_or_default()) }
            } } }
        } }
    }
}

/// A link to an item.
pub(super) fn item_link(address: &str) -> Markup {
    html! { a href={ "/item?at=" (segment(address)) } { (address) } }
}

/// A link to a collection.
pub(super) fn collection_link(name: &str) -> Markup {
    html! { a href={ "/collection?name=" (segment(name)) } { (name) } }
}

/// A link to an archive.
pub(super) fn archive_link(name: &str) -> Markup {
    html! { a href={ "/archive?name=" (segment(name)) } { (name) } }
}

/// Where a revision's page is.
pub(super) fn revision_href(archive: &str, revision: i64) -> String {
    format!("/revision?archive={}&n={revision}", segment(archive))
}

/// A link to a flow.
pub(super) fn flow_link(collection: &str, flow: &str) -> Markup {
    html! {
        a href={ "/flow?collection=" (segment(collection)) "&name=" (segment(flow)) } { (flow) }
    }
}

/// JSON as it was written, cut when it is long.
pub(super) fn json(text: &str) -> Markup {
    let shown: String = text.chars().take(JSON_SHOWN_MAX).collect();
    html! {
        pre.json tabindex="0" { (shown) @if shown.len() < text.len() { "…" } }
        @if shown.len() < text.len() { p.quiet {
            (count(i64::try_from(text.len()).unwrap_or(i64::MAX)))
            " bytes in all; the API has them." } }
    }
}

/// The way to the next page of a list.
pub(super) fn further(next: Option<&str>, query: &str, found: usize) -> Markup {
    html! { @if let Some(cursor) = next {
        p.further { a rel="next" href={ "?" (query) "&cursor=" (segment(cursor)) } {
            @if found == 0 { "None among the newest; look further" } @else { "Further" }
        } }
    } }
}

/// Something that asks before it does.
pub(super) fn action(name: &str, about: &str, form: &Markup) -> Markup {
    html! { details.act name="act" { summary { (name) "…" } div { p { (about) } (form) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_by_their_distance() {
        let now = Time(1_000_000_000_000);
        for (seconds, text) in [
            (0, "now"),
            (-3, "now"),
            (30, "30 s ago"),
            (600, "10 min ago"),
            (7_200, "2 h ago"),
            (864_000, "10 d ago"),
            (-90, "in 1 min"),
        ] {
            assert_eq!(distance(Time(now.0 - seconds * 1_000_000), now), text);
        }
    }

    #[test]
    fn work_is_told_by_its_length() {
        for (micros, text) in [
            (340_999, "340 ms"),
            (1_250_000, "1.2 s"),
            (59_000_000, "59 s"),
            (600_000_000, "10 min"),
        ] {
            assert_eq!(took(micros), text);
        }
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1\u{202f}000"),
            (-1_234_567, "-1\u{202f}234\u{202f}567"),
        ] {
            assert_eq!(count(n), text);
        }
    }

    #[test]
    fn what_came_from_outside_stays_text() {
        let task = Task {
            task: 1,
            address: "<script>alert(1)</script>".to_owned(),
            state: "ready\" onload=\"x".to_owned(),
            cause: "<b>".to_owned(),
            since: "<i>".to_owned(),
            created_at: String::new(),
            priority: 0,
            attempts: 0,
            token: String::new(),
            ready_at: None,
            blockers: 0,
            batch: None,
            payload: None,
            worker: Some("'\"><img src=x>".to_owned()),
            run: None,
        };
        let text = tasks(&[task]).into_string();
        for bad in ["<script", "<b>", "<i>", "<img", "class=\"state ready\""] {
            assert!(!text.contains(bad), "{bad}: {text}");
        }
    }
}
