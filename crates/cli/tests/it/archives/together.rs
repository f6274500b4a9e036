//! Clients commit at the same time while servers and workers are killed at random moments: every
//! revision is indexed in order, a task commits revisions of its own, and of the slow builds only
//! the newest is left. On a file with one server, on a database with two servers and two workers.
//!
//! `cargo xtask soak archives` does it at full size: four clients, a hundred commits each, builds
//! of half a minute.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use armarius_store::conformance::cluster::Cluster;
use rustix::process::Signal;
use serde_json::Value;

use super::{Kind, Repo, archive, revision, state, text, wait_planned};
use crate::lab::{Lab, Running};

/// How long nothing may change.
const STILL_MAX: Duration = Duration::from_secs(60);
/// After this long somebody looks whether anything failed.
const QUIET: Duration = Duration::from_secs(5);

/// How much is tried.
struct Size {
    clients: usize,
    each: usize,
    kills: usize,
    /// How long a build takes, in seconds: in a small run none ends.
    build: u32,
}

fn sized() -> Size {
    match std::env::var_os("ARMARIUS_SOAK").is_some_and(|v| v == "1") {
        true => Size { clients: 4, each: 100, kills: 12, build: 30 },
        false => Size { clients: 3, each: 4, kills: 2, build: 300 },
    }
}

/// Everything that runs, each with what it was started with, so that it can be started again.
struct Plant<'l> {
    lab: &'l Lab,
    running: Vec<(Running, Vec<String>, &'static str)>,
    /// The database; none for a file.
    store: Option<String>,
}

impl<'l> Plant<'l> {
    /// One process that is server and worker.
    fn on_a_file(lab: &'l Lab) -> Self {
        let mut plant = Self { lab, running: Vec::new(), store: None };
        let listen = format!("127.0.0.1:{}", free_port());
        let up = ["up", "--listen", &listen, "--archive-poll", "1", "--slots", "6"];
        plant.begin(&up, "listening on");
        plant
    }

    /// Two servers, and a worker at each.
    fn on_a_database(lab: &'l Lab) -> Self {
        let store = format!("{}&shards=4", Cluster::shared().fresh_url());
        let mut plant = Self { lab, running: Vec::new(), store: Some(store.clone()) };
        let mut urls = Vec::new();
        for data in ["one", "two"] {
            let listen = format!("127.0.0.1:{}", free_port());
            let place = ["--store", &store, "--data", data, "--listen", &listen];
            let serve = [&["serve", "--archive-poll", "1"][..], &place].concat();
            plant.begin(&serve, "listening on");
            urls.push(format!("http://{listen}"));
        }
        for url in &urls {
            plant.begin(&["work", "--url", url, "--slots", "3"], "worker");
        }
        plant
    }

    fn begin(&mut self, args: &[&str], ready: &'static str) {
        let running = self.lab.start(args, ready);
        let args = args.iter().map(|word| (*word).to_owned()).collect();
        self.running.push((running, args, ready));
    }

    /// Kills one of them, and starts it again.
    fn kill(&mut self, n: usize) {
        let n = n % self.running.len();
        let (running, args, ready) = &mut self.running[n];
        running.signal(Signal::KILL);
        running.end();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        *running = self.lab.start(&args, ready);
    }

    /// Ends everything, workers first, and has the store looked at.
    fn close(mut self) {
        while let Some((mut running, _, _)) = self.running.pop() {
            running.signal(Signal::TERM);
            running.end();
        }
        match &self.store {
            Some(store) => self.lab.ok(&["doctor", "--store", store]),
            None => self.lab.ok(&["doctor"]),
        };
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Indexing in order, and a build that the next one replaces.
fn indexing(index: &Path, build: u32) -> String {
    format!(
        "- name: indexing
  depends: [PREV]
  source: true
  ttl: 10s
  retries: 9
  shell: sh
  script: |
    test -e first.txt
    test -s \"$ARMARIUS_CHANGED_PATHS\"
    echo \"$ARMARIUS_ARCHIVE $ARMARIUS_REVISION $ARMARIUS_PREVIOUS_REVISION\" >> {}
    echo \"indexed $ARMARIUS_REVISION\"
- name: build-PDF
  depends: [indexing]
  cancels: [PREV]
  command: [sleep, \"{build}\"]
  ttl: 10s
  retries: 9
",
        index.display()
    )
}

/// Commits something for some of the revisions that people make.
fn stamping(kind: Kind) -> String {
    let script = match kind {
        Kind::Svn => {
            "svn mkdir -q -m stamp --with-revprop \"armarius:cause=$ARMARIUS_CAUSE\" \\
        \"$ARMARIUS_REPOSITORY/stamp-$ARMARIUS_REVISION\" || svn info \\
        \"$ARMARIUS_REPOSITORY/stamp-$ARMARIUS_REVISION\""
        }
        // A push that was killed leaves its lock behind. Who comes too late tries again later: a
        // task that lives long sees several workers die, and counts as poison.
        Kind::Git => {
            "find \"${ARMARIUS_REPOSITORY#file://}\" -name '*.lock' -mmin +0.1 -delete
      git config --global safe.directory '*'
      git clone -q \"$ARMARIUS_REPOSITORY\" copy && cd copy || exit 75
      test -e stamp-$ARMARIUS_REVISION && exit 0
      echo 1 > stamp-$ARMARIUS_REVISION
      git add -A
      git -c user.name=task -c user.email=task@example.org commit -q -m stamp \\
        -m \"Armarius-Cause: $ARMARIUS_CAUSE\"
      git push -q origin HEAD:main || exit 75"
        }
    };
    format!(
        "on: {{commit: {{paths: ['*0.txt']}}}}
tasks:
  - name: stamp
    shell: sh
    ttl: 10s
    retries: 99
    backoff: 1s..2s
    script: |
      umask 0
      {script}
"
    )
}

fn commit_together(lab: &Lab, mut plant: Plant<'_>, kind: Kind) {
    let size = sized();
    let index = lab.folder("out").join("index.txt");
    let repo = Repo::new(lab, kind);
    let first = repo.client("first");
    lab.ok(&["archive", "add", "books", "--repo", text(&repo.place()), "--trust"]);
    lab.ok(&["archive", "hook", "books", "--install"]);
    let (main, stamp) = (indexing(&index, size.build), stamping(kind));
    let files = [("_workflows/main.yaml", &*main), ("_workflows/stamp.yaml", &stamp)];
    repo.commit(&first, &[&files[..], &[("first.txt", "1")]].concat(), "first");
    repo.open_to_all();
    wait_planned(lab, 1);
    let stamps = size.clients * size.each.div_ceil(10);
    let last = 1 + size.clients * size.each + stamps;
    std::thread::scope(|scope| {
        for n in 0..size.clients {
            let (repo, each) = (&repo, size.each);
            scope.spawn(move || {
                let work = repo.client(&format!("client-{n}"));
                for i in 0..each {
                    let name = format!("{n}-{i}.txt");
                    repo.commit(&work, &[(&name, "x")], &format!("adds {name}"));
                }
            });
        }
        for moment in moments(size.kills, size.clients * size.each) {
            reach(lab, moment);
            plant.kill(chance(100));
        }
    });
    let last = i64::try_from(last).unwrap();
    reach(lab, last);
    all_are_indexed(lab, last, &index);
    who_made_what(lab, last, stamps);
    only_the_last_build_is_left(lab, last, &size);
    output_is_kept(lab, &plant, last);
    plant.close();
}

/// A number below `max`, another one each time.
fn chance(max: usize) -> usize {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos());
    usize::try_from(hasher.finish() % max as u64).unwrap()
}

/// Revisions at which somebody is killed.
fn moments(kills: usize, revisions: usize) -> Vec<i64> {
    let mut moments: Vec<i64> =
        (0..kills).map(|_| i64::try_from(2 + chance(revisions - 1)).unwrap()).collect();
    moments.sort_unstable();
    eprintln!("kills at {moments:?}");
    moments
}

/// Waits until so many are planned, as long as there is progress.
fn reach(lab: &Lab, wanted: i64) {
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        let planned = archive(lab)["planned"].as_i64().unwrap();
        if planned >= wanted {
            return;
        }
        if planned > seen {
            (seen, since) = (planned, Instant::now());
        } else if since.elapsed() > QUIET {
            retry_poison(lab);
        }
        assert!(since.elapsed() < STILL_MAX, "{wanted} is not reached: {}", picture(lab));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A task that lost three workers counts as poison, and several kills may follow each other
/// closely: then somebody looks at it, and has it tried again.
fn retry_poison(lab: &Lab) {
    let failed = lab.json(&["task", "list", "--state", "failed"]);
    for task in failed["entries"].as_array().into_iter().flatten() {
        if task["cause"] == "poison" {
            eprintln!("{} lost too many workers and is tried again", task["address"]);
            lab.ok(&["task", "retry", &task["task"].to_string()]);
        }
    }
}

/// What the archive does, for whoever wonders why it does not go on.
fn picture(lab: &Lab) -> String {
    let log = lab.say(&["archive", "log", "books"]);
    let open = lab.say(&["task", "list", "--state", "ready,leased,waiting,failed"]);
    let mut said = format!("{}\n{}{}{}{}", archive(lab), log.out, log.err, open.out, open.err);
    let failed = lab.json(&["task", "list", "--state", "failed"]);
    for task in failed["entries"].as_array().into_iter().flatten() {
        said += &lab.say(&["task", "log", &task["task"].to_string()]).out;
    }
    said
}

/// Indexed in revision order; what a kill interrupted may stand there twice.
fn all_are_indexed(lab: &Lab, last: i64, index: &Path) {
    for number in 1..=last {
        lab.until(&format!("revision {number} is indexed"), || {
            let shown = state(lab, number, "indexing");
            if shown == "failed" {
                retry_poison(lab);
            }
            let shown = state(lab, number, "indexing");
            let item = format!("books/revision/{number}");
            assert_ne!(shown, "failed", "{}", lab.ok(&["item", "events", &item, "--json"]));
            shown == "done"
        });
    }
    let lines = std::fs::read_to_string(index).unwrap();
    let mut numbers: Vec<i64> =
        lines.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    numbers.dedup();
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
}

/// Every revision made by a task says by which, and was made for one that a person made.
fn who_made_what(lab: &Lab, last: i64, stamps: usize) {
    let entries = log(lab, last);
    let made: Vec<&Value> = entries.iter().filter(|entry| entry["depth"] == 1).collect();
    assert_eq!(made.len(), stamps);
    for entry in made {
        let cause = entry["cause"].as_str().unwrap();
        let by = cause.strip_prefix("stamp.stamp@books/revision/").unwrap();
        let by: i64 = by.parse().unwrap();
        assert!(by < entry["revision"].as_i64().unwrap(), "{entry}");
        // Its commit is seen before its report.
        lab.until("who stamped is done", || state(lab, by, "stamp") == "done");
    }
}

/// The whole log, newest first.
fn log(lab: &Lab, last: i64) -> Vec<Value> {
    let mut entries: Vec<Value> = Vec::new();
    let mut below = last + 1;
    while below > 1 {
        let page =
            lab.json(&["archive", "log", "books", "--max", "100", "--before", &below.to_string()]);
        entries.extend(page["entries"].as_array().unwrap().iter().cloned());
        below = page["next"].as_str().map_or(1, |next| next.parse().unwrap());
    }
    assert_eq!(entries.len(), usize::try_from(last).unwrap());
    entries
}

fn only_the_last_build_is_left(lab: &Lab, last: i64, size: &Size) {
    let wanted = if size.build < 60 { "done" } else { "leased" };
    lab.until(&format!("the last build is {wanted}"), || state(lab, last, "build-PDF") == wanted);
    let (mut stopped, mut ended) = (0, 0);
    for entry in log(lab, last) {
        let tasks = entry["tasks"].as_array().unwrap();
        assert_eq!((&tasks[0]["name"], &tasks[0]["state"]), (&"COMMIT".into(), &"done".into()));
        let build = tasks.iter().find(|t| t["name"] == "build-PDF").unwrap();
        if entry["revision"] == last {
            continue;
        }
        if build["state"] == "done" {
            ended += 1;
            continue;
        }
        assert_eq!(build["state"], "cancelled", "{build}");
        assert!(build["superseded_by"].as_str().unwrap().starts_with("build-PDF@"), "{build}");
        stopped += usize::from(build["started_at"].is_string());
    }
    // While nobody indexed, a short build may have come to its end.
    assert!(ended == 0 || size.build < 60, "{ended} builds ended");
    eprintln!("{last} revisions: {stopped} builds were stopped while they ran, {ended} ended");
    assert!(stopped > 0, "no build was ever stopped");
}

/// What a task wrote is shown, by whichever server is asked.
fn output_is_kept(lab: &Lab, plant: &Plant<'_>, last: i64) {
    let shown = revision(lab, last);
    let tasks = shown["tasks"].as_array().unwrap();
    let task = tasks.iter().find(|t| t["name"] == "indexing").unwrap()["task"].to_string();
    let servers = plant.running.iter().filter(|(_, args, _)| args[0] != "work");
    for (server, args, _) in servers {
        let data =
            args.iter().position(|a| a == "--data").map_or("armarius-data", |i| &args[i + 1]);
        let key_file: PathBuf = lab.path(data).join("admin.key");
        let key = std::fs::read_to_string(key_file).unwrap();
        let ask = ["task", "log", &task, "--url", &server.url];
        let said = lab.say_with(&ask, &[("ARMARIUS_KEY", key.trim())]);
        assert_eq!(said.out, format!("indexed {last}\n"), "{data}: {}", said.err);
    }
}

#[test]
fn clients_of_subversion() {
    let lab = Lab::new();
    commit_together(&lab, Plant::on_a_file(&lab), Kind::Svn);
}

#[test]
fn clients_of_git() {
    let lab = Lab::new();
    commit_together(&lab, Plant::on_a_file(&lab), Kind::Git);
}

#[test]
fn clients_of_subversion_with_two_servers_and_two_workers() {
    let lab = Lab::new();
    commit_together(&lab, Plant::on_a_database(&lab), Kind::Svn);
}

#[test]
fn clients_of_git_with_two_servers_and_two_workers() {
    let lab = Lab::new();
    commit_together(&lab, Plant::on_a_database(&lab), Kind::Git);
}
