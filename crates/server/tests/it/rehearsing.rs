//! Dry runs tell what would happen, and nothing happens.

use armarius_core::command::Command;
use armarius_core::ids::ScheduleId;
use armarius_engine::clock::{Clock as _, SystemClock};
use armarius_server::access::{RULES, Who};
use armarius_wire::v1::key::Role;
use armarius_wire::v1::time;
use serde_json::{Value, json};

use crate::lab::{Lab, request};

/// Everything that can be seen from outside, as text.
async fn world(lab: &Lab) -> String {
    let mut all = String::new();
    for path in [
        "/api/v1/collections",
        "/api/v1/flows",
        "/api/v1/items?collection=maps",
        "/api/v1/tasks",
        "/api/v1/batches",
        "/api/v1/holds",
        "/api/v1/keys",
        "/api/v1/events?item=maps/page/1",
        "/api/v1/events?item=maps/collection/maps",
    ] {
        all.push_str(&lab.get(path).await.text);
    }
    let stats = lab.get("/api/v1/stats").await.expect(200);
    format!("{all}{}", stats["commits"])
}

#[tokio::test]
async fn a_dry_run_tells_what_would_happen_and_changes_nothing() {
    let lab = Lab::with_flow().await;
    let task = lab.submit("maps/page/1").await;
    let batch = lab.post("/api/v1/batches", json!({ "collection": "maps" })).await.expect(201);
    let batch = batch["batch"].as_i64().unwrap();
    let hold = json!({ "on": { "collection": "maps" }, "reason": "stock-taking" });
    let set = lab.post("/api/v1/holds", hold.clone()).await.expect(201)["hold"].clone();
    let key = lab.key("o", Role::Operator, &[]);
    let key = key.split('_').nth(1).unwrap();
    let before = world(&lab).await;
    for (method, path, body, told) in [
        ("POST", format!("/api/v1/tasks/{task}/cancel"), json!({}), "task.cancelled"),
        ("POST", format!("/api/v1/tasks/{task}/skip"), json!({}), "task.cancelled"),
        ("POST", format!("/api/v1/tasks/{task}/priority"), json!({ "priority": 9 }), "priority"),
        ("DELETE", "/api/v1/items/maps/page/1".to_owned(), json!({}), "item.deleted"),
        ("PUT", "/api/v1/items/maps/page/2".to_owned(), json!({}), "item.put"),
        ("POST", "/api/v1/batches".to_owned(), json!({ "collection": "maps" }), "batch."),
        ("POST", format!("/api/v1/batches/{batch}/seal"), json!({}), "batch."),
        ("DELETE", format!("/api/v1/batches/{batch}"), json!({}), "batch."),
        ("POST", "/api/v1/holds".to_owned(), json!({ "on": { "task": task }, "reason": "r" }), ""),
        ("DELETE", format!("/api/v1/holds/{set}"), json!({}), "hold"),
        ("PUT", "/api/v1/collections/books".to_owned(), json!({}), "collection.put"),
        ("DELETE", "/api/v1/flows/maps/ocr".to_owned(), json!({}), "flow."),
        ("POST", "/api/v1/keys".to_owned(), json!({ "name": "a", "role": "worker" }), "key."),
        ("PUT", format!("/api/v1/keys/{key}"), json!({ "role": "auditor" }), "key."),
        ("DELETE", format!("/api/v1/keys/{key}"), json!({}), "key."),
    ] {
        let path = format!("{path}?dry_run=true");
        let answer = lab.call(&lab.admin, method, &path, body).await;
        let dry: Value = answer.expect(200);
        assert_eq!(dry["dry_run"], true, "{path}: {dry}");
        assert!(dry["rows"].as_i64() > Some(0), "{path}: {dry}");
        assert!(dry["changes"].to_string().contains(told), "{path}: {dry}");
        assert_eq!(world(&lab).await, before, "{path} changed something");
    }
    let dry = lab.post(&format!("/api/v1/tasks/{task}/cancel?dry_run=true"), json!({})).await;
    let change = dry.expect(200)["changes"][0].clone();
    assert_eq!(change["task"], "ocr.scan@maps/page/1");
    assert_eq!(change["to"], "cancelled");
}

#[tokio::test]
async fn a_dry_run_is_refused_as_the_deed_would_be() {
    let lab = Lab::with_flow().await;
    let task = lab.submit("maps/page/1").await;
    let answer = lab.post(&format!("/api/v1/tasks/{task}/retry?dry_run=true"), json!({})).await;
    assert_eq!(answer.problem(), (409, "wrong-state".to_owned()));
    let answer = lab.post("/api/v1/tasks/77/cancel?dry_run=true", json!({})).await;
    assert_eq!(answer.problem(), (404, "no-such-task".to_owned()));
    let text = "on: { schedule: { cron: 0 0 30 2 * } }\ntasks: [{name: a, run: outside}]";
    let path = "/api/v1/flows/maps/never?dry_run=true";
    let sent = request(&lab.admin, "PUT", path, "application/yaml", text.to_owned());
    assert_eq!(lab.send(sent).await.status, 422);
}

#[tokio::test]
async fn what_cannot_be_rehearsed_is_not_done() {
    let lab = Lab::with_flow().await;
    let before = world(&lab).await;
    for rule in RULES
        .iter()
        .filter(|rule| rule.method != "GET" && rule.who != Who::Anyone && !rule.can_be_rehearsed())
    {
        let path = rule.path.replace("{lease}", "x").replace("{key}", "x");
        let answer =
            lab.call(&lab.admin, rule.method, &format!("{path}?dry_run=true"), json!([])).await;
        assert_eq!(answer.problem(), (400, "bad-request".to_owned()), "{path}");
    }
    let answer = lab.post("/api/v1/batches?dry_run=perhaps", json!({ "collection": "maps" })).await;
    assert_eq!(answer.problem(), (400, "bad-request".to_owned()));
    assert_eq!(world(&lab).await, before);
}

#[tokio::test]
async fn items_come_in_bulk_each_for_itself() {
    let lab = Lab::with_flow().await;
    let items = json!([
        { "item": "maps/page/1", "priority": 3, "types": ["tiff"] },
        { "item": "nowhere/page/1" },
        { "item": "maps" },
        { "item": "maps/page/1", "attributes": { "dpi": 300 } },
    ]);
    let done = lab.post("/api/v1/items", items).await.expect(200);
    assert_eq!(done[0], json!({ "fresh": true }));
    assert_eq!(done[1]["problem"]["code"], "no-such-collection");
    assert_eq!(done[2]["problem"]["code"], "bad-address");
    assert_eq!(done[3], json!({ "fresh": false }));
    let item = lab.get("/api/v1/items/maps/page/1").await.expect(200);
    assert_eq!(item["priority"], 3);
    assert_eq!(item["attributes"]["dpi"], 300);
}

#[tokio::test]
async fn schedules_say_when_they_fire_next() {
    let lab = Lab::with_flow().await;
    let text = "on: { schedule: { cron: 30 2 * * *, tz: Europe/Copenhagen } }\n\
                tasks: [{name: a, run: outside}]";
    lab.flow("maps", "nightly", text).await.expect(201);
    let page = lab.get("/api/v1/schedules?collection=maps").await.expect(200);
    let one = &page["entries"][0];
    assert_eq!((&one["flow"], &one["cron"]), (&"nightly".into(), &"30 2 * * *".into()));
    assert!(one["next"].as_str().unwrap().contains(":30:00Z"), "{one}");
    // What fired last is told, and not when somebody changed the calendar.
    assert!(one["last"].is_null(), "{one}");
    let slot = SystemClock::default().wall();
    lab.tell(Command::Fire { schedule: ScheduleId(1), slots: vec![slot] });
    let last = time::text(slot);
    let page = lab.get("/api/v1/schedules?collection=maps").await.expect(200);
    assert_eq!(page["entries"][0]["last"], last.as_str(), "{page}");
    let path = "/api/v1/flows/maps/nightly";
    lab.call(&lab.admin, "DELETE", path, json!({})).await.expect(204);
    lab.flow("maps", "nightly", text).await.expect(200);
    let page = lab.get("/api/v1/schedules?collection=maps").await.expect(200);
    assert_eq!(page["entries"][0]["last"], last.as_str(), "{page}");
    let none = lab.get("/api/v1/schedules?collection=books").await.expect(200);
    assert_eq!(none["entries"], json!([]));
}
