//! Pages: every one of them, with names and details that would like to be more than text.

use armarius_server::access::{RULES, Who, is_page};
use armarius_wire::v1::key::Role;
use serde_json::json;

use crate::lab::Lab;
use crate::signing::{browse, sign_in};

/// Would be a script if anything forgot to escape it.
const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// The same for an archive, whose name has no slash.
const HOSTILE_ARCHIVE: &str = "<script>alert(1)\"'><img src=x onerror=alert(2)>";

fn coded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A collection, flow, item, task, batch and hold with hostile names and texts everywhere; the
/// addresses of their pages.
async fn hostile() -> (Lab, Vec<String>) {
    let lab = Lab::new();
    let (name, archive) = (coded(HOSTILE), coded(HOSTILE_ARCHIVE));
    lab.put(&format!("/api/v1/collections/{name}"), json!({ "notify": [HOSTILE] }))
        .await
        .expect(204);
    let step = json!({ "name": HOSTILE, "run": "outside", "labels": [HOSTILE] });
    let flow = json!({ "name": HOSTILE, "records": "done", "tasks": [&step] }).to_string();
    let path = format!("/api/v1/flows/{name}/{name}");
    let put = crate::lab::request(&lab.admin, "PUT", &path, "application/json", flow);
    lab.send(put).await.expect(201);
    let batch = lab.post("/api/v1/batches", json!({ "collection": HOSTILE })).await.expect(201);
    let item = format!("{0}/{0}/{0}", coded(HOSTILE));
    let rounds = json!([{
        "item": item, "flow": HOSTILE, "batch": batch["batch"], "payload": { "x": HOSTILE },
    }]);
    let done = lab.post("/api/v1/rounds", rounds).await.expect(200);
    let task = done[0]["task"].as_i64().unwrap_or_else(|| panic!("{done}"));
    let event = json!([{ "item": item, "name": HOSTILE, "outcome": "failure", "detail": HOSTILE }]);
    lab.post("/api/v1/events", event).await.expect(200);
    let claim = json!({ "worker": HOSTILE, "labels": [HOSTILE] });
    let granted = lab.post("/api/v1/claims", claim).await.expect(200);
    let report = json!([{
        "lease": granted["lease"], "task": task, "token": granted["tasks"][0]["token"],
        "outcome": "permanent", "result": { "output": HOSTILE },
    }]);
    lab.post("/api/v1/reports", report).await.expect(200);
    let again = json!([{ "item": item, "flow": HOSTILE }]);
    lab.post("/api/v1/rounds", again).await.expect(200);
    lab.post("/api/v1/claims", json!({ "worker": HOSTILE, "labels": [HOSTILE] })).await.expect(200);
    let hold = json!({ "on": { "collection": HOSTILE }, "reason": HOSTILE });
    lab.post("/api/v1/holds", hold).await.expect(201);
    hostile_extras(&lab, &step).await;
    let batch = batch["batch"].as_i64().unwrap();
    let pages = [
        "/".to_owned(),
        "/board".to_owned(),
        format!("/board?collection={name}"),
        "/collections".to_owned(),
        format!("/collection?name={name}"),
        format!("/items?collection={name}"),
        format!("/item?at={}", coded(&item)),
        "/tasks".to_owned(),
        format!("/tasks?collection={name}&flow={name}&step={name}&state=failed"),
        format!("/task?id={task}"),
        format!("/task?id={}", task + 1),
        "/flows".to_owned(),
        format!("/flow?collection={name}&name={name}"),
        "/workers".to_owned(),
        "/holds".to_owned(),
        "/batches".to_owned(),
        format!("/batch?id={batch}"),
        format!("/search?q=x{name}"),
        "/line".to_owned(),
        format!("/line?collection={name}"),
        "/archives".to_owned(),
        format!("/archive?name={archive}"),
        format!("/revision?archive={archive}&n=1"),
        format!("/revision?archive={archive}&n=2"),
        "/keys".to_owned(),
    ];
    (lab, pages.to_vec())
}

/// A robot, a key and an archive of the same kind.
async fn hostile_extras(lab: &Lab, step: &serde_json::Value) {
    let name = coded(HOSTILE);
    let items = json!({ "kinds": [HOSTILE], "success": [HOSTILE], "absent": ["done"] });
    let twin = format!("{HOSTILE}2");
    let robot =
        json!({ "name": twin, "on": { "items": items }, "records": HOSTILE, "tasks": [step] });
    let path = format!("/api/v1/flows/{name}/{name}%32");
    let put = crate::lab::request(&lab.admin, "PUT", &path, "application/json", robot.to_string());
    lab.send(put).await.expect(201);
    lab.key(HOSTILE, Role::Worker, &[HOSTILE]);
    crate::archives::plan(lab, HOSTILE_ARCHIVE, 1, HOSTILE);
    crate::archives::plan_invalid(lab, HOSTILE_ARCHIVE, 2, HOSTILE);
}

#[tokio::test]
async fn whatever_comes_from_outside_stays_text() {
    let (lab, pages) = hostile().await;
    let cookie = sign_in(&lab, &lab.admin).await;
    for path in &pages {
        let page = browse(&lab, "GET", path, "", &[("cookie", &cookie)]).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        assert!(!page.text.contains("<script>alert") && !page.text.contains("<img"), "{path}");
        assert!(page.text.contains("&lt;script&gt;"), "{path} shows nothing of it");
        let policy = page.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for inline in [" style=", " onclick=", "javascript:"] {
            assert!(!page.text.contains(inline), "{path} has {inline}");
        }
    }
    let known: Vec<&str> = pages.iter().map(|path| path.split('?').next().unwrap()).collect();
    for rule in RULES.iter().filter(|r| r.method == "GET" && is_page(r.path)) {
        let open = rule.who == Who::Anyone;
        assert!(open || known.contains(&rule.path), "{} is not looked at here", rule.path);
    }
}

#[tokio::test]
async fn a_page_that_is_not_there_says_so_in_words() {
    let lab = Lab::with_flow().await;
    let cookie = sign_in(&lab, &lab.admin).await;
    let cookie = [("cookie", &*cookie)];
    for (path, status, word) in [
        ("/task?id=999", 404, "no-such-task"),
        ("/task?id=x", 400, "bad-request"),
        ("/item?at=maps/page/9", 404, "no-such-item"),
        ("/item?at=%00", 400, "bad-address"),
        ("/collection?name=none", 404, "no-such-collection"),
        ("/flow?collection=maps&name=none", 404, "no-such-flow"),
        ("/batch?id=9", 404, "no-such-batch"),
        ("/nothing", 404, "no-such-route"),
        ("/archive?name=none", 404, "no-such-archive"),
        ("/archive?name=maps", 404, "no-such-archive"),
        ("/revision?archive=none&n=1", 404, "no-such-archive"),
        ("/revision?archive=none&n=x", 400, "bad-request"),
        ("/tasks?state=odd", 400, "out-of-range"),
    ] {
        let page = browse(&lab, "GET", path, "", &cookie).await;
        assert_eq!(page.status, status, "{path}: {}", page.text);
        assert!(
            page.kind.starts_with("text/html") && page.text.contains(word),
            "{path}: {}",
            page.text
        );
    }
}

#[tokio::test]
async fn search_leads_to_the_page_that_was_meant() {
    let lab = Lab::with_flow().await;
    let task = lab.submit("maps/page/1").await;
    let cookie = sign_in(&lab, &lab.admin).await;
    for (q, to) in [
        ("maps/page/1", "/item?at=maps%2Fpage%2F1".to_owned()),
        ("ocr.scan@maps/page/1", format!("/task?id={task}")),
        (&*task.to_string(), format!("/task?id={task}")),
        ("maps", "/collection?name=maps".to_owned()),
    ] {
        let path = format!("/search?q={}", coded(q));
        let answer = browse(&lab, "GET", &path, "", &[("cookie", &cookie)]).await;
        assert_eq!((answer.status, answer.header("location")), (303, &*to), "{q}");
    }
    let page = browse(&lab, "GET", "/search?q=oc", "", &[("cookie", &cookie)]).await;
    assert!(page.status == 200 && page.text.contains("/flow?collection=maps"), "{}", page.text);
}

#[tokio::test]
async fn what_an_operator_does_on_pages_is_done() {
    let lab = Lab::with_flow().await;
    let task = lab.submit("maps/page/1").await;
    let cookie = sign_in(&lab, &lab.admin).await;
    let headers = [("cookie", &*cookie), ("sec-fetch-site", "same-origin")];
    let state = async || lab.get(&format!("/api/v1/tasks/{task}")).await.expect(200);
    for (path, form, status) in [
        ("/task/act", format!("id={task}&verb=priority&priority=7"), 303),
        ("/task/act", format!("id={task}&verb=priority&priority=x"), 400),
        ("/task/act", format!("id={task}&verb=explode"), 400),
        ("/task/act", format!("id={task}&verb=retry"), 409),
        ("/task/act", format!("id={task}&verb=cancel&reason=r"), 303),
        ("/task/act", format!("id={task}&verb=retry"), 303),
        ("/task/act", format!("id={task}&verb=skip&reason=r"), 303),
        ("/item/act", "at=maps/page/1&priority=3".to_owned(), 303),
        ("/hold/set", "item=maps/page/1&reason=r".to_owned(), 303),
        ("/hold/set", "reason=r".to_owned(), 400),
        ("/hold/set", "collection=maps&task=1&reason=r".to_owned(), 400),
        ("/hold/set", "collection=maps&flow=ocr&step=scan&reason=r".to_owned(), 303),
        ("/hold/release", "hold=1".to_owned(), 303),
        ("/hold/release", "hold=1".to_owned(), 404),
        ("/batch/act", "id=9&verb=cancel".to_owned(), 404),
        ("/line/act", "collection=maps&robot=ocr&verb=pause&reason=r".to_owned(), 303),
        ("/line/act", "collection=maps&robot=none&verb=pause&reason=r".to_owned(), 404),
        ("/line/act", "collection=maps&robot=ocr&verb=resume&hold=3".to_owned(), 303),
        ("/line/act", "collection=maps&robot=ocr&verb=resume".to_owned(), 400),
        ("/archive/resume", "name=none".to_owned(), 404),
        ("/archive/trust", "name=none&trust=yes".to_owned(), 404),
        ("/archive/skip", "name=none&revision=1&reason=r".to_owned(), 404),
        ("/key/act", "verb=make&name=ada&role=king".to_owned(), 400),
        ("/key/act", "verb=revoke&id=none".to_owned(), 404),
    ] {
        let answer = browse(&lab, "POST", path, &form, &headers).await;
        assert_eq!(answer.status, status, "{path} {form}: {}", answer.text);
    }
    let shown = state().await;
    assert_eq!((&shown["state"], &shown["cause"]), (&json!("cancelled"), &json!("skipped")));
    assert_eq!(lab.get("/api/v1/holds").await.expect(200)["entries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_is_made_shown_once_and_revoked() {
    let lab = Lab::with_flow().await;
    let cookie = sign_in(&lab, &lab.admin).await;
    let headers = [("cookie", &*cookie), ("sec-fetch-site", "same-origin")];
    let form = "verb=make&name=ada&role=operator&collections=maps";
    let page = browse(&lab, "POST", "/key/act", form, &headers).await;
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"), "{}", page.text);
    let begin = page.text.find("ark_").unwrap_or_else(|| panic!("{}", page.text));
    let key = page.text[begin..].split('<').next().unwrap().to_owned();
    let seen = lab.call(&key, "GET", "/api/v1/collections", json!({})).await.expect(200);
    assert_eq!(seen["entries"].as_array().unwrap().len(), 1);
    // It is nowhere afterwards, and opens nothing once it is revoked.
    let page = browse(&lab, "GET", "/keys", "", &headers).await;
    assert!(page.text.contains("ada") && !page.text.contains(&key), "{}", page.text);
    let id = key.split('_').nth(1).unwrap();
    let form = format!("verb=revoke&id={id}");
    assert_eq!(browse(&lab, "POST", "/key/act", &form, &headers).await.status, 303);
    let refused = lab.call(&key, "GET", "/api/v1/collections", json!({})).await;
    assert_eq!(refused.problem().0, 401);
}
