//! What all pages share: head, navigation, foot.

use armarius_wire::v1::key::Role;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use crate::keys::Caller;

/// Only our own style and script, nothing inline, nobody's frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

const NAVIGATION: [(&str, &str); 10] = [
    ("/", "Overview"),
    ("/board", "Board"),
    ("/tasks", "Tasks"),
    ("/collections", "Collections"),
    ("/flows", "Flows"),
    ("/line", "Line"),
    ("/archives", "Archives"),
    ("/batches", "Batches"),
    ("/workers", "Workers"),
    ("/holds", "Holds"),
];

/// A page for somebody who is signed in. `at` is the entry of the navigation it belongs to.
pub(super) fn page(caller: &Caller, at: &str, title: &str, main: &Markup) -> Response {
    let body = html! {
        header.top {
            a.mark href="/" { "Armarius" }
            nav aria-label="Main" {
                @for (path, name) in NAVIGATION {
                    a href=(path) aria-current=[(path == at).then_some("page")] { (name) }
                }
                @if keeps_keys(caller) {
                    a href="/keys" aria-current=[(at == "/keys").then_some("page")] { "Keys" }
                }
            }
            form.search action="/search" role="search" {
                input type="search" name="q" placeholder="Find an address or number"
                    aria-label="Find an item or task by its address or number" maxlength="2000";
            }
            div.me {
                span.pulse id="pulse" title="Pages update themselves when a script runs" {}
                span title={ "role: " (caller.role.as_str()) } { (caller.actor) }
                form method="post" action="/logout" { button.plain type="submit" { "Sign out" } }
            }
        }
        main id="main" { (main) }
    };
    respond(StatusCode::OK, title, true, &body)
}

/// A page for anybody.
pub(super) fn bare(status: StatusCode, title: &str, main: &Markup) -> Response {
    let body = html! {
        header.top { a.mark href="/" { "Armarius" } }
        main.narrow id="main" { (main) }
    };
    respond(status, title, false, &body)
}

fn respond(status: StatusCode, title: &str, live: bool, body: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – Armarius" }
                link rel="icon" type="image/svg+xml" href=(assets::href("icon.svg"));
                link rel="stylesheet" href=(assets::href("armarius.css"));
                script src=(assets::href("armarius.js")) defer {}
            }
            body data-feed=[live.then_some("/api/v1/feed?pulse=true")] {
                a.skip href="#main" { "Skip to content" }
                (body)
            }
        }
    };
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (HeaderName::from_static("content-security-policy"), POLICY),
        (HeaderName::from_static("referrer-policy"), "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    (status, headers, page.into_string()).into_response()
}

/// Whether forms that steer work are of any use to the caller.
pub(super) fn steers(caller: &Caller) -> bool {
    matches!(caller.role, Role::Operator | Role::Admin)
}

/// Whether the caller may change what is there, not only how work goes.
pub(super) fn rules(caller: &Caller) -> bool {
    caller.role == Role::Admin
}

/// Whether the caller may see and change the keys.
fn keeps_keys(caller: &Caller) -> bool {
    caller.role == Role::Admin && caller.scope.is_none()
}
