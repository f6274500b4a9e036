//! Keys: who may do what. A new one is shown once.

use armarius_wire::v1::key::{Add, Key, Role};
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::act::{back, strange};
use super::frame::page;
use super::parts::{ago, collection_link};
use crate::api;
use crate::app::App;
use crate::body::Form;
use crate::keys::{Caller, Fresh};
use crate::problem::Answer;

/// Keys shown at once.
const KEYS_MAX: usize = 1_000;

/// `GET /keys`
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Answer {
    Ok(page(&caller, "/keys", "Keys", &shown(&app, &caller, None)))
}

fn shown(app: &App, caller: &Caller, fresh: Option<&Fresh>) -> Markup {
    let keys = app.keys().list();
    html! {
        h1 { "Keys" }
        @if let Some(fresh) = fresh { section.fresh role="status" {
            h2 { "The new key" }
            p { "It is shown this once and kept nowhere. Give it to its holder, who sets it as "
                code { "ARMARIUS_KEY" } " or signs in with it." }
            pre.key tabindex="0" { (fresh.text) }
            p { a href="/keys" { "I have it" } }
        } }
        (table(caller, &keys))
        @if keys.len() > KEYS_MAX { p.quiet { "Only " (KEYS_MAX) " of " (keys.len()) " keys." } }
        section.actions { h2 { "Actions" } (make_form()) }
    }
}

fn table(caller: &Caller, keys: &[Key]) -> Markup {
    html! { div.scroll { table {
        thead { tr {
            th scope="col" { "name" } th scope="col" { "role" } th scope="col" { "collections" }
            th.wide scope="col" { "made" } th.wide scope="col" { "changed" }
            th.wide scope="col" { "id" } th scope="col" { span.hidden { "action" } }
        } }
        tbody { @for key in keys.iter().take(KEYS_MAX) { tr {
            th scope="row" { (key.name) @if key.id == *caller.key { " "
                span.label { "yours" } } }
            td { span title=(may(key.role)) { (key.role.as_str()) } }
            td { @if key.collections.is_empty() { span.quiet { "all" } }
                @for name in &key.collections { (collection_link(name)) " " } }
            td.wide { (ago(&key.since)) }
            td.wide { @if key.changed != key.since { (ago(&key.changed)) } }
            td.wide { code { (key.id) } }
            td { details.act name="act" { summary { "Revoke…" } div {
                p { "Whoever holds it is refused from now on, on every server; leases it took \
                    lapse. This cannot be taken back."
                    @if key.id == *caller.key { " " b { "You are signed in with this key." } } }
                form method="post" action="/key/act" {
                    input type="hidden" name="verb" value="revoke";
                    input type="hidden" name="id" value=(key.id);
                    button.main type="submit" { "Revoke the key of " (key.name) }
                }
            } } }
        } } }
    } } }
}

fn make_form() -> Markup {
    html! { details.act name="act" { summary { "Make a key…" } div {
        p { "Everything done with it is recorded under its name." }
        form method="post" action="/key/act" {
            input type="hidden" name="verb" value="make";
            label { "Name" input name="name" required maxlength="200" autocomplete="off"; }
            label { "Role" select name="role" {
                @for role in Role::ALL {
                    option value=(role.as_str()) { (role.as_str()) ": " (may(role)) } }
            } }
            label { "Only these collections, separated by spaces"
                input name="collections" maxlength="2000" autocomplete="off" placeholder="all"; }
            button.main type="submit" { "Make the key" }
        }
    } } }
}

/// What a role is for, in few words.
fn may(role: Role) -> &'static str {
    match role {
        Role::Submitter => "submits work and reads",
        Role::Worker => "takes work and reports",
        Role::Operator => "steers work and reads",
        Role::Admin => "everything",
        Role::Auditor => "reads everything",
        Role::Notifier => "says that an archive has a revision",
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Act {
    verb: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    collections: String,
}

/// `POST /key/act`: a new key is in the answer itself, so that it is nowhere else.
pub(super) async fn act(State(app): State<App>, caller: Caller, Form(act): Form<Act>) -> Answer {
    match &*act.verb {
        "make" => {
            let role = Role::parse(&act.role).ok_or_else(|| strange(&act.role))?;
            let collections = act.collections.split_whitespace().map(str::to_owned).collect();
            let add = Add { name: act.name.trim().to_owned(), role, collections };
            let fresh = api::key::make(&app, &caller, add).await?;
            Ok(page(&caller, "/keys", "Keys", &shown(&app, &caller, Some(&fresh))))
        }
        "revoke" => {
            api::key::end(&app, &caller, &act.id).await?;
            Ok(back("/keys"))
        }
        other => Err(strange(other)),
    }
}
