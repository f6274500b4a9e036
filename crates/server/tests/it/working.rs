//! The worker's three calls.

use std::time::Duration;

use armarius_wire::v1::key::Role;
use serde_json::json;

use crate::lab::Lab;

#[tokio::test]
async fn a_task_is_claimed_renewed_and_reported() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    let submit = json!([{
        "item": "maps/page/vol%201/7", "flow": "ocr", "payload": { "dpi": 300 },
    }]);
    lab.post("/api/v1/rounds", submit).await.expect(200);
    let granted = lab.claim(&worker, 5).await;
    let task = &granted["tasks"][0];
    assert_eq!(granted["ttl_s"], 30);
    assert_eq!(task["address"], "ocr.scan@maps/page/vol%201/7");
    assert_eq!(task["item"]["key"], "vol 1/7");
    assert_eq!(task["action"], json!({ "run": "outside" }));
    assert!(task["token"].is_string());
    assert_eq!((&task["attempt"], &task["timeout_s"]), (&json!(1), &json!(3600)));
    let lease = granted["lease"].as_str().unwrap();
    let path = format!("/api/v1/leases/{lease}/heartbeat");
    let renewed = lab.call(&worker, "POST", &path, json!({})).await.expect(200);
    assert_eq!(renewed, json!({ "ttl_s": 30, "stop": [] }));
    let report = json!([{
        "lease": lease, "task": task["task"], "token": task["token"], "exit_code": 0,
        "result": { "pages": 3 },
    }]);
    let done = lab.call(&worker, "POST", "/api/v1/reports", report.clone()).await.expect(200);
    assert_eq!(done, json!([{ "outcome": "applied" }]));
    // The same once more is late, and kept.
    let again = lab.call(&worker, "POST", "/api/v1/reports", report).await.expect(200);
    assert_eq!(again, json!([{ "outcome": "recorded-stale" }]));
    let path = format!("/api/v1/tasks/{}", task["task"]);
    assert_eq!(lab.get(&path).await.expect(200)["state"], "done");
    assert!(lab.claim(&worker, 5).await.is_null());
}

#[tokio::test]
async fn json_numbers_pass_through_as_they_were_written() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    let body =
        r#"[{"item":"maps/page/1","flow":"ocr","payload":{"n":12345678901234567890123.50}}]"#;
    let sent =
        crate::lab::request(&lab.admin, "POST", "/api/v1/rounds", "application/json", body.into());
    lab.send(sent).await.expect(200);
    let claim = json!({ "worker": "w" });
    let answer = lab.call(&worker, "POST", "/api/v1/claims", claim).await;
    assert!(answer.text.contains(r#""payload":{"n":12345678901234567890123.50}"#));
}

#[tokio::test]
async fn a_lease_is_its_callers_alone() {
    let lab = Lab::with_flow().await;
    let (one, other) = (lab.key("one", Role::Worker, &[]), lab.key("other", Role::Worker, &[]));
    lab.submit("maps/page/1").await;
    let granted = lab.claim(&one, 1).await;
    let lease = granted["lease"].as_str().unwrap();
    let task = &granted["tasks"][0];
    for what in ["heartbeat", "give-back"] {
        let path = format!("/api/v1/leases/{lease}/{what}");
        let answer = lab.call(&other, "POST", &path, json!({})).await;
        assert_eq!(answer.problem(), (410, "lease-over".to_owned()));
    }
    let report = json!([{
        "lease": lease, "task": task["task"], "token": task["token"], "outcome": "success",
    }]);
    let done = lab.call(&other, "POST", "/api/v1/reports", report).await.expect(200);
    assert_eq!(done, json!([{ "outcome": "recorded-stale" }]));
    let path = format!("/api/v1/leases/{lease}/give-back");
    lab.call(&one, "POST", &path, json!({})).await.expect(204);
    // What was given back has spent no attempt.
    assert_eq!(lab.claim(&other, 1).await["tasks"][0]["attempt"], 1);
}

#[tokio::test]
async fn a_cancelled_task_is_on_the_stop_list() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    let task = lab.submit("maps/page/1").await;
    let granted = lab.claim(&worker, 1).await;
    let reason = json!({ "reason": "not needed" });
    lab.post(&format!("/api/v1/tasks/{task}/cancel"), reason).await.expect(204);
    let path = format!("/api/v1/leases/{}/heartbeat", granted["lease"].as_str().unwrap());
    let renewed = lab.call(&worker, "POST", &path, json!({})).await.expect(200);
    let token = &granted["tasks"][0]["token"];
    assert_eq!(renewed["stop"], json!([{ "task": task, "token": token }]));
    let report = json!([{
        "lease": granted["lease"], "task": task, "token": token, "outcome": "stopped",
    }]);
    let done = lab.call(&worker, "POST", "/api/v1/reports", report).await.expect(200);
    assert_eq!(done, json!([{ "outcome": "stopped" }]));
}

#[tokio::test]
async fn a_worker_that_listens_hears_of_a_stop() {
    let lab = Lab::with_flow().await;
    let (worker, other) = (lab.key("w", Role::Worker, &[]), lab.key("o", Role::Worker, &[]));
    let task = lab.submit("maps/page/1").await;
    let granted = lab.claim(&worker, 1).await;
    let ask = |wait_s: u32| json!({ "leases": [granted["lease"]], "wait_s": wait_s });
    let stops = "/api/v1/leases/stops";
    let heard = lab.call(&worker, "POST", stops, ask(0)).await.expect(200);
    assert_eq!(heard, json!({ "stop": [] }));
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let reason = json!({ "reason": "not needed" });
        lab.post(&format!("/api/v1/tasks/{task}/cancel"), reason).await.expect(204);
    };
    let (heard, ()) = tokio::join!(lab.call(&worker, "POST", stops, ask(60)), cancel);
    let token = &granted["tasks"][0]["token"];
    assert_eq!(heard.expect(200), json!({ "stop": [{ "task": task, "token": token }] }));
    // Nobody else is told.
    let heard = lab.call(&other, "POST", stops, ask(0)).await.expect(200);
    assert_eq!(heard, json!({ "stop": [] }));
    let many = json!({ "leases": vec![granted["lease"].clone(); 1_001] });
    let refused = lab.call(&worker, "POST", stops, many).await;
    assert_eq!(refused.problem().1, "too-large");
}

#[tokio::test]
async fn a_claim_waits_for_work() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    let wanted = json!({ "worker": "w", "wait_s": 30 });
    let waiting = lab.call(&worker, "POST", "/api/v1/claims", wanted);
    let (granted, task) = tokio::join!(waiting, lab.submit("maps/page/1"));
    assert_eq!(granted.expect(200)["tasks"][0]["task"], task);
}

#[tokio::test]
async fn a_claim_names_the_ways_it_can_run() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    lab.submit("maps/page/1").await;
    let wanted = |wait: u32| json!({ "worker": "w", "actions": ["command"], "wait_s": wait });
    // There is work, but none that is a command.
    lab.call(&worker, "POST", "/api/v1/claims", wanted(0)).await.expect(204);
    // A flow that comes later is noticed by a claim that waits already.
    let waiting = lab.call(&worker, "POST", "/api/v1/claims", wanted(30));
    let later = async {
        lab.flow("maps", "print", "tasks: [{name: go, command: [lpr, a]}]").await.expect(201);
        let rounds = json!([{ "item": "maps/page/1", "flow": "print" }]);
        lab.post("/api/v1/rounds", rounds).await.expect(200)
    };
    let (granted, _) = tokio::join!(waiting, later);
    let granted = granted.expect(200);
    assert_eq!(granted["tasks"][0]["address"], "print.go@maps/page/1");
    assert_eq!(granted["tasks"][0]["action"], json!({ "command": ["lpr", "a"] }));
}

#[tokio::test]
async fn a_worker_that_hangs_up_gets_nothing() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    let wanted = json!({ "worker": "gone", "wait_s": 30 });
    {
        let waiting = lab.call(&worker, "POST", "/api/v1/claims", wanted);
        let cut = tokio::time::timeout(Duration::from_millis(50), waiting).await;
        assert!(cut.is_err());
    }
    let task = lab.submit("maps/page/1").await;
    let granted = lab.claim(&worker, 1).await;
    assert_eq!(
        (&granted["tasks"][0]["task"], &granted["tasks"][0]["attempt"]),
        (&json!(task), &json!(1))
    );
}

#[tokio::test]
async fn parameters_of_the_step_are_overlaid_by_the_submission() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    let file = "tasks: [{name: scan, run: outside, params: {dpi: '300', color: 'no'}}]";
    lab.flow("maps", "ocr", file).await.expect(201);
    let rounds = json!([{ "item": "maps/page/1", "flow": "ocr", "payload": { "dpi": 600 } }]);
    lab.post("/api/v1/rounds", rounds).await.expect(200);
    let granted = lab.claim(&worker, 1).await;
    assert_eq!(granted["tasks"][0]["payload"], json!({ "color": "no", "dpi": 600 }));
}

#[tokio::test]
async fn a_claim_waits_for_a_flow_it_can_run() {
    let lab = Lab::with_flow().await;
    lab.submit("maps/page/1").await;
    let wanted = json!({ "worker": "w", "actions": ["script"], "wait_s": 60 });
    let waiting = lab.post("/api/v1/claims", wanted);
    let come = async {
        let file = "tasks: [{name: scan, shell: sh, script: 'true'}]";
        lab.flow("maps", "ocr", file).await.expect(201);
    };
    let (answer, ()) = tokio::join!(waiting, come);
    assert_eq!(answer.expect(200)["tasks"][0]["step"], "scan");
}

#[tokio::test]
async fn workers_are_listed_while_they_ask_and_hold() {
    let lab = Lab::with_flow().await;
    let worker = lab.key("w", Role::Worker, &[]);
    let ask = json!({ "worker": "w1", "labels": ["gpu"], "slots": 2, "wait_s": 0 });
    lab.call(&worker, "POST", "/api/v1/claims", ask.clone()).await.expect(204);
    let task = lab.submit("maps/page/1").await;
    lab.call(&worker, "POST", "/api/v1/claims", ask).await.expect(200);
    let listed = lab.get("/api/v1/workers").await.expect(200)["entries"].take();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let (labels, tasks) = (json!(["gpu"]), json!([task]));
    assert_eq!((&listed[0]["labels"], &listed[0]["tasks"]), (&labels, &tasks), "{listed}");
    assert_eq!((&listed[0]["slots"], &listed[0]["waiting"]), (&2.into(), &0.into()), "{listed}");
    // Whoever sees another collection sees nothing of it.
    let auditor = lab.key("a", Role::Auditor, &["elsewhere"]);
    let seen = lab.call(&auditor, "GET", "/api/v1/workers", json!({})).await;
    assert_eq!(seen.expect(200)["entries"], json!([]));
}
