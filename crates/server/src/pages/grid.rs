//! One archive: its revisions from top to bottom, their tasks from left to right.

use std::collections::BTreeMap;
use std::sync::Arc;

use armarius_core::flow::codec::COMMIT;
use armarius_core::flow::{Flow, Reference, Step};
use armarius_core::ids::VersionId;
use armarius_core::text::Name;
use armarius_core::view::Need;
use armarius_core::why::Node;
use armarius_wire::client::segment;
use armarius_wire::v1::archive::{Archive, Task};
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::archive::{forms, state, urgent_forms};
use super::frame::page;
use super::parts::{
    ago, badge, between, collection_link, count, lasting, revision_badge, revision_href, took,
};
use super::task::tree;
use crate::api;
use crate::api::planned::Planned;
use crate::app::App;
use crate::body::Params;
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::Answer;

/// Revisions of one page.
const REVISIONS_MAX: usize = 25;
/// Columns of the grid; what a revision has beyond is on its own page.
const COLUMNS_MAX: usize = 40;
/// Remarks about a revision; all are on its own page.
const REMARKS_MAX: usize = 3;
/// Characters of what an author said.
const MESSAGE_MAX: usize = 80;

/// Which one, and which part of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    name: String,
    /// The youngest revision shown.
    at: Option<i64>,
}

/// What the page is made from.
struct Whole {
    archive: Archive,
    held_back: Option<Node>,
    rows: Vec<Row>,
    versions: Versions,
    span: (i64, i64),
    youngest: i64,
}

/// A revision, if anybody has heard of it.
struct Row {
    number: i64,
    planned: Option<Planned>,
}

/// Definitions by version.
pub(super) type Versions = BTreeMap<VersionId, Arc<Flow>>;

/// `GET /archive`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let (asking, name, at) = (caller.clone(), wanted.name.clone(), wanted.at);
    let whole = app.look(move |look| read(look, &asking, &name, at)).await?;
    let archive = &whole.archive;
    let main = html! {
        p.crumb { a href="/archives" { "Archives" } }
        h1 { (archive.name) }
        div id="state" data-live {
            p.lead { (state(archive)) }
            dl.facts {
                div { dt { "repository" } dd { span.label { (archive.kind) } " " (archive.repo) } }
                @if !archive.branch.is_empty() { div { dt { "branch" } dd { (archive.branch) } } }
                div { dt { "youngest" } dd { "r" (archive.youngest) } }
                div { dt { "planned up to" } dd { "r" (archive.planned) } }
                div { dt { "collection" } dd { (collection_link(&archive.name)) } }
            }
            (urgent_forms(&caller, archive))
            @if !archive.trusted { p.note { "Definitions are read and shown; nothing of them runs \
                until the archive is trusted." } }
            @if let Some(why) = whole.held_back.as_ref().filter(|why| !why.because.is_empty()) {
                details.held { summary { "What its oldest open COMMIT waits for" }
                    ul.why { (tree(why)) } }
            }
        }
        div id="pager" data-live { (pager(&wanted.name, &whole)) }
        div.scroll id="grid" data-live tabindex="0" role="region"
            aria-label="Revisions and their tasks" { (grid(&whole)) }
        div id="saved" data-live { (saved(&whole.rows)) }
        (forms(&caller, archive))
    };
    Ok(page(&caller, "/archives", &wanted.name, &main))
}

fn read(look: &mut Look<'_>, caller: &Caller, name: &str, at: Option<i64>) -> Result<Whole, Lost> {
    let row = api::archive::archive(look, caller, name)?;
    let held_back = api::archive::held_back(look, &row)?;
    let archive = api::archive::shown(&look.view, &row);
    let mut archive = archive.ok_or_else(|| api::archive::unknown(name))?;
    archive.held_back = api::archive::stopped_by(held_back.as_ref());
    archive.behind = api::behind::of_archive(look, &row)?;
    let span = api::revision::span(&row, at.map(|at| at.max(row.first)), REVISIONS_MAX);
    let youngest = api::revision::span(&row, None, 1).1;
    let name = Name::new(name)?;
    let mut all = api::planned::read_span(look, &name, span.0, span.1)?.into_iter().peekable();
    let row = |number| Row {
        number,
        planned: all.next_if(|planned| planned.revision.revision == number),
    };
    let mut rows: Vec<Row> = (span.0..=span.1).rev().map(row).collect();
    let told = rows.iter_mut().filter_map(|row| row.planned.as_mut());
    api::savings::note(&mut told.map(|planned| &mut planned.revision).collect::<Vec<_>>());
    let known = rows.iter().filter_map(known).collect::<Vec<_>>();
    let versions = versions(look, &known)?;
    Ok(Whole { archive, held_back, rows, versions, span, youngest })
}

/// The definitions that revisions were planned from.
pub(super) fn versions(look: &mut Look<'_>, all: &[&Planned]) -> Result<Versions, Lost> {
    let ids = all.iter().flat_map(|planned| &planned.origins).map(|(version, _)| *version);
    let mut ids: Vec<VersionId> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    look.load(&ids.iter().map(|id| Need::Version(*id)).collect::<Vec<_>>())?;
    look.ask(|view| {
        let mut found = BTreeMap::new();
        for id in &ids {
            found.extend(view.versions.get(id)?.map(|version| (*id, Arc::clone(&version.def))));
        }
        Ok(found)
    })
}

/// The step a task of a revision was planned from.
pub(super) fn step_of<'v>(versions: &'v Versions, of: &Planned, n: usize) -> Option<&'v Step> {
    let (version, task) = (of.origins.get(n)?.0, of.revision.tasks.get(n)?);
    versions.get(&version)?.tasks.iter().find(|step| *step.name == *task.name)
}

fn known(row: &Row) -> Option<&Planned> {
    row.planned.as_ref()
}

/// The way to other revisions.
fn pager(name: &str, whole: &Whole) -> Markup {
    let ((bottom, top), name) = (whole.span, segment(name));
    let page = i64::try_from(REVISIONS_MAX).unwrap_or(i64::MAX);
    let newer = (top < whole.youngest).then(|| top.saturating_add(page));
    html! { nav.pager aria-label="Revisions" {
        span { @if top < bottom { "There is no revision yet." } @else {
            "Revisions " (count(top)) " to " (count(bottom)) " of " (count(whole.youngest)) } }
        @if let Some(newer) = newer {
            a href={ "/archive?name=" (name) } { "Newest" }
            @if newer < whole.youngest {
                a rel="prev" href={ "/archive?name=" (name) "&at=" (newer) } { "Newer" } }
        }
        @if bottom > whole.archive.from {
            a rel="next" href={ "/archive?name=" (name) "&at=" (bottom - 1) } { "Older" }
            form action="/archive" {
                input type="hidden" name="name" value=(whole.archive.name);
                label.inline { "Go to revision" input type="number" name="at" required
                    min=(whole.archive.from) max=(whole.youngest); }
                button type="submit" { "Go" }
            }
        }
    } }
}

/// A column: the name of a task, and its newest definition.
struct Column<'w> {
    name: &'w str,
    step: Option<&'w Step>,
}

fn columns(whole: &Whole) -> (Vec<Column<'_>>, usize) {
    let mut columns: Vec<Column<'_>> = Vec::new();
    let mut left_out = 0;
    for planned in whole.rows.iter().filter_map(known) {
        for (n, task) in planned.revision.tasks.iter().enumerate() {
            if columns.iter().any(|column| column.name == task.name) {
                continue;
            }
            if columns.len() == COLUMNS_MAX {
                left_out += 1;
                continue;
            }
            let step = step_of(&whole.versions, planned, n);
            columns.push(Column { name: &task.name, step });
        }
    }
    (columns, left_out)
}

fn grid(whole: &Whole) -> Markup {
    let (columns, left_out) = columns(whole);
    let edges = Edges::of(whole);
    html! {
        table.grid {
            thead { tr {
                th scope="col" { "revision" }
                @for column in &columns { th scope="col" {
                    span.task { (column.name) } @for line in column.step.map(marks)
                        .unwrap_or_default() { span.mark { (line) } }
                } }
                @if columns.len() < 2 { th scope="col" { span.hidden { "remarks" } } }
            } }
            tbody { @for row in &whole.rows { @match &row.planned {
                Some(planned) => (line(whole, planned, &columns, &edges)),
                None => tr {
                    th scope="row" { b { "r" (row.number) } " " (revision_badge("awaited")) }
                    td.quiet colspan=(columns.len() + usize::from(columns.len() < 2))
                        { @if row.number <= whole.archive.youngest { "It cannot be read yet." }
                            @else { "Nobody has seen it yet." } }
                },
            } } }
        }
        @if left_out > 0 { p.quiet { "More tasks than columns: see each revision for the rest." } }
    }
}

/// Edges of a definition, in few words.
fn marks(step: &Step) -> Vec<String> {
    let word = |on: &Reference| match on {
        Reference::Task(name) => name.to_string(),
        Reference::Prev => "PREV".to_owned(),
        Reference::PrevTask(name) => format!("PREV:{name}"),
    };
    let list = |verb: &str, names: Vec<String>| {
        (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
    };
    let after = list("after", step.depends.iter().map(|depend| word(&depend.on)).collect());
    let over = list("supersedes", step.cancels.iter().map(word).collect());
    let alone = step.exclusive.then(|| "exclusive".to_owned());
    after.into_iter().chain(over).chain(alone).collect()
}

fn line(whole: &Whole, planned: &Planned, columns: &[Column<'_>], edges: &Edges) -> Markup {
    let revision = &planned.revision;
    let said = revision.message.lines().next().unwrap_or_default();
    let said: String = said.chars().take(MESSAGE_MAX).collect();
    let runs = revision.tasks.iter().any(|task| task.name != COMMIT);
    html! { tr {
        th scope="row" {
            span.first {
                a.rev href=(revision_href(&whole.archive.name, revision.revision))
                    { "r" (revision.revision) }
                (revision_badge(&revision.state))
                span.quiet.who { (revision.author) @if !revision.author.is_empty() { ", " }
                    (ago(if revision.at.is_empty() { &revision.seen_at } else { &revision.at })) }
            }
            span.said { (said) }
        }
        @for (n, column) in columns.iter().enumerate() {
            @if let Some(place) = place_of(planned, column.name) {
                (cell(planned, place, edges))
            } @else if n > 0 && !runs && !revision.remarks.is_empty() {
                @if n == 1 { (remarks(planned, columns.len() - 1)) }
            } @else { td.empty { span.hidden { "no such task" } } }
        }
        @if columns.len() < 2 { (remarks(planned, 1)) }
    } }
}

/// Why nothing of a revision runs, across so many columns.
fn remarks(planned: &Planned, columns: usize) -> Markup {
    let (revision, more) = (&planned.revision, planned.revision.remarks.len());
    let wrong = matches!(&*revision.state, "invalid" | "runaway");
    html! { td class=(if wrong { "remark wrong" } else { "remark" }) colspan=(columns) {
        @for remark in revision.remarks.iter().take(REMARKS_MAX) { div { (remark) } }
        @if more > REMARKS_MAX { div.quiet { "and " (more - REMARKS_MAX) " more" } }
    } }
}

/// Where the newest task of a name is among those of a revision.
pub(super) fn place_of(planned: &Planned, name: &str) -> Option<usize> {
    let named = planned.revision.tasks.iter().enumerate().filter(|(_, task)| task.name == name);
    named.max_by_key(|(_, task)| task.round).map(|(place, _)| place)
}

fn cell(planned: &Planned, place: usize, edges: &Edges) -> Markup {
    let (task, superseder) = (&planned.revision.tasks[place], planned.origins[place].1);
    let time = between(&task.started_at, &task.ended_at).map(took);
    let after = edges.after.get(&task.task);
    let over = edges.over.get(&task.task);
    let ids = |ids: Option<&Vec<i64>>| {
        ids.map(|ids| ids.iter().map(i64::to_string).collect::<Vec<_>>().join(" "))
    };
    let about = format!("{} of revision {}", task.name, planned.revision.revision);
    html! { td class={ "cell " (class(task)) } data-task=(task.task) data-after=[ids(after)]
        data-over=[ids(over)] {
        a href={ "/task?id=" (task.task) } title=(about) { (badge_of(task))
            @if task.round > 1 { " " span.quiet { "~" (task.round) } } }
        @match (&*task.superseded_by, superseder, &time) {
            ("", _, Some(time)) => { " " span.quiet.time { (time) } },
            ("", _, None) if task.state == "leased" =>
                { " " span.quiet.time { (lasting(&task.started_at)) } },
            ("", ..) if !task.behind.is_empty() =>
                span.by { "behind " (by_whom(&task.behind)) ", which failed" },
            ("", ..) => "",
            (by, Some(id), _) => span.by { "by " a href={ "/task?id=" (id) } { (by_whom(by)) } },
            (by, None, _) => span.by { "by " (by_whom(by)) },
        }
        @if let Some(occasion) = occasion(task) { span.by { (occasion) } }
        @if !task.cause.is_empty() && task.superseded_by.is_empty() { span.by { (task.cause)
            @if let Some(code) = failed_with(task) { ", exit " (code) } } }
    } }
}

/// Why there is a task that the commit itself did not bring.
pub(super) fn occasion(task: &Task) -> Option<Markup> {
    match task.trigger.as_str() {
        "schedule" => Some(html! { "due " (ago(&task.slot)) }),
        "manual" => Some(html! { "started by " (task.started_by) }),
        _ => None,
    }
}

/// What the program of a failed task ended with.
pub(super) fn failed_with(task: &Task) -> Option<i64> {
    task.exit_code.filter(|_| task.state == "failed")
}

/// The state of a task of a revision; one that was replaced says so.
pub(super) fn badge_of(task: &Task) -> Markup {
    html! { @if task.superseded_by.is_empty() { (badge(&task.state)) } @else {
    (super::parts::badge_as(armarius_core::task::State::Cancelled, "superseded")) } }
}

/// Only words of ours become names of classes.
fn class(task: &Task) -> &'static str {
    let known = armarius_core::task::State::ALL.into_iter();
    let mut known = known.filter(|state| state.as_str() == task.state);
    known.next().map_or("", armarius_core::task::State::as_str)
}

/// `build@7` as people say it.
pub(super) fn by_whom(by: &str) -> String {
    match by.rsplit_once('@') {
        Some((name, revision)) => format!("r{revision} {name}"),
        None => by.to_owned(),
    }
}

/// Which tasks of the page a task waits for, and which it superseded.
#[derive(Default)]
struct Edges {
    after: BTreeMap<i64, Vec<i64>>,
    over: BTreeMap<i64, Vec<i64>>,
}

impl Edges {
    fn of(whole: &Whole) -> Self {
        let mut edges = Self::default();
        let planned: Vec<&Planned> = whole.rows.iter().filter_map(known).collect();
        for (row, own) in planned.iter().enumerate() {
            for (n, task) in own.revision.tasks.iter().enumerate() {
                if let Some(by) = own.origins[n].1 {
                    edges.over.entry(by.0).or_default().push(task.task);
                }
                let earlier = &planned[row + 1..];
                let step = step_of(&whole.versions, own, n);
                edges.after.insert(task.task, after(own, earlier, &task.name, step));
            }
        }
        edges
    }
}

fn after(own: &Planned, earlier: &[&Planned], name: &str, step: Option<&Step>) -> Vec<i64> {
    let in_own = |name: &str| place_of(own, name).map(|n| own.revision.tasks[n].task);
    let before = |name: &str| {
        earlier.iter().find_map(|p| place_of(p, name).map(|n| p.revision.tasks[n].task))
    };
    if name == COMMIT {
        return before(COMMIT).into_iter().collect();
    }
    let depends = step.map(|step| step.depends.as_slice()).unwrap_or_default();
    let one = |on: &Reference| match on {
        Reference::Task(name) => in_own(name),
        Reference::Prev => before(name),
        Reference::PrevTask(name) => before(name),
    };
    let mut ids: Vec<i64> = depends.iter().filter_map(|depend| one(&depend.on)).collect();
    if !depends.iter().any(|depend| matches!(depend.on, Reference::Task(_))) {
        ids.extend(in_own(COMMIT));
    }
    ids
}

/// What superseding saved among these revisions.
fn saved(rows: &[Row]) -> Markup {
    let tasks = rows.iter().filter_map(known).flat_map(|planned| &planned.revision.tasks);
    let superseded: Vec<&Task> = tasks.filter(|task| !task.superseded_by.is_empty()).collect();
    let stopped = superseded.iter().filter(|task| !task.started_at.is_empty()).count();
    let known: Vec<u64> = superseded.iter().filter_map(|task| task.saved_ms).collect();
    let unknown = superseded.len() - known.len();
    html! { @if !superseded.is_empty() { p.note {
        b { (superseded.len()) " superseded" } " on this page: "
        (superseded.len() - stopped) " never ran, " (stopped) " stopped while they ran."
        @if !known.is_empty() { " Judged by those that came to their end, that saved about "
            b { (took(known.iter().sum::<u64>().saturating_mul(1_000))) } " of work"
            @if unknown > 0 { ", not counting " (unknown) " whose like never did" } "." }
    } } }
}
