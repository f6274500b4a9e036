//! The page of an archive in a real browser, while people commit.

use super::{Kind, Repo, UP, run, text, wait_planned};
use crate::browser::Browser;
use crate::browsing::sign_in;
use crate::lab::Lab;

const FLOW: &str = "- name: index
  depends: [PREV]
  shell: sh
  script: echo indexed $ARMARIUS_REVISION
- name: build
  depends: [index]
  cancels: [PREV]
  ttl: 3s
  command: [sleep, \"300\"]
";

#[test]
fn the_grid_follows_commits_and_output_is_one_click_away() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Svn);
    let work = repo.client("copy");
    let server = lab.start(&UP, "listening on");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    repo.commit(&work, &[("_workflows/main.yaml", FLOW)], "the first edition");
    let browser = Browser::open(true);
    sign_in(&lab, &browser);
    browser.go(&format!("{}/archive?name=books", server.url));
    browser.until("the first edition");
    browser.until("running");
    browser.eval("window.mark = 'same page'");
    repo.commit(&work, &[("a.txt", "2")], "the second edition");
    browser.until("the second edition");
    browser.until("by r2 build");
    assert_eq!(browser.eval("return window.mark"), "same page");
    // Whoever stands on a task sees what it waits for, and what it superseded.
    let told = "const at = name => document.querySelector(`a[title='${name}']`).closest('td');
        at('build of revision 2').querySelector('a').focus();
        return at('index of revision 2').classList.contains('is-after')
            && at('build of revision 1').classList.contains('is-over');";
    browser.until_so("edges", |b| b.eval(told) == true);
    // Found and clicked in one go: a live page may replace a link in between.
    browser.eval("document.querySelector(`a[title='index of revision 2']`).click()");
    browser.until("indexed 2");
    browser.eval("document.querySelector('.crumb a').click()");
    browser.until("the second edition");
    // A flow is started by hand, with parameters.
    browser.eval(
        "document.querySelector(`form[action='/archive/start']`).closest('details').open = true",
    );
    browser.write("form[action='/archive/start'] input[name=params]", "{\"why\": \"again\"}");
    browser.click("form[action='/archive/start'] button");
    browser.until("Who waits for whom");
    browser.until("~2");
    let shown = lab.json(&["revision", "show", "books", "2"]);
    let again = shown["tasks"].as_array().unwrap().iter().find(|task| task["round"] == 2).unwrap();
    assert_eq!((&again["trigger"], &again["params"]["why"]), (&"manual".into(), &"again".into()));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_history_that_was_rewritten_is_accepted_on_the_page() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Git);
    let work = repo.client("copy");
    let server = lab.start(&UP, "listening on");
    repo.commit(&work, &[("a.txt", "1")], "the first edition");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    wait_planned(&lab, 1);
    run("git", &["commit", "-q", "--amend", "-m", "the same, better said"], &work);
    run("git", &["push", "-q", "-f", "origin", "main"], &work);
    let browser = Browser::open(true);
    sign_in(&lab, &browser);
    browser.go(&format!("{}/archive?name=books", server.url));
    browser.until("stopped");
    let form = "form[action='/archive/accept']";
    browser.eval(&format!("document.querySelector(`{form}`).closest('details').open = true"));
    browser.write(&format!("{form} input[name=reason]"), "a better message");
    browser.click(&format!("{form} button"));
    browser.until("watched");
    let events = lab.ok(&["item", "events", "books/collection/books", "--json"]);
    assert!(events.contains("a better message"), "{events}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
