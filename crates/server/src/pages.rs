//! Pages for people: rendered here, readable without a script, live with one.
//!
//! A page asks the same questions as the API and changes things by the same commands. Whatever came
//! from outside goes through the templates, which escape it; there is no other way to write a page.
//! Things are named in the query of a page's address, never in its path, because browsers take `..`
//! and `%2e%2e` in a path for a step up.

mod act;
mod archive;
mod assets;
mod batch;
mod board;
mod collection;
mod drawing;
mod fault;
mod flow;
mod frame;
mod graph;
mod grid;
mod hold;
mod item;
mod key;
mod line;
mod login;
mod overview;
mod parts;
mod revision;
mod search;
mod task;
mod timeline;
mod worker;

pub(crate) use assets::asset;
pub(crate) use fault::as_page;
pub(crate) use timeline::{NOTE_EVERY, Pace};

use axum::Router;
use axum::routing::{get, post};

use crate::app::App;

/// All pages and what their forms send.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(overview::show))
        .route("/assets/{name}", get(asset))
        .route("/login", get(login::show).post(login::sign_in))
        .route("/logout", post(login::sign_out))
        .route("/board", get(board::show))
        .route("/collections", get(collection::list))
        .route("/collection", get(collection::show))
        .route("/items", get(item::list))
        .route("/item", get(item::show))
        .route("/item/act", post(act::item))
        .route("/tasks", get(task::list))
        .route("/task", get(task::show))
        .route("/task/act", post(act::task))
        .route("/flows", get(flow::list))
        .route("/flow", get(flow::show))
        .route("/workers", get(worker::list))
        .route("/holds", get(hold::list))
        .route("/hold/set", post(act::hold))
        .route("/hold/release", post(act::release))
        .route("/batches", get(batch::list))
        .route("/batch", get(batch::show))
        .route("/batch/act", post(act::batch))
        .route("/line", get(line::show))
        .route("/line/act", post(line::act))
        .route("/archives", get(archive::list))
        .route("/archive", get(grid::show))
        .route("/archive/skip", post(archive::skip))
        .route("/archive/resume", post(archive::resume))
        .route("/archive/accept", post(archive::accept))
        .route("/archive/start", post(archive::start))
        .route("/archive/trust", post(archive::trust))
        .route("/revision", get(revision::show))
        .route("/keys", get(key::list))
        .route("/key/act", post(key::act))
        .route("/search", get(search::search))
}
