//! Pages of archives: grids, paging, what is awaited, and what an operator does about it.

use armarius_core::command::{
    About, Command, Complaint, Definitions, PlanRevision, PutArchive, Sight, StartFlow,
};
use armarius_core::flow::{Depend, Flow, On, Reference, Step, When};
use armarius_core::rows::ArchiveKind;
use armarius_core::text::Name;
use armarius_wire::v1::key::Role;
use serde_json::json;

use crate::lab::Lab;
use crate::signing::{browse, sign_in};

/// `index` in order, and `book`, which supersedes the one before.
fn flow(book: &str) -> Flow {
    let name = |text: &str| Name::new(text).unwrap();
    let depend = |on| Depend { on, when: When::Done };
    let mut flow = Flow::manual(name("main"));
    flow.on = On::Commit { paths: Vec::new(), ignore_authors: Vec::new() };
    let mut index = Step::outside(name("index"));
    index.depends = vec![depend(Reference::Prev)];
    let mut last = Step::outside(name(book));
    last.depends = vec![depend(Reference::Task(name("index")))];
    last.cancels = vec![Reference::Prev];
    flow.tasks = vec![index, last];
    flow
}

fn put(lab: &Lab, archive: &str, trusted: bool) {
    lab.tell(Command::PutArchive(PutArchive {
        archive: Name::new(archive).unwrap(),
        kind: ArchiveKind::Svn,
        place: format!("/{archive}").into(),
        branch: "".into(),
        first: 1,
        trusted,
        depth_max: None,
    }));
}

fn planned(lab: &Lab, archive: &str, revision: i64, about: &str, definitions: Definitions) {
    let archive = Name::new(archive).unwrap();
    let about = About { author: about.into(), message: about.into(), ..About::default() };
    lab.tell(Command::PlanRevision(Box::new(PlanRevision {
        archive,
        revision,
        about,
        definitions,
    })));
}

/// Plans a revision whose author, message and last task have this name; 1 makes the archive.
pub(crate) fn plan(lab: &Lab, archive: &str, revision: i64, name: &str) {
    if revision == 1 {
        put(lab, archive, true);
    }
    planned(lab, archive, revision, name, Definitions::Flows(vec![flow(name)]));
}

/// Plans a revision whose definitions cannot be read.
pub(crate) fn plan_invalid(lab: &Lab, archive: &str, revision: i64, name: &str) {
    let complaint = Complaint { file: name.into(), line: 3, reason: name.into() };
    planned(lab, archive, revision, name, Definitions::Invalid(vec![complaint]));
}

async fn page(lab: &Lab, cookie: &str, path: &str) -> String {
    let answer = browse(lab, "GET", path, "", &[("cookie", cookie)]).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.text
}

/// Does all work of a step, for as long as there is some.
async fn work(lab: &Lab, step: &str) {
    loop {
        let claim = json!({ "worker": "w", "steps": [format!("main.{step}")], "max": 10 });
        let answer = lab.post("/api/v1/claims", claim).await;
        if answer.status == 204 {
            return;
        }
        let granted = answer.expect(200);
        let tasks = granted["tasks"].as_array().unwrap();
        let report = |task: &serde_json::Value| {
            json!({ "lease": granted["lease"], "task": task["task"], "token": task["token"],
                "outcome": "success" })
        };
        let reports: Vec<_> = tasks.iter().map(report).collect();
        lab.post("/api/v1/reports", json!(reports)).await.expect(200);
    }
}

/// The next task of a step fails for good.
async fn fail(lab: &Lab, step: &str) {
    let claim = json!({ "worker": "w", "steps": [format!("main.{step}")] });
    let granted = lab.post("/api/v1/claims", claim).await.expect(200);
    let report = json!([{ "lease": granted["lease"], "task": granted["tasks"][0]["task"],
        "token": granted["tasks"][0]["token"], "outcome": "permanent",
        "result": { "exit_code": 3 } }]);
    lab.post("/api/v1/reports", report).await.expect(200);
}

/// A task of a revision, as the log tells it.
async fn told(lab: &Lab, revision: i64, name: &str) -> serde_json::Value {
    let page = lab.get("/api/v1/archives/books/log").await.expect(200);
    let entries = page["entries"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["revision"] == revision).unwrap();
    let tasks = entry["tasks"].as_array().unwrap();
    tasks.iter().rfind(|task| task["name"] == name).unwrap().clone()
}

#[tokio::test]
async fn who_waits_behind_a_failed_task_of_an_earlier_revision_says_so() {
    let lab = Lab::new();
    for revision in 1..=3 {
        plan(&lab, "books", revision, "book");
    }
    assert_eq!(told(&lab, 3, "index").await["behind"], serde_json::Value::Null);
    fail(&lab, "index").await;
    assert_eq!(told(&lab, 3, "index").await["behind"], "index@1");
    // It waits for its own index, and that is told there.
    assert_eq!(told(&lab, 3, "book").await["behind"], serde_json::Value::Null);
    let list = lab.get("/api/v1/archives").await.expect(200);
    assert_eq!(list["entries"][0]["behind"], json!(["index@1"]), "{list}");
    let cookie = sign_in(&lab, &lab.admin).await;
    let archives = page(&lab, &cookie, "/archives").await;
    assert!(archives.contains("1 in need of somebody"), "{archives}");
    let grid = page(&lab, &cookie, "/archive?name=books").await;
    assert!(grid.contains("index@1</a> failed") && grid.contains("behind r1 index"), "{grid}");
    // Skipping it tells why, and its run stays what it was.
    let before = told(&lab, 1, "index").await;
    let skip = json!({ "reason": "a bad scan" });
    lab.post(&format!("/api/v1/tasks/{}/skip", before["task"]), skip).await.expect(204);
    let after = told(&lab, 1, "index").await;
    assert_eq!((&after["state"], &after["reason"]), (&json!("cancelled"), &json!("a bad scan")));
    assert_eq!((&after["ended_at"], &after["exit_code"]), (&before["ended_at"], &json!(3)));
    let list = lab.get("/api/v1/archives").await.expect(200);
    assert_eq!(list["entries"][0]["behind"], serde_json::Value::Null, "{list}");
}

/// Who looks back no further than to one that runs does not wait behind what failed before that.
#[tokio::test]
async fn a_line_that_was_broken_off_is_no_line() {
    let lab = Lab::new();
    plan(&lab, "books", 1, "book");
    fail(&lab, "index").await;
    plan(&lab, "books", 2, "book");
    let mut alone = flow("book");
    alone.tasks[0].depends.clear();
    planned(&lab, "books", 3, "a", Definitions::Flows(vec![alone]));
    plan(&lab, "books", 4, "book");
    assert_eq!(told(&lab, 2, "index").await["behind"], "index@1");
    assert_eq!(told(&lab, 3, "index").await["state"], "ready");
    assert_eq!(told(&lab, 4, "index").await["behind"], serde_json::Value::Null);
}

#[tokio::test]
async fn the_log_tells_why_there_is_a_task() {
    let lab = Lab::new();
    plan(&lab, "books", 1, "book");
    assert_eq!(told(&lab, 1, "index").await["trigger"], "commit");
    // A COMMIT comes with the notice, before its revision is planned.
    let archive = Name::new("books").unwrap();
    lab.tell(Command::NoticeRevision { archive, revision: 2 });
    plan(&lab, "books", 2, "book");
    assert_eq!(told(&lab, 2, "COMMIT").await["trigger"], "commit");
    let archive = Name::new("books").unwrap();
    let payload = "{\"why\":\"again\",\"slot_us\":5}".into();
    let start = StartFlow { archive, revision: 1, flow: flow("book"), payload };
    lab.tell(Command::StartFlow(Box::new(start)));
    let again = told(&lab, 1, "index").await;
    assert_eq!((&again["round"], &again["trigger"]), (&json!(2), &json!("manual")), "{again}");
    assert_eq!(again["params"]["why"], "again", "{again}");
    assert!(again["started_by"].is_string(), "{again}");
    let wrong = lab.get("/api/v1/archives/books/revisions/abc").await;
    assert_eq!(wrong.problem(), (400, "bad-request".to_owned()));
}

#[tokio::test]
async fn a_grid_shows_states_edges_supersession_and_what_is_invalid() {
    let lab = Lab::new();
    for revision in 1..=3 {
        plan(&lab, "books", revision, "book");
    }
    plan_invalid(&lab, "books", 4, "main.yaml");
    let cookie = sign_in(&lab, &lab.admin).await;
    let before = page(&lab, &cookie, "/archive?name=books").await;
    assert!(before.contains("Revisions 4 to 1 of 4"), "{before}");
    assert!(before.contains("after index") && before.contains("supersedes PREV"), "{before}");
    assert!(before.contains("main.yaml:3: main.yaml"), "{before}");
    work(&lab, "index").await;
    work(&lab, "book").await;
    let after = page(&lab, &cookie, "/archive?name=books").await;
    assert!(after.contains("2 superseded") && after.contains(">r3 book</a>"), "{after}");
    let shown = lab.get("/api/v1/archives/books/revisions/3").await.expect(200);
    let task = |name: &str| {
        let tasks = shown["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["name"] == name).unwrap()["task"].as_i64().unwrap()
    };
    // A book waits for the index of its own revision, and says which books it superseded.
    let edge = format!("data-task=\"{}\" data-after=\"{}\"", task("book"), task("index"));
    assert!(after.contains(&edge), "{edge}: {after}");
    // From the grid to what a task wrote and who ran it, and back.
    let own = page(&lab, &cookie, &format!("/task?id={}", task("book"))).await;
    for part in ["/output", "<td>w</td>", "/archive?name=books", "/revision?archive=books&amp;n=3"]
    {
        assert!(own.contains(part), "{part}: {own}");
    }
    let one = page(&lab, &cookie, "/revision?archive=books&n=3").await;
    for part in ["<svg", "ghost", "edge cancels", "book of revision 3: done", "/task?id="] {
        assert!(one.contains(part), "{part}: {one}");
    }
}

#[tokio::test]
async fn an_archive_of_many_revisions_is_read_page_by_page() {
    let lab = Lab::new();
    for revision in 1..=60 {
        plan(&lab, "books", revision, "book");
    }
    let cookie = sign_in(&lab, &lab.admin).await;
    for (query, told) in [
        ("", "Revisions 60 to 36 of 60"),
        ("&at=35", "Revisions 35 to 11 of 60"),
        ("&at=10", "Revisions 10 to 1 of 60"),
        ("&at=900", "Revisions 60 to 36 of 60"),
        ("&at=-4", "Revisions 1 to 1 of 60"),
    ] {
        let text = page(&lab, &cookie, &format!("/archive?name=books{query}")).await;
        assert!(text.contains(told), "{query}: {text}");
    }
    let text = page(&lab, &cookie, "/archive?name=books").await;
    assert!(text.contains("name=books&amp;at=35") && !text.contains("Newest"), "{text}");
    let text = page(&lab, &cookie, "/archive?name=books&at=10").await;
    assert!(text.contains("at=35") && text.contains("Newest"), "{text}");
}

#[tokio::test]
async fn what_is_awaited_is_said_and_skipped_by_name() {
    let lab = Lab::new();
    plan(&lab, "books", 1, "book");
    let archive = Name::trusted("books");
    let sight = Sight::Youngest { revision: 3, identity: "u".into() };
    lab.tell(Command::LookedAt { archive: archive.clone(), sight });
    put(&lab, "drafts", false);
    let cookie = sign_in(&lab, &lab.admin).await;
    let list = page(&lab, &cookie, "/archives").await;
    for part in ["awaiting", "revision 2", "not trusted", "2 in need of somebody"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let grid = page(&lab, &cookie, "/archive?name=books").await;
    assert!(grid.contains("Skip revision 2") && grid.contains("awaited"), "{grid}");
    // Auditors see the same without the means.
    let auditor = sign_in(&lab, &lab.key("a", Role::Auditor, &[])).await;
    let grid = page(&lab, &auditor, "/archive?name=books").await;
    assert!(grid.contains("awaiting") && !grid.contains("Skip revision"), "{grid}");
    let operator = sign_in(&lab, &lab.key("ada", Role::Operator, &[])).await;
    let headers = [("cookie", &*operator), ("sec-fetch-site", "same-origin")];
    let form = "name=books&revision=2&reason=lost+in+the+fire";
    assert_eq!(browse(&lab, "POST", "/archive/skip", form, &headers).await.status, 303);
    let grid = page(&lab, &operator, "/archive?name=books").await;
    assert!(grid.contains("skipped: lost in the fire"), "{grid}");
    let events = lab.get("/api/v1/events?item=books/revision/2").await.expect(200);
    assert!(events.to_string().contains("\"ada\""), "{events}");
    // Trust is an admin's to give.
    let form = "name=drafts&trust=yes";
    assert_eq!(browse(&lab, "POST", "/archive/trust", form, &headers).await.status, 403);
    let headers = [("cookie", &*cookie), ("sec-fetch-site", "same-origin")];
    assert_eq!(browse(&lab, "POST", "/archive/trust", form, &headers).await.status, 303);
    assert_eq!(lab.get("/api/v1/archives/drafts").await.expect(200)["trusted"], true);
    // A history that was rewritten stops the archive until somebody resumes it.
    let sight = Sight::Rewritten("revision 1 is another one".into());
    lab.tell(Command::LookedAt { archive, sight });
    let grid = page(&lab, &cookie, "/archive?name=books").await;
    assert!(grid.contains("stopped") && grid.contains("revision 1 is another one"), "{grid}");
    let form = "name=books";
    assert_eq!(browse(&lab, "POST", "/archive/resume", form, &headers).await.status, 303);
    assert_eq!(lab.get("/api/v1/archives/books").await.expect(200)["state"], "watched");
    let again = lab.post("/api/v1/archives/books/resume", json!({})).await;
    assert_eq!(again.problem(), (409, "wrong-state".to_owned()), "{}", again.text);
    assert!(again.text.contains("is not stopped, it is watched"), "{}", again.text);
}

#[tokio::test]
async fn an_archive_that_a_failed_task_stops_says_so_everywhere() {
    let lab = Lab::new();
    put(&lab, "books", true);
    let mut flow = flow("book");
    flow.tasks[0].exclusive = true;
    for revision in 1..=2 {
        planned(&lab, "books", revision, "a", Definitions::Flows(vec![flow.clone()]));
    }
    let cookie = sign_in(&lab, &lab.admin).await;
    let before = lab.get("/api/v1/archives").await.expect(200);
    assert!(before["entries"][0]["held_back"].is_null(), "{before}");
    fail(&lab, "index").await;
    let stopper = "main.index@books/revision/1 failed (permanent)";
    let after = lab.get("/api/v1/archives").await.expect(200);
    assert_eq!(after["entries"][0]["held_back"], stopper, "{after}");
    for path in ["/archives", "/archive?name=books"] {
        let text = page(&lab, &cookie, path).await;
        assert!(text.contains("held back") && text.contains(stopper), "{path}: {text}");
    }
    let list = page(&lab, &cookie, "/archives").await;
    assert!(list.contains("1 in need of somebody"), "{list}");
}

/// What is started on a revision later has an end of its own.
#[tokio::test]
async fn a_revision_stands_as_the_work_of_its_commit_does() {
    let lab = Lab::new();
    plan(&lab, "books", 1, "book");
    let stands =
        async || lab.get("/api/v1/archives/books/revisions/1").await.expect(200)["state"].clone();
    for step in ["main.index", "main.book"] {
        assert_eq!(stands().await, "open");
        end(&lab, step, "success").await;
    }
    assert_eq!(stands().await, "done");
    plan(&lab, "books", 2, "book");
    end(&lab, "main.index", "permanent").await;
    let second = lab.get("/api/v1/archives/books/revisions/2").await.expect(200);
    assert_eq!(second["state"], "failed", "{second}");
    let mut sweep = Flow::manual(Name::trusted("sweep"));
    sweep.tasks = vec![Step::outside(Name::trusted("floor"))];
    for flow in [sweep, flow("book")] {
        let (archive, payload) = (Name::trusted("books"), "".into());
        let start = StartFlow { archive, revision: 1, flow, payload };
        lab.tell(Command::StartFlow(Box::new(start)));
    }
    assert_eq!(stands().await, "done");
    end(&lab, "sweep.floor", "permanent").await;
    end(&lab, "main.index", "permanent").await;
    assert_eq!(stands().await, "done");
}

/// Takes the next task of a step and ends it.
async fn end(lab: &Lab, step: &str, outcome: &str) {
    let claim = json!({ "worker": "w", "steps": [step] });
    let granted = lab.post("/api/v1/claims", claim).await.expect(200);
    let report = json!([{ "lease": granted["lease"], "task": granted["tasks"][0]["task"],
        "token": granted["tasks"][0]["token"], "outcome": outcome }]);
    lab.post("/api/v1/reports", report).await.expect(200);
}
