//! Arrays: each element stands for itself, and the same id never makes a second thing.

use armarius_wire::v1::key::Role;
use serde_json::json;

use crate::lab::Lab;

#[tokio::test]
async fn each_round_is_answered_in_its_place() {
    let lab = Lab::with_flow().await;
    let rounds = json!([
        { "id": "a", "item": "maps/page/1", "flow": "ocr" },
        { "item": "maps/page/2", "flow": "none" },
        { "item": "nonsense", "flow": "ocr" },
        { "item": "maps/page/3", "flow": "ocr", "not_before": "tomorrow" },
        { "id": "a", "item": "maps/page/1", "flow": "ocr" },
        { "id": "a", "item": "maps/page/9", "flow": "ocr" },
        { "item": "maps/page/4", "flow": "ocr", "not_before": "2999-01-01T00:00:00Z" },
    ]);
    let done = lab.post("/api/v1/rounds", rounds).await.expect(200);
    assert_eq!(done[0], json!({ "round": 1, "task": 1 }));
    assert_eq!(done[1]["problem"]["code"], "no-such-flow");
    assert_eq!(done[2]["problem"]["code"], "bad-address");
    assert_eq!(done[3]["problem"]["code"], "out-of-range");
    assert_eq!(done[4], json!({ "round": 1, "task": 1, "repeated": true }));
    assert_eq!(done[5]["problem"]["code"], "key-reused");
    assert!(done[6]["task"].is_i64());
    assert_eq!(lab.post("/api/v1/rounds", json!([])).await.expect(200), json!([]));
}

#[tokio::test]
async fn ids_of_different_callers_never_meet() {
    let lab = Lab::with_flow().await;
    let bob = lab.key("bob", Role::Submitter, &[]);
    let round = |item: &str| json!([{ "id": "1", "item": item, "flow": "ocr" }]);
    lab.post("/api/v1/rounds", round("maps/page/1")).await.expect(200);
    let done = lab.call(&bob, "POST", "/api/v1/rounds", round("maps/page/2")).await.expect(200);
    assert!(done[0]["task"].is_i64(), "{done}");
}

#[tokio::test]
async fn events_are_appended_once() {
    let lab = Lab::with_flow().await;
    lab.put("/api/v1/items/maps/page/1", json!({ "types": ["map"] })).await.expect(201);
    let events = json!([
        { "id": "e", "item": "maps/page/1", "name": "scanned", "detail": { "dpi": 300 } },
        { "id": "e", "item": "maps/page/1", "name": "scanned", "detail": { "dpi": 300 } },
        { "item": "maps/page/1", "name": "checked", "outcome": "failure" },
        { "item": "maps/page/none", "name": "scanned" },
        { "item": "maps/page/1", "name": "task.done" },
    ]);
    let done = lab.post("/api/v1/events", events).await.expect(200);
    assert_eq!(done[0]["n"], done[1]["n"]);
    assert_eq!(done[1]["repeated"], true);
    assert!(done[2]["n"].as_i64() > done[0]["n"].as_i64());
    assert_eq!(done[3]["problem"]["code"], "no-such-item");
    assert_eq!(done[4]["problem"]["code"], "bad-name");
    let history = lab.get("/api/v1/events?item=maps/page/1").await.expect(200);
    let names: Vec<&str> = history["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["item.put", "scanned", "checked"]);
    assert_eq!(history["entries"][1]["detail"], json!({ "dpi": 300 }));
}

#[tokio::test]
async fn each_report_is_answered_in_its_place() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    for n in 1..=4 {
        lab.submit(&format!("maps/page/{n}")).await;
    }
    let granted = lab.claim(&worker, 4).await;
    let lease = &granted["lease"];
    let task = |n: usize| granted["tasks"][n]["task"].clone();
    let token = |n: usize| granted["tasks"][n]["token"].clone();
    let reports = json!([
        { "lease": lease, "task": task(0), "token": token(0), "outcome": "success" },
        { "lease": lease, "task": task(1), "token": "9999", "outcome": "success" },
        { "lease": lease, "task": task(1), "token": "x", "outcome": "success" },
        { "lease": lease, "task": task(1), "token": token(1) },
        { "lease": "short", "task": task(1), "token": token(1), "outcome": "success" },
        { "lease": lease, "task": 999, "token": "1", "outcome": "success" },
        { "lease": lease, "task": task(1), "token": token(1), "exit_code": 75 },
        { "lease": lease, "task": task(2), "token": token(2), "outcome": "permanent",
          "manifest": { "state": "partial", "content": ["a"] }, "final": true },
    ]);
    let done = lab.call(&worker, "POST", "/api/v1/reports", reports).await.expect(200);
    assert_eq!(done[0]["outcome"], "applied");
    assert_eq!(done[1]["outcome"], "recorded-stale");
    assert_eq!(done[2]["problem"]["code"], "out-of-range");
    assert_eq!(done[3]["problem"]["code"], "out-of-range");
    assert_eq!(done[4]["problem"]["code"], "no-such-lease");
    assert_eq!(done[5]["problem"]["code"], "no-such-task");
    assert_eq!(done[6]["outcome"], "applied");
    assert_eq!(done[7]["outcome"], "applied");
    let page = lab.get("/api/v1/tasks").await.expect(200);
    let states: Vec<(&str, &str)> = page["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| (t["state"].as_str().unwrap(), t["cause"].as_str().unwrap_or_default()))
        .collect();
    let expected = [("ready", ""), ("failed", "permanent"), ("ready", "transient"), ("done", "")];
    assert_eq!(states, expected);
}
