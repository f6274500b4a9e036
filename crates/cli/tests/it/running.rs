//! Tasks run: their inputs, their ends, and that nothing of them is left.

use crate::lab::{Lab, gone_soon, read_soon};

#[test]
fn a_command_and_a_script_run_with_their_inputs() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow(
        "hello.yaml",
        r#"
tasks:
  - name: greet
    command: [echo, "hello", $ARMARIUS_ITEM_KEY, "$ARMARIUS_ITEM_KEY.", "; touch canary"]
  - name: count
    depends: [greet]
    shell: sh
    env: { COLOUR: red }
    script: |
      pwd; echo "$COLOUR $ARMARIUS_ITEM $ARMARIUS_PAYLOAD $ARMARIUS_ATTEMPT $ARMARIUS_ROUND"
      echo "key: [$HOSTILE]" >&2
      echo '{"pages": 3}' > "$ARMARIUS_RESULT"
  - name: look
    depends: [count]
    run: outside
"#,
    );
    lab.ok(&["submit", "hello", "maps/page/x y", "--payload", r#"{"dpi": 300}"#]);
    lab.wait("hello.count@maps/page/x%20y", &["done"]);
    let page = lab.json(&["item", "events", "maps/page/x%20y"]);
    let done: Vec<_> =
        page["entries"].as_array().unwrap().iter().filter(|e| e["name"] == "task.done").collect();
    assert_eq!(done[0]["detail"]["output"], "hello x y $ARMARIUS_ITEM_KEY. ; touch canary\n");
    let output = done[1]["detail"]["output"].as_str().unwrap();
    assert!(output.contains("red maps/page/x%20y {\"dpi\": 300} 1 1\n"), "{output}");
    assert!(output.contains("key: []"), "{output}");
    assert_eq!(done[1]["detail"]["result"]["pages"], 3);
    // What others do stays with others.
    assert_eq!(lab.json(&["task", "show", "hello.look@maps/page/x%20y"])["state"], "ready");
    let why = lab.ok(&["why", "maps/page/x%20y"]);
    assert!(why.contains("waiting for a worker"), "{why}");
    // Scratch folders are gone.
    let work = lab.path("work");
    let own = std::fs::read_dir(work).unwrap().next().unwrap().unwrap().path();
    lab.until("the scratch is gone", || std::fs::read_dir(&own).unwrap().count() == 1);
}

#[test]
fn exit_codes_mean_what_the_step_says() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow(
        "ends.yaml",
        r#"
tasks:
  - { name: one, command: [sh, -c, "exit 1"] }
  - { name: later, command: [sh, -c, "exit 75"], retries: 1, backoff: 1h..1h }
  - { name: early, command: [sh, -c, "exit 99"] }
  - { name: mapped, command: [sh, -c, "exit 3"], exit_codes: { 3: success } }
  - { name: missing, command: [no-such-program] }
  - { name: unset, command: [echo, $NOWHERE] }
  - { name: killed, command: [sh, -c, "kill -9 $$"] }
"#,
    );
    lab.ok(&["submit", "ends", "maps/page/1"]);
    for (step, state, cause) in [
        ("one", "failed", "permanent"),
        ("mapped", "done", ""),
        ("missing", "failed", "permanent"),
        ("unset", "failed", "permanent"),
        ("killed", "failed", "permanent"),
    ] {
        let task = lab.wait(&format!("ends.{step}@maps/page/1"), &["done", "failed"]);
        assert_eq!(task["state"], state, "{task}");
        assert_eq!(task["cause"].as_str().unwrap_or_default(), cause, "{task}");
        if step == "one" {
            assert_eq!(task["run"]["exit_code"], 1, "{task}");
            assert!(task["run"]["ended_at"].is_string(), "{task}");
        }
    }
    for (step, cause) in [("later", "transient"), ("early", "not-yet")] {
        let why = lab.json(&["task", "show", &format!("ends.{step}@maps/page/1")]);
        assert_eq!((&why["state"], &why["cause"]), (&"ready".into(), &cause.into()));
    }
}

#[test]
fn a_task_that_takes_too_long_is_ended_with_all_it_started() {
    let lab = Lab::new();
    let _up = lab.up();
    let pid = lab.path("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
    let text = format!("tasks: [{{ name: hang, shell: sh, timeout: 1s, script: \"{script}\" }}]");
    lab.with_flow("slow.yaml", &text);
    lab.ok(&["submit", "slow", "maps/page/1"]);
    let child = read_soon(&pid);
    lab.wait("slow.hang@maps/page/1", &["failed"]);
    gone_soon(&child);
}

#[test]
fn what_a_task_leaves_running_is_ended_with_it() {
    let lab = Lab::new();
    let _up = lab.up();
    let pid = lab.path("pid");
    let text = format!(
        "tasks: [{{ name: leave, shell: sh, script: \"sleep 1000 & echo $! > {}\" }}]",
        pid.display()
    );
    lab.with_flow("leave.yaml", &text);
    lab.ok(&["submit", "leave", "maps/page/1"]);
    let child = read_soon(&pid);
    lab.wait("leave.leave@maps/page/1", &["done"]);
    gone_soon(&child);
}

/// The next sign of life is far away.
#[test]
fn a_cancelled_task_is_stopped() {
    let lab = Lab::new();
    let _up = lab.up();
    let pid = lab.path("pid");
    let text = format!(
        "tasks: [{{ name: run, shell: sh, ttl: 30m, script: \"echo $$ > {}; sleep 1000\" }}]",
        pid.display()
    );
    lab.with_flow("long.yaml", &text);
    lab.ok(&["submit", "long", "maps/page/1"]);
    let child = read_soon(&pid);
    lab.ok(&["task", "cancel", "long.run@maps/page/1", "--reason", "enough"]);
    gone_soon(&child);
    assert_eq!(lab.wait("long.run@maps/page/1", &["cancelled"])["cause"], "operator");
}

#[test]
fn a_flood_of_output_keeps_its_ends() {
    let lab = Lab::new();
    let _up = lab.up();
    let text = "tasks: [{ name: f, shell: sh, \
                script: 'echo begin; head -c 3000000 /dev/zero; echo end' }]";
    lab.with_flow("flood.yaml", text);
    lab.ok(&["submit", "flood", "maps/page/1"]);
    lab.wait("flood.f@maps/page/1", &["done"]);
    let detail = lab.detail("maps/page/1", "task.done");
    let output = detail["output"].as_str().unwrap();
    assert!(output.starts_with("begin\n") && output.ends_with("end\n"));
    assert_eq!(
        (&detail["output_bytes"], &detail["output_truncated"]),
        (&3_000_010.into(), &true.into())
    );
}

/// A program of the guide, in the language it is marked with.
fn program(language: &str, begins: &str) -> String {
    let guide = include_str!("../../../../docs/guide/worker.md");
    let fence = format!("```{language}\n");
    let mut blocks = guide.split(&fence).skip(1);
    let block = blocks.find(|block| block.starts_with(begins)).unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// Runs a worker of the guide on one task, and gives the task's result.
fn run_outside(lab: &Lab, interpreter: &str, program: &str) -> serde_json::Value {
    let server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    lab.with_flow("ocr.yaml", "tasks: [{ name: scan, run: outside }]");
    lab.ok(&["submit", "ocr", "maps/page/7", "--payload", r#"{"dpi": 300}"#]);
    let key = lab.ok(&["key", "add", "my worker", "--role", "worker"]);
    lab.write("worker", program);
    let mut worker = std::process::Command::new(interpreter);
    worker.arg(lab.path("worker")).env("ONCE", "yes");
    worker.env("ARMARIUS_URL", &server.url).env("ARMARIUS_KEY", key.trim());
    let output = worker.output().unwrap_or_else(|e| panic!("{interpreter} is missing: {e}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    lab.wait("ocr.scan@maps/page/7", &["done"]);
    let mut told = lab.detail("maps/page/7", "task.done");
    told["log"] = lab.ok(&["task", "log", "ocr.scan@maps/page/7"]).into();
    told
}

#[test]
fn the_guides_worker_in_python_works() {
    let lab = Lab::new();
    let told = run_outside(&lab, "python3", &program("python", "#!/usr/bin/env python3"));
    assert_eq!((&told["dpi"], &told["pages"]), (&300.into(), &3.into()), "{told}");
    assert_eq!(told["log"], "page 0\npage 1\npage 2\n");
}

#[test]
fn the_guides_worker_in_curl_works() {
    let lab = Lab::new();
    let told = run_outside(&lab, "sh", &program("sh", "#!/bin/sh"));
    assert_eq!(told["pages"], 3, "{told}");
    assert_eq!(told["log"], "scanning ocr.scan@maps/page/7 at 300 dpi\n");
}

/// A claim may wait for longer than the lease it brings will live.
#[test]
fn a_short_lease_that_came_late_is_kept() {
    let lab = Lab::new();
    let _server = lab.up();
    lab.with_flow("s.yaml", "tasks: [{ name: s, command: [sleep, '5'], ttl: 3s }]");
    let soon = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    let soon = soon.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let soon = armarius_core::ids::Time(i64::try_from(soon).unwrap() * 1_000_000);
    let soon = armarius_wire::v1::time::text(soon);
    lab.ok(&["submit", "s", "maps/page/1", "--not-before", &soon]);
    let shown = lab.wait("s.s@maps/page/1", &["done", "failed"]);
    assert_eq!((&shown["state"], &shown["attempts"]), (&"done".into(), &1.into()), "{shown}");
}
