//! Every route, every role, and no key: the matrix is made from the table.

use armarius_core::text::Name;
use armarius_server::access::{RULES, Rule, Who, is_page};
use armarius_wire::v1::key::Role;
use serde_json::{Value, json};

use crate::lab::{Lab, request};

/// A path with something in the place of each name.
fn path_of(rule: &Rule) -> String {
    rule.path
        .replace("{*item}", "none/page/1")
        .replace("{lease}", &"0".repeat(32))
        .replace("{collection}", "none")
        .replace("{flow}", "none")
        .replace("{task}", "999")
        .replace("{batch}", "999")
        .replace("{hold}", "999")
        .replace("{key}", "none")
        .replace("{name}", "armarius.css")
        .replace("{archive}", "none")
        .replace("{revision}", "1")
        // A feed that begins would never end.
        .replace("/api/v1/feed", "/api/v1/feed?after=nowhere")
}

fn kind_of(rule: &Rule) -> &'static str {
    if is_page(rule.path) { "application/x-www-form-urlencoded" } else { "application/json" }
}

fn may(rule: &Rule, role: Role) -> bool {
    match rule.who {
        Who::Anyone => true,
        Who::Roles(roles) => roles.contains(&role),
        Who::WholeAdmin => role == Role::Admin,
    }
}

#[tokio::test]
async fn every_route_knows_every_role() {
    let lab = Lab::new();
    let keys: Vec<(Role, String)> = Role::ALL
        .into_iter()
        .map(|role| (role, lab.key(&format!("a {}", role.as_str()), role, &[])))
        .collect();
    for rule in RULES.iter().filter(|rule| rule.who != Who::Anyone) {
        let path = path_of(rule);
        for (role, key) in &keys {
            let kind = kind_of(rule);
            let sent = request(key, rule.method, &path, kind, "{}".to_owned());
            let answer = lab.send(sent).await;
            let what = format!("{} {path} as {}", rule.method, role.as_str());
            if may(rule, *role) {
                assert!(!matches!(answer.status, 401 | 403 | 405), "{what}: {}", answer.text);
                assert!(!answer.text.contains("no-such-route"), "{what}: {}", answer.text);
            } else {
                assert_eq!(answer.problem(), (403, "not-allowed".to_owned()), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn no_route_but_health_answers_without_a_key() {
    let lab = Lab::new();
    let (id, _) = lab.admin.rsplit_once('_').unwrap();
    let wrong = format!("{id}_{}", "0".repeat(64));
    for rule in RULES {
        for (key, code) in
            [("", "key-missing"), ("ark_x_y", "key-refused"), (&wrong, "key-refused")]
        {
            let sent = request(key, rule.method, &path_of(rule), "", String::new());
            let answer = lab.send(sent).await;
            if rule.who == Who::Anyone {
                assert!(!matches!(answer.status, 401 | 404), "{}: {}", rule.path, answer.text);
            } else {
                assert_eq!(answer.problem(), (401, code.to_owned()), "{}", rule.path);
            }
        }
    }
    // What does not exist looks the same to those without a key.
    for path in ["/nothing", "/api/v1/nothing", "/api/v2/tasks", "/admin"] {
        let answer = lab.send(request("", "GET", path, "", String::new())).await;
        assert_eq!(answer.problem(), (401, "key-missing".to_owned()), "{path}");
        assert_eq!(lab.get(path).await.problem(), (404, "no-such-route".to_owned()), "{path}");
    }
}

/// Collections `maps` and `books`, with a task and a batch in `books`.
async fn two_collections() -> (Lab, i64, Value) {
    let lab = Lab::with_flow().await;
    lab.put("/api/v1/collections/books", json!({})).await.expect(204);
    lab.flow("books", "ocr", "tasks: [{name: scan, run: outside}]").await.expect(201);
    let task = lab.submit("books/page/1").await;
    let batch = json!({ "collection": "books" });
    let batch = lab.post("/api/v1/batches", batch).await.expect(201)["batch"].clone();
    (lab, task, batch)
}

#[tokio::test]
async fn a_key_for_a_collection_sees_no_other() {
    let (lab, task, batch) = two_collections().await;
    let operator = lab.key("o", Role::Operator, &["maps"]);
    for path in [
        "/api/v1/collections/books",
        "/api/v1/flows/books/ocr",
        "/api/v1/items/books/page/1",
        "/api/v1/items?collection=books",
        "/api/v1/events?item=books/page/1",
        &format!("/api/v1/tasks/{task}"),
        &format!("/api/v1/batches/{batch}"),
        &format!("/api/v1/why?task={task}"),
        "/api/v1/why?item=books/page/1",
        &format!("/api/v1/why?batch={batch}"),
    ] {
        let answer = lab.call(&operator, "GET", path, json!({})).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text);
    }
    for path in ["/api/v1/tasks", "/api/v1/flows?collection=books", "/api/v1/batches"] {
        let page = lab.call(&operator, "GET", path, json!({})).await.expect(200);
        assert_eq!(page["entries"], json!([]), "{path}");
    }
}

#[tokio::test]
async fn a_key_for_a_collection_changes_no_other() {
    let (lab, task, batch) = two_collections().await;
    let operator = lab.key("o", Role::Operator, &["maps"]);
    let admin = lab.key("a", Role::Admin, &["maps"]);
    let on = |on: Value| json!({ "on": on, "reason": "r" });
    for (key, method, path, body, status) in [
        (&operator, "PUT", "/api/v1/items/books/page/2", json!({}), 403),
        (&operator, "DELETE", "/api/v1/items/books/page/1", json!({}), 403),
        (&operator, "POST", "/api/v1/items/touch", json!({ "item": "books/page/1" }), 403),
        (&operator, "POST", &format!("/api/v1/tasks/{task}/cancel"), json!({}), 404),
        (&operator, "POST", &format!("/api/v1/batches/{batch}/cancel"), json!({}), 404),
        (&operator, "POST", "/api/v1/batches", json!({ "collection": "books" }), 403),
        (&operator, "POST", "/api/v1/holds", on(json!({ "collection": "books" })), 403),
        (&operator, "POST", "/api/v1/holds", on(json!({ "task": task })), 404),
        (&operator, "POST", "/api/v1/holds", on(json!({ "batch": batch })), 404),
        (&admin, "PUT", "/api/v1/collections/books", json!({}), 403),
        (&admin, "DELETE", "/api/v1/flows/books/ocr", json!({}), 403),
        (&admin, "POST", "/api/v1/keys", json!({ "name": "x", "role": "admin" }), 403),
        (&admin, "GET", "/api/v1/keys", json!({}), 403),
    ] {
        let answer = lab.call(key, method, path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
    }
}

#[tokio::test]
async fn the_inside_of_a_bulk_is_checked_like_its_outside() {
    let (lab, task, batch) = two_collections().await;
    let operator = lab.key("o", Role::Operator, &["maps"]);
    let worker = lab.key("w", Role::Worker, &["maps"]);
    let rounds = json!([
        { "item": "books/page/3", "flow": "ocr" },
        { "item": "maps/page/3", "flow": "ocr", "batch": batch },
        { "item": "maps/page/3", "flow": "ocr", "depends": ["ocr.scan@books/page/1"] },
        { "item": "maps/page/3", "flow": "ocr" },
    ]);
    let done = lab.call(&operator, "POST", "/api/v1/rounds", rounds).await.expect(200);
    assert_eq!(done[0]["problem"]["code"], "not-allowed");
    assert_eq!(done[1]["problem"]["code"], "no-such-batch");
    assert_eq!(done[2]["problem"]["code"], "not-allowed");
    assert!(done[3]["task"].is_i64());
    // Work: only that of its collection, and no report on that of others.
    let granted = lab.claim(&worker, 10).await;
    assert_eq!(granted["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(granted["tasks"][0]["item"]["collection"], "maps");
    let foreign = json!([
        { "lease": granted["lease"], "task": task, "token": "1", "outcome": "success" }
    ]);
    let done = lab.call(&worker, "POST", "/api/v1/reports", foreign).await.expect(200);
    assert_eq!(done[0]["problem"]["code"], "no-such-task");
    let wanted = json!({ "worker": "w", "collections": ["books"] });
    assert_eq!(lab.call(&worker, "POST", "/api/v1/claims", wanted).await.status, 403);
}

#[tokio::test]
async fn a_revoked_key_opens_nothing() {
    let lab = Lab::new();
    let body = json!({ "name": "bob", "role": "auditor" });
    let made = lab.post("/api/v1/keys", body.clone()).await.expect(201);
    let key = made["key"].as_str().unwrap();
    lab.call(key, "GET", "/api/v1/stats", json!({})).await.expect(200);
    assert_eq!(lab.post("/api/v1/keys", body).await.problem(), (409, "already-exists".to_owned()));
    let path = format!("/api/v1/keys/{}", made["id"].as_str().unwrap());
    lab.call(&lab.admin, "DELETE", &path, json!({})).await.expect(204);
    assert_eq!(lab.call(key, "GET", "/api/v1/stats", json!({})).await.status, 401);
    assert_eq!(lab.call(&lab.admin, "DELETE", &path, json!({})).await.status, 404);
    // Who did it is an event like any other.
    let item = format!("armarius/key/{}", made["id"].as_str().unwrap());
    let told = lab.get(&format!("/api/v1/events?item={item}")).await.expect(200);
    let told: Vec<String> = told["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| format!("{} {}", e["name"].as_str().unwrap(), e["actor"].as_str().unwrap()))
        .collect();
    assert_eq!(told, ["key.made admin", "key.revoked admin"]);
}

#[tokio::test]
async fn a_key_can_be_made_for_less_and_for_more() {
    let lab = Lab::with_flow().await;
    let made = lab.post("/api/v1/keys", json!({ "name": "bob", "role": "auditor" })).await;
    let made = made.expect(201);
    let (key, path) =
        (made["key"].as_str().unwrap(), format!("/api/v1/keys/{}", made["id"].as_str().unwrap()));
    let hold = json!({ "on": { "collection": "maps" }, "reason": "r" });
    assert_eq!(lab.call(key, "POST", "/api/v1/holds", hold.clone()).await.status, 403);
    lab.put(&path, json!({ "role": "operator" })).await.expect(204);
    lab.put(&path, json!({ "collections": ["books"] })).await.expect(204);
    assert_eq!(lab.call(key, "POST", "/api/v1/holds", hold.clone()).await.status, 403);
    lab.put(&path, json!({ "collections": [] })).await.expect(204);
    lab.call(key, "POST", "/api/v1/holds", hold).await.expect(201);
}

#[tokio::test]
async fn what_is_not_a_key_opens_nothing() {
    let lab = Lab::new();
    let cut = &lab.admin[..lab.admin.len() - 1];
    for presented in ["ark_", "ark__", cut, &lab.admin.to_uppercase(), "ark_x_y"] {
        let answer = lab.call(presented, "GET", "/api/v1/stats", json!({})).await;
        assert_eq!(answer.status, 401, "{presented}");
    }
    let lent = lab.app.keys().lend(&Name::trusted("worker here"), Role::Auditor).unwrap();
    lab.call(&lent.text, "GET", "/api/v1/stats", json!({})).await.expect(200);
    let listed = lab.get("/api/v1/keys").await.expect(200);
    assert_eq!(listed["entries"].as_array().unwrap().len(), 1, "{listed}");
}
