//! Archives on real repositories: committed to by real clients, noticed by the installed hook.

mod given;
mod hooks;
mod page;
mod together;
mod trouble;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::lab::{Lab, Running};

/// A server that also looks by itself, often.
const UP: [&str; 7] = ["up", "--listen", "127.0.0.1:0", "--archive-poll", "1", "--slots", "6"];

/// How long nobody at all can push.
const PUSH_MAX: Duration = Duration::from_secs(60);
/// A lock of git that is older was left by somebody who was killed.
const STALE_AFTER: Duration = Duration::from_secs(6);

/// A kind of repository and how people work with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Svn,
    Git,
}

struct Repo<'l> {
    lab: &'l Lab,
    kind: Kind,
}

impl<'l> Repo<'l> {
    fn new(lab: &'l Lab, kind: Kind) -> Self {
        let repo = Self { lab, kind };
        let at = repo.place();
        match kind {
            Kind::Svn => run("svnadmin", &["create", text(&at)], &lab.path(".")),
            Kind::Git => {
                run("git", &["init", "-q", "--bare", "-b", "main", text(&at)], &lab.path("."));
            }
        }
        repo.open_to_all();
        repo
    }

    /// Tasks may run as another user; what others commit later is open to them, too.
    fn open_to_all(&self) {
        if self.kind == Kind::Git {
            run("git", &["config", "core.sharedRepository", "0666"], &self.place());
        }
        run("chmod", &["-R", "a+rwX", text(&self.place())], &self.lab.path("."));
    }

    fn place(&self) -> PathBuf {
        self.lab.path("repo")
    }

    /// A copy to work in.
    fn client(&self, name: &str) -> PathBuf {
        let work = self.lab.path(name);
        match self.kind {
            Kind::Svn => {
                let url = format!("file://{}", self.place().display());
                run("svn", &["checkout", "-q", &url, text(&work)], &self.lab.path("."));
            }
            Kind::Git => {
                run("git", &["clone", "-q", text(&self.place()), text(&work)], &self.lab.path("."));
                drop(tried("git", &["checkout", "-q", "-b", "main"], &work));
            }
        }
        work
    }

    /// Writes files and commits them, however many others do the same.
    fn commit(&self, work: &Path, files: &[(&str, &str)], message: &str) {
        for (name, content) in files {
            let path = work.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        match self.kind {
            Kind::Svn => {
                run("svn", &["add", "-q", "--force", "."], work);
                run("svn", &["commit", "-q", "-m", message], work);
                run("svn", &["update", "-q"], work);
            }
            Kind::Git => {
                run("git", &["add", "-A"], work);
                run("git", &["commit", "-q", "-m", message], work);
                self.push(work);
            }
        }
    }

    /// Others may be quicker time and again, as long as somebody is.
    fn push(&self, work: &Path) {
        let (mut youngest, mut since) = (self.youngest(), Instant::now());
        while let Err(complaint) = tried("git", &["push", "-q", "origin", "main"], work) {
            if complaint.contains(".lock") {
                self.break_stale_lock();
            }
            let now = self.youngest();
            if now != youngest {
                (youngest, since) = (now, Instant::now());
            }
            assert!(since.elapsed() < PUSH_MAX, "nobody can push: {complaint}");
            run("git", &["pull", "-q", "--rebase", "origin", "main"], work);
        }
    }

    /// What stands at the end of the branch.
    fn youngest(&self) -> Option<String> {
        std::fs::read_to_string(self.place().join("refs/heads/main")).ok()
    }

    /// A push that was killed leaves its lock behind, which people remove by hand.
    fn break_stale_lock(&self) {
        let lock = self.place().join("refs/heads/main.lock");
        let Ok(modified) = std::fs::metadata(&lock).and_then(|found| found.modified()) else {
            return;
        };
        if modified.elapsed().is_ok_and(|age| age > STALE_AFTER) {
            eprintln!("a stale lock is removed");
            drop(std::fs::remove_file(&lock));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn run(program: &str, arguments: &[&str], folder: &Path) {
    if let Err(complaint) = tried(program, arguments, folder) {
        panic!("{program} {arguments:?}: {complaint}");
    }
}

fn tried(program: &str, arguments: &[&str], folder: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "ada");
        command.env(format!("GIT_{who}_EMAIL"), "ada@example.org");
    }
    let output = command.stderr(Stdio::piped()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(complaint) }
}

fn archive(lab: &Lab) -> Value {
    lab.json(&["archive", "show", "books"])
}

#[track_caller]
fn wait_planned(lab: &Lab, revision: i64) {
    lab.until(&format!("revision {revision} is planned"), || archive(lab)["planned"] == revision);
}

fn revision(lab: &Lab, revision: i64) -> Value {
    lab.json(&["revision", "show", "books", &revision.to_string()])
}

/// The state of a task of a revision; empty when there is none.
fn state(lab: &Lab, number: i64, task: &str) -> String {
    let shown = revision(lab, number);
    let tasks = shown["tasks"].as_array().unwrap();
    let found = tasks.iter().find(|t| t["name"] == task);
    found.map_or_else(String::new, |t| t["state"].as_str().unwrap().to_owned())
}

/// Steps 5 to 14 of the worked example: both revisions are there before any worker is.
#[test]
fn the_worked_example_on_a_real_repository() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Svn);
    let work = repo.client("work");
    let gate = lab.folder("gate");
    let flow = format!(
        "- name: indexing
  depends: [PREV]
  command: [\"true\"]
- name: build-PDF
  depends: [indexing]
  cancels: [PREV]
  shell: sh
  script: |
    test $ARMARIUS_REVISION = 3 || sleep 300
    test -d {}
",
        gate.display()
    );
    repo.commit(&work, &[("a.txt", "1")], "one");
    repo.commit(&work, &[("_workflows/main.yaml", &flow)], "two");
    repo.commit(&work, &[("a.txt", "3")], "three");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--archive-poll", "1"];
    let _server = lab.start(&serve, "listening on");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    wait_planned(&lab, 3);
    lab.ok(&["hold", "set", "--item", "books/revision/3", "--reason", "first the other"]);
    let _worker = lab.start(&["work", "--slots", "2"], "worker");
    lab.until("the build of revision 2 runs", || state(&lab, 2, "build-PDF") == "leased");
    let hold = lab.json(&["hold", "list"])["entries"][0]["hold"].as_i64().unwrap();
    lab.ok(&["hold", "release", &hold.to_string()]);
    lab.until("the build of revision 3 is done", || state(&lab, 3, "build-PDF") == "done");
    let wanted = "\
rev-2:COMMIT task.done
rev-3:COMMIT task.done
rev-2:indexing task.leased
rev-2:indexing task.done
rev-2:build-PDF task.leased
rev-3:indexing task.leased
rev-3:indexing task.done
rev-2:build-PDF task.cancelled
rev-3:build-PDF task.leased
rev-3:build-PDF task.done";
    assert_eq!(steps(&lab, &[2, 3]).join("\n"), wanted);
}

/// What happened to the tasks of revisions, in the order of the history.
fn steps(lab: &Lab, revisions: &[i64]) -> Vec<String> {
    let mut told: Vec<(String, usize, String)> = Vec::new();
    for revision in revisions {
        let shown = self::revision(lab, *revision);
        let tasks = shown["tasks"].as_array().unwrap();
        let name_of = |task: &Value| tasks.iter().find(|t| t["task"] == *task);
        let page = lab.json(&["item", "events", &format!("books/revision/{revision}")]);
        for event in page["entries"].as_array().unwrap() {
            let name = event["name"].as_str().unwrap();
            let Some(task) = name_of(&event["task"]) else { continue };
            if matches!(name, "task.leased" | "task.done" | "task.cancelled") {
                let (at, step) = (event["at"].as_str().unwrap(), task["name"].as_str().unwrap());
                told.push((at.to_owned(), told.len(), format!("rev-{revision}:{step} {name}")));
            }
        }
    }
    // Of one commit, and so of one moment: a cancel comes before what it makes way for.
    told.sort_by(|a, b| {
        (&a.0, a.2.contains("cancelled"), a.1).cmp(&(&b.0, b.2.contains("cancelled"), b.1))
    });
    told.into_iter().map(|(_, _, step)| step).collect()
}

/// A task that commits for every revision: each knows its cause, and the loop ends by itself.
fn a_loop_ends(kind: Kind) {
    let lab = Lab::new();
    let repo = Repo::new(&lab, kind);
    let work = repo.client("work");
    let script = match kind {
        Kind::Svn => {
            "svn mkdir -q -m again --with-revprop \"armarius:cause=$ARMARIUS_CAUSE\" \
             \"$ARMARIUS_REPOSITORY/made-by-$ARMARIUS_REVISION\""
        }
        Kind::Git => {
            "git config --global safe.directory '*'
    git clone -q \"$ARMARIUS_REPOSITORY\" copy
    cd copy
    git -c user.name=task -c user.email=task@example.org commit -q --allow-empty \\
      -m again -m \"Armarius-Cause: $ARMARIUS_CAUSE\"
    git push -q origin HEAD:main"
        }
    };
    let flow = format!("- name: again\n  shell: sh\n  script: |\n    umask 0\n    {script}\n");
    let _server = lab.start(&UP, "listening on");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    lab.ok(&["archive", "hook", "books", "--install"]);
    repo.commit(&work, &[("_workflows/loop.yaml", &flow)], "first");
    repo.open_to_all();
    wait_planned(&lab, 10);
    let last = revision(&lab, 10);
    assert_eq!(last["state"], "runaway", "{last}");
    assert_eq!(last["depth"], 9, "{last}");
    assert_eq!(last["cause"], "loop.again@books/revision/9", "{last}");
    assert_eq!(revision(&lab, 9)["depth"], 8);
    assert_eq!(archive(&lab)["youngest"], 10);
}

#[test]
fn a_task_that_commits_to_subversion_for_ever_is_ended() {
    a_loop_ends(Kind::Svn);
}

#[test]
fn a_task_that_commits_to_git_for_ever_is_ended() {
    a_loop_ends(Kind::Git);
}

#[test]
fn definitions_are_those_of_their_revision_and_wrong_ones_stop_nobody() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Git);
    let work = repo.client("work");
    let _server = lab.start(&UP, "listening on");
    let place = repo.place();
    lab.ok(&["archive", "add", "books", "--repo", text(&place)]);
    let good = "- name: index\n  command: [\"true\"]\n";
    repo.commit(&work, &[("_workflows/main.yaml", good)], "one");
    wait_planned(&lab, 1);
    let shown = revision(&lab, 1);
    assert_eq!(shown["state"], "untrusted", "{shown}");
    assert!(shown["remarks"][0].as_str().unwrap().contains("main (index)"), "{shown}");
    assert_eq!(archive(&lab)["depth_max"], 8);
    let more = ["--trust", "--depth-max", "12"];
    lab.ok(&[&["archive", "add", "books", "--repo", text(&place)][..], &more].concat());
    assert_eq!(archive(&lab)["depth_max"], 12);
    repo.commit(&work, &[("_workflows/other.yaml", "- name: index\n  comand: x\n")], "two");
    wait_planned(&lab, 2);
    let shown = revision(&lab, 2);
    assert_eq!(shown["state"], "invalid", "{shown}");
    assert!(shown["remarks"].to_string().contains("_workflows/other.yaml:2: "), "{shown}");
    // The author is told the same before the commit.
    let said = lab.say(&["flow", "check", text(&work)]);
    assert_ne!(said.code, 0);
    assert!(said.err.contains("other.yaml:2:"), "{}", said.err);
    let manual = "on: manual\ntasks: [{name: sweep, command: [\"true\"]}]\n";
    let files = [("_workflows/other.yaml", manual)];
    repo.commit(&work, &files, "three");
    wait_planned(&lab, 3);
    lab.until("revision 3 is done", || revision(&lab, 3)["state"] == "done");
    let started = lab.json(&["start", "other", "--archive", "books", "--param", "a=b"]);
    assert_eq!(started["revision"], 3);
    lab.wait(&started["task"].to_string(), &["done"]);
    let said = lab.say(&["start", "other", "--archive", "books", "--rev", "1"]);
    assert!(said.err.contains("there is no flow other at revision 1"), "{}", said.err);
}

/// A rewritten branch stops the archive until somebody has looked at it, and takes it as it is.
#[test]
fn a_history_that_was_rewritten_can_be_accepted() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Git);
    let work = repo.client("work");
    let _server = lab.start(&UP, "listening on");
    for (name, message) in [("1.txt", "one"), ("2.txt", "two"), ("3.txt", "three")] {
        repo.commit(&work, &[(name, "x")], message);
    }
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    wait_planned(&lab, 3);
    run("git", &["reset", "-q", "--hard", "HEAD^"], &work);
    run("git", &["push", "-q", "-f", "origin", "main"], &work);
    lab.ok(&["commit", "books", "7"]);
    lab.until("the archive is stopped", || archive(&lab)["state"] == "stopped");
    assert!(archive(&lab)["reason"].as_str().unwrap().contains("revision 3"), "{}", archive(&lab));
    let said = lab.say(&["archive", "resume", "books"]);
    assert!(said.code == 0 && said.err.contains("--accept"), "{}", said.err);
    lab.until("it is stopped again", || archive(&lab)["state"] == "stopped");
    // Taken as it is, two revisions long, it waits for a fourth.
    let accept = ["archive", "resume", "books", "--accept", "--reason", "tidied"];
    let told = lab.ok(&accept);
    assert!(told.contains("has 2: it goes on when there are more than 3"), "{told}");
    assert!(lab.say(&accept).err.contains("is not stopped"));
    let shown = lab.ok(&["archive", "show", "books"]);
    assert!(shown.contains("more than 3 revisions"), "{shown}");
    repo.commit(&work, &[("3.txt", "x")], "three again");
    let next = "- name: other-index\n  command: [\"true\"]\n";
    repo.commit(&work, &[("_workflows/main.yaml", next)], "four");
    wait_planned(&lab, 4);
    lab.until("revision 4 is done", || revision(&lab, 4)["state"] == "done");
    assert_eq!(state(&lab, 4, "other-index"), "done");
    // Of the same length, or longer, it goes on with the next.
    run("git", &["commit", "-q", "--amend", "-m", "five at once"], &work);
    run("git", &["push", "-q", "-f", "origin", "main"], &work);
    repo.commit(&work, &[("a.txt", "5")], "five");
    lab.ok(&["commit", "books", "5"]);
    lab.until("the archive is stopped", || archive(&lab)["state"] == "stopped");
    let told = lab.json(&accept);
    assert_ne!(told["was"], told["is"], "{told}");
    wait_planned(&lab, 5);
    let events = lab.json(&["item", "events", "books/collection/books"]).to_string();
    assert!(events.contains("archive.accepted") && events.contains("tidied"), "{events}");
    assert_eq!(archive(&lab)["state"], "watched");
}

#[test]
fn the_key_of_a_hook_may_notify_and_nothing_else() {
    let lab = Lab::new();
    let repo = Repo::new(&lab, Kind::Svn);
    let _server: Running = lab.start(&UP, "listening on");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place())]);
    lab.ok(&["archive", "hook", "books", "--install"]);
    let file = repo.place().join("hooks/armarius-books.key");
    let kept = std::fs::read_to_string(&file).unwrap();
    let (url, key) = kept.trim().split_once('\n').unwrap();
    let env = [("ARMARIUS_URL", url), ("ARMARIUS_KEY", key)];
    for args in [&["archive", "list"][..], &["task", "list"], &["key", "list"]] {
        let said = lab.say_with(args, &env);
        assert!(said.err.contains("not-allowed") || said.code != 0, "{args:?}: {}", said.out);
    }
    let hooked = ["commit", "--hook", text(&file), "--", "books", "1"];
    assert_eq!(lab.say(&hooked).code, 0);
    let other = ["commit", "--hook", text(&file), "--", "other", "1"];
    assert_ne!(lab.say(&other).code, 0);
    // The hook itself never fails and never waits, whatever becomes of the notice.
    let hook = repo.place().join("hooks/post-commit");
    std::fs::write(&file, "http://127.0.0.1:1\nnothing\n").unwrap();
    let mut command = Command::new(&hook);
    command.args([text(&repo.place()), "1", "0-0"]).env_clear().current_dir("/");
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

/// The archive in `examples`: its index answers questions, at every revision.
#[test]
fn the_example_really_builds_an_index() {
    let lab = Lab::new();
    let index = lab.folder("index");
    let example = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/archive"));
    let repo = Repo::new(&lab, Kind::Git);
    let work = repo.client("work");
    let read = |name: &str| std::fs::read_to_string(example.join(name)).unwrap();
    let flow = read("_workflows/main.yaml").replace("/var/tmp/archive-index", text(&index));
    let names = ["tools/index.sh", "texts/moby.txt", "texts/alice.txt"];
    let mut files: Vec<(&str, String)> = names.map(|name| (name, read(name))).to_vec();
    files.push(("_workflows/main.yaml", flow));
    let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (*n, t.as_str())).collect();
    let _server = lab.start(&UP, "listening on");
    repo.commit(&work, &files, "the example");
    repo.commit(&work, &[("texts/more.txt", "Ishmael again")], "more");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    lab.until("both are indexed", || {
        archive(&lab)["planned"] == 2 && state(&lab, 2, "indexing") == "done"
    });
    let find = |index: PathBuf| {
        let script = example.join("tools/find.sh");
        let said = Command::new("sh").args([&script, &index]).arg("Ishmael").output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    assert_eq!(find(index.join("index-1.tsv")), "texts/moby.txt: 1\n");
    assert_eq!(find(index.join("current")), "texts/moby.txt: 1\ntexts/more.txt: 1\n");
}
