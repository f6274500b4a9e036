//! Settings: which one counts, and what is said about a wrong one.

use serde_json::Value;

use crate::lab::Lab;

fn of(lab: &Lab, args: &[&str], env: &[(&str, &str)], key: &str) -> (String, String) {
    let mut line = args.to_vec();
    line.extend(["config", "show", "--json"]);
    let said = lab.say_with(&line, env);
    assert_eq!(said.code, 0, "{}", said.err);
    let shown: Value = serde_json::from_str(&said.out).unwrap();
    let all = shown["settings"].as_array().unwrap();
    let one = all.iter().find(|one| one["key"] == key).unwrap();
    let value: Vec<&str> =
        one["value"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    (value.join(","), one["from"].as_str().unwrap().to_owned())
}

#[test]
fn environment_goes_before_file_and_file_before_default() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("armarius-data")).unwrap();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(of(&lab, &[], &[], "worker.slots"), pair("2", "default"));
    lab.write("armarius-data/armarius.toml", "[worker]\nlabels = [\"a\", \"b\"]\nslots = 7\n");
    let file = "armarius-data/armarius.toml";
    assert_eq!(of(&lab, &[], &[], "worker.slots"), pair("7", &format!("{file}:3")));
    assert_eq!(of(&lab, &[], &[], "worker.labels"), pair("a,b", &format!("{file}:2")));
    let env = [("ARMARIUS_SLOTS", "9")];
    assert_eq!(of(&lab, &[], &env, "worker.slots"), pair("9", "ARMARIUS_SLOTS"));
    lab.write("other.toml", "data = \"elsewhere\"\n");
    let named = ["--config", "other.toml"];
    assert_eq!(of(&lab, &named, &[], "worker.slots"), pair("2", "default"));
    assert_eq!(of(&lab, &named, &[], "data"), pair("elsewhere", "other.toml:1"));
}

#[test]
fn a_server_takes_its_settings_from_the_file_and_flags_go_before_it() {
    let lab = Lab::new();
    lab.write("a.toml", "data = \"from-file\"\n[server]\nlisten = \"127.0.0.1:0\"\n");
    let up = lab.start(&["up", "--config", "a.toml"], "listening on");
    assert!(lab.path("from-file/armarius.db").exists());
    drop(up);
    lab.write("bad.toml", "[server]\nlisten = \"0.0.0.0:0\"\n");
    let said = lab.say(&["serve", "--config", "bad.toml"]);
    assert!(said.err.contains("--behind-proxy"), "{}", said.err);
    let args = ["serve", "--config", "bad.toml", "--listen", "127.0.0.1:0", "--data", "flag"];
    drop(lab.start(&args, "listening on"));
    assert!(lab.path("flag/armarius.db").exists());
}

#[test]
fn a_wrong_file_starts_nothing_and_names_the_line() {
    let lab = Lab::new();
    lab.write("bad.toml", "# a comment\n[server]\nlisen = \"127.0.0.1:0\"\n[worker]\nslots = 0\n");
    let said = lab.say(&["up", "--config", "bad.toml"]);
    assert_eq!(said.code, 78, "{}", said.err);
    assert!(said.err.contains("bad.toml:3:1: unknown key `server.lisen`"), "{}", said.err);
    assert!(said.err.contains("did you mean `server.listen`?"), "{}", said.err);
    assert!(said.err.contains("bad.toml:5:9: `worker.slots`"), "{}", said.err);
    assert!(!lab.path("armarius-data").exists());
    assert_eq!(lab.say(&["config", "check", "bad.toml"]).code, 78);
    let said = lab.say(&["up", "--config", "missing.toml"]);
    assert!(said.err.contains("missing.toml"), "{}", said.err);
    lab.write("example.toml", &lab.ok(&["config", "example"]));
    lab.ok(&["config", "check", "example.toml"]);
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = lab.ok(&["completions", shell]);
        assert!(text.contains("restore") && text.contains("dry-run"), "{shell}");
    }
    lab.ok(&["man", "pages"]);
    for page in ["armarius.1", "armarius-task-cancel.1", "armarius-backup.1"] {
        assert!(lab.path("pages").join(page).exists(), "{page}");
    }
    let help = lab.ok(&["--help"]);
    assert!(help.contains("Exit codes:") && help.contains("78"), "{help}");
    let said = lab.say(&["tsk"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("'task'"), "{}", said.err);
}

#[test]
fn a_server_that_is_gone_is_passed_over_with_a_word() {
    let lab = Lab::new();
    let _first = lab.start(&["serve", "--listen", "127.0.0.1:0", "--data", "a"], "listening on");
    let second = lab.start(&["serve", "--listen", "127.0.0.1:0", "--data", "b"], "listening on");
    let said = lab.say(&["status", "--json"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.contains(&second.url), "{}", said.out);
    drop(second);
    let said = lab.say(&["status"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("does not answer; using that of"), "{}", said.err);
    let said = lab.say(&["status", "--data", "b"]);
    assert_eq!(said.code, 3, "{}", said.err);
    let said = lab.say(&["status", "--data", "nowhere"]);
    assert_eq!(said.code, 3, "{}", said.err);
    assert!(said.err.contains("no server of nowhere is known"), "{}", said.err);
}
