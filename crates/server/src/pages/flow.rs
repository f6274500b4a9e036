//! Flows and their graphs.

use std::collections::BTreeMap;
use std::sync::Arc;

use armarius_core::decide::HOUSE;
use armarius_core::flow::{self as core, Action, On, Step};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::view::View;
use armarius_wire::client::segment;
use armarius_wire::v1::flow::Flow;
use armarius_wire::v1::status::Counts;
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::frame::{page, steers};
use super::parts::{ago, collection_link, count_cells, count_heads, flow_link, length};
use super::{act, board, graph};
use crate::api;
use crate::app::App;
use crate::body::Params;
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::Answer;

/// Characters of a command that are shown.
const COMMAND_SHOWN_MAX: usize = 400;

/// `GET /flows`
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Answer {
    let asking = caller.clone();
    let flows = app.look(move |look| api::flow::shown(look, &asking, |at, _| at != HOUSE)).await?;
    let main = html! {
        h1 { "Flows" }
        @if flows.is_empty() { p.quiet { "No flow is applied yet: " code
            { "armarius flow apply COLLECTION FILE" } "." } }
        @else { div id="flows" data-live { (table(&flows)) } }
    };
    Ok(page(&caller, "/flows", "Flows", &main))
}

/// Flows as rows.
pub(super) fn table(flows: &[Flow]) -> Markup {
    html! { div.scroll { table {
        thead { tr { th scope="col" { "flow" } th.n.wide scope="col" { "steps" } (count_heads()) } }
        tbody { @for flow in flows { tr {
            th scope="row" { (collection_link(&flow.collection)) " / "
                (flow_link(&flow.collection, &flow.name))
                @if flow.removed { " " span.quiet { "removed" } } }
            td.n.wide { (flow.steps.len()) }
            (count_cells(&sum(flow), &format!("collection={}&flow={}", segment(&flow.collection),
                segment(&flow.name))))
        } } }
    } } }
}

fn sum(flow: &Flow) -> Counts {
    let mut all = Counts::default();
    for step in &flow.steps {
        let c = step.tasks;
        all.add([c.waiting, c.held, c.ready, c.leased, c.done, c.failed, c.cancelled]);
    }
    all
}

/// Which one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    collection: String,
    name: String,
}

/// `GET /flow`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Params(Wanted { collection, name }): Params<Wanted>,
) -> Answer {
    let (asking, at) = (caller.clone(), (collection.clone(), name.clone()));
    let (flow, def) = app.look(move |look| read(look, &asking, &at)).await?;
    let counts: BTreeMap<String, Counts> =
        flow.steps.iter().map(|step| (step.step.clone(), step.tasks)).collect();
    let main = html! {
        p.crumb { (collection_link(&collection)) }
        h1 { (name) @if flow.removed { " " span.quiet { "removed" } } }
        dl.facts {
            div { dt { "woken by" } dd { (wakes(&def.on)) } }
            div { dt { "version" } dd { code title=(flow.version)
                { (flow.version.chars().take(12).collect::<String>()) } ", " (ago(&flow.since)) } }
            @if let Some(event) = &def.records { div { dt { "records" } dd { (event) } } }
            @if def.singleton { div { dt { "singleton" } dd { "one claimant at a time" } } }
        }
        div.scroll.drawing id="graph" data-live tabindex="0" { (graph::draw(&def, &counts)) }
        section id="steps" data-live { h2 { "Steps" } div.scroll { table {
            thead { tr { th scope="col" { "step" } (count_heads()) } }
            tbody { @for step in &flow.steps { tr {
                th scope="row" { (step.step) }
                (count_cells(&step.tasks, &board::query(&flow, &step.step)))
            } } }
        } } }
        section { h2 { "How each is run" } @for step in &def.tasks { (about(step)) } }
        @if steers(&caller) && !flow.removed { section.actions {
            h2 { "Actions" }
            (act::hold_form("Hold this flow",
                "No task of this flow is handed out while it is held; what runs goes on.",
                &[("collection", &collection), ("flow", &name)]))
            @for step in &def.tasks {
                (act::hold_form(&format!("Hold the step {}", step.name),
                    "No task of this step is handed out while it is held.",
                    &[("collection", &collection), ("flow", &name), ("step", &step.name)]))
            }
        } }
    };
    Ok(page(&caller, "/flows", &name, &main))
}

fn read(
    look: &mut Look<'_>,
    caller: &Caller,
    at: &(String, String),
) -> Result<(Flow, Arc<core::Flow>), Lost> {
    let mut found = api::flow::shown(look, caller, |home, name| home == at.0 && name == at.1)?;
    let unknown = || {
        Refusal::new(Code::NoSuchFlow, format!("there is no flow {} in {}", at.1, at.0))
            .hint("the list of flows shows those there are")
    };
    let flow = found.pop().ok_or_else(unknown)?;
    let def = look.ask(|view: &View| {
        let homes = view.collections.iter().filter(|(_, c)| *c.name == *at.0);
        let ids: Vec<_> = homes.map(|(id, _)| *id).collect();
        let mut rows = view.flows.iter().map(|(_, row)| row);
        let row = rows.find(|row| ids.contains(&row.collection) && *row.name == *at.1);
        match row {
            Some(row) => {
                Ok(view.versions.get(&row.version)?.map(|version| Arc::clone(&version.def)))
            }
            None => Ok(None),
        }
    })?;
    Ok((flow, def.ok_or_else(unknown)?))
}

fn about(step: &Step) -> Markup {
    let cut = |text: &str| text.chars().take(COMMAND_SHOWN_MAX).collect::<String>();
    let seconds =
        |span: armarius_core::ids::Span| length(u64::try_from(span.0 / 1_000_000).unwrap_or(0));
    html! { details.step {
        summary { b { (step.name) } " " span.quiet { (way(step)) } }
        @match &step.action {
            Action::Command(words) => pre.json {
                (cut(&words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" ")))
                },
            Action::Script { text, shell } => { p.quiet { "with " code { (shell) } } pre.json
                { (cut(text)) } },
            Action::Run(name) => p { "built in or outside: " code { (name) } },
        }
        dl.facts {
            div { dt { "timeout" } dd { (seconds(step.timeout)) } }
            div { dt { "retries" } dd { (step.retries) } }
            @if !step.labels.is_empty() { div { dt { "labels" } dd
                { @for label in &step.labels { span.label { (label) } " " } } } }
            @if let Some(image) = &step.image { div { dt { "image" } dd { code { (image) } } } }
            @if let Some(limit) = &step.limit { div
                { dt { "limit" } dd { (limit.max) " for each " (limit.key) } } }
            @if step.exclusive { div { dt { "exclusive" } dd { "yes" } } }
        }
    } }
}

fn way(step: &Step) -> &'static str {
    match &step.action {
        Action::Run(name) if name.as_str() == core::RUN_OUTSIDE => "done by a worker of yours",
        Action::Run(_) => "built in",
        Action::Command(_) | Action::Script { .. } if step.image.is_some() => "in a container",
        Action::Command(_) => "command",
        Action::Script { .. } => "script",
    }
}

fn wakes(on: &On) -> Markup {
    html! { @match on {
        On::Commit { .. } => "a revision",
        On::Items(_) => "events of items",
        On::Lot => "a lot",
        On::Submission => "a submission",
        On::Pairs { rows, columns } => { "pairs of " (rows) " and " (columns) },
        On::Schedule(calendar) => { code { (calendar.cron) } " in " (calendar.tz) },
        On::Manual => "somebody who asks",
    } }
}
