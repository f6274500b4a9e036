//! What tasks may take, and that nothing of them is left, however they and their worker end.

use rustix::process::{Pid, Signal, kill_process};

use crate::lab::{Lab, gone_soon, is_alive, read_soon};

/// A process in a session of its own, with an empty environment, that its parent does not wait for.
/// Its number is in `pid`.
fn daemon(lab: &Lab) -> String {
    let pid = lab.path("pid").display().to_string();
    format!(
        "setsid -f env -i /bin/sh -c \"echo \\$\\$ > {pid}.new; mv {pid}.new {pid}; \
         exec sleep 1000\"; while ! [ -s {pid} ]; do sleep 0.01; done"
    )
}

fn script(lab: &Lab, more: &str, text: &str) {
    let text = serde_json::Value::from(text);
    lab.with_flow("f.yaml", &format!("tasks: [{{ name: s, shell: sh, script: {text}{more} }}]"));
    lab.ok(&["submit", "f", "maps/page/1"]);
}

/// What came of the one task.
fn output(lab: &Lab, state: &str) -> String {
    let event = if state == "done" { "task.done" } else { "task.failed" };
    lab.wait("f.s@maps/page/1", &["done", "failed"]);
    lab.detail("maps/page/1", event)["output"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_daemon_is_ended_with_its_task() {
    let lab = Lab::new();
    let _up = lab.up();
    script(&lab, "", &daemon(&lab));
    lab.wait("f.s@maps/page/1", &["done"]);
    assert!(!is_alive(&read_soon(&lab.path("pid"))));
}

#[test]
fn a_daemon_of_a_cancelled_task_is_ended() {
    let lab = Lab::new();
    let _up = lab.up();
    script(&lab, ", ttl: 1s", &format!("{}; sleep 1000", daemon(&lab)));
    let daemon = read_soon(&lab.path("pid"));
    lab.ok(&["task", "cancel", "f.s@maps/page/1", "--reason", "enough"]);
    gone_soon(&daemon);
}

#[test]
fn a_daemon_of_a_killed_worker_is_ended() {
    let lab = Lab::new();
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let mut worker = lab.start(&["work"], "worker");
    script(&lab, "", &format!("{}; sleep 1000", daemon(&lab)));
    let daemon = read_soon(&lab.path("pid"));
    worker.signal(Signal::KILL);
    worker.end();
    gone_soon(&daemon);
}

#[test]
fn a_task_whose_keeper_is_killed_is_ended_and_tried_again() {
    let lab = Lab::new();
    let _up = lab.up();
    let (pid, count) = (lab.path("pid"), lab.path("count"));
    let text = format!(
        "echo x >> {c}; [ $(wc -l < {c}) = 2 ] && exit; sleep 1000 & echo $PPID $$ $! > {p}; wait",
        c = count.display(),
        p = pid.display()
    );
    script(&lab, ", retries: 1, backoff: 1s..1s", &text);
    let line = read_soon(&pid);
    let pids: Vec<&str> = line.split_whitespace().collect();
    kill_process(Pid::from_raw(pids[0].parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    gone_soon(pids[1]);
    gone_soon(pids[2]);
    lab.wait("f.s@maps/page/1", &["done"]);
}

#[test]
fn what_a_killed_worker_and_its_keeper_left_is_cleared_away_by_the_next_one() {
    let lab = Lab::new();
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let mut worker = lab.start(&["work"], "worker");
    let pid = lab.path("pid");
    script(&lab, "", &format!("setsid sleep 1000 & echo $PPID $! > {}; wait", pid.display()));
    let line = read_soon(&pid);
    let pids: Vec<&str> = line.split_whitespace().collect();
    // Stopped, the worker cannot do anything about it.
    worker.signal(Signal::STOP);
    kill_process(Pid::from_raw(pids[0].parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    worker.signal(Signal::KILL);
    worker.end();
    let _next = lab.start(&["work"], "worker");
    gone_soon(pids[1]);
    assert_eq!(std::fs::read_dir(lab.path("work")).unwrap().count(), 1);
}

#[test]
fn a_task_gets_no_more_than_it_may() {
    let lab = Lab::new();
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let limits = ["--memory", "64M", "--open-files", "123", "--processes", "50"];
    let _worker = lab.start(&[&["work", "--file-size", "16M"], &limits[..]].concat(), "worker");
    script(
        &lab,
        "",
        "echo files $(ulimit -n) core $(ulimit -c)
         head -c 200000000 /dev/zero | tail -n 1 > /dev/null 2>&1 || echo memory
         head -c 30000000 /dev/zero > large; echo size $(wc -c < large)
         mkdir -p locked/in; chmod 500 locked
         (for i in $(seq 400); do sleep 1000 & done) 2>/dev/null || echo processes",
    );
    let output = output(&lab, "done");
    for line in ["files 123 core 0", "memory", "size 16777216", "processes"] {
        assert!(output.lines().any(|l| l == line), "no {line} in {output}");
    }
    // Its folder is gone, though it was locked.
    let own = std::fs::read_dir(lab.path("work")).unwrap().next().unwrap().unwrap().path();
    lab.until("the scratch is gone", || std::fs::read_dir(&own).unwrap().count() == 1);
}

#[test]
fn root_runs_tasks_as_somebody_else() {
    let lab = Lab::new();
    let _up = lab.up();
    script(&lab, "", "id -u; id -G; cat /etc/shadow 2>&1 | head -c 20; touch $HOME/x && echo mine");
    let output = output(&lab, "done");
    let lines: Vec<&str> = output.lines().collect();
    assert_ne!(lines[0], "0", "{output}");
    assert!(output.contains("cat:") && output.ends_with("mine\n"), "{output}");
    if rustix::process::geteuid().is_root() {
        let said = lab.say(&["work", "--user", "root"]);
        assert!(said.err.contains("tasks are not run as root"), "{}", said.err);
        let shut = lab.path("shut");
        std::fs::create_dir(&shut).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&shut, mode).unwrap();
        let said = lab.say(&["work", "--folder", &shut.join("work").display().to_string()]);
        assert!(said.err.contains("who cannot enter"), "{}", said.err);
    }
}

#[test]
fn a_task_that_says_nothing_for_too_long_is_ended() {
    let lab = Lab::new();
    let _up = lab.up();
    let pid = lab.path("pid");
    script(&lab, ", progress_timeout: 1s", &format!("echo $$ > {}; sleep 1000", pid.display()));
    gone_soon(&read_soon(&pid));
    let task = lab.wait("f.s@maps/page/1", &["failed"]);
    // The server and the worker both look at their clocks.
    assert!(["transient", "timeout"].contains(&task["cause"].as_str().unwrap()), "{task}");
}

#[test]
fn a_task_may_leave_a_result_and_a_manifest_that_can_be_read() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow(
        "f.yaml",
        r#"
tasks:
  - name: good
    shell: sh
    script: |
      cat $ARMARIUS_INPUT > $ARMARIUS_RESULT
      echo '{"state": "complete", "content": {"objects": ["a"]}}' > $ARMARIUS_MANIFEST
  - name: bad
    shell: sh
    script: echo '{"pages":' > $ARMARIUS_RESULT
  - name: link
    shell: sh
    script: ln -s /etc/passwd $ARMARIUS_RESULT
"#,
    );
    lab.ok(&["submit", "f", "maps/page/1", "--payload", r#"{"dpi": 300}"#]);
    lab.wait("f.good@maps/page/1", &["done"]);
    assert_eq!(lab.detail("maps/page/1", "task.done")["result"]["dpi"], 300);
    for step in ["bad", "link"] {
        let task = lab.wait(&format!("f.{step}@maps/page/1"), &["failed"]);
        assert_eq!(task["cause"], "permanent", "{task}");
    }
    let why = lab.detail("maps/page/1", "task.failed")["error"].to_string();
    assert!(why.contains("the result file (ARMARIUS_RESULT)"), "{why}");
}
