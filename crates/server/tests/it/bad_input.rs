//! What is wrong is told, with a fitting status, and changes nothing.

use serde_json::json;

use crate::lab::{Lab, request};

#[tokio::test]
async fn bodies_that_cannot_be_read() {
    let lab = Lab::with_flow().await;
    let deep = format!(
        r#"[{{"item":"maps/page/1","flow":"ocr","payload":{{"a":{}{}}}}}]"#,
        "[".repeat(100),
        "]".repeat(100)
    );
    let rounds = "/api/v1/rounds";
    let json_kind = "application/json";
    for (path, kind, body, status, code) in [
        (rounds, json_kind, "", 400, "bad-request"),
        (rounds, json_kind, "{}", 400, "bad-request"),
        (rounds, json_kind, "[", 400, "bad-request"),
        (rounds, json_kind, r#"[{"item":"maps/page/1"}]"#, 400, "bad-request"),
        (rounds, json_kind, r#"[{"item":"maps/page/1","flow":"ocr","x":1}]"#, 400, "bad-request"),
        (
            rounds,
            json_kind,
            r#"[{"item":"maps/page/1","flow":"ocr","flow":"b"}]"#,
            400,
            "bad-request",
        ),
        (rounds, json_kind, &deep, 400, "too-deep"),
        (rounds, "text/plain", "[]", 415, "wrong-content-type"),
        (rounds, "", "[]", 415, "wrong-content-type"),
        ("/api/v1/claims", json_kind, r#"{"worker":"w","max":0}"#, 400, "out-of-range"),
        ("/api/v1/claims", json_kind, r#"{"worker":"w","max":5000}"#, 400, "out-of-range"),
        ("/api/v1/claims", json_kind, r#"{"worker":"w","max":-1}"#, 400, "bad-request"),
        ("/api/v1/claims", json_kind, r#"{"worker":""}"#, 400, "bad-name"),
        ("/api/v1/claims", json_kind, r#"{"worker":"w","steps":["x"]}"#, 400, "bad-address"),
        ("/api/v1/claims", json_kind, r#"{"worker":"w","actions":["x"]}"#, 400, "bad-request"),
        ("/api/v1/holds", json_kind, r#"{"on":{},"reason":"r"}"#, 400, "out-of-range"),
        ("/api/v1/tasks/1/retry", json_kind, r#"{"x":1}"#, 400, "bad-request"),
        ("/api/v1/tasks/x/retry", json_kind, "{}", 400, "bad-request"),
    ] {
        let answer = lab.send(request(&lab.admin, "POST", path, kind, body.to_owned())).await;
        assert_eq!(answer.problem(), (status, code.to_owned()), "{path} {body}: {}", answer.text);
    }
    assert_eq!(lab.get("/api/v1/tasks").await.expect(200)["entries"], json!([]));
}

#[tokio::test]
async fn bodies_that_are_too_large() {
    let lab = Lab::new();
    let large = format!(r#"{{"notify":["{}"]}}"#, "x".repeat(1024 * 1024));
    let path = "/api/v1/collections/maps";
    let sent = request(&lab.admin, "PUT", path, "application/json", large);
    assert_eq!(lab.send(sent).await.problem(), (413, "body-too-large".to_owned()));
    let mut sent = request(&lab.admin, "PUT", path, "application/json", "{}".to_owned());
    sent.headers_mut().insert("content-length", "99999999999".parse().unwrap());
    assert_eq!(lab.send(sent).await.problem(), (413, "body-too-large".to_owned()));
    let many = format!("[{}]", vec![r#"{"item":"a/b/c","flow":"f"}"#; 10_001].join(","));
    let sent = request(&lab.admin, "POST", "/api/v1/rounds", "application/json", many);
    assert_eq!(lab.send(sent).await.problem(), (413, "body-too-large".to_owned()));
}

#[tokio::test]
async fn paths_and_queries() {
    let lab = Lab::with_flow().await;
    for (path, status, code) in [
        ("/api/v1/items/maps", 400, "bad-address"),
        ("/api/v1/items/maps/page/%zz", 400, "bad-address"),
        ("/api/v1/items/maps/page/%FF", 400, "bad-address"),
        ("/api/v1/items/maps/page/none", 404, "no-such-item"),
        ("/api/v1/items", 400, "bad-request"),
        ("/api/v1/items?collection=none", 404, "no-such-collection"),
        ("/api/v1/tasks?state=sleeping", 400, "out-of-range"),
        ("/api/v1/tasks?colour=red", 400, "bad-request"),
        ("/api/v1/tasks?cursor=x", 400, "bad-request"),
        ("/api/v1/tasks/999", 404, "no-such-task"),
        ("/api/v1/batches/999", 404, "no-such-batch"),
        ("/api/v1/why", 400, "bad-request"),
        ("/api/v1/why?task=1&item=a/b/c", 400, "bad-request"),
        ("/api/v1/flows/maps/none", 404, "no-such-flow"),
    ] {
        assert_eq!(lab.get(path).await.problem(), (status, code.to_owned()), "{path}");
    }
    let wrong = lab.call(&lab.admin, "PATCH", "/api/v1/tasks", json!({})).await;
    assert_eq!(wrong.problem(), (405, "wrong-method".to_owned()));
}

#[tokio::test]
async fn flow_files() {
    let lab = Lab::with_flow().await;
    let answer = lab.flow("maps", "x", "tasks:\n  - name: a\n    comand: [b]\n").await;
    assert_eq!(answer.problem(), (422, "bad-flow".to_owned()));
    let problems = answer.json()["problems"].clone();
    assert_eq!(problems[1]["line"], 3, "{problems}");
    assert_eq!(problems[1]["hint"], "did you mean `command`?");
    let other = lab.flow("maps", "x", "name: y\ntasks: [{name: a, run: outside}]").await;
    assert_eq!(other.problem(), (422, "bad-flow".to_owned()));
    let nowhere = lab.flow("none", "x", "tasks: [{name: a, run: outside}]").await;
    assert_eq!(nowhere.problem(), (404, "no-such-collection".to_owned()));
    let text = "tasks: []".to_owned();
    let sent = request(&lab.admin, "PUT", "/api/v1/flows/maps/x", "text/html", text);
    assert_eq!(lab.send(sent).await.problem(), (415, "wrong-content-type".to_owned()));
    let mut sent =
        request(&lab.admin, "PUT", "/api/v1/flows/maps/x", "application/yaml", String::new());
    *sent.body_mut() = axum::body::Body::from(vec![0xff, 0xfe]);
    assert_eq!(lab.send(sent).await.problem(), (400, "bad-request".to_owned()));
    assert_eq!(lab.get("/api/v1/flows").await.expect(200)["entries"].as_array().unwrap().len(), 1);
}
