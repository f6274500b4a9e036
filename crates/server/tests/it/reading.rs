//! What can be read, and what an operator can do.

use armarius_wire::v1::key::Role;
use serde_json::json;

use crate::lab::Lab;

#[tokio::test]
async fn tasks_are_found_by_when_their_state_began() {
    let lab = Lab::with_flow().await;
    for n in 1..=3 {
        lab.submit(&format!("maps/page/{n}")).await;
    }
    let all = lab.get("/api/v1/tasks").await.expect(200);
    let since = |n: usize| all["entries"][n]["since"].as_str().unwrap().to_owned();
    let count = async |query: String| {
        let page = lab.get(&format!("/api/v1/tasks?{query}")).await.expect(200);
        page["entries"].as_array().unwrap().len()
    };
    let (newest, oldest) = (since(0), since(2));
    assert_eq!(count(format!("since={oldest}")).await, 3);
    assert_eq!(count(format!("before={oldest}")).await, 0);
    assert_eq!(count(format!("since={oldest}&max=2")).await, 2);
    assert_eq!(count("since=2100-01-01T00:00:00Z&state=ready".to_owned()).await, 0);
    let split = count(format!("since={newest}")).await + count(format!("before={newest}")).await;
    assert_eq!(split, 3);
    let page = lab.get(&format!("/api/v1/tasks?since={oldest}&max=2")).await.expect(200);
    let next = page["next"].as_str().unwrap();
    assert_eq!(count(format!("since={oldest}&max=2&cursor={next}")).await, 1);
    assert_eq!(lab.get("/api/v1/tasks?since=yesterday").await.problem().0, 400);
}

#[tokio::test]
async fn lists_are_read_page_by_page() {
    let lab = Lab::with_flow().await;
    for n in 1..=5 {
        lab.submit(&format!("maps/page/{n}")).await;
    }
    let mut seen = Vec::new();
    let mut path = "/api/v1/tasks?max=2&state=ready,leased&collection=maps".to_owned();
    loop {
        let page = lab.get(&path).await.expect(200);
        let entries = page["entries"].as_array().unwrap().clone();
        seen.extend(entries.iter().map(|t| t["task"].as_i64().unwrap()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/tasks?max=2&state=ready,leased&collection=maps&cursor={next}");
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
    let items = lab.get("/api/v1/items?collection=maps&max=3").await.expect(200);
    assert_eq!(items["entries"].as_array().unwrap().len(), 3);
    let one = lab.get("/api/v1/tasks?address=ocr.scan@maps/page/3").await.expect(200);
    assert_eq!(one["entries"][0]["task"], 3);
    let of_item = lab.get("/api/v1/tasks?item=maps/page/2").await.expect(200);
    assert_eq!(of_item["entries"][0]["address"], "ocr.scan@maps/page/2");
    assert_eq!(lab.get("/api/v1/tasks?step=none").await.expect(200)["entries"], json!([]));
}

#[tokio::test]
async fn an_operator_steers() {
    let lab = Lab::with_flow().await;
    let operator = lab.key("op", Role::Operator, &["maps"]);
    let task = lab.submit("maps/page/1").await;
    let at = |verb: &str| format!("/api/v1/tasks/{task}/{verb}");
    let say = |verb: &str, body| {
        let (path, lab, key) = (at(verb), &lab, &operator);
        async move { lab.call(key, "POST", &path, body).await }
    };
    let state = || async {
        let task = lab.get(&format!("/api/v1/tasks/{task}")).await.expect(200);
        let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
        (text("state"), text("cause"))
    };
    say("priority", json!({ "priority": 7 })).await.expect(204);
    say("cancel", json!({ "reason": "no" })).await.expect(204);
    assert_eq!(state().await, ("cancelled".to_owned(), "operator".to_owned()));
    assert_eq!(say("cancel", json!({})).await.problem(), (409, "wrong-state".to_owned()));
    say("retry", json!({})).await.expect(204);
    assert_eq!(state().await.0, "ready");
    say("skip", json!({})).await.expect(204);
    assert_eq!(state().await, ("cancelled".to_owned(), "skipped".to_owned()));
    let history = lab.get("/api/v1/events?item=maps/page/1").await.expect(200);
    let actors: Vec<&str> = history["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["actor"].as_str().unwrap())
        .collect();
    assert_eq!(actors, ["admin", "op", "op", "op", "op"]);
}

#[tokio::test]
async fn a_hold_is_seen_by_why_and_can_be_released() {
    let lab = Lab::with_flow().await;
    let task = lab.submit("maps/page/1").await;
    let hold = json!({ "on": { "collection": "maps", "flow": "ocr" }, "reason": "audit" });
    let set = lab.post("/api/v1/holds", hold).await.expect(201);
    let holds = lab.get("/api/v1/holds").await.expect(200);
    assert_eq!(holds["entries"][0]["on"], json!({ "collection": "maps", "flow": "ocr" }));
    assert!(lab.claim(&lab.admin, 1).await.is_null());
    let why = lab.get(&format!("/api/v1/why?task={task}")).await.expect(200);
    assert!(why["because"][0]["what"].as_str().unwrap().contains("audit"), "{why}");
    let path = format!("/api/v1/holds/{}", set["hold"]);
    lab.call(&lab.admin, "DELETE", &path, json!({})).await.expect(204);
    assert_eq!(lab.claim(&lab.admin, 1).await["tasks"][0]["task"], task);
}

#[tokio::test]
async fn a_batch_is_counted_to_its_end() {
    let lab = Lab::with_flow().await;
    let open = json!({ "collection": "maps", "key": "b1", "id": "x" });
    let batch = lab.post("/api/v1/batches", open.clone()).await.expect(201)["batch"].clone();
    assert_eq!(lab.post("/api/v1/batches", open).await.expect(201)["batch"], batch);
    let rounds = json!([
        { "item": "maps/page/1", "flow": "ocr", "batch": batch },
        { "item": "maps/page/2", "flow": "ocr", "batch": batch },
    ]);
    lab.post("/api/v1/rounds", rounds).await.expect(200);
    let path = format!("/api/v1/batches/{batch}");
    lab.post(&format!("{path}/seal"), json!({})).await.expect(204);
    let granted = lab.claim(&lab.admin, 2).await;
    let report = |n: usize, outcome: &str| {
        let task = &granted["tasks"][n];
        json!({ "lease": granted["lease"], "task": task["task"], "token": task["token"],
                "outcome": outcome })
    };
    let reports = json!([report(0, "success"), report(1, "permanent")]);
    lab.post("/api/v1/reports", reports).await.expect(200);
    let shown = lab.get(&path).await.expect(200);
    let counts = ["total", "open", "done", "failed"].map(|name| shown[name].as_i64().unwrap());
    assert_eq!(counts, [2, 0, 1, 1]);
    assert_eq!(shown["item"], "maps/batch/b1");
    let late = json!([{ "item": "maps/page/3", "flow": "ocr", "batch": batch }]);
    let late = lab.post("/api/v1/rounds", late).await.expect(200);
    assert_eq!(late[0]["problem"]["code"], "batch-sealed");
}

#[tokio::test]
async fn items_with_odd_keys_keep_their_names() {
    let lab = Lab::with_flow().await;
    for (path, key) in [
        ("vol%201/7%23a", "vol 1/7#a"),
        ("%C3%A9%3F", "é?"),
        ("a%252Fb", "a%2Fb"),
        ("touch", "touch"),
    ] {
        let at = format!("/api/v1/items/maps/page/{path}");
        let body = json!({ "attributes": { "n": 1 }, "priority": 3 });
        lab.put(&at, body).await.expect(201);
        let item = lab.get(&at).await.expect(200);
        assert_eq!(item["key"], key);
        assert_eq!(item["attributes"], json!({ "n": 1 }));
        lab.put(&at, json!({})).await.expect(200);
    }
}

#[tokio::test]
async fn the_server_says_how_it_is() {
    let lab = Lab::with_flow().await;
    lab.submit("maps/page/1").await;
    let stats = lab.get("/api/v1/stats").await.expect(200);
    assert_eq!((&stats["stage"], &stats["tasks"]["ready"]), (&json!("running"), &json!(1)));
    let durability = lab.get("/api/v1/durability").await.expect(200);
    assert_eq!((&durability["store"], &durability["sync"]), (&json!("memory"), &json!("none")));
    assert_eq!(lab.get("/readyz").await.expect(200), json!({ "status": "ok" }));
    let list = lab.get("/api/v1/collections").await.expect(200);
    assert_eq!(list["entries"][1]["tasks"]["ready"], 1);
    let flow = lab.get("/api/v1/flows/maps/ocr").await.expect(200);
    assert_eq!(flow["definition"]["tasks"][0]["name"], "scan");
    assert_eq!(flow["steps"][0]["tasks"]["ready"], 1);
}

#[tokio::test]
async fn leases_are_listed_without_their_names() {
    let lab = Lab::with_flow().await;
    let task = lab.submit("maps/page/1").await;
    let granted = lab.claim(&lab.admin, 1).await;
    let answer = lab.get("/api/v1/leases").await;
    assert!(!answer.text.contains(granted["lease"].as_str().unwrap()));
    let page = answer.expect(200);
    assert_eq!(
        (&page["entries"][0]["worker"], &page["entries"][0]["tasks"]),
        (&json!("w"), &json!([task]))
    );
    let other = lab.key("o", Role::Operator, &["books"]);
    let page = lab.call(&other, "GET", "/api/v1/leases", json!({})).await.expect(200);
    assert_eq!(page["entries"], json!([]));
}
