//! What a task of a revision is given, in a folder and in a container; what notices come to.

use super::{Kind, Repo, archive, revision, run, state, text, wait_planned};
use crate::isolating::{Podman, with_podman};
use crate::lab::Lab;

/// A server that looks at repositories only when it is told to.
pub(super) const DEAF: [&str; 7] =
    ["up", "--listen", "127.0.0.1:0", "--archive-poll", "3600", "--slots", "2"];

const TOLD: &str = "- name: tell
  source: true
  shell: sh
  script: |
    echo \"$ARMARIUS_ARCHIVE $ARMARIUS_ARCHIVE_KIND $ARMARIUS_REPOSITORY\"
    echo \"$ARMARIUS_PREVIOUS_REVISION then $ARMARIUS_REVISION, attempt $ARMARIUS_ATTEMPT\"
    echo \"$ARMARIUS_PREVIOUS_REVISION_ID then $ARMARIUS_REVISION_ID\"
    test \"$ARMARIUS_TOKEN\" -gt 0 && test \"$PWD\" != / && echo here
    sort \"$ARMARIUS_CHANGED_PATHS\"
    echo \"$ARMARIUS_CAUSE\"
    cat \"a b.txt\"
";

fn told(kind: Kind) {
    let lab = Lab::new();
    let repo = Repo::new(&lab, kind);
    let work = repo.client("work");
    let _server = lab.start(&DEAF, "listening on");
    repo.commit(&work, &[("_workflows/main.yaml", TOLD), ("a b.txt", "one\n"), ("c", "")], "one");
    match kind {
        Kind::Svn => run("svn", &["rm", "-q", "c"], &work),
        Kind::Git => run("git", &["rm", "-q", "c"], &work),
    }
    repo.commit(&work, &[("a b.txt", "two\n"), ("d/e", "")], "two");
    let place = text(&repo.place()).to_owned();
    lab.ok(&["archive", "add", "books", "--repo", &place, "--trust"]);
    wait_planned(&lab, 2);
    lab.until("both are told", || (1..=2).all(|n| state(&lab, n, "tell") == "done"));
    let id = |n| revision(&lab, n)["id"].as_str().unwrap_or_default().to_owned();
    let (kind, folder) = match kind {
        Kind::Svn => ("svn", "A d/\nA d/e\n"),
        Kind::Git => ("git", "A d/e\n"),
    };
    let wanted = format!(
        "books {kind} file://{place}\n1 then 2, attempt 1\n{} then {}\nhere\n\
         {folder}D c\nM a b.txt\n0:main.tell@books/revision/2\ntwo\n",
        id(1),
        id(2)
    );
    assert_eq!(lab.ok(&["task", "log", "main.tell@books/revision/2"]), wanted);
    // As people say it.
    assert!(lab.ok(&["task", "log", "tell@books/1"]).ends_with("one\n"));
    let said = lab.say(&["task", "why", "tall@books/1"]);
    assert!(said.err.contains("it has COMMIT, tell"), "{}", said.err);
}

#[test]
fn a_task_of_subversion_is_told_where_it_is() {
    told(Kind::Svn);
}

#[test]
fn a_task_of_git_is_told_where_it_is() {
    told(Kind::Git);
}

/// The container of a build is gone once a newer revision has replaced it, and runs on until then.
#[test]
fn the_container_of_a_superseded_build_is_stopped() {
    let Some(lab) = with_podman() else { return };
    let repo = Repo::new(&lab, Kind::Svn);
    let work = repo.client("copy");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--archive-poll", "1"];
    let _server = lab.start(&serve, "listening on");
    let podman = Podman::new(&lab);
    let _worker = podman.work(&lab, &["--slots", "2"]);
    let flow = "- name: build-PDF
  cancels: [PREV]
  image: armarius-test
  source: true
  ttl: 3s
  command: [sh, -c, 'cat a.txt $ARMARIUS_CHANGED_PATHS; sleep 1000']
";
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    repo.commit(&work, &[("_workflows/main.yaml", flow), ("a.txt", "one\n")], "one");
    let log = |n| lab.say(&["task", "log", &format!("main.build-PDF@books/revision/{n}")]).out;
    let runs = |n, wanted: &str| {
        lab.until(&format!("the build of revision {n} runs"), || log(n) == wanted);
        podman.containers()
    };
    let first = runs(1, "one\nA _workflows/\nA _workflows/main.yaml\nA a.txt\n");
    assert_eq!(first.lines().count(), 1, "{first}");
    repo.commit(&work, &[("a.txt", "two\n")], "two");
    runs(2, "two\nM a.txt\n");
    lab.until("the first container is gone", || {
        let now = podman.containers();
        now.lines().count() == 1 && now != first
    });
    assert_eq!(revision(&lab, 1)["tasks"][1]["superseded_by"], "build-PDF@2");
    assert_eq!(state(&lab, 2, "build-PDF"), "leased");
}

/// Late, twice, out of order, of nothing: a notice means "look", and a look sees everything.
#[test]
fn a_notice_of_any_number_means_look() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Svn);
    let work = repo.client("copy");
    let _server = lab.start(&DEAF, "listening on");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    let flow = "- name: index\n  depends: [PREV]\n  command: [\"true\"]\n";
    repo.commit(&work, &[("_workflows/main.yaml", flow)], "one");
    repo.commit(&work, &[("a", "2")], "two");
    lab.ok(&["commit", "books", "2", "--txn", "1-1"]);
    wait_planned(&lab, 2);
    for number in ["3", "1", "99", "2", "2", "-4", "r7", "x"] {
        lab.ok(&["commit", "books", "--txn", "1-1", "--", number]);
    }
    repo.commit(&work, &[("a", "3")], "three");
    lab.ok(&["commit", "books", "1"]);
    wait_planned(&lab, 3);
    lab.until("all are indexed", || (1..=3).all(|n| state(&lab, n, "index") == "done"));
    let shown = archive(&lab);
    assert_eq!((&shown["youngest"], &shown["state"]), (&3.into(), &"watched".into()), "{shown}");
    assert!(shown["awaiting"].is_null(), "{shown}");
    assert_ne!(lab.say(&["commit", "other", "1"]).code, 0);
}

/// Retries are for what a task does. One that could not even begin spends none.
#[test]
fn a_repository_that_is_away_when_a_task_begins_costs_no_attempt() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Svn);
    let work = repo.client("copy");
    let _server = lab.start(&DEAF, "listening on");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    lab.ok(&["hold", "set", "--collection", "books", "--reason", "later"]);
    let flow = "- name: index\n  source: true\n  backoff: 1s..1m\n  command: [cat, a.txt]\n";
    repo.commit(&work, &[("_workflows/main.yaml", flow), ("a.txt", "one\n")], "one");
    lab.ok(&["commit", "books", "1"]);
    wait_planned(&lab, 1);
    std::fs::rename(repo.place(), lab.path("away")).unwrap();
    let hold = lab.json(&["hold", "list"])["entries"][0]["hold"].as_i64().unwrap();
    lab.ok(&["hold", "release", &hold.to_string()]);
    let task = "main.index@books/revision/1";
    let shown = || lab.json(&["task", "show", task]);
    lab.until("it could not begin", || shown()["cause"] == "not-yet");
    assert_ne!(shown()["state"], "failed");
    std::fs::rename(lab.path("away"), repo.place()).unwrap();
    let done = lab.wait(task, &["done", "failed"]);
    assert_eq!((&done["state"], &done["attempts"]), (&"done".into(), &1.into()), "{done}");
    assert_eq!(lab.ok(&["task", "log", task]), "one\n");
}
