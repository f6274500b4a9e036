//! Tasks that see nothing of the machine: strict isolation, and containers.

use std::process::Command;

use rustix::process::Signal;

use crate::lab::{Lab, Running};

const TASK: &str = "f.s@maps/page/1";

fn script(lab: &Lab, more: &str, text: &str) {
    let text = serde_json::Value::from(text);
    lab.with_flow("f.yaml", &format!("tasks: [{{ name: s, shell: sh, script: {text}{more} }}]"));
    lab.ok(&["submit", "f", "maps/page/1"]);
}

/// Starts a server, and perhaps a worker; `None` with the reason when it cannot isolate.
fn strict(lab: &Lab) -> Result<(Running, Running), String> {
    let server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    std::fs::write(lab.folder("shared").join("file"), "shared\n").unwrap();
    let shared = lab.path("shared").display().to_string();
    let work = ["work", "--isolation", "strict", "--share", &shared];
    match lab.try_start(&work, "worker", &[]) {
        Ok(worker) => Ok((server, worker)),
        Err(said) => Err(said.join("\n")),
    }
}

#[test]
fn a_strictly_isolated_task_sees_only_its_own() {
    let lab = Lab::new();
    let _both = match strict(&lab) {
        Ok(both) => both,
        Err(said) => {
            // Where the kernel cannot give it, that is said and nothing is claimed.
            assert!(said.contains("strict isolation is not possible here"), "{said}");
            return;
        }
    };
    let lab_path = lab.folder.path().display();
    script(
        &lab,
        "",
        &format!(
            "echo net $(tail -n +3 /proc/net/dev | cut -d: -f1)
             echo tmp $(ls /tmp | wc -l)
             touch /usr/x 2>/dev/null || echo read-only
             ls {lab_path}/armarius-data >/dev/null 2>&1 || echo hidden
             cat {lab_path}/shared/file
             touch {lab_path}/shared/x 2>/dev/null || echo kept
             [ $(ls /proc | grep -c '^[0-9]') -lt 12 ] && echo alone
             echo x > $HOME/x && echo x > $TMPDIR/x && echo own
             echo '{{\"a\": 1}}' > $ARMARIUS_RESULT"
        ),
    );
    lab.wait(TASK, &["done", "failed"]);
    assert_eq!(
        lab.ok(&["task", "log", TASK]),
        "net lo\ntmp 0\nread-only\nhidden\nshared\nkept\nalone\nown\n"
    );
    assert_eq!(lab.detail("maps/page/1", "task.done")["result"]["a"], 1);
}

#[test]
fn a_strictly_isolated_task_is_asked_before_it_is_killed() {
    let lab = Lab::new();
    let Ok(_both) = strict(&lab) else { return };
    script(&lab, ", timeout: 2s", "trap 'echo asked; exit 3' TERM; sleep 1000 & wait");
    lab.wait(TASK, &["failed"]);
    lab.until("it says so", || lab.ok(&["task", "log", TASK]) == "asked\n");
}

/// podman with a store of its own, and an image made of busybox.
pub(crate) struct Podman {
    words: Vec<String>,
}

impl Podman {
    pub(crate) fn new(lab: &Lab) -> Self {
        let at = |name: &str| lab.path(name).display().to_string();
        let (root, run) = (format!("--root={}", at("pods")), format!("--runroot={}", at("run")));
        let words = ["podman", &root, &run, "--storage-driver=vfs", "--runtime=runc"];
        let own = Self { words: words.map(str::to_owned).into() };
        let image = lab.path("image");
        std::fs::create_dir_all(image.join("bin")).unwrap();
        std::fs::create_dir_all(image.join("tmp")).unwrap();
        std::fs::copy("/bin/busybox", image.join("bin/busybox")).unwrap();
        for name in ["sh", "echo", "cat", "sleep", "id", "ls"] {
            std::os::unix::fs::symlink("busybox", image.join("bin").join(name)).unwrap();
        }
        let tar = lab.path("image.tar");
        let packed =
            Command::new("tar").arg("-C").arg(&image).arg("-cf").arg(&tar).arg(".").status();
        assert!(packed.unwrap().success());
        // Its PATH is its own, as that of images with a toolchain is.
        let own_path = "--change=ENV PATH=/bin:/opt/tool";
        own.say(&["import", own_path, &tar.display().to_string(), "armarius-test"]);
        own
    }

    fn say(&self, args: &[&str]) -> String {
        let output = Command::new("podman").args(&self.words[1..]).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The names of all containers, those that ended too.
    pub(crate) fn containers(&self) -> String {
        self.say(&["ps", "--all", "--format={{.Names}}"])
    }

    pub(crate) fn work(&self, lab: &Lab, more: &[&str]) -> Running {
        let tool = self.words.join(" ");
        let words = ["work", "--container-tool", &tool, "--container-arg=--network=none"];
        let limits = ["--open-files", "1024", "--processes", "1024"];
        let language = ("LANG", "de_DE.UTF-8");
        lab.start_with(&[&words[..], &limits, more].concat(), "worker", &[language])
    }
}

/// Containers of podman need root here.
pub(crate) fn with_podman() -> Option<Lab> {
    let has = |program| Command::new(program).arg("--version").output().is_ok();
    if !rustix::process::geteuid().is_root() || !has("podman") || !has("runc") {
        eprintln!("there is no podman with runc here, or this is not root");
        return None;
    }
    Some(Lab::new())
}

#[test]
fn a_step_with_an_image_runs_in_a_container() {
    let Some(lab) = with_podman() else { return };
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let podman = Podman::new(&lab);
    lab.with_flow(
        "f.yaml",
        r#"
tasks:
  - name: s
    image: armarius-test
    shell: sh
    env: { COLOUR: "red; echo", TZ: Europe/Berlin }
    script: |
      id -u; ls /; echo "$COLOUR" $ARMARIUS_ITEM_KEY
      cat $ARMARIUS_INPUT > $ARMARIUS_RESULT
      echo x > $HOME/x && echo x > $TMPDIR/y && echo own
      echo "$PATH $LANG $TZ"
      exit 3
    exit_codes: { 3: success }
  - { name: bare, command: [sh, -c, "ls / | cat"], depends: [s] }
  - { name: none, image: "localhost:1/nowhere", command: ["true"], depends: [s] }
"#,
    );
    lab.ok(&["submit", "f", "maps/page/1", "--payload", r#"{"dpi": 300}"#]);
    // A worker without a tool for containers leaves such steps alone.
    let mut plain = lab.start(&["work"], "worker");
    let why = lab.ok(&["why", "maps/page/1"]);
    assert!(why.contains("a worker that runs containers"), "{why}");
    plain.signal(Signal::TERM);
    plain.end();
    let _worker = podman.work(&lab, &["--default-image", "armarius-test"]);
    let task = lab.wait(TASK, &["done", "failed"]);
    let log = lab.ok(&["task", "log", TASK]);
    assert_eq!(task["state"], "done", "{task} {log}");
    let lines: Vec<&str> = log.lines().collect();
    assert_ne!(lines[0], "0", "{log}");
    assert!(log.contains("armarius\n") && !log.contains("home\n"), "{log}");
    // Nothing of this machine's PATH and language, but all that the step says.
    assert!(log.ends_with("red; echo 1\nown\n/bin:/opt/tool  Europe/Berlin\n"), "{log}");
    assert_eq!(lab.detail("maps/page/1", "task.done")["result"]["dpi"], 300);
    // The worker's own image for steps that name none.
    lab.wait("f.bare@maps/page/1", &["done"]);
    let log = lab.ok(&["task", "log", "f.bare@maps/page/1"]);
    assert!(log.contains("armarius\n") && !log.contains("home\n"), "{log}");
    let task = lab.wait("f.none@maps/page/1", &["failed"]);
    // That may pass; there are no retries left.
    assert_eq!(task["cause"], "exhausted", "{task}");
    assert_eq!(podman.containers(), "");
}

#[test]
fn a_container_is_gone_after_cancel_and_after_the_death_of_its_worker() {
    let Some(lab) = with_podman() else { return };
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    let podman = Podman::new(&lab);
    let mut worker = podman.work(&lab, &[]);
    lab.with_flow(
        "f.yaml",
        "tasks: [{ name: s, image: armarius-test, ttl: 2s, \
                   command: [sh, -c, 'echo runs; sleep 1000'] }]",
    );
    for round in ["cancel", "kill"] {
        lab.ok(&["submit", "f", &format!("maps/page/{round}")]);
        let task = format!("f.s@maps/page/{round}");
        lab.until("it runs", || lab.ok(&["task", "log", &task]) == "runs\n");
        assert!(podman.containers().starts_with("armarius-"));
        if round == "cancel" {
            lab.ok(&["task", "cancel", &task, "--reason", "enough"]);
        } else {
            worker.signal(Signal::KILL);
            worker.end();
        }
        lab.until("the container is gone", || podman.containers().is_empty());
    }
}
