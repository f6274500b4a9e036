//! Servers, workers and tasks are killed at any moment; results find their way all the same.

use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};

use crate::lab::{Lab, Running, gone_soon, read_soon};

/// Numbers that look random and come again with the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// Processes of tasks: their environment names a folder of this lab.
fn tasks_of(lab: &Lab) -> Vec<Pid> {
    let mark = format!("ARMARIUS_FOLDER={}/", lab.path("work").display());
    let numbers = std::fs::read_dir("/proc").unwrap().flatten();
    let is_its = |pid: &i32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.windows(mark.len()).any(|part| part == mark.as_bytes())
    };
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_its).filter_map(Pid::from_raw).collect()
}

/// The process above another one.
fn parent(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let fields = stat.rsplit(')').next()?;
    Pid::from_raw(fields.split_whitespace().nth(1)?.parse().ok()?)
}

fn kill(running: &mut Running) {
    running.signal(Signal::KILL);
    running.end();
}

#[test]
fn whatever_is_killed_the_work_is_done_once_and_nothing_is_left() {
    let seed = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    eprintln!("seed {seed}");
    let mut dice = Dice(seed.into());
    let lab = Lab::new();
    let mut server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let work = ["work", "--slots", "3"];
    let mut worker = lab.start(&work, "worker");
    let text = "echo one; sleep 0.2; setsid sleep 0.3 & sleep 0.1; echo two";
    lab.with_flow(
        "f.yaml",
        &format!(
            "tasks: [{{ name: s, ttl: 2s, retries: 100, backoff: 1s..1s, \
                        exit_codes: {{ 137: transient }}, shell: sh, script: '{text}' }}]"
        ),
    );
    let items: Vec<String> = (1..=24).map(|n| format!("maps/page/{n}")).collect();
    let mut submit = vec!["submit", "f"];
    submit.extend(items.iter().map(String::as_str));
    lab.ok(&submit);
    // A task that three workers died of would rightly end as poison.
    let mut deaths = 0;
    for _ in 0..12 {
        std::thread::sleep(Duration::from_millis(50 + dice.roll(400) as u64));
        match dice.roll(4) {
            0 => {
                kill(&mut server);
                server = lab.start(&["serve", "--listen", &address], "listening on");
            }
            1 if deaths < 2 => {
                deaths += 1;
                kill(&mut worker);
                worker = lab.start(&work, "worker");
            }
            by => {
                let tasks = tasks_of(&lab);
                if let Some(task) = tasks.get(dice.roll(tasks.len().max(1))) {
                    // The process itself, or the one that keeps it.
                    let victim = if by == 2 { Some(*task) } else { parent(*task) };
                    let own = std::process::id().cast_signed();
                    let victim = victim.filter(|pid| !is_one_of(*pid, &[own, 1], &server, &worker));
                    victim.map(|pid| kill_process(pid, Signal::KILL));
                }
            }
        }
    }
    for item in &items {
        let task = lab.wait(&format!("f.s@{item}"), &["done", "failed"]);
        assert_eq!(task["state"], "done", "seed {seed}: {task}");
        let page = lab.json(&["item", "events", item]);
        let done = page["entries"].as_array().unwrap().iter();
        let done = done.filter(|e| e["name"] == "task.done").count();
        assert_eq!(done, 1, "seed {seed}: {page}");
        let log = lab.ok(&["task", "log", &format!("f.s@{item}")]);
        // The shell tells when a child of its own was killed.
        assert_eq!(log.replace("Killed\n", ""), "one\ntwo\n", "seed {seed}: {item}");
    }
    lab.until("nothing is left", || tasks_of(&lab).is_empty());
}

fn is_one_of(pid: Pid, numbers: &[i32], server: &Running, worker: &Running) -> bool {
    let pid = pid.as_raw_nonzero().get();
    numbers.contains(&pid) || [server.pid(), worker.pid()].contains(&pid)
}

#[test]
fn a_result_is_delivered_by_the_next_worker_when_the_server_was_away() {
    let lab = Lab::new();
    let mut server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let mut worker = lab.start(&["work", "--finish-within", "3"], "worker");
    let (pid, go, count) = (lab.path("pid"), lab.path("go"), lab.path("count"));
    let text = format!(
        "echo x >> {}; echo begun; echo $$ > {}; while ! [ -e {} ]; do sleep 0.02; done; \
         echo ended",
        count.display(),
        pid.display(),
        go.display()
    );
    let step = format!("{{ name: s, shell: sh, ttl: 60s, script: '{text}' }}");
    lab.with_flow("f.yaml", &format!("tasks: [{step}]"));
    lab.ok(&["submit", "f", "maps/page/1"]);
    let child = read_soon(&pid);
    lab.until("it is seen", || lab.ok(&["task", "log", "f.s@maps/page/1"]) == "begun\n");
    kill(&mut server);
    std::fs::write(&go, "").unwrap();
    gone_soon(&child);
    // The worker ends while it cannot deliver.
    worker.signal(Signal::TERM);
    assert_eq!(worker.end(), Some(0));
    let _server = lab.start(&["serve", "--listen", &address], "listening on");
    assert_eq!(lab.json(&["task", "show", "f.s@maps/page/1"])["state"], "leased");
    let _worker = lab.start(&["work"], "worker");
    let task = lab.wait("f.s@maps/page/1", &["done", "failed"]);
    assert_eq!((&task["state"], &task["attempts"]), (&"done".into(), &1.into()), "{task}");
    assert_eq!(lab.ok(&["task", "log", "f.s@maps/page/1"]), "begun\nended\n");
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "x\n");
}

#[test]
fn a_worker_whose_server_hangs_stops_too() {
    let lab = Lab::new();
    let server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let _worker = lab.start(&["work"], "worker");
    let pid = lab.path("pid");
    let text = format!("echo $$ > {}; sleep 1000", pid.display());
    let step = format!("{{ name: s, shell: sh, ttl: 1s, script: '{text}' }}");
    lab.with_flow("f.yaml", &format!("tasks: [{step}]"));
    lab.ok(&["submit", "f", "maps/page/1"]);
    let child = read_soon(&pid);
    // It takes connections and never answers.
    server.signal(Signal::STOP);
    gone_soon(&child);
    server.signal(Signal::CONT);
}

#[test]
fn a_worker_that_lost_its_lease_stops_and_publishes_nothing() {
    let lab = Lab::new();
    let mut server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let _worker = lab.start(&["work"], "worker");
    let pid = lab.path("pid");
    let text = format!("echo $$ > {}; sleep 1000", pid.display());
    let step = format!("{{ name: s, shell: sh, ttl: 1s, script: '{text}' }}");
    lab.with_flow("f.yaml", &format!("tasks: [{step}]"));
    lab.ok(&["submit", "f", "maps/page/1"]);
    let child = read_soon(&pid);
    std::fs::remove_file(&pid).unwrap();
    kill(&mut server);
    // Nobody renews, so it is over, though nobody says so.
    gone_soon(&child);
    let _server = lab.start(&["serve", "--listen", &address], "listening on");
    // It is tried again, by whoever is there.
    read_soon(&pid);
    let page = lab.json(&["item", "events", "maps/page/1"]);
    let names: Vec<&str> =
        page["entries"].as_array().unwrap().iter().filter_map(|e| e["name"].as_str()).collect();
    let leased = names.iter().filter(|name| **name == "task.leased").count();
    assert!(leased >= 2, "{page}");
    assert!(!names.contains(&"task.failed") && !names.contains(&"task.done"), "{page}");
}
