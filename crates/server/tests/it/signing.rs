//! People: signing in, what a browser may do by itself, signing out.

use armarius_wire::v1::key::Role;
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use crate::lab::{Answer, Lab};

/// What a browser would send.
pub(crate) async fn browse(
    lab: &Lab,
    method: &str,
    path: &str,
    form: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let mut request = Request::builder().method(method).uri(path).header("accept", "text/html");
    if method == "POST" {
        request = request.header("content-type", "application/x-www-form-urlencoded");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    lab.send(request.body(Body::from(form.to_owned())).unwrap()).await
}

const OURS: (&str, &str) = ("sec-fetch-site", "same-origin");

/// Signs in by a link; the cookie.
pub(crate) async fn sign_in(lab: &Lab, key: &str) -> String {
    let link = lab.call(key, "POST", "/api/v1/logins", json!({})).await.expect(201);
    let code = link["path"].as_str().unwrap().split_once("code=").unwrap().1.to_owned();
    let answer = browse(lab, "POST", "/login", &format!("code={code}"), &[OURS]).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/"), "{}", answer.text);
    let cookie = answer.header("set-cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "plain HTTP would never send it back: {cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_link_signs_in_once_and_a_session_reads_and_steers() {
    let lab = Lab::with_flow().await;
    let task = lab.submit("maps/page/1").await;
    let link = lab.post("/api/v1/logins", json!({})).await.expect(201);
    let path = link["path"].as_str().unwrap();
    // Looking at the link does not use it up.
    for _ in 0..2 {
        let page = browse(&lab, "GET", path, "", &[]).await;
        assert!(page.status == 200 && page.text.contains("data-go"), "{}", page.text);
    }
    let form = path.split_once('?').unwrap().1;
    assert_eq!(browse(&lab, "POST", "/login", form, &[OURS]).await.status, 303);
    assert_eq!(browse(&lab, "POST", "/login", form, &[OURS]).await.status, 401);

    let cookie = sign_in(&lab, &lab.admin).await;
    let page = browse(&lab, "GET", "/tasks", "", &[("cookie", &cookie)]).await;
    assert!(page.text.contains("ocr.scan@maps/page/1"), "{}", page.text);
    let form = format!("id={task}&verb=cancel&reason=no");
    let done = browse(&lab, "POST", "/task/act", &form, &[("cookie", &cookie), OURS]).await;
    assert_eq!((done.status, done.header("location")), (303, &*format!("/task?id={task}")));
    let page = browse(&lab, "GET", &format!("/task?id={task}"), "", &[("cookie", &cookie)]).await;
    assert!(page.text.contains("state cancelled"), "{}", page.text);
    let told = lab.get("/api/v1/events?item=maps/page/1").await.expect(200);
    assert_eq!(told["entries"][1]["actor"], "admin", "{told}");

    let out = browse(&lab, "POST", "/logout", "", &[("cookie", &cookie), OURS]).await;
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    let page = browse(&lab, "GET", "/tasks?state=done", "", &[("cookie", &cookie)]).await;
    let to = "/login?next=%2Ftasks%3Fstate%3Ddone";
    assert_eq!((page.status, page.header("location")), (303, to));
}

#[tokio::test]
async fn what_another_site_makes_a_browser_send_changes_nothing() {
    let lab = Lab::with_flow().await;
    let task = lab.submit("maps/page/1").await;
    let cookie = sign_in(&lab, &lab.admin).await;
    let form = format!("id={task}&verb=cancel");
    let cookie = ("cookie", &*cookie);
    for foreign in [
        &[cookie][..],
        &[cookie, ("sec-fetch-site", "cross-site")],
        &[cookie, ("sec-fetch-site", "same-site")],
        &[cookie, ("sec-fetch-site", "none")],
        &[cookie, ("origin", "https://evil.example"), ("host", "here")],
        &[cookie, ("origin", "null"), ("host", "here")],
    ] {
        for path in ["/task/act", &format!("/api/v1/tasks/{task}/cancel"), "/login"] {
            let answer = browse(&lab, "POST", path, &form, foreign).await;
            assert_eq!(answer.status, 403, "{path} {foreign:?}: {}", answer.text);
        }
    }
    let shown = lab.get(&format!("/api/v1/tasks/{task}")).await.expect(200);
    assert_eq!(shown["state"], "ready");
    // A browser that says nothing about the site says where the page was from.
    let ours = [cookie, ("origin", "http://here:7700"), ("host", "here:7700")];
    assert_eq!(browse(&lab, "POST", "/task/act", &form, &ours).await.status, 303);
}

#[tokio::test]
async fn a_session_is_worth_what_its_key_is_worth_now() {
    let lab = Lab::with_flow().await;
    let task = lab.submit("maps/page/1").await;
    let made = lab.post("/api/v1/keys", json!({ "name": "eve", "role": "operator" })).await;
    let made = made.expect(201);
    let cookie = sign_in(&lab, made["key"].as_str().unwrap()).await;
    let cookie = ("cookie", &*cookie);
    let path = format!("/api/v1/keys/{}", made["id"].as_str().unwrap());
    lab.put(&path, json!({ "role": "auditor" })).await.expect(204);
    let form = format!("id={task}&verb=cancel");
    let answer = browse(&lab, "POST", "/task/act", &form, &[cookie, OURS]).await;
    assert_eq!(answer.status, 403, "{}", answer.text);
    lab.put(&path, json!({ "collections": ["books"] })).await.expect(204);
    let page = browse(&lab, "GET", &format!("/task?id={task}"), "", &[cookie]).await;
    assert_eq!(page.status, 404, "{}", page.text);
    lab.call(&lab.admin, "DELETE", &path, json!({})).await.expect(204);
    assert_eq!(browse(&lab, "GET", "/", "", &[cookie]).await.status, 303);
}

#[tokio::test]
async fn a_key_signs_in_too_and_a_worker_sees_no_page() {
    let lab = Lab::new();
    let form = format!("key={}", lab.admin);
    let answer = browse(&lab, "POST", "/login", &form, &[OURS]).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    let worker = lab.key("w", Role::Worker, &[]);
    let answer = browse(&lab, "POST", "/login", &format!("key={worker}"), &[OURS]).await;
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    let page = browse(&lab, "GET", "/", "", &[("cookie", &cookie)]).await;
    assert_eq!(page.status, 403, "{}", page.text);
    assert!(page.text.contains("<!DOCTYPE html>"), "{}", page.text);
}

#[tokio::test]
async fn a_sign_in_is_good_at_every_server_of_the_store() {
    let lab = Lab::sharded(3);
    let other = lab.another();
    // A code that one server made opens one session, at whichever server it is shown first.
    let link = lab.post("/api/v1/logins", json!({})).await.expect(201);
    let form = link["path"].as_str().unwrap().split_once('?').unwrap().1.to_owned();
    let answer = browse(&other, "POST", "/login", &form, &[OURS]).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    assert_eq!(browse(&lab, "POST", "/login", &form, &[OURS]).await.status, 401);
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    let cookie = ("cookie", &*cookie);
    for server in [&lab, &other, &lab.another()] {
        assert_eq!(browse(server, "GET", "/", "", &[cookie]).await.status, 200);
    }
    // Another cookie beside it, as other servers on the same machine have, changes nothing.
    let both = format!("armarius-0123456789abcdef=x; {}", cookie.1);
    assert_eq!(browse(&lab, "GET", "/", "", &[("cookie", &both)]).await.status, 200);
    let out = browse(&lab, "POST", "/logout", "", &[cookie, OURS]).await;
    assert_eq!(out.status, 303, "{}", out.text);
    assert_eq!(browse(&lab, "GET", "/", "", &[cookie]).await.status, 303);
    for _ in 0..6_000 {
        if browse(&other, "GET", "/", "", &[cookie]).await.status == 303 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(browse(&other, "GET", "/", "", &[cookie]).await.status, 303);
}

#[tokio::test]
async fn signing_in_and_out_is_told_and_the_secret_is_not() {
    let lab = Lab::new();
    let cookie = sign_in(&lab, &lab.admin).await;
    let pair = ("cookie", &*cookie);
    for _ in 0..3 {
        assert_eq!(browse(&lab, "GET", "/", "", &[pair]).await.status, 200);
    }
    assert_eq!(browse(&lab, "POST", "/logout", "", &[pair, OURS]).await.status, 303);
    let items = lab.get("/api/v1/items?collection=armarius").await.expect(200).to_string();
    let secret = cookie.split_once('=').unwrap().1;
    assert!(!items.contains(secret), "{items}");
    let digest: String =
        armarius_core::event::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("/api/v1/events?item=armarius/session/{digest}");
    let told = lab.get(&path).await.expect(200);
    let line = |e: &serde_json::Value| format!("{} {}", e["name"], e["actor"]).replace('"', "");
    let told: Vec<String> = told["entries"].as_array().unwrap().iter().map(line).collect();
    assert_eq!(told, ["session.opened admin", "session.ended admin"]);
}
