//! Archives: which there are, how each stands, and what an operator does about one.

use std::collections::BTreeMap;

use armarius_core::command::{Command, PutArchive};
use armarius_core::task::State as Stands;
use armarius_core::text::Name;
use armarius_wire::client::segment;
use armarius_wire::v1::archive::{Archive, Start};
use armarius_wire::v1::status::Counts;
use armarius_wire::v1::{Raw, raw};
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::act::{back, strange};
use super::frame::{page, rules, steers};
use super::parts::{action, ago, archive_link, badge_as, count, lasting, revision_href};
use crate::api;
use crate::app::App;
use crate::body::{Form, Params, number};
use crate::identity::within;
use crate::keys::Caller;
use crate::problem::{Answer, Fault, Own};

/// Archives of one page.
const ARCHIVES_MAX: usize = 200;

/// From where on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct From {
    /// Only names behind this one.
    after: Option<String>,
}

/// `GET /archives`
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(from): Params<From>,
) -> Answer {
    let asking = caller.clone();
    let (mut all, counts) = app
        .look(move |look| {
            Ok((api::archive::all(look, &asking)?, api::collection::counts(&look.view)))
        })
        .await?;
    let (known, troubled) = (all.len(), all.iter().filter(|a| is_troubled(a)).count());
    all.retain(|archive| from.after.as_ref().is_none_or(|after| archive.name > *after));
    let more = all.len() > ARCHIVES_MAX;
    all.truncate(ARCHIVES_MAX);
    let main = html! {
        h1 { "Archives" }
        div id="archives" data-live {
            @if known == 0 { p.quiet { "No repository is watched yet: " code
                { "armarius archive add NAME --repo PATH-OR-URL" } "." } }
            @else {
                p.facts { (count(known.try_into().unwrap_or(0))) " watched"
                    @if troubled > 0 { ", " b { (troubled) " in need of somebody" } } }
                (table(&all, &counts))
                @if let Some(last) = all.last().filter(|_| more) {
                    p.further { a rel="next" href={ "?after=" (segment(&last.name)) }
                        { "Further" } }
                }
            }
        }
    };
    Ok(page(&caller, "/archives", "Archives", &main))
}

fn table(all: &[Archive], counts: &BTreeMap<String, Counts>) -> Markup {
    html! { div.scroll { table {
        thead { tr {
            th scope="col" { "archive" } th scope="col" { "state" }
            th.n scope="col" { "youngest" } th.n.wide scope="col" { "planned" }
            th.n scope="col" { "running" } th.n scope="col" { "failed" }
            th.wide scope="col" { "repository" }
        } }
        tbody { @for archive in all { tr {
            th scope="row" { (archive_link(&archive.name)) }
            td { (state(archive)) }
            td.n { (count(archive.youngest)) }
            td.n.wide { (count(archive.planned)) }
            @let tasks = counts.get(&archive.name).copied().unwrap_or_default();
            @for (state, n) in [(Stands::Leased, tasks.leased), (Stands::Failed, tasks.failed)] {
                td.n { @if n == 0 { span.none { "·" } } @else {
                    a class={ "count " (state.as_str()) } href={ "/tasks?collection="
                        (segment(&archive.name)) "&state=" (state.as_str()) } { (count(n)) } } }
            }
            td.wide.address { span.label { (archive.kind) } " " (archive.repo)
                @if !archive.branch.is_empty() { " " span.quiet { (archive.branch) } } }
        } } }
    } } }
}

/// Whether nothing will happen before somebody does something.
fn is_troubled(archive: &Archive) -> bool {
    archive.state != "watched"
        || archive.awaiting.is_some()
        || !archive.trusted
        || !archive.held_back.is_empty()
        || !archive.behind.is_empty()
}

/// How an archive stands, in words.
pub(super) fn state(archive: &Archive) -> Markup {
    html! {
        @match archive.state.as_str() {
            "watched" if !archive.held_back.is_empty() || !archive.behind.is_empty() => "",
            "watched" if archive.awaiting.is_none() =>
                (badge_as(Stands::Done, "watched")),
            "watched" => "",
            "unreachable" => { (badge_as(Stands::Held, "unreachable")) " " (archive.reason)
                ", for " (lasting(&archive.since)) },
            other => { (badge_as(Stands::Failed, other)) " " (archive.reason) ", for "
                (lasting(&archive.since)) },
        }
        @if let Some(awaiting) = &archive.awaiting {
            @if archive.state != "watched" { "; " }
            (badge_as(Stands::Waiting, "awaiting")) " revision " (awaiting.revision) " since "
            (ago(&awaiting.since))
        }
        @if !archive.held_back.is_empty() {
            " " (badge_as(Stands::Failed, "held back")) " " (archive.held_back)
        }
        @for failed in &archive.behind {
            " " (badge_as(Stands::Failed, "behind")) " " (revision_of(archive, failed))
            " failed; later revisions wait for it to be retried or skipped"
        }
        @if !archive.trusted { " " (badge_as(Stands::Held, "not trusted")) }
    }
}

/// `NAME@REVISION`, leading to that revision.
fn revision_of(archive: &Archive, task: &str) -> Markup {
    let number = task.rsplit_once('@').and_then(|(_, number)| number.parse().ok());
    html! { @match number {
        Some(number) => a href=(revision_href(&archive.name, number)) { (task) },
        None => (task),
    } }
}

/// A form about an archive, with one button.
fn form(archive: &Archive, verb: &str, button: &str, inner: &Markup) -> Markup {
    html! { form method="post" action={ "/archive/" (verb) } {
        input type="hidden" name="name" value=(archive.name);
        (inner)
        button.main type="submit" { (button) }
    } }
}

/// What may be done about an archive that does not go on by itself.
pub(super) fn urgent_forms(caller: &Caller, archive: &Archive) -> Markup {
    html! {
        @if let Some(awaiting) = archive.awaiting.as_ref().filter(|_| steers(caller)) {
            @let fields = html! {
                input type="hidden" name="revision" value=(awaiting.revision);
                label { "Reason" input name="reason" required maxlength="500"; }
            };
            (action(&format!("Skip revision {}", awaiting.revision),
                "Nothing of that revision will run; later ones go on. It is recorded with your \
                name and the reason, and cannot be taken back.",
                &form(archive, "skip", &format!("Skip revision {}", awaiting.revision), &fields)))
        }
        @if archive.state == "stopped" && steers(caller) {
            (action("Resume", "The repository is looked at again. If its history still differs \
                from what was planned, the archive stops again.",
                &form(archive, "resume", "Resume this archive", &html! {})))
            @let reason =
                html! { label { "Reason" input name="reason" required maxlength="500"; } };
            (action("Accept its history", "The archive goes on with the repository as it is now, \
                after what was planned. It is recorded with your name, the reason, and what it was \
                before.", &form(archive, "accept", "Accept this history", &reason)))
        }
    }
}

/// What may be done at any time.
pub(super) fn forms(caller: &Caller, archive: &Archive) -> Markup {
    html! { @if steers(caller) || rules(caller) { section.actions { h2 { "Actions" }
        @if steers(caller) && archive.trusted && !archive.flows.is_empty() {
            (start_form(archive)) }
        @if rules(caller) { (trust_form(archive)) }
    } } }
}

/// A flow is started by hand.
fn start_form(archive: &Archive) -> Markup {
    let fields = html! {
        label { "Flow" select name="flow" required {
            @for flow in &archive.flows { option { (flow) } } } }
        label { "Revision" input type="number" name="revision" min=(archive.from)
            max=(archive.planned) placeholder=(archive.planned); }
        label { "Parameters, a JSON object" input name="params" maxlength="4000"
            placeholder="{\"colour\": \"red\"}" autocomplete="off"; }
    };
    action(
        "Start a flow",
        "Its tasks run once more, as they are defined at that revision; the newest one unless you \
         say otherwise.",
        &form(archive, "start", "Start", &fields),
    )
}

/// Whether its definitions may run.
fn trust_form(archive: &Archive) -> Markup {
    let (value, name, about) = if archive.trusted {
        (
            "no",
            "Trust no more",
            "Definitions of later revisions are read and shown, and nothing of them runs. What is \
             planned goes on.",
        )
    } else {
        (
            "yes",
            "Trust",
            "Whoever can commit to this repository can then run programs as your workers do. \
             Revisions planned so far stay as they are.",
        )
    };
    let trust = html! { input type="hidden" name="trust" value=(value); };
    action(name, about, &form(archive, "trust", name, &trust))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Begin {
    name: String,
    flow: String,
    #[serde(default)]
    revision: String,
    #[serde(default)]
    params: String,
}

/// `POST /archive/start`
pub(super) async fn start(
    State(app): State<App>,
    caller: Caller,
    Form(form): Form<Begin>,
) -> Answer {
    within(&caller, &Name::new(&form.name)?)?;
    let revision = match form.revision.trim() {
        "" => None,
        text => Some(number("revision", text)?),
    };
    let params = match form.params.trim() {
        "" => None,
        text => Some(object(text)?),
    };
    let start = Start { flow: form.flow, revision, params, id: None };
    let started = api::archive::begin(&app, &caller, form.name.clone(), start).await?;
    Ok(back(&revision_href(&form.name, started.revision)))
}

/// Parameters as somebody typed them.
fn object(text: &str) -> Result<Raw, Fault> {
    let read: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(text);
    read.ok().and_then(|_| raw(text)).ok_or_else(|| {
        let why = "the parameters are not a JSON object";
        Fault::own(Own::BadRequest, why, "go back and write them like {\"colour\": \"red\"}")
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Skip {
    name: String,
    revision: i64,
    reason: String,
}

/// `POST /archive/skip`
pub(super) async fn skip(State(app): State<App>, caller: Caller, Form(form): Form<Skip>) -> Answer {
    let archive = Name::new(&form.name)?;
    within(&caller, &archive)?;
    let (revision, reason) = (form.revision, form.reason.as_str().into());
    let command = Command::SkipRevision { archive: archive.clone(), revision, reason };
    app.ask(&caller, command).await?;
    app.repositories().news(&archive, None, &caller.actor);
    Ok(back(&format!("/archive?name={}", segment(&form.name))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Resume {
    name: String,
}

/// `POST /archive/resume`
pub(super) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Form(form): Form<Resume>,
) -> Answer {
    let archive = Name::new(&form.name)?;
    within(&caller, &archive)?;
    app.ask(&caller, Command::ResumeArchive { archive: archive.clone() }).await?;
    app.repositories().news(&archive, None, &caller.actor);
    Ok(back(&format!("/archive?name={}", segment(&form.name))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Accept {
    name: String,
    reason: String,
}

/// `POST /archive/accept`
pub(super) async fn accept(
    State(app): State<App>,
    caller: Caller,
    Form(form): Form<Accept>,
) -> Answer {
    api::archive::accept_as_it_is(&app, &caller, form.name.clone(), form.reason).await?;
    Ok(back(&format!("/archive?name={}", segment(&form.name))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trust {
    name: String,
    trust: String,
}

/// `POST /archive/trust`: everything else about the archive stays as it is.
pub(super) async fn trust(
    State(app): State<App>,
    caller: Caller,
    Form(form): Form<Trust>,
) -> Answer {
    let trusted = match &*form.trust {
        "yes" => true,
        "no" => false,
        other => return Err(strange(other)),
    };
    let archive = Name::new(&form.name)?;
    within(&caller, &archive)?;
    let (asking, name) = (caller.clone(), form.name.clone());
    let row = app.look(move |look| api::archive::archive(look, &asking, &name)).await?;
    let command = Command::PutArchive(PutArchive {
        archive: archive.clone(),
        kind: row.kind,
        place: row.place,
        branch: row.branch,
        first: row.first,
        trusted,
        depth_max: None,
    });
    app.ask(&caller, command).await?;
    app.repositories().news(&archive, None, &caller.actor);
    Ok(back(&format!("/archive?name={}", segment(&form.name))))
}
