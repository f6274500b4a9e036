//! Signing in and out.
//!
//! A link with a code shows a form that the script sends at once: a program that only looks at
//! links, as chats do, does not use the code up.

use armarius_core::command::Opener;
use armarius_core::decide::HOUSE;
use armarius_core::event::digest;
use armarius_core::text::Name;
use armarius_engine::{EngineError, Request as Ask};
use axum::extract::FromRequest as _;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::response::{IntoResponse as _, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::frame;
use crate::app::App;
use crate::body::{Form, Params};
use crate::identity::{cookie, cookie_name, from, is_ours, mistake, not_ours};
use crate::problem::{Answer, Fault, Own};
use crate::session::{self, Pass};

/// What a link says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    #[serde(default)]
    code: String,
    #[serde(default)]
    next: String,
}

/// `GET /login`
pub(super) async fn show(Params(link): Params<Link>) -> Response {
    frame::bare(StatusCode::OK, "Sign in", &form(&link))
}

fn form(link: &Link) -> Markup {
    html! {
        h1 { "Sign in" }
        @if link.code.is_empty() {
            p { "On the machine where the server runs, " code { "armarius login" }
                " prints a link that signs you in. Or give a key:" }
            form.stack method="post" action="/login" {
                input type="hidden" name="next" value=(link.next);
                label { "Key"
                    input type="password" name="key" required maxlength="200"
                        autocomplete="current-password" placeholder="ark_…" autofocus;
                }
                button.main type="submit" { "Sign in" }
            }
        } @else {
            p { "This link works once." }
            form.stack method="post" action="/login" data-go {
                input type="hidden" name="code" value=(link.code);
                input type="hidden" name="next" value=(link.next);
                button.main type="submit" autofocus { "Sign in" }
            }
        }
    }
}

/// What the form sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    code: String,
    #[serde(default)]
    key: String,
    #[serde(default)]
    next: String,
}

/// `POST /login`
pub(super) async fn sign_in(State(app): State<App>, request: Request) -> Answer {
    let from = from(&app, &request);
    if !is_ours(request.headers()) {
        return Err(not_ours());
    }
    let secure = is_secure(&app, &request);
    let Form(given) = Form::<Given>::from_request(request, &()).await?;
    let refused = || {
        let why = "this code or key opens nothing: a code works once, and not for long";
        let hint = "`armarius login` prints a fresh link";
        mistake(&app, from, Fault::own(Own::KeyRefused, why, hint))
    };
    let by = if given.key.is_empty() {
        Opener::Code(digest(&given.code))
    } else {
        Opener::Key(app.keys().caller(given.key.trim()).ok_or_else(refused)?.key)
    };
    let session = Pass::session(by);
    let session = session.map_err(|e| Fault::own(Own::Internal, e.to_string(), "report it"))?;
    // The rules write it down under the name of the key, which a code does not say.
    let actor = Name::trusted(HOUSE);
    let request = Ask { actor, idem: None, command: session.command };
    match app.ask_plainly(request).await {
        Ok(_) => {}
        Err(EngineError::Refused(_)) => return Err(refused()),
        Err(error) => return Err(error.into()),
    }
    let secret = session.secret;
    let cookie = set_cookie(&app, &secret, secure);
    Ok((StatusCode::SEE_OTHER, [(LOCATION, place(&given.next)), (SET_COOKIE, cookie)])
        .into_response())
}

/// `POST /logout`
pub(super) async fn sign_out(State(app): State<App>, request: Request) -> Answer {
    let gone = format!("{}; Max-Age=0", set_cookie(&app, "", is_secure(&app, &request)));
    let cookie = cookie(&app, request.headers()).map(str::to_owned);
    if let Some(cookie) = cookie {
        session::end(&app, &cookie).await?;
    }
    let headers = [(LOCATION, "/login".to_owned()), (SET_COOKIE, gone)];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// Not for scripts, not for other sites; it ends with the browser.
fn set_cookie(app: &App, secret: &str, secure: bool) -> String {
    let secure = if secure { "; Secure" } else { "" };
    format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict{secure}", cookie_name(app))
}

fn is_secure(app: &App, request: &Request) -> bool {
    let settings = app.settings();
    let proto = request.headers().get("x-forwarded-proto");
    settings.tls || (settings.behind_proxy && proto.is_some_and(|proto| proto == "https"))
}

/// Where to go on: a page of ours, never another site.
fn place(next: &str) -> String {
    let ours = next.starts_with('/') && !next.starts_with("//") && !next.contains('\\');
    let plain = next.bytes().all(|byte| byte.is_ascii_graphic());
    if ours && plain { next.to_owned() } else { "/".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn the_way_on_stays_here() {
        for (next, to) in [
            ("", "/"),
            ("/tasks?state=failed", "/tasks?state=failed"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("/a\r\nset-cookie: x", "/"),
        ] {
            assert_eq!(place(next), to, "{next}");
        }
    }
}
