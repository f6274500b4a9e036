//! What tasks write, and the secrets they get.

use std::os::unix::fs::PermissionsExt as _;

use armarius_wire::v1::key::Role;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::lab::{Answer, Lab, request};

/// A granted task.
struct Granted {
    lease: String,
    task: i64,
    token: String,
}

impl Granted {
    fn of(reply: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            lease: text(&reply["lease"]),
            task: reply["tasks"][0]["task"].as_i64().unwrap(),
            token: text(&reply["tasks"][0]["token"]),
        }
    }

    async fn write(&self, lab: &Lab, key: &str, from: u64, text: &str) -> Answer {
        let Self { lease, task, token } = self;
        let path = format!("/api/v1/leases/{lease}/output?task={task}&token={token}&from={from}");
        lab.send(request(key, "POST", &path, "application/octet-stream", text.to_owned())).await
    }

    fn report(&self, outcome: &str) -> Value {
        let Self { lease, task, token } = self;
        json!([{ "lease": lease, "task": task, "token": token, "outcome": outcome }])
    }
}

async fn lab() -> (Lab, String, Granted) {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    lab.submit("maps/page/1").await;
    let granted = Granted::of(&lab.claim(&worker, 1).await);
    (lab, worker, granted)
}

/// The body and some headers: `from next end left-out`.
async fn read(lab: &Lab, path: &str) -> (String, String) {
    let sent: Request<Body> = request(&lab.admin, "GET", path, "", String::new());
    let answer = lab.send(sent).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let names = ["attempt", "from", "next", "end", "left-out"];
    let shown = names.map(|name| answer.header(&format!("armarius-{name}")));
    (answer.text.clone(), shown.join(" "))
}

#[tokio::test]
async fn output_is_taken_from_whoever_holds_the_task() {
    let (lab, worker, mut granted) = lab().await;
    let taken = granted.write(&lab, &worker, 0, "hello ").await.expect(200);
    assert_eq!(taken, json!({ "end": 6 }));
    // Again, and a little more.
    assert_eq!(granted.write(&lab, &worker, 0, "hello w").await.expect(200)["end"], 7);
    assert_eq!(granted.write(&lab, &worker, 10, "ld").await.expect(200)["end"], 12);
    let path = format!("/api/v1/tasks/{}/output", granted.task);
    assert_eq!(read(&lab, &path).await, ("hello w".into(), "1 0 7 12 0".into()));
    let rest = read(&lab, &format!("{path}?from=7&attempt=1")).await;
    assert_eq!(rest, ("ld".into(), "1 10 12 12 3".into()));
    let nothing = read(&lab, &format!("{path}?attempt=2")).await;
    assert_eq!(nothing, (String::new(), "0 0 0 0 0".into()));
    let by_address = "/api/v1/tasks/ocr.scan@maps%2Fpage%2F1/output";
    assert_eq!(read(&lab, by_address).await.0, "hello w");
    // Who reports goes on after that; a wrong token or lease never began.
    lab.call(&worker, "POST", "/api/v1/reports", granted.report("success")).await.expect(200);
    granted.write(&lab, &worker, 12, "!").await.expect(200);
    let far = granted.write(&lab, &worker, 1 << 60, "x").await;
    assert_eq!(far.problem().1, "out-of-range");
    granted.token = "99".to_owned();
    assert_eq!(granted.write(&lab, &worker, 0, "x").await.problem(), (410, "lease-over".into()));
}

#[tokio::test]
async fn output_of_others_is_not_taken() {
    let (lab, worker, granted) = lab().await;
    let other = lab.key("other", Role::Worker, &[]);
    assert_eq!(granted.write(&lab, &other, 0, "x").await.problem().0, 410);
    lab.submit("maps/page/2").await;
    let second = Granted::of(&lab.claim(&worker, 1).await);
    let mixed = Granted { lease: second.lease, ..granted };
    assert_eq!(mixed.write(&lab, &worker, 0, "x").await.problem().0, 410);
    let path = format!("/api/v1/leases/{}/output?task=1&token=1&from=0", mixed.lease);
    let wrong = request(&worker, "POST", &path, "text/plain", "x".to_owned());
    assert_eq!(lab.send(wrong).await.problem(), (415, "wrong-content-type".into()));
    // Who may not see the task may not see its output.
    let auditor = lab.key("a", Role::Auditor, &["elsewhere"]);
    let sent = request(&auditor, "GET", "/api/v1/tasks/1/output", "", String::new());
    assert_eq!(lab.send(sent).await.problem(), (404, "no-such-task".into()));
}

#[tokio::test]
async fn output_can_be_followed_to_its_end() {
    let (lab, worker, granted) = lab().await;
    let path = format!("/api/v1/tasks/{}/output?follow=true", granted.task);
    let follow = lab.send(request(&lab.admin, "GET", &path, "", String::new()));
    let work = async {
        // The second half of a character comes with the next chunk.
        let Granted { lease, task, token } = &granted;
        for (from, bytes) in [(0, &b"a\xc3"[..]), (2, b"\xa9b\xff\n"), (9, b"z")] {
            let at = format!("/api/v1/leases/{lease}/output?task={task}&token={token}&from={from}");
            let mut sent = request(&worker, "POST", &at, "application/octet-stream", String::new());
            *sent.body_mut() = Body::from(bytes.to_vec());
            lab.send(sent).await.expect(200);
        }
        lab.call(&worker, "POST", "/api/v1/reports", granted.report("success")).await.expect(200);
    };
    let (answer, ()) = tokio::join!(follow, work);
    assert_eq!((answer.status, &*answer.kind), (200, "text/event-stream"));
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let pieces: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let text: String = pieces.iter().filter_map(|piece| piece["text"].as_str()).collect();
    assert_eq!(text, "aéb\u{fffd}\nz");
    assert_eq!(pieces[pieces.len() - 2]["left_out"], 3);
    assert!(answer.text.ends_with("event: end\ndata: {}\n\n"), "{}", answer.text);
}

#[tokio::test]
async fn whoever_follows_is_sent_home_when_the_server_stops() {
    let (lab, _worker, granted) = lab().await;
    let path = format!("/api/v1/tasks/{}/output?follow=true", granted.task);
    let follow = lab.send(request(&lab.admin, "GET", &path, "", String::new()));
    let (answer, ()) = tokio::join!(follow, async { lab.app.send_home() });
    assert!(answer.text.ends_with("event: end\ndata: {}\n\n"), "{}", answer.text);
}

#[tokio::test]
async fn secrets_of_the_collection_come_with_the_task() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    let file = "tasks: [{name: scan, run: outside, secrets: [PASSWORD, OPEN, NONE]}]";
    lab.flow("maps", "ocr", file).await.expect(201);
    let folder = lab.folder.path().join("secrets/maps");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, mode) in [("PASSWORD", 0o600), ("OPEN", 0o644)] {
        std::fs::write(folder.join(name), "hunter2\n").unwrap();
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.join(name), mode).unwrap();
    }
    lab.submit("maps/page/1").await;
    let task = &lab.claim(&worker, 1).await["tasks"][0];
    assert_eq!(task["secrets"], json!({ "PASSWORD": "hunter2" }));
    assert_eq!(task["secrets_missing"], json!(["OPEN", "NONE"]));
}
