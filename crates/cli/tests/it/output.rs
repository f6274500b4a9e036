//! What tasks write: live, whole, masked, and after everything was killed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use rustix::process::Signal;

use crate::lab::{Lab, read_soon};

fn script(lab: &Lab, more: &str, text: &str) {
    let text = serde_json::Value::from(text);
    lab.with_flow("f.yaml", &format!("tasks: [{{ name: s, shell: sh, script: {text}{more} }}]"));
    lab.ok(&["submit", "f", "maps/page/1"]);
}

const TASK: &str = "f.s@maps/page/1";

#[test]
fn what_a_task_writes_is_seen_while_it_runs() {
    let lab = Lab::new();
    let _up = lab.up();
    let go = lab.path("go");
    let wait = format!("while ! [ -e {} ]; do sleep 0.02; done", go.display());
    script(&lab, "", &format!("echo first; {wait}; echo last >&2"));
    let mut follow = lab.command(&["task", "log", TASK, "--follow"]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "first");
    std::fs::write(&go, "").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "last");
    assert!(lines.next().is_none());
    assert!(follow.wait().unwrap().success());
    assert_eq!(lab.ok(&["task", "log", TASK]), "first\nlast\n");
    assert_eq!(lab.ok(&["task", "log", TASK, "--from", "6", "--attempt", "1"]), "last\n");
    assert_eq!(lab.ok(&["task", "log", TASK, "--from", "99", "--attempt", "1"]), "");
    let said = lab.say(&["task", "log", TASK, "--attempt", "7"]);
    assert!(said.code == 1 && said.err.contains("has no attempt 7"), "{}", said.err);
}

#[test]
fn a_flood_is_kept_at_both_ends() {
    let lab = Lab::new();
    let _up = lab.start(&["up", "--listen", "127.0.0.1:0", "--output-max", "16M"], "listening on");
    script(&lab, "", "echo begin; yes 'a line that repeats' | head -c 30000000; echo; echo end");
    lab.wait(TASK, &["done"]);
    let log = lab.ok(&["task", "log", TASK]);
    assert!(log.starts_with("begin\n") && log.ends_with("end\n"), "{} bytes", log.len());
    assert!(log.contains("bytes left out …]"), "{} bytes", log.len());
    assert!((16_000_000..29_000_000).contains(&log.len()), "{} bytes", log.len());
    assert_eq!(lab.detail("maps/page/1", "task.done")["output_bytes"], 30_000_011);
}

#[test]
fn output_survives_the_server() {
    let lab = Lab::new();
    let mut server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let _worker = lab.start(&["work"], "worker");
    let (pid, go) = (lab.path("pid"), lab.path("go"));
    let wait = format!("while ! [ -e {} ]; do sleep 0.02; done", go.display());
    script(&lab, "", &format!("echo one; echo $$ > {}; {wait}; echo two", pid.display()));
    read_soon(&pid);
    lab.until("the first line arrives", || lab.ok(&["task", "log", TASK]) == "one\n");
    server.signal(Signal::KILL);
    server.end();
    std::fs::write(&go, "").unwrap();
    let _server = lab.start(&["serve", "--listen", &address], "listening on");
    lab.wait(TASK, &["done"]);
    assert_eq!(lab.ok(&["task", "log", TASK]), "one\ntwo\n");
}

#[test]
fn secrets_reach_their_task_and_nobody_else() {
    let lab = Lab::new();
    let _up = lab.up();
    let put = |collection: &str, name: &str, value: &str| {
        let mut put = lab.command(&["secret", "put", collection, name]);
        let mut put = put.stdin(Stdio::piped()).spawn().unwrap();
        put.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
        assert!(put.wait().unwrap().success());
    };
    put("maps", "PASSWORD", "hunter2\n");
    put("books", "OTHER", "swordfish\n");
    assert!(lab.ok(&["secret", "list"]).contains("PASSWORD"));
    lab.with_flow(
        "f.yaml",
        "tasks:
           - { name: s, shell: sh, secrets: [PASSWORD], script: 'echo got $PASSWORD; \
                [ $PASSWORD = hunter2 ]; grep -c hunter2 /proc/$$/cmdline; \
                printf hunt; sleep 0.2; echo er2' }
           - { name: t, shell: sh, secrets: [OTHER], script: 'echo $OTHER' }",
    );
    lab.ok(&["submit", "f", "maps/page/1"]);
    lab.wait(TASK, &["done"]);
    assert_eq!(lab.ok(&["task", "log", TASK]), "got ***\n0\n***\n");
    assert_eq!(lab.detail("maps/page/1", "task.done")["output"], "got ***\n0\n***\n");
    lab.wait("f.t@maps/page/1", &["failed"]);
    let why = lab.detail("maps/page/1", "task.failed")["error"].to_string();
    assert!(why.contains("no secret OTHER for collection maps"), "{why}");
    lab.ok(&["secret", "remove", "books", "OTHER", "--dry-run"]);
    let kept = lab.json(&["secret", "list"]);
    assert_eq!(kept[0], serde_json::json!({ "collection": "books", "name": "OTHER" }), "{kept}");
    lab.ok(&["secret", "remove", "books", "OTHER"]);
    assert_eq!(lab.json(&["secret", "list"]).as_array().unwrap().len(), 1);
    assert_eq!(lab.say(&["secret", "remove", "books", "OTHER"]).code, 1);
}
