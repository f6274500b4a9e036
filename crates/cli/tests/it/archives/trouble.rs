//! Repositories elsewhere, builds that are stopped for real, servers that are away, revisions that
//! cannot be read.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use super::{Kind, Repo, UP, archive, revision, run, state, text, wait_planned};
use crate::lab::{Lab, gone_soon, read_soon};

/// `svnserve` on the loopback, ended with the test.
struct Serving(Child);

impl Serving {
    fn start(lab: &Lab) -> (Self, String) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("svnserve");
        command.args(["-d", "--foreground", "--listen-host", "127.0.0.1", "--listen-port"]);
        command.arg(port.to_string()).arg("-r").arg(lab.path(".")).stdin(Stdio::null());
        let serving = Self(command.spawn().unwrap());
        lab.until("svnserve listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        (serving, format!("svn://127.0.0.1:{port}/repo"))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn an_archive_behind_a_url_and_a_build_whose_whole_family_is_stopped() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Svn);
    let (_serving, url) = Serving::start(&lab);
    let work = repo.client("copy");
    let pids = lab.folder("pids");
    // The child does not end when its parent is asked to.
    let flow = format!(
        "on: {{commit: {{paths: ['docs/**', '_workflows/**']}}}}
tasks:
  - name: build-PDF
    cancels: [PREV]
    source: true
    ttl: 3s
    shell: sh
    script: |
      cat docs/a.txt
      sh -c 'trap \"\" TERM; sleep 300 & echo $! > {0}/$ARMARIUS_REVISION; wait; sleep 300' &
      wait
",
        pids.display()
    );
    let _server = lab.start(&UP, "listening on");
    lab.ok(&["archive", "add", "books", "--repo", &url, "--trust"]);
    let said = lab.say(&["archive", "hook", "books", "--install"]);
    assert!(said.err.contains("is not a repository on this machine"), "{}", said.err);
    assert!(said.err.contains("archive hook books --show-key"), "{}", said.err);
    let printed = lab.json(&["archive", "hook", "books", "--show-key", "--key-file", "/k/a.key"]);
    let files = printed["files"].as_array().unwrap();
    assert_eq!(files[0]["path"], "hooks/post-commit");
    assert!(files[0]["text"].as_str().unwrap().contains("--hook '/k/a.key' -- 'books' \"$2\""));
    assert_eq!(files[1]["path"], "/k/a.key");
    lab.write("a.key", files[1]["text"].as_str().unwrap());
    lab.ok(&["commit", "--hook", text(&lab.path("a.key")), "--", "books", "1"]);
    repo.commit(&work, &[("_workflows/main.yaml", &flow), ("docs/a.txt", "one\n")], "one");
    let child = read_soon(&pids.join("1"));
    repo.commit(&work, &[("other.txt", "x")], "two");
    repo.commit(&work, &[("docs/a.txt", "three\n")], "three");
    read_soon(&pids.join("3"));
    gone_soon(&child);
    let shown = revision(&lab, 1);
    assert_eq!(shown["tasks"][1]["superseded_by"], "build-PDF@3", "{shown}");
    let left_out = revision(&lab, 2)["remarks"].to_string();
    assert!(left_out.contains("left out: main"), "{left_out}");
    assert_eq!(lab.ok(&["task", "log", "main.build-PDF@books/revision/1"]), "one\n");
    let log = lab.ok(&["archive", "log", "books"]);
    assert!(log.contains("superseded: 1 (0 never ran, 1 stopped while running)"), "{log}");
}

#[test]
fn nothing_is_lost_while_the_server_is_away_and_what_cannot_be_read_is_awaited() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Svn);
    let work = repo.client("copy");
    let mut server = lab.start(&UP, "listening on");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    lab.ok(&["archive", "hook", "books", "--install"]);
    let flow = "- name: index\n  depends: [PREV]\n  command: [\"true\"]\n";
    repo.commit(&work, &[("_workflows/main.yaml", flow)], "one");
    wait_planned(&lab, 1);
    server.signal(Signal::KILL);
    server.end();
    // The hook has nobody to tell, and an empty environment; the commit does not mind.
    std::fs::write(work.join("a.txt"), "2").unwrap();
    run("svn", &["add", "-q", "a.txt"], &work);
    let mut commit = Command::new("/usr/bin/env");
    commit.args(["-i", "/usr/bin/svn", "commit", "-q", "-m", "two"]).current_dir(&work);
    let said = commit.output().unwrap();
    assert!(said.status.success() && said.stderr.is_empty(), "{said:?}");
    repo.commit(&work, &[("a.txt", "3")], "three");
    let (kept, away) = (repo.place().join("db/revs/0/2"), lab.path("two"));
    std::fs::rename(&kept, &away).unwrap();
    let _server = lab.start(&UP, "listening on");
    lab.until("revision 2 is awaited", || {
        archive(&lab)["awaiting"]["revision"] == 2 && archive(&lab)["state"] == "unreachable"
    });
    assert!(archive(&lab)["awaiting"]["since"].is_string());
    let said = lab.say(&["archive", "skip", "books", "3", "--reason", "no"]);
    assert!(said.err.contains("revision 2 is next"), "{}", said.err);
    std::fs::rename(&away, &kept).unwrap();
    // It is tried again by itself, and everything is there.
    wait_planned(&lab, 3);
    lab.until("all are indexed", || (1..=3).all(|n| state(&lab, n, "index") == "done"));
    // What stays unreadable can be passed over, which is written down.
    repo.commit(&work, &[("a.txt", "4")], "four");
    wait_planned(&lab, 4);
    let (kept, away) = (repo.place().join("db/revs/0/5"), lab.path("five"));
    stop_the_watch(&lab, || {
        repo.commit(&work, &[("a.txt", "5")], "five");
        std::fs::rename(&kept, &away).unwrap();
    });
    lab.until("revision 5 is awaited", || archive(&lab)["awaiting"]["revision"] == 5);
    lab.ok(&["archive", "skip", "books", "5", "--reason", "damaged"]);
    wait_planned(&lab, 5);
    assert_eq!(revision(&lab, 5)["state"], "skipped");
    assert_eq!(lab.detail("books/revision/5", "revision.skipped")["reason"], "damaged");
}

/// Does something while the archive is not watched.
fn stop_the_watch(lab: &Lab, act: impl FnOnce()) {
    lab.ok(&["archive", "remove", "books"]);
    act();
    let repo = lab.path("repo");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo), "--trust"]);
}

#[test]
fn what_cannot_be_watched_is_refused_with_a_way_out() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Git);
    let work = repo.client("work");
    let _server = lab.start(&UP, "listening on");
    let place = text(&repo.place()).to_owned();
    lab.ok(&["archive", "add", "early", "--repo", &place]);
    let shown = lab.ok(&["archive", "show", "early"]);
    assert!(shown.contains("none yet"), "{shown}");
    repo.commit(&work, &[("a.txt", "1")], "one");
    let no = |words: &[&str], told: &str| {
        let said = lab.say(&[&["archive", "add"], words].concat());
        assert!(said.code != 0 && said.err.contains(told), "{words:?}: {}", said.err);
    };
    no(&["b", "--repo", &place, "--branch", "mian"], "no branch mian, but there are: main");
    no(&["b", "--repo", &place, "--branch", "a..b"], "cannot be the name of a branch");
    no(&["a/b", "--repo", &place], "contains a slash");
    no(&["", "--repo", &place], "a value is required");
    let short = ["b", "--kind", "git", "--repo", "git@host:foo/bar.git"];
    no(&short, "write the URL as ssh://git@host/foo/bar.git");
    assert_eq!(lab.json(&["archive", "list"])["entries"].as_array().unwrap().len(), 1);
}
