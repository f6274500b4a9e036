//! Hooks beside others: of a second archive of the same repository, and of somebody else.

use std::path::Path;
use std::process::Command;

use super::given::DEAF;
use super::{Kind, Repo, run, text};
use crate::lab::Lab;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn calls(path: &Path) -> usize {
    read(path).lines().filter(|line| line.contains(" commit --hook ")).count()
}

fn planned(lab: &Lab, archive: &str) -> i64 {
    lab.json(&["archive", "show", archive])["planned"].as_i64().unwrap()
}

#[test]
fn two_archives_of_one_repository_have_a_line_each() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Git);
    let work = repo.client("work");
    let _server = lab.start(&DEAF, "listening on");
    repo.commit(&work, &[("a.txt", "1")], "one");
    run("git", &["push", "-q", "origin", "main:next"], &work);
    let place = repo.place();
    for (archive, branch) in [("books", "main"), ("drafts", "next")] {
        lab.ok(&["archive", "add", archive, "--repo", text(&place), "--branch", branch]);
        lab.ok(&["archive", "hook", archive, "--install"]);
    }
    lab.ok(&["archive", "hook", "books", "--install"]);
    let hooks = ["post-receive", "post-commit"].map(|hook| place.join("hooks").join(hook));
    assert!(hooks.iter().all(|hook| calls(hook) == 2), "{}", read(&hooks[0]));
    // One push of both branches, nobody polls.
    repo.commit(&work, &[("a.txt", "2")], "two");
    run("git", &["push", "-q", "origin", "main:next"], &work);
    for archive in ["books", "drafts"] {
        lab.until("it was told", || planned(&lab, archive) == 2);
    }

    // What is watched no more takes its own line and its key with it.
    let key = |archive: &str| place.join(format!("hooks/armarius-{archive}.key"));
    std::fs::copy(key("books"), lab.path("kept.key")).unwrap();
    lab.ok(&["archive", "remove", "books"]);
    assert!(hooks.iter().all(|hook| calls(hook) == 1), "{}", read(&hooks[0]));
    assert!(!key("books").exists() && key("drafts").exists());
    let listed = lab.ok(&["key", "list"]);
    assert!(!listed.contains("hook of books") && listed.contains("hook of drafts"), "{listed}");
    lab.ok(&["archive", "add", "books", "--repo", text(&place), "--branch", "main"]);
    let kept = lab.path("kept.key");
    assert_ne!(lab.say(&["commit", "--hook", text(&kept), "--", "books"]).code, 0);
    lab.ok(&["archive", "remove", "drafts"]);
    assert!(hooks.iter().all(|hook| !hook.exists()));
}

#[test]
fn the_hook_of_somebody_else_is_left_alone_and_gets_all_it_needs() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Svn);
    let work = repo.client("work");
    let _server = lab.start(&DEAF, "listening on");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place())]);
    let hook = repo.place().join("hooks/post-commit");
    let theirs = "#!/bin/sh\ntrue\n";
    std::fs::write(&hook, theirs).unwrap();
    let mut command = Command::new("chmod");
    assert!(command.arg("+x").arg(&hook).status().unwrap().success());
    let said = lab.say(&["archive", "hook", "books", "--install"]);
    assert!(said.code != 0 && said.err.contains("not ours"), "{}", said.err);
    assert_eq!(read(&hook), theirs);
    let line = said.err.split_once("before it ends: ").unwrap().1.lines().next().unwrap();
    std::fs::write(&hook, format!("{theirs}{line}\n")).unwrap();
    repo.commit(&work, &[("a.txt", "1")], "one");
    lab.until("it was told", || planned(&lab, "books") == 1);
    // Again: there is nothing to add.
    lab.ok(&["archive", "hook", "books", "--install"]);
    assert_eq!(calls(&hook), 1);
    let said = lab.say(&["archive", "remove", "books"]);
    assert!(said.code == 0 && said.err.contains("remove this line from"), "{}", said.err);
}
