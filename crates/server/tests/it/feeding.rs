//! The feed: what it tells, to whom, and that resuming misses nothing.

use std::time::Duration;

use armarius_wire::v1::key::Role;
use axum::body::Body;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::lab::{Lab, request};

const PATIENCE: Duration = Duration::from_secs(60);

/// A client of the feed.
struct Client {
    body: Body,
    text: String,
}

/// A message: its event, its id, its data.
type Message = (String, String, Value);

impl Client {
    async fn open(lab: &Lab, key: &str, path: &str) -> Self {
        let response = lab.open(request(key, "GET", path, "", String::new())).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), text: String::new() }
    }

    async fn next(&mut self) -> Message {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let lines = message.lines().filter_map(|line| line.split_once(": "));
                    lines.filter(|(n, _)| *n == name).map(|(_, v)| v.to_owned()).next()
                };
                let (event, id, data) = (field("event"), field("id"), field("data"));
                self.text = rest.to_owned();
                if let Some(event) = event {
                    let data = serde_json::from_str(&data.unwrap_or_default()).unwrap();
                    return (event, id.unwrap_or_default(), data);
                }
                continue;
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.unwrap();
            let bytes = frame.expect("the feed ended").unwrap().into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The next events, as `item n name` with their ids.
    async fn events(&mut self, count: usize) -> Vec<(String, String)> {
        let mut found = Vec::new();
        while found.len() < count {
            let (event, id, data) = self.next().await;
            if event == "event" {
                let (item, name) = (data["item"].as_str().unwrap(), data["name"].as_str().unwrap());
                found.push((format!("{item} {} {name}", data["n"]), id));
            }
        }
        found
    }
}

fn texts(events: &[(String, String)]) -> Vec<&str> {
    events.iter().map(|(text, _)| &**text).collect()
}

#[tokio::test]
async fn it_tells_what_happens_from_now_on() {
    let lab = Lab::with_flow().await;
    lab.submit("maps/page/1").await;
    let mut client = Client::open(&lab, &lab.admin, "/api/v1/feed").await;
    assert_eq!(client.next().await.0, "hello");
    lab.submit("maps/page/2").await;
    assert_eq!(texts(&client.events(1).await), ["maps/page/2 1 task.ready"]);
}

#[tokio::test]
async fn resuming_anywhere_misses_nothing_and_repeats_nothing() {
    let lab = Lab::with_flow().await;
    for n in 0..20 {
        lab.submit(&format!("maps/page/{n}")).await;
    }
    // Many events in one commit.
    let many: Vec<_> =
        (0..30).map(|n| json!({ "item": format!("maps/page/m{n}"), "flow": "ocr" })).collect();
    lab.post("/api/v1/rounds", json!(many)).await.expect(200);
    let mut client = Client::open(&lab, &lab.admin, "/api/v1/feed?after=0").await;
    // Before those, one for the first key, one each for collection and flow.
    let all = client.events(53).await;
    for (place, (_, id)) in all.iter().enumerate().step_by(4) {
        let mut again = Client::open(&lab, &lab.admin, &format!("/api/v1/feed?after={id}")).await;
        let rest = again.events(all.len() - place - 1).await;
        assert_eq!(rest, all[place + 1..], "after {id}");
    }
    // A browser says it with a header, which counts more.
    let mut asked = request(&lab.admin, "GET", "/api/v1/feed?after=0", "", String::new());
    asked.headers_mut().insert("last-event-id", all[51].1.parse().unwrap());
    let mut client = Client { body: lab.open(asked).await.into_body(), text: String::new() };
    assert_eq!(client.events(1).await, all[52..]);
}

#[tokio::test]
async fn it_tells_each_what_is_theirs() {
    let lab = Lab::with_flow().await;
    lab.put("/api/v1/collections/books", json!({})).await.expect(204);
    lab.flow("books", "ocr", "tasks: [{name: scan, run: outside}]").await.expect(201);
    let auditor = lab.key("a", Role::Auditor, &["books"]);
    let mut mine = Client::open(&lab, &auditor, "/api/v1/feed").await;
    let mut maps = Client::open(&lab, &lab.admin, "/api/v1/feed?collection=maps").await;
    assert_eq!(
        (mine.next().await.0, maps.next().await.0),
        ("hello".to_owned(), "hello".to_owned())
    );
    for item in ["maps/page/1", "books/page/1", "maps/page/2", "books/page/2"] {
        lab.submit(item).await;
    }
    let wanted = |c: &str| [format!("{c}/page/1 1 task.ready"), format!("{c}/page/2 1 task.ready")];
    assert_eq!(texts(&mine.events(2).await), wanted("books"));
    assert_eq!(texts(&maps.events(2).await), wanted("maps"));
    let sent = request(&auditor, "GET", "/api/v1/feed?collection=maps", "", String::new());
    assert_eq!(lab.send(sent).await.status, 403);
}

#[tokio::test]
async fn a_place_that_is_not_there_is_told() {
    let lab = Lab::with_flow().await;
    let mut client = Client::open(&lab, &lab.admin, "/api/v1/feed?after=999").await;
    assert_eq!(client.next().await.0, "reset");
    lab.submit("maps/page/1").await;
    assert_eq!(texts(&client.events(1).await), ["maps/page/1 1 task.ready"]);
    for after in ["x", "-1", "1.2.3"] {
        let path = format!("/api/v1/feed?after={after}");
        assert_eq!(lab.get(&path).await.problem().0, 400, "{after}");
    }
}

#[tokio::test]
async fn a_pulse_tells_only_that_something_happened() {
    let lab = Lab::with_flow().await;
    let mut client = Client::open(&lab, &lab.admin, "/api/v1/feed?pulse=true").await;
    assert_eq!(client.next().await.0, "hello");
    lab.submit("maps/page/1").await;
    assert_eq!(client.next().await, ("pulse".to_owned(), String::new(), json!({})));
}

#[tokio::test]
async fn the_end_of_the_server_ends_it() {
    let lab = Lab::with_flow().await;
    let mut client = Client::open(&lab, &lab.admin, "/api/v1/feed").await;
    client.next().await;
    lab.app.send_home();
    let end = tokio::time::timeout(PATIENCE, client.body.frame()).await.unwrap();
    assert!(end.is_none());
}

#[tokio::test]
async fn several_shards_are_told_together_and_resumed_each() {
    let lab = Lab::sharded(4);
    let homes = ["maps", "books", "films", "prints", "coins"];
    for home in homes {
        lab.put(&format!("/api/v1/collections/{home}"), json!({})).await.expect(204);
        lab.flow(home, "ocr", "tasks: [{name: scan, run: outside}]").await.expect(201);
    }
    let mut client = Client::open(&lab, &lab.admin, "/api/v1/feed").await;
    let (hello, start, _) = client.next().await;
    assert_eq!((&*hello, start.split(',').count()), ("hello", 4), "{start}");
    for n in 0..4 {
        for home in homes {
            lab.submit(&format!("{home}/page/{n}")).await;
        }
    }
    let all = client.events(20).await;
    let mut told = texts(&all);
    told.sort_unstable();
    let mut wanted: Vec<String> =
        (0..4).flat_map(|n| homes.map(|home| format!("{home}/page/{n} 1 task.ready"))).collect();
    wanted.sort_unstable();
    assert_eq!(told, wanted);
    for place in [0, 7, 18] {
        let path = format!("/api/v1/feed?after={}", all[place].1);
        let mut again = Client::open(&lab, &lab.admin, &path).await;
        let rest = again.events(all.len() - place - 1).await;
        let (mut rest, mut wanted) = (texts(&rest), texts(&all[place + 1..]));
        rest.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(rest, wanted, "after {}", all[place].1);
    }
    // Pages and lists show all shards.
    let page = lab.get("/api/v1/tasks?max=100").await.expect(200);
    assert_eq!(page["entries"].as_array().unwrap().len(), 20);
}
