//! The whole surface on one page. Who may use which route is in [`crate::access`].

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{get, post, put};

use crate::api::{
    archive, batch, claim, collection, event, find, flow, hold, item, key, lease, login, outbox,
    output, report, revision, robot, round, schedule, status, stops, task, why, worker,
};
use crate::app::App;
use crate::{etag, feed, identity, metrics, openapi, pages};

/// All routes.
// tidy: long because the whole surface stands on one page
pub fn router(app: App) -> Router {
    let routes = Router::new()
        .route("/healthz", get(status::health))
        .route("/readyz", get(status::ready))
        // The worker's side.
        .route("/api/v1/claims", post(claim::claim))
        .route("/api/v1/leases", get(lease::list))
        .route("/api/v1/workers", get(worker::list))
        .route("/api/v1/leases/stops", post(stops::listen))
        .route("/api/v1/leases/{lease}/heartbeat", post(lease::heartbeat))
        .route("/api/v1/leases/{lease}/give-back", post(lease::give_back))
        .route("/api/v1/leases/{lease}/output", post(output::take))
        .route("/api/v1/reports", post(report::report))
        // What there is.
        .route("/api/v1/collections", get(collection::list))
        .route("/api/v1/collections/{collection}", get(collection::show).put(collection::put))
        .route("/api/v1/flows", get(flow::list))
        .route(
            "/api/v1/flows/{collection}/{flow}",
            get(flow::show).put(flow::put).delete(flow::remove),
        )
        .route("/api/v1/robots", get(robot::list))
        .route("/api/v1/robots/{collection}/{robot}", get(robot::show))
        .route("/api/v1/archives", get(archive::list))
        .route(
            "/api/v1/archives/{archive}",
            get(archive::show).put(archive::put).delete(archive::remove),
        )
        .route("/api/v1/archives/{archive}/resume", post(archive::resume))
        .route("/api/v1/archives/{archive}/accept", post(archive::accept))
        .route("/api/v1/archives/{archive}/skip", post(archive::skip))
        .route("/api/v1/archives/{archive}/notices", post(archive::notice))
        .route("/api/v1/archives/{archive}/start", post(archive::start))
        .route("/api/v1/archives/{archive}/log", get(revision::log))
        .route("/api/v1/archives/{archive}/revisions/{revision}", get(revision::show))
        .route("/api/v1/archives/{archive}/revisions/{revision}/paths", get(revision::paths))
        .route("/api/v1/archives/{archive}/revisions/{revision}/export", get(revision::export))
        .route("/api/v1/items", get(item::list).post(item::put_many))
        .route("/api/v1/items/{*item}", get(item::show).put(item::put).delete(item::remove))
        .route("/api/v1/items/find", post(find::find))
        .route("/api/v1/items/rewind", post(item::rewind))
        .route("/api/v1/items/touch", post(item::touch))
        .route("/api/v1/items/priority", post(item::priority))
        .route("/api/v1/events", get(event::list).post(event::add))
        // Work.
        .route("/api/v1/rounds", post(round::submit))
        .route("/api/v1/tasks", get(task::list))
        .route("/api/v1/tasks/{task}", get(task::show))
        .route("/api/v1/tasks/{task}/output", get(output::give))
        .route("/api/v1/tasks/{task}/retry", post(task::retry))
        .route("/api/v1/tasks/{task}/skip", post(task::skip))
        .route("/api/v1/tasks/{task}/cancel", post(task::cancel))
        .route("/api/v1/tasks/{task}/priority", post(task::priority))
        .route("/api/v1/batches", get(batch::list).post(batch::open))
        .route("/api/v1/batches/{batch}", get(batch::show).delete(batch::remove))
        .route("/api/v1/batches/{batch}/seal", post(batch::seal))
        .route("/api/v1/batches/{batch}/cancel", post(batch::cancel))
        .route("/api/v1/batches/{batch}/retry", post(batch::retry))
        .route("/api/v1/batches/{batch}/report", post(batch::report))
        .route("/api/v1/holds", get(hold::list).post(hold::set))
        .route("/api/v1/holds/{hold}", axum::routing::delete(hold::release))
        .route("/api/v1/schedules", get(schedule::list))
        .route("/api/v1/why", get(why::why))
        // The server itself.
        .route("/api/v1/stats", get(status::stats))
        .route("/api/v1/durability", get(status::durability))
        .route("/api/v1/outbox", get(outbox::list))
        .route("/api/v1/feed", get(feed::feed))
        .route("/api/v1/logins", post(login::link))
        .route("/api/v1/openapi.json", get(openapi::document))
        .route("/metrics", get(metrics::metrics))
        .route("/api/v1/keys", get(key::list).post(key::add))
        .route("/api/v1/keys/{key}", put(key::change).delete(key::revoke));
    routes
        .merge(pages::routes())
        .layer(from_fn_with_state(app.clone(), identity::admit))
        .layer(from_fn(pages::as_page))
        .layer(from_fn(etag::tag))
        .layer(map_response(careful))
        .layer(from_fn_with_state(app.clone(), identity::watch))
        .with_state(app)
}

/// Answers are for their caller alone and are what they say they are.
async fn careful(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
