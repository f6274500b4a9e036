//! The pages of archives, of the assembly line and of keys, in a real browser on the real binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::browser::Browser;
use crate::browsing::{HOSTILE, sign_in};
use crate::lab::{Lab, Running};

/// A git repository and a copy to work in.
struct Repo {
    place: PathBuf,
    work: PathBuf,
}

impl Repo {
    fn new(lab: &Lab) -> Self {
        let repo = Self { place: lab.path("repo"), work: lab.path("copy") };
        let (place, work) = (repo.place.to_str().unwrap(), repo.work.to_str().unwrap());
        git(&lab.path("."), &["init", "-q", "--bare", "-b", "main", place]);
        git(&lab.path("."), &["clone", "-q", place, work]);
        git(&repo.work, &["checkout", "-q", "-b", "main"]);
        repo
    }

    fn commit(&self, workflow: &str, message: &str) {
        std::fs::create_dir_all(self.work.join("_workflows")).unwrap();
        std::fs::write(self.work.join("_workflows/main.yaml"), workflow).unwrap();
        std::fs::write(self.work.join("text"), message).unwrap();
        git(&self.work, &["add", "-A"]);
        git(&self.work, &["commit", "-q", "-m", message]);
        git(&self.work, &["push", "-q", "origin", "main"]);
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    for who in ["AUTHOR", "COMMITTER"] {
        // git keeps no angle brackets in names.
        command.env(format!("GIT_{who}_NAME"), "img src=x onerror=\"document.title='owned'\"");
        command.env(format!("GIT_{who}_EMAIL"), "ada@example.org");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// A server that also looks by itself, often.
fn up(lab: &Lab) -> Running {
    let args = ["up", "--listen", "127.0.0.1:0", "--archive-poll", "1", "--slots", "6"];
    lab.start(&args, "listening on")
}

/// An index in order, and something with a hostile name that the next one of it supersedes.
fn workflow(gates: &Path) -> String {
    let gates = gates.display();
    let hostile = HOSTILE.replace('\'', "''");
    format!(
        "- name: index
  depends: [PREV]
  shell: sh
  script: while [ ! -e {gates}/index-$ARMARIUS_REVISION ]; do sleep 0.05; done
- name: '{hostile}'
  depends: [index]
  cancels: [PREV]
  shell: sh
  script: while [ ! -e {gates}/book-$ARMARIUS_REVISION ]; do sleep 0.05; done
"
    )
}

fn cells(browser: &Browser, revision: i64) -> String {
    let script = format!(
        "return [...document.querySelectorAll('.grid tbody tr')]
            .find((row) => row.querySelector('.rev')?.textContent === 'r{revision}')?.innerText
            ?? ''"
    );
    browser.eval(&script).as_str().unwrap().to_owned()
}

#[test]
fn a_grid_changes_while_commits_are_worked_on() {
    let lab = Lab::new();
    let gates = lab.folder("gates");
    let open = |gate: &str| std::fs::write(gates.join(gate), "").unwrap();
    let server = up(&lab);
    let repo = Repo::new(&lab);
    repo.commit(&workflow(&gates), HOSTILE);
    lab.ok(&["archive", "add", "books", "--repo", repo.place.to_str().unwrap(), "--trust"]);
    let browser = Browser::open(true);
    sign_in(&lab, &browser);
    browser.go(&format!("{}/archives", server.url));
    browser.until("watched");
    browser.click("tbody th a");
    browser.until_so("the index of r1 runs", |b| cells(b, 1).contains("running"));
    browser.eval("window.mark = 'same page'");
    open("index-1");
    browser.until_so("r1 is indexed", |b| cells(b, 1).contains("done"));
    browser.until_so("its book is made", |b| cells(b, 1).contains("running"));
    repo.commit(&workflow(&gates), "a second edition");
    lab.ok(&["commit", "books", "2"]);
    browser.until("a second edition");
    open("index-2");
    browser.until_so("r1 is superseded", |b| {
        cells(b, 1).contains("superseded") && cells(b, 1).contains("by r2 <img")
    });
    browser.until("1 stopped while they ran");
    // Whoever stands on a task sees what it waits for and what it superseded.
    browser.eval("document.querySelector('.grid td[data-over] a').focus()");
    browser.until_so("relatives are marked", |b| {
        b.eval("return document.querySelectorAll('.grid .is-after, .grid .is-over').length") == 2
    });
    // A definition that cannot be read says where.
    repo.commit("- name: index\n  dependz: [PREV]\n  command: [true]\n", "a mistake");
    browser.until("main.yaml:2");
    open("book-2");
    browser.until_so("r2 is done", |b| !cells(b, 2).contains("running"));
    assert_eq!(browser.eval("return window.mark"), "same page");
    browser.click(".grid .cell.done a");
    browser.until("History");
    browser.go(&format!("{}/revision?archive=books&n=2", server.url));
    assert_eq!(browser.eval("return document.querySelectorAll('svg a').length > 3"), true);
    for page in ["/archives", "/archive?name=books", "/revision?archive=books&n=3"] {
        browser.go(&format!("{}{page}", server.url));
        assert_eq!(browser.eval("return document.images.length"), 0, "{page}");
        let title = browser.eval("return document.title");
        assert!(title.as_str().unwrap().ends_with("– Armarius"), "{page}: {title}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_station_is_watched_paused_and_resumed_and_a_key_is_made() {
    let lab = Lab::new();
    let server = lab.up();
    let name = serde_json::to_string(HOSTILE).unwrap();
    let robot = |after: &str, records: &str| {
        format!(
            "on: {{ items: {{ kinds: [page]{after} }} }}\nrecords: {records}\n\
             tasks: [{{ name: s, shell: sh, script: echo }}]"
        )
    };
    lab.with_flow("first.yaml", &robot("", &name));
    lab.write("second.yaml", &robot(&format!(", success: [{name}]"), "checked"));
    lab.ok(&["flow", "apply", "maps", "second.yaml"]);
    let browser = Browser::open(true);
    sign_in(&lab, &browser);
    browser.go(&format!("{}/line", server.url));
    let names = "return [...document.querySelectorAll('.station h3 a')].map((a) => a.innerText)";
    assert_eq!(browser.eval(names), serde_json::json!(["first", "second"]));
    browser.eval("window.mark = 'same page'");
    lab.ok(&["item", "put", "maps/page/1"]);
    browser.until_so("both did it", |b| {
        let done = "return [...document.querySelectorAll('.numbers .done dd')].length";
        b.eval(done) == 2
    });
    assert_eq!(browser.eval("return window.mark"), "same page");
    assert_eq!(browser.eval("return document.images.length"), 0);
    browser.click(".station:nth-of-type(2) .act summary");
    browser.write(".station:nth-of-type(2) input[name=reason]", "tea");
    browser.click(".station:nth-of-type(2) button.main");
    browser.until("paused");
    lab.ok(&["item", "put", "maps/page/2"]);
    browser.until_so("the item waits", |b| {
        b.eval("return document.querySelector('.station:nth-of-type(2) .waiting dd')?.innerText")
            == "1"
    });
    browser.click(".station:nth-of-type(2) .act summary");
    browser.click(".station:nth-of-type(2) button.main");
    browser.until_so("it goes on", |b| {
        let done = ".station:nth-of-type(2) .numbers .done dd";
        b.eval(&format!("return document.querySelector('{done}')?.innerText")) == "2"
    });
    browser.click("nav a[href='/keys']");
    browser.click(".actions .act summary");
    browser.write("input[name=name]", HOSTILE);
    browser.click(".actions .act button.main");
    browser.until("ark_");
    browser.click(".fresh a");
    browser.until_so("it is gone", |b| !b.text().contains("ark_"));
    assert!(browser.text().contains(HOSTILE), "{}", browser.text());
    assert_eq!(lab.json(&["key", "list"])["entries"].as_array().unwrap().len(), 2);
    assert_eq!(browser.eval("return document.images.length"), 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
