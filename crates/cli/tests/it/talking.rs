//! What commands say, and how they end.

use crate::lab::Lab;

#[test]
fn flow_files_are_checked_without_a_server() {
    let lab = Lab::new();
    lab.write("good.yaml", "tasks: [{ name: a, run: outside }]");
    lab.write("bad.yaml", "tasks:\n  - name: a\n    comand: [b]\n");
    assert_eq!(lab.say(&["flow", "check", "good.yaml"]).code, 0);
    let said = lab.say(&["flow", "check", "good.yaml", "bad.yaml"]);
    assert_eq!(said.code, 1);
    assert_eq!(said.out, "");
    assert!(said.err.contains("bad.yaml:3:5: a task has no key `comand`"), "{}", said.err);
    assert!(said.err.contains("hint: did you mean `command`?"), "{}", said.err);
}

/// What an archive would say of its folder, calendars included, is said before the commit.
#[test]
fn the_folder_of_an_archive_is_checked_and_drawn() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("_workflows")).unwrap();
    lab.write("_workflows/.#main.yaml", "not: [ours");
    lab.write("_workflows/main.yaml", "- {name: index, depends: [PREV], command: [make]}\n");
    let said = lab.say(&["flow", "check", "."]);
    assert!(said.code == 0 && said.err.contains("1 flow checked, nothing wrong"), "{}", said.err);
    let drawn = lab.ok(&["flow", "graph", "."]);
    assert!(drawn.contains("rev-2:index     <-- rev-3:index"), "{drawn}");
    let said = lab.say(&["flow", "graph", ".", "--dot"]);
    assert!(said.err.contains("without --dot"), "{}", said.err);
    let nightly = "on:\n  schedule:\n    cron: '0 3 * * *'\n    tz: Mars/Phobos\n\
                   tasks: [{name: a, run: outside}]\n";
    lab.write("_workflows/nightly.yaml", nightly);
    let said = lab.say(&["flow", "check", "."]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("nightly.yaml:4:9: time zone \"Mars/Phobos\""), "{}", said.err);
    assert_eq!(lab.say(&["flow", "check", "_workflows/nightly.yaml"]).code, 1);
}

/// A revision without definitions is a good one; a link among them is not read.
#[test]
fn a_folder_is_checked_as_a_revision_of_it_would_be() {
    let lab = Lab::new();
    lab.write("package.json", "{}");
    for folder in [".", "_workflows"] {
        let said = lab.say(&["flow", "check", folder]);
        let is_there = folder == ".";
        assert_eq!(said.code == 0, is_there, "{folder}: {}", said.err);
        assert_eq!(said.err.contains("runs nothing"), is_there, "{folder}: {}", said.err);
    }
    std::fs::create_dir(lab.path("_workflows")).unwrap();
    for folder in [".", "_workflows"] {
        assert!(lab.say(&["flow", "check", folder]).err.contains("runs nothing"), "{folder}");
    }
    lab.write("_workflows/main.yaml", "# later\n");
    let said = lab.say(&["flow", "check", "."]);
    assert!(said.code == 1 && said.err.contains("the file is empty"), "{}", said.err);
    std::fs::remove_file(lab.path("_workflows/main.yaml")).unwrap();
    lab.write("secret", "not: to be seen\n");
    std::os::unix::fs::symlink("../secret", lab.path("_workflows/main.yaml")).unwrap();
    for verb in ["check", "graph"] {
        let said = lab.say(&["flow", verb, "."]);
        assert!(said.code == 1 && said.err.contains("symbolic link"), "{}", said.err);
        assert!(!said.err.contains("to be seen") && !said.err.contains("no key"), "{}", said.err);
    }
}

/// Names and edges are enough for a picture, and not enough to run.
#[test]
fn a_definition_without_commands_is_drawn_with_a_remark() {
    let lab = Lab::new();
    let flow = "- name: indexing\n  depends:\n    - PREV\n- name: build-PDF\n  \
                depends:\n    - indexing\n  cancels:\n    - PREV\n";
    std::fs::create_dir(lab.path("_workflows")).unwrap();
    lab.write("_workflows/main.yaml", flow);
    for source in [".", "_workflows", "_workflows/main.yaml"] {
        let said = lab.say(&["flow", "graph", source, "--revisions", "2..3"]);
        assert_eq!(said.code, 0, "{}", said.err);
        assert_eq!(said.out.lines().count(), 8, "{}", said.out);
        assert!(said.err.contains("main.yaml:1:3: the task does not say"), "{}", said.err);
        assert!(said.err.contains("cannot run like this"), "{}", said.err);
        assert_eq!(lab.say(&["flow", "check", source]).code, 1);
    }
    assert_eq!(lab.say(&["flow", "graph", "_workflows/main.yaml"]).code, 0);
    let drawn = lab.json(&["flow", "graph", "."]);
    assert_eq!(drawn["edges"][6]["cancels"], true, "{drawn}");
    lab.write("_workflows/main.yaml", "- name: a\n  comand: [b]\n");
    assert_eq!(lab.say(&["flow", "graph", "."]).code, 1);
}

#[test]
fn without_a_server_it_says_what_to_do() {
    let lab = Lab::new();
    let said = lab.say(&["status"]);
    assert_eq!((said.code, said.out.as_str()), (3, ""));
    assert!(said.err.contains("hint: start one with `armarius up`"), "{}", said.err);
    let env = [("ARMARIUS_URL", "http://127.0.0.1:9"), ("ARMARIUS_KEY", "ark_a_b")];
    assert_eq!(lab.say_with(&["status"], &env).code, 3);
    assert_eq!(lab.say(&["submit"]).code, 2);
}

#[test]
fn a_key_is_asked_for_what_it_may() {
    let lab = Lab::new();
    let up = lab.up();
    let key = lab.ok(&["key", "add", "bob", "--role", "auditor"]);
    let env = [("ARMARIUS_KEY", key.trim()), ("ARMARIUS_URL", up.url.as_str())];
    assert_eq!(lab.say_with(&["status"], &env).code, 0);
    let said = lab.say_with(&["collection", "put", "maps"], &env);
    assert_eq!(said.code, 4, "{}", said.err);
    assert!(said.err.contains("a key with the role auditor may not do this"), "{}", said.err);
    // A key is not sent to a server it was not made by.
    let said = lab.say_with(&["status"], &[("ARMARIUS_URL", "http://127.0.0.1:9")]);
    assert!(said.err.contains("no key for http://127.0.0.1:9 is known"), "{}", said.err);
    let list = lab.json(&["key", "list"]);
    let id = list["entries"][1]["id"].as_str().unwrap();
    lab.ok(&["key", "revoke", id]);
    assert_eq!(lab.say_with(&["status"], &env).code, 4);
}

#[test]
fn every_noun_has_its_verbs() {
    let lab = Lab::new();
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    lab.with_flow("ocr.yaml", "tasks: [{ name: scan, run: outside }]");
    let batch = lab.ok(&["batch", "open", "maps", "--key", "b"]);
    let batch = batch.trim();
    lab.ok(&["submit", "ocr", "maps/page/1", "maps/page/2", "--batch", batch]);
    lab.ok(&["batch", "seal", batch]);
    assert!(lab.ok(&["batch", "list"]).contains("processing"));
    assert!(lab.ok(&["why", &format!("batch:{batch}")]).contains("2 open"));
    lab.ok(&["item", "put", "maps/page/1", "--type", "map", "--attributes", r#"{"a":1}"#]);
    lab.ok(&["item", "touch", "maps/page/1"]);
    lab.ok(&["event", "add", "maps/page/1", "seen", "--detail", r#""by \u001b[31mme""#]);
    let events = lab.ok(&["item", "events", "maps/page/1"]);
    assert!(events.contains("seen") && !events.contains('\u{1b}'), "{events}");
    let hold = lab.ok(&["hold", "set", "--item", "maps/page/1", "--reason", "look"]);
    assert!(lab.ok(&["hold", "list"]).contains("item maps/page/1"));
    lab.ok(&["hold", "release", hold.trim()]);
    lab.ok(&["task", "priority", "ocr.scan@maps/page/1", "-5"]);
    lab.ok(&["task", "skip", "ocr.scan@maps/page/1"]);
    lab.ok(&["submit", "ocr", "maps/page/4", "--priority", "9"]);
    lab.ok(&["task", "cancel", "3"]);
    lab.ok(&["task", "retry", "ocr.scan@maps/page/4"]);
    assert!(lab.ok(&["task", "why", "3"]).contains("first in its queue"));
    let list = lab.ok(&["task", "list", "--state", "cancelled", "--collection", "maps"]);
    assert!(list.contains("skipped"), "{list}");
    lab.ok(&["batch", "cancel", batch]);
    lab.ok(&["batch", "delete", batch]);
    lab.ok(&["item", "delete", "maps/page/2"]);
    assert!(lab.ok(&["item", "list", "maps"]).contains("deleted"));
    assert!(lab.ok(&["flow", "show", "maps", "ocr"]).contains("\"scan\""));
    lab.ok(&["flow", "remove", "maps", "ocr"]);
    assert!(lab.ok(&["flow", "list", "maps"]).contains("removed"));
    assert!(lab.ok(&["collection", "list"]).contains("maps"));
    assert!(lab.ok(&["worker", "list"]).contains("SLOTS"));
    let said = lab.say(&["submit", "ocr", "maps/page/1", "maps/page/3"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("2 of 2 were refused"), "{}", said.err);
}
