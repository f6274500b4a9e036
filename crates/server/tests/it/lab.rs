//! A server without a socket: the router on the memory store.

use std::sync::Arc;

use armarius_core::command::Command;
use armarius_core::text::Name;
use armarius_engine::seam::{Database as _, Description, Store as _};
use armarius_engine::{Engine, Options};
use armarius_server::keys::Ring;
use armarius_server::{App, Settings, Shelf, router};
use armarius_store::memory::Shards;
use armarius_store::{Clock, Memory, OutputFiles};
use armarius_wire::v1::key::Role;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) struct Lab {
    pub(crate) app: App,
    router: Router,
    pub(crate) admin: String,
    pub(crate) folder: tempfile::TempDir,
    engine: Arc<Engine>,
    description: Description,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) text: String,
    headers: HeaderMap,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// A header, empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Status and code of a problem.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.kind, "application/problem+json", "{}", self.text);
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        (self.status, problem["code"].as_str().unwrap_or_default().to_owned())
    }
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let store = Memory::new();
        let description = store.describe();
        let engine = Engine::start(Box::new(store), Options::default()).unwrap();
        Self::on(engine, description, settings)
    }

    /// On a database of several shards.
    pub(crate) fn sharded(shards: u16) -> Self {
        let database = Shards::new(shards, Clock::default());
        let engine = Engine::start_all(&database, Options::default()).unwrap();
        Self::on(engine, database.describe(), Settings::default())
    }

    fn on(engine: Engine, description: Description, settings: Settings) -> Self {
        let keys = Ring::open(engine.handle()).unwrap();
        let admin = keys
            .add(&Name::trusted("root"), &Name::trusted("admin"), Role::Admin, &[])
            .unwrap()
            .text;
        let folder = tempfile::tempdir().unwrap();
        let outputs = OutputFiles::open(&folder.path().join("output"), 1 << 20).unwrap();
        let shelf = Shelf::new(Arc::new(outputs), folder.path().join("secrets"));
        let app = App::new(engine.handle(), keys, description.clone(), settings).with_shelf(shelf);
        let engine = Arc::new(engine);
        Self { router: router(app.clone()), app, admin, folder, engine, description }
    }

    /// Another server of the same store, as it is after a restart.
    pub(crate) fn another(&self) -> Self {
        let (engine, description) = (Arc::clone(&self.engine), self.description.clone());
        let keys = Ring::open(engine.handle()).unwrap();
        let app = App::new(engine.handle(), keys, description.clone(), Settings::default());
        let (admin, folder) = (self.admin.clone(), tempfile::tempdir().unwrap());
        Self { router: router(app.clone()), app, admin, folder, engine, description }
    }

    /// With a collection `maps` and a flow `ocr` of one step that others do.
    pub(crate) async fn with_flow() -> Self {
        let lab = Self::new();
        lab.put("/api/v1/collections/maps", json!({})).await.expect(204);
        lab.flow("maps", "ocr", "tasks: [{name: scan, run: outside, retries: 1}]")
            .await
            .expect(201);
        lab
    }

    pub(crate) fn key(&self, name: &str, role: Role, collections: &[&str]) -> String {
        let collections: Vec<Name> = collections.iter().map(|c| Name::trusted(c)).collect();
        let root = Name::trusted("root");
        self.app.keys().add(&root, &Name::trusted(name), role, &collections).unwrap().text
    }

    /// Commands that come from elsewhere: from whoever watches repositories.
    pub(crate) fn tell(&self, command: Command) {
        self.engine.handle().call(Name::trusted("watcher"), None, command).unwrap();
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.open(request).await;
        let (status, headers) = (response.status(), response.headers().clone());
        let kind = headers.get("content-type").map_or("", |k| k.to_str().unwrap()).to_owned();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: status.as_u16(), kind, text, headers }
    }

    /// As it comes, for what has no end.
    pub(crate) async fn open(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn call(&self, key: &str, method: &str, path: &str, body: Value) -> Answer {
        self.send(request(key, method, path, "application/json", body.to_string())).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(request(&self.admin, "GET", path, "", String::new())).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(&self.admin, "POST", path, body).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.call(&self.admin, "PUT", path, body).await
    }

    pub(crate) async fn flow(&self, collection: &str, flow: &str, text: &str) -> Answer {
        let path = format!("/api/v1/flows/{collection}/{flow}");
        self.send(request(&self.admin, "PUT", &path, "application/yaml", text.to_owned())).await
    }

    /// Submits a round of `ocr`.
    pub(crate) async fn submit(&self, item: &str) -> i64 {
        let rounds = json!([{ "item": item, "flow": "ocr" }]);
        let done = self.post("/api/v1/rounds", rounds).await.expect(200);
        done[0]["task"].as_i64().unwrap_or_else(|| panic!("{done}"))
    }

    /// Claims up to `max` tasks at once.
    pub(crate) async fn claim(&self, key: &str, max: u32) -> Value {
        let body = json!({ "worker": "w", "max": max });
        let answer = self.call(key, "POST", "/api/v1/claims", body).await;
        if answer.status == StatusCode::NO_CONTENT { Value::Null } else { answer.expect(200) }
    }
}

impl Answer {
    /// The body, if the status is as expected.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }
}

pub(crate) fn request(
    key: &str,
    method: &str,
    path: &str,
    kind: &str,
    body: String,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if !key.is_empty() {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    if !kind.is_empty() {
        request = request.header("content-type", kind);
    }
    request.body(Body::from(body)).unwrap()
}
