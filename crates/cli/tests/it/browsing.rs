//! The pages in a real browser, on the real binary.

use crate::browser::Browser;
use crate::lab::{Lab, Running};

/// Would change the page's title if it were ever more than text.
pub(crate) const HOSTILE: &str = "<img src=x onerror=\"document.title='owned'\">";

pub(crate) fn sign_in(lab: &Lab, browser: &Browser) {
    browser.go(lab.ok(&["login"]).trim());
    browser.until("Sign out");
}

/// A server with a worker, and a flow whose one step runs a script.
fn with_script(script: &str) -> (Lab, Running) {
    let lab = Lab::new();
    let up = lab.up();
    let step = format!("{{ name: s, shell: sh, script: {script:?} }}");
    lab.with_flow("f.yaml", &format!("tasks: [{step}]"));
    (lab, up)
}

#[test]
fn a_task_is_watched_while_it_runs() {
    let lab = Lab::new();
    let gate = lab.path("gate").display().to_string();
    let up = lab.up();
    let script =
        format!("echo half done; while [ ! -e {gate} ]; do sleep 0.05; done; echo all done");
    lab.with_flow("f.yaml", &format!("tasks: [{{ name: s, shell: sh, script: {script:?} }}]"));
    let browser = Browser::open(true);
    sign_in(&lab, &browser);
    browser.eval("window.mark = 'same page'");
    lab.ok(&["submit", "f", "maps/page/1"]);
    // The overview follows without being asked.
    browser.until("f.s@maps/page/1");
    browser.go(&format!("{}/tasks", up.url));
    browser.click("td.address a");
    browser.until("running for");
    browser.eval("window.mark = 'same page'");
    browser.until("half done");
    assert!(!browser.text().contains("all done"), "{}", browser.text());
    std::fs::write(&gate, "").unwrap();
    browser.until_so("done", |b| {
        b.eval("return !!document.querySelector('#state .state.done')") == true
    });
    browser.until("all done");
    assert_eq!(browser.eval("return window.mark"), "same page");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_failed_task_is_retried_and_names_and_output_stay_text() {
    let flag = "if [ -e flag ]; then exit 0; fi";
    let lab = Lab::new();
    let up = lab.up();
    let path = lab.path("flag").display().to_string();
    let script = format!(
        "echo '{}'; {}; exit 9",
        HOSTILE.replace('\'', "'\\''"),
        flag.replace("flag", &path)
    );
    lab.with_flow("f.yaml", &format!("tasks: [{{ name: s, shell: sh, script: {script:?} }}]"));
    let key: String = HOSTILE.bytes().map(|byte| format!("%{byte:02X}")).collect();
    lab.ok(&[
        "submit",
        "f",
        &format!("maps/page/{key}"),
        "--payload",
        &format!("{{\"x\":{HOSTILE:?}}}"),
    ]);
    let task = lab.json(&["task", "list"])["entries"][0]["task"].to_string();
    lab.wait(&task, &["failed"]);
    let browser = Browser::open(true);
    sign_in(&lab, &browser);
    browser.until("failed");
    let item: String = format!("maps/page/{key}").bytes().map(|b| format!("%{b:02X}")).collect();
    for page in [
        "/".to_owned(),
        "/board".to_owned(),
        "/collections".to_owned(),
        "/collection?name=maps".to_owned(),
        "/items?collection=maps".to_owned(),
        format!("/item?at={item}"),
        "/tasks".to_owned(),
        "/flows".to_owned(),
        "/flow?collection=maps&name=f".to_owned(),
        "/workers".to_owned(),
        "/holds".to_owned(),
        "/batches".to_owned(),
        "/line".to_owned(),
        "/archives".to_owned(),
        "/keys".to_owned(),
        format!("/search?q={item}"),
        "/search?q=nothing".to_owned(),
        format!("/task?id={task}"),
    ] {
        browser.go(&format!("{}{page}", up.url));
        assert_eq!(browser.eval("return document.images.length"), 0, "{page}");
        let title = browser.eval("return document.title");
        assert!(title.as_str().unwrap().ends_with("– Armarius"), "{page}: {title}");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{page}");
    }
    std::fs::write(&path, "").unwrap();
    // The question first, then the deed.
    browser.click(".actions .act:first-of-type summary");
    browser.click(".actions .act[open] button.main");
    browser.until_so("done", |b| {
        b.eval("return !!document.querySelector('#state .state.done')") == true
    });
    let told = lab.json(&["item", "events", &format!("maps/page/{key}")]);
    let actors: Vec<&str> =
        told["entries"].as_array().unwrap().iter().map(|e| e["actor"].as_str().unwrap()).collect();
    assert!(actors.iter().filter(|actor| **actor == "admin").count() >= 2, "{actors:?}");
    browser.click(".me button");
    browser.until("armarius login");
    browser.go(&format!("{}/tasks", up.url));
    browser.until("armarius login");
}

#[test]
fn everything_can_be_read_without_scripts() {
    let (lab, up) = with_script("echo hello; exit 9");
    lab.ok(&["submit", "f", "maps/page/1"]);
    lab.wait("f.s@maps/page/1", &["failed"]);
    let browser = Browser::open(false);
    browser.go(lab.ok(&["login"]).trim());
    browser.click("button.main");
    browser.until("Sign out");
    for (page, text) in [
        ("/", "f.s@maps/page/1"),
        ("/board", "maps / f"),
        ("/item?at=maps%2Fpage%2F1", "History"),
        ("/flow?collection=maps&name=f", "How each is run"),
        ("/line", "Assembly line"),
        ("/archives", "armarius archive add"),
        ("/keys", "Revoke…"),
        ("/task?id=1", "permanent"),
    ] {
        browser.go(&format!("{}{page}", up.url));
        assert!(browser.text().contains(text), "{page}: {}", browser.text());
    }
    browser.click(".actions .act:first-of-type summary");
    browser.click(".actions .act[open] button.main");
    browser.until("f.s@maps/page/1");
    // The page is sent back at once; the second attempt fails a little later.
    lab.until("a second attempt that failed", || {
        let shown = lab.json(&["task", "show", "1"]);
        shown["state"] == "failed" && shown["attempts"] == 2
    });
}
