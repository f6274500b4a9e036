//! Robots over the API: the line, looking for items, rewinding, what is said about events.

use armarius_wire::v1::key::Role;
use serde_json::{Value, json};

use crate::lab::Lab;

async fn line() -> Lab {
    let lab = Lab::new();
    lab.put("/api/v1/collections/maps", json!({})).await.expect(204);
    let robot = |on: &str, records: &str| {
        format!("on: {{items: {{{on}}}}}\nrecords: {records}\ntasks: [{{name: s, run: outside}}]")
    };
    let ocr = robot("kinds: [page], success: [scan]", "ocr");
    let applied = lab.flow("maps", "ocr", &ocr).await.expect(201);
    let warning = applied["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("nobody here records `scan`"), "{warning}");
    lab.flow("maps", "check", &robot("success: [ocr]", "check")).await.expect(201);
    lab
}

async fn event(lab: &Lab, n: usize, name: &str, outcome: &str) {
    let item = format!("maps/page/{n}");
    let events = json!([{ "item": item, "name": name, "outcome": outcome }]);
    let added = lab.post("/api/v1/events", events).await.expect(200);
    assert!(added[0]["n"].is_i64(), "{added}");
}

async fn pages(lab: &Lab, count: usize) {
    let items: Vec<Value> = (0..count)
        .map(|n| json!({ "item": format!("maps/page/{n}"), "types": ["image"] }))
        .collect();
    lab.post("/api/v1/items", json!(items)).await.expect(200);
}

/// The keys found by a query, page after page.
async fn found(lab: &Lab, query: Value, max: usize) -> Vec<String> {
    let (mut keys, mut cursor) = (Vec::new(), Value::Null);
    for _ in 0..1_000 {
        let mut body = json!({ "collection": "maps", "query": query, "max": max });
        if !cursor.is_null() {
            body["cursor"] = cursor;
        }
        let page = lab.post("/api/v1/items/find", body).await.expect(200);
        let entries = page["entries"].as_array().unwrap();
        assert!(entries.len() <= max);
        keys.extend(entries.iter().map(|item| item["key"].as_str().unwrap().to_owned()));
        cursor = page["next"].clone();
        if cursor.is_null() {
            return keys;
        }
    }
    panic!("pages without end");
}

#[tokio::test]
async fn the_line_shows_its_stations_and_how_they_hang_together() {
    let lab = line().await;
    pages(&lab, 3).await;
    event(&lab, 0, "scan", "success").await;
    let line = lab.get("/api/v1/robots?collection=maps").await.expect(200);
    let names: Vec<&str> =
        line["robots"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["check", "ocr"]);
    let ocr = lab.get("/api/v1/robots/maps/ocr").await.expect(200);
    assert_eq!((&ocr["tasks"]["ready"], &ocr["records"]), (&json!(1), &json!("ocr")));
    assert_eq!(ocr["query"]["stale"], json!(["ocr"]), "its default is shown");
    assert!(ocr["waiting_since"].is_string());
    let edge = json!({
        "collection": "maps", "from": "ocr", "event": "ocr", "to": "check", "how": "success",
    });
    assert!(line["edges"].as_array().unwrap().contains(&edge), "{line}");
    let hold = json!({ "on": { "collection": "maps", "flow": "ocr" }, "reason": "tea" });
    lab.post("/api/v1/holds", hold).await.expect(201);
    let ocr = lab.get("/api/v1/robots/maps/ocr").await.expect(200);
    assert_eq!(ocr["paused"]["reason"], "tea");
    assert_eq!(lab.get("/api/v1/robots/maps/none").await.problem(), (404, "no-such-flow".into()));
    let other = lab.key("o", Role::Operator, &["books"]);
    let line = lab.call(&other, "GET", "/api/v1/robots", json!({})).await.expect(200);
    assert_eq!(line["robots"], json!([]));
}

#[tokio::test]
async fn robots_without_end_are_refused_with_an_example() {
    let lab = line().await;
    let text = "on: {items: {success: [ocr]}}\ntouches: true\ntasks: [{name: s, run: outside}]";
    let answer = lab.flow("maps", "again", text).await;
    assert_eq!(answer.problem().1, "bad-flow");
    assert!(answer.text.contains("again changes it, then again changes it"), "{}", answer.text);
}

#[tokio::test]
async fn items_are_found_as_triggers_find_them() {
    let lab = line().await;
    pages(&lab, 5).await;
    event(&lab, 1, "scan", "success").await;
    event(&lab, 2, "scan", "failure").await;
    event(&lab, 3, "scan", "success").await;
    event(&lab, 3, "ocr", "success").await;
    lab.post("/api/v1/items/touch", json!({ "item": "maps/page/3" })).await.expect(200);
    lab.put("/api/v1/items/maps/book/b", json!({})).await.expect(201);
    for (query, wanted) in [
        (json!({ "success": ["scan"] }), vec!["1", "3"]),
        (json!({ "failed": ["scan"] }), vec!["2"]),
        (json!({ "success": ["scan"], "absent": ["ocr"] }), vec!["1"]),
        (json!({ "success": ["scan"], "stale": ["ocr"] }), vec!["1", "3"]),
        (json!({ "absent": ["scan"], "kinds": ["page"] }), vec!["0", "4"]),
        (json!({ "absent": ["scan"] }), vec!["0", "4", "b"]),
        (json!({ "kinds": ["book"] }), vec!["b"]),
        (json!({ "types": ["image"], "absent": ["scan"] }), vec!["0", "4"]),
        (json!({ "kinds": ["page"], "items": ["4", "1", "none"] }), vec!["1", "4"]),
        (json!({ "items": ["4"] }), vec!["4"]),
        (json!({ "success": ["nothing"] }), vec![]),
    ] {
        for max in [1, 2, 100] {
            assert_eq!(found(&lab, query.clone(), max).await, wanted, "{query} by {max}");
        }
    }
    let body = json!({ "collection": "none", "query": {} });
    assert_eq!(lab.post("/api/v1/items/find", body).await.problem().1, "no-such-collection");
    let body = json!({ "collection": "maps", "query": { "sucess": [] } });
    assert_eq!(lab.post("/api/v1/items/find", body).await.status, 400);
}

#[tokio::test]
async fn a_page_looks_at_a_bounded_number_of_items() {
    let lab = line().await;
    pages(&lab, 2_500).await;
    event(&lab, 2_400, "x", "failure").await;
    let body = json!({ "collection": "maps", "query": { "stale": ["x"] , "items": ["2400"] } });
    let page = lab.post("/api/v1/items/find", body).await.expect(200);
    assert_eq!(page["entries"], json!([]));
    assert!(page["next"].is_string(), "there is more to look at");
    assert_eq!(found(&lab, json!({ "failed": ["x"] }), 10).await, ["2400"]);
    assert_eq!(
        found(&lab, json!({ "absent": ["x"], "kinds": ["page"] }), 1_000).await.len(),
        2_499
    );
}

#[tokio::test]
async fn an_item_is_rewound_and_shows_it() {
    let lab = line().await;
    pages(&lab, 1).await;
    event(&lab, 0, "scan", "success").await;
    event(&lab, 0, "ocr", "failure").await;
    let rewound = lab
        .post("/api/v1/items/rewind", json!({ "item": "maps/page/0", "reason": "again" }))
        .await
        .expect(200);
    assert_eq!(rewound["hidden"], json!(["ocr"]));
    let shown = lab.get("/api/v1/items/maps/page/0").await.expect(200);
    let marks: Vec<(&str, bool)> = shown["marks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["name"].as_str().unwrap(), m["hidden"].as_bool().unwrap_or(false)))
        .collect();
    assert_eq!(marks, [("scan", false), ("ocr", true)]);
    assert_eq!(lab.claim(&lab.admin, 9).await["tasks"][0]["step"], "s");
    let again = json!({ "item": "maps/page/0" });
    assert_eq!(lab.post("/api/v1/items/rewind", again).await.problem().1, "wrong-state");
    let worker = lab.key("w", Role::Worker, &[]);
    let body = json!({ "item": "maps/page/0" });
    assert_eq!(lab.call(&worker, "POST", "/api/v1/items/rewind", body).await.status, 403);
}

#[tokio::test]
async fn what_is_said_about_events_is_shown_beside_who_added_them() {
    let lab = line().await;
    pages(&lab, 1).await;
    let told = json!([
        { "item": "maps/page/0", "name": "scan", "at": "2014-01-07", "agent": "scanner",
          "detail": { "dpi": 300 } },
        { "item": "maps/page/0", "name": "old", "outcome": "failure", "imported": true,
          "id": "t=1", "at": "1999" },
        { "item": "maps/page/0", "name": "old", "outcome": "failure", "imported": true,
          "id": "t=1", "at": "1999" },
        { "item": "maps/page/0", "name": "old", "imported": true },
    ]);
    let added = lab.post("/api/v1/events", told).await.expect(200);
    assert_eq!((&added[1]["n"], &added[2]["n"]), (&json!(4), &json!(4)), "{added}");
    assert_eq!(added[2]["repeated"], true);
    assert_eq!(added[3]["problem"]["code"], "bad-name");
    let page = lab.get("/api/v1/events?item=maps/page/0").await.expect(200);
    let scan = &page["entries"][1];
    assert_eq!(scan["said"], json!({ "at": "2014-01-07", "agent": "scanner" }));
    assert_eq!((&scan["actor"], &scan["detail"]), (&json!("admin"), &json!({ "dpi": 300 })));
    assert_eq!(page["entries"][2]["work"]["flow"], "ocr");
    assert_eq!(page["entries"][3]["said"]["imported"], true);
    let forged = json!([{ "item": "maps/page/0", "name": "e", "detail": { "said": {} } }]);
    let refused = lab.post("/api/v1/events", forged).await.expect(200);
    assert_eq!(refused[0]["problem"]["code"], "bad-json");
}
