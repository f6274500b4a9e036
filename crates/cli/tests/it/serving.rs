//! Servers start, stop, are killed, and lose nothing.

use rustix::process::Signal;

use crate::lab::{Lab, PROGRAM, Running, gone_soon, read_soon};

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let lab = Lab::new();
    let _up = lab.up();
    let said = lab.say(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(said.code, 69, "{}", said.err);
    assert!(said.err.contains("is in use by process"), "{}", said.err);
    assert!(said.err.contains("hint: one data folder is for one server"), "{}", said.err);
}

#[test]
fn a_server_without_encryption_stays_on_its_machine() {
    let lab = Lab::new();
    let said = lab.say(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("--behind-proxy"), "{}", said.err);
    assert!(!lab.path("armarius-data").exists());
}

#[test]
fn it_ends_when_it_is_asked_to() {
    let lab = Lab::new();
    let mut up = lab.up();
    lab.ok(&["status"]);
    up.signal(Signal::TERM);
    assert_eq!(up.end(), Some(0));
    let said = lab.say(&["status"]);
    assert_eq!(said.code, 3, "{}", said.err);
    let mut again = lab.up();
    lab.ok(&["status"]);
    again.signal(Signal::INT);
    assert_eq!(again.end(), Some(0));
}

#[test]
fn a_killed_server_loses_nothing() {
    let lab = Lab::new();
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let mut server = lab.start(&serve, "listening on");
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let _worker = lab.start(&["work", "--slots", "2"], "worker");
    let marks = lab.folder("marks");
    let script =
        format!("sleep 0.05; echo $ARMARIUS_TOKEN >> {}/$ARMARIUS_ITEM_KEY", marks.display());
    // A grant whose answer was lost with the server lapses after this time.
    let step = format!("{{ name: s, ttl: 5s, shell: sh, script: '{script}' }}");
    lab.with_flow("f.yaml", &format!("tasks: [{step}]"));
    let items: Vec<String> = (1..=40).map(|n| format!("maps/page/{n}")).collect();
    let mut args = vec!["submit", "f"];
    args.extend(items.iter().map(String::as_str));
    lab.ok(&args);
    for round in 1..=2 {
        read_soon(&marks.join((10 * round).to_string()));
        server.signal(Signal::KILL);
        server.end();
        server = lab.start(&["serve", "--listen", &address], "listening on");
    }
    for item in &items {
        let task = lab.wait(&format!("f.s@{item}"), &["done", "failed"]);
        assert_eq!(task["state"], "done", "{task}");
        let page = lab.json(&["item", "events", item]);
        let done = page["entries"].as_array().unwrap().iter();
        assert_eq!(done.filter(|e| e["name"] == "task.done").count(), 1, "{page}");
    }
}

#[test]
fn a_worker_that_is_asked_to_end_gives_back_what_runs() {
    let lab = Lab::new();
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let mut worker = lab.start(&["work", "--finish-within", "0"], "worker");
    let pid = lab.path("pid");
    let script = format!("echo $$ > {}; sleep 1000", pid.display());
    lab.with_flow("f.yaml", &format!("tasks: [{{ name: s, shell: sh, script: '{script}' }}]"));
    lab.ok(&["submit", "f", "maps/page/1"]);
    let child = read_soon(&pid);
    worker.signal(Signal::TERM);
    assert_eq!(worker.end(), Some(0));
    gone_soon(&child);
    let task = lab.wait("f.s@maps/page/1", &["ready"]);
    // No attempt is spent on that.
    assert_eq!(task["attempts"], 0, "{task}");
}

/// An upgrade gives the file of a running program to another one.
#[test]
fn a_worker_whose_program_was_replaced_goes_on() {
    let lab = Lab::new();
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let (program, newer) = (lab.path("program"), lab.path("newer"));
    std::fs::copy(PROGRAM, &program).unwrap();
    let _worker = Running::begin(lab.command_of(&program, &["work"]), "worker").unwrap();
    std::fs::copy(PROGRAM, &newer).unwrap();
    std::fs::rename(&newer, &program).unwrap();
    lab.with_flow("f.yaml", "tasks: [{ name: s, command: [echo, hello] }]");
    lab.ok(&["submit", "f", "maps/page/1"]);
    lab.wait("f.s@maps/page/1", &["done"]);
}

#[test]
fn a_killed_worker_leaves_no_process_behind() {
    let lab = Lab::new();
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let mut worker = lab.start(&["work"], "worker");
    let pid = lab.path("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
    let step = format!("{{ name: s, ttl: 1s, shell: sh, script: '{script}' }}");
    lab.with_flow("f.yaml", &format!("tasks: [{step}]"));
    lab.ok(&["submit", "f", "maps/page/1"]);
    let child = read_soon(&pid);
    worker.signal(Signal::KILL);
    worker.end();
    gone_soon(&child);
    // Its lease lapses, and the task may be claimed again.
    lab.wait("f.s@maps/page/1", &["ready"]);
}
