//! What operators and their programs read: metrics, tags, the description, limits.

use armarius_server::{Rate, Settings};
use axum::http::header::IF_NONE_MATCH;
use serde_json::json;

use crate::lab::{Lab, request};

#[tokio::test]
async fn metrics_count_what_happens() {
    let lab = Lab::with_flow().await;
    lab.submit("maps/page/1").await;
    lab.post("/api/v1/claims", json!({ "worker": "w" })).await.expect(200);
    let text = lab.get("/metrics").await.text;
    for line in [
        "armarius_up 1",
        "armarius_tasks{state=\"leased\"} 1",
        "armarius_queue_tasks{collection=\"maps\",flow=\"ocr\",step=\"scan\",state=\"leased\"} 1",
        "armarius_claims_parked 0",
        "armarius_http_answers_total{class=\"2xx\"} 4",
        "armarius_feed_followers 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    // Buckets grow, and the last one holds everything.
    let value = |name: &str| -> u64 {
        let line =
            text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let count = value("armarius_commit_seconds_count");
    assert!(count > 0 && value("armarius_commit_seconds_bucket{le=\"+Inf\"}") == count);
    assert_eq!(value("armarius_commits_total"), count);
    assert!(value("armarius_commit_seconds_bucket{le=\"0.0001\"}") <= count);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("armarius_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

#[tokio::test]
async fn an_answer_that_is_known_is_not_sent_again() {
    let lab = Lab::with_flow().await;
    let first = lab.get("/api/v1/collections").await;
    let tag = first.header("etag").to_owned();
    assert!(tag.len() > 10 && first.header("cache-control") == "private, no-cache", "{tag}");
    let ask = async |tag: &str| {
        let mut asked = request(&lab.admin, "GET", "/api/v1/collections", "", String::new());
        asked.headers_mut().insert(IF_NONE_MATCH, tag.parse().unwrap());
        lab.send(asked).await
    };
    let known = ask(&format!("\"other\", W/{tag}")).await;
    assert_eq!((known.status, &*known.text, known.header("etag")), (304, "", &*tag));
    assert_eq!(ask("\"other\"").await.status, 200);
    lab.submit("maps/page/1").await;
    let changed = ask(&tag).await;
    assert!(changed.status == 200 && changed.header("etag") != tag, "{}", changed.text);
}

/// The description is kept in `docs/openapi.json`, so that a change of the API is seen in review.
/// `UPDATE=1 cargo test -p armarius-server description` writes it anew.
#[tokio::test]
async fn the_description_is_the_one_that_was_agreed_on() {
    let lab = Lab::new();
    let served = lab.get("/api/v1/openapi.json").await;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    if std::env::var("UPDATE").is_ok() {
        std::fs::write(path, &served.text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    let differs = served.text.lines().zip(kept.lines()).find(|(a, b)| a != b);
    assert!(
        served.text == kept,
        "docs/openapi.json differs from what is served, first at {differs:?}"
    );
    let document = served.json();
    assert_eq!(document["openapi"], "3.1.0");
    let claim = &document["paths"]["/api/v1/claims"]["post"];
    assert_eq!(claim["x-roles"], json!(["worker", "admin"]));
    let schema = &claim["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(schema["properties"]["worker"]["type"], "string", "{schema}");
}

#[tokio::test]
async fn who_asks_too_often_waits_and_others_do_not() {
    let per_key = Rate { per_second: 0.001, burst: 3.0 };
    let lab = Lab::with(Settings { per_key, ..Settings::default() });
    let other = lab.key("other", armarius_wire::v1::key::Role::Auditor, &[]);
    for _ in 0..3 {
        lab.get("/api/v1/stats").await.expect(200);
    }
    let answer = lab.get("/api/v1/stats").await;
    assert_eq!(answer.problem(), (429, "too-many-requests".to_owned()));
    assert_eq!(answer.header("retry-after"), "1");
    lab.call(&other, "GET", "/api/v1/stats", json!({})).await.expect(200);
}
