//! One revision: what it is, what it ran, who waited for whom.

use armarius_core::decide::revision_address;
use armarius_core::flow::Step;
use armarius_core::flow::codec::COMMIT;
use armarius_core::flow::revisions::{edges, reduce};
use armarius_core::text::Name;
use armarius_wire::client::segment;
use armarius_wire::v1::archive::Task;
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::drawing::{self, Edge, Node};
use super::frame::page;
use super::grid::{Versions, badge_of, by_whom, failed_with, place_of, step_of, versions};
use super::parts::{
    ago, archive_link, between, count, lasting, revision_badge, revision_href, said, took,
};
use crate::api;
use crate::api::planned::Planned;
use crate::app::App;
use crate::body::Params;
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::Answer;

/// Characters of what an author said.
const MESSAGE_MAX: usize = 4_000;
/// Tasks that are listed.
const TASKS_MAX: usize = 500;

/// Which one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    archive: String,
    n: i64,
}

/// What the page is made from.
struct Whole {
    own: Planned,
    before: Option<Planned>,
    versions: Versions,
    has_next: bool,
}

/// `GET /revision`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Params(Wanted { archive, n }): Params<Wanted>,
) -> Answer {
    let (asking, name) = (caller.clone(), archive.clone());
    let whole = app.look(move |look| read(look, &asking, &name, n)).await?;
    let revision = &whole.own.revision;
    let at = revision_address(&Name::new(&archive)?, n).to_string();
    let message: String = revision.message.chars().take(MESSAGE_MAX).collect();
    let main = html! {
        p.crumb { (archive_link(&archive)) }
        h1 { "Revision " (n) }
        div id="state" data-live {
            p.lead { (revision_badge(&revision.state)) }
            dl.facts {
                @if !revision.author.is_empty() { div { dt { "by" } dd { (revision.author) } } }
                @if !revision.at.is_empty() { div { dt { "made" } dd { (ago(&revision.at)) } } }
                div { dt { "noticed" } dd { (ago(&revision.seen_at)) } }
                @if !revision.id.is_empty() { div { dt { "id" } dd { code { (revision.id) } } } }
                div { dt { "changed" } dd { a href={ "/api/v1/archives/" (segment(&archive))
                    "/revisions/" (n) "/paths" } {
                    (count(i64::try_from(revision.paths).unwrap_or(i64::MAX)))
                    (if revision.paths == 1 { " path" } else { " paths" }) } } }
                @if !revision.cause.is_empty() { div { dt { "made by" } dd { (revision.cause)
                    " (" (revision.depth) " deep)" } } }
                div { dt { "history" } dd { a href={ "/item?at=" (segment(&at)) } { (at) } } }
            }
            @if !message.is_empty() { pre.json { (message) } }
            @if !revision.remarks.is_empty() { ul.remarks {
                @for remark in &revision.remarks { li { (remark) } } } }
        }
        nav.pager aria-label="Revisions" {
            @if whole.has_next { a rel="next" href=(revision_href(&archive, n + 1))
                { "r" (n + 1) } }
            @if whole.before.is_some() { a rel="prev" href=(revision_href(&archive, n - 1))
                { "r" (n - 1) } }
            a href={ "/archive?name=" (segment(&archive)) "&at=" (n) } { "In the grid" }
        }
        section { h2 { "Who waits for whom" }
            div.scroll.drawing id="graph" data-live tabindex="0" { (graph(&whole)) }
            p.quiet { "Boxes with a broken edge belong to revision " (n - 1)
                " or an earlier one; a red line ends at what is superseded. What follows from \
                other lines is left out." } }
        section id="tasks" data-live { h2 { "Tasks" } (tasks(&revision.tasks)) }
    };
    Ok(page(&caller, "/archives", &format!("{archive} r{n}"), &main))
}

fn read(look: &mut Look<'_>, caller: &Caller, name: &str, n: i64) -> Result<Whole, Lost> {
    let row = api::archive::archive(look, caller, name)?;
    let archive = Name::new(name)?;
    let own = api::planned::read(look, &archive, n)?;
    let own = own.ok_or_else(|| api::revision::unknown(name, n))?;
    let before = if n > row.first { api::planned::read(look, &archive, n - 1)? } else { None };
    let versions = versions(look, &[&own])?;
    let has_next = n < api::revision::span(&row, None, 1).1;
    Ok(Whole { own, before, versions, has_next })
}

/// The tasks of this revision, and those of the one before that they look back at.
fn graph(whole: &Whole) -> Markup {
    let own = &whole.own;
    let mut steps: Vec<&Step> = Vec::new();
    for n in 0..own.revision.tasks.len() {
        let step = step_of(&whole.versions, own, n);
        steps.extend(step.filter(|step| steps.iter().all(|other| other.name != step.name)));
    }
    // The same definitions twice: 2 is this revision, 1 the one before.
    let all = edges(&steps, 1, 2);
    let kept = reduce(&all).into_iter().filter(|edge| edge.from.0 == 2);
    let mut places: Vec<(u32, String)> = Vec::new();
    let mut place = |node: &(u32, String)| {
        places.iter().position(|known| known == node).unwrap_or_else(|| {
            places.push(node.clone());
            places.len() - 1
        })
    };
    place(&(2, COMMIT.to_owned()));
    let mut drawn = Vec::new();
    for edge in kept {
        let (from, to) = (place(&edge.to), place(&edge.from));
        let class = match (edge.cancels, edge.settled) {
            (true, _) => "cancels",
            (false, true) => "settled",
            (false, false) => "",
        };
        let (label, points_back) = (String::new(), edge.cancels);
        drawn.push(Edge { from, to, class, label, pulls: !edge.cancels, points_back });
    }
    let nodes: Vec<Node> = places.iter().map(|(age, name)| node(whole, *age, name)).collect();
    let label = format!("Tasks of revision {} and what they wait for", own.revision.revision);
    drawing::draw(&label, &nodes, &drawn)
}

fn node(whole: &Whole, age: u32, name: &str) -> Node {
    let of = if age == 2 { Some(&whole.own) } else { whole.before.as_ref() };
    let found = of.and_then(|of| place_of(of, name).map(|n| (of, &of.revision.tasks[n])));
    let ghost = if age == 2 { "" } else { "ghost" };
    let Some((of, task)) = found else {
        let tell = "an earlier revision's".to_owned();
        let about = format!("{name}, of the nearest earlier revision that has it");
        return Node { name: name.to_owned(), tell, about, class: ghost, ..Node::default() };
    };
    let word = match task.superseded_by.as_str() {
        "" => said(&task.state).to_owned(),
        by => format!("superseded by {}", by_whom(by)),
    };
    let tell = match age {
        2 => word.clone(),
        _ if task.superseded_by.is_empty() => format!("r{} {word}", of.revision.revision),
        _ => format!("r{} superseded", of.revision.revision),
    };
    let class = match (age, task.state.as_str()) {
        (2, "done") => "done",
        (2, "leased") => "leased",
        (2, "failed") => "failed",
        (2, "held") => "held",
        (2, "ready") => "ready",
        (2, _) => "",
        (_, _) => ghost,
    };
    Node {
        name: name.to_owned(),
        tell,
        about: format!("{name} of revision {}: {word}", of.revision.revision),
        class,
        href: Some(format!("/task?id={}", task.task)),
        late: false,
    }
}

fn tasks(tasks: &[Task]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "task" } th scope="col" { "state" } th scope="col" { "took" }
                th.wide scope="col" { "began" } th.n.wide scope="col" { "attempts" }
                th.wide scope="col" { "worker" } th.wide scope="col" { "flow" }
            } }
            tbody { @for task in tasks.iter().take(TASKS_MAX) { tr {
                th scope="row" { a href={ "/task?id=" (task.task) } { (task.name) }
                    @if task.round > 1 { " " span.quiet { "~" (task.round) } } }
                td { (badge_of(task)) @match task.superseded_by.as_str() {
                    "" => { " " span.quiet { (task.cause) @if let Some(code) = failed_with(task)
                        { ", exit " (code) } } },
                    by => { " by " (by_whom(by)) },
                } }
                td { @match between(&task.started_at, &task.ended_at) {
                    Some(micros) => (took(micros)),
                    None if task.state == "leased" => (lasting(&task.started_at)),
                    None => "",
                } }
                td.wide { @if !task.started_at.is_empty() { (ago(&task.started_at)) } }
                td.n.wide { (task.attempts) }
                td.wide { (task.worker) }
                td.wide { (task.flow) }
            } } }
        } }
        @if tasks.len() > TASKS_MAX { p.quiet { "Only " (TASKS_MAX) " of " (tasks.len())
            " tasks." } }
    }
}
