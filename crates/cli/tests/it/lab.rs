//! A folder of its own for each test, and the binary in it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The binary as it was built.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_armarius");
/// How long anything in these tests may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The rest between two looks, so that a wait takes no time from what it waits for.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) struct Lab {
    pub(crate) folder: tempfile::TempDir,
}

/// A process that is killed when the test is over.
pub(crate) struct Running {
    child: Child,
    pub(crate) url: String,
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Lab {
    /// Tasks write here too, and perhaps run as another user.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        open_to_all(folder.path());
        Self { folder }
    }

    /// A folder that tasks may write to.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir(&path).unwrap();
        open_to_all(&path);
        path
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_of(Path::new(PROGRAM), args)
    }

    /// As [`Lab::command`], of a program that may be a copy.
    pub(crate) fn command_of(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.folder.path());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ARMARIUS_") {
                command.env_remove(name);
            }
        }
        command.env("XDG_CONFIG_HOME", self.path("config"));
        command.env("ARMARIUS_WORK_DIR", self.path("work"));
        command
    }

    /// Starts a process and waits until it says `ready`.
    #[track_caller]
    pub(crate) fn start(&self, args: &[&str], ready: &str) -> Running {
        self.start_with(args, ready, &[])
    }

    /// As [`Lab::start`], with variables.
    #[track_caller]
    pub(crate) fn start_with(&self, args: &[&str], ready: &str, env: &[(&str, &str)]) -> Running {
        let started = self.try_start(args, ready, env);
        started.unwrap_or_else(|said| panic!("{args:?} said only {said:?}"))
    }

    /// As [`Lab::start_with`]; what it said instead, when it ended before.
    pub(crate) fn try_start(
        &self,
        args: &[&str],
        ready: &str,
        env: &[(&str, &str)],
    ) -> Result<Running, Vec<String>> {
        let mut command = self.command(args);
        command.envs(env.iter().copied());
        Running::begin(command, ready)
    }

    pub(crate) fn up(&self) -> Running {
        self.start(&["up", "--listen", "127.0.0.1:0"], "listening on")
    }

    pub(crate) fn say(&self, args: &[&str]) -> Said {
        self.say_with(args, &[])
    }

    pub(crate) fn say_with(&self, args: &[&str], env: &[(&str, &str)]) -> Said {
        let output: Output = self.command(args).envs(env.iter().copied()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// A command that must work.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let said = self.say(args);
        assert_eq!(said.code, 0, "{args:?}: {}{}", said.out, said.err);
        said.out
    }

    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut args = args.to_vec();
        args.push("--json");
        serde_json::from_str(&self.ok(&args)).unwrap()
    }

    /// A collection `maps` with this flow.
    pub(crate) fn with_flow(&self, file: &str, text: &str) {
        self.write(file, text);
        self.ok(&["collection", "put", "maps"]);
        self.ok(&["flow", "apply", "maps", file]);
    }

    /// Asks for a task until it is in one of these states.
    #[track_caller]
    pub(crate) fn wait(&self, task: &str, states: &[&str]) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            // A task that something else must wake first is not there yet.
            let said = self.say(&["task", "show", task, "--json"]);
            let shown: Value = serde_json::from_str(&said.out).unwrap_or_default();
            if shown["state"].as_str().is_some_and(|state| states.contains(&state)) {
                return shown;
            }
            assert!(Instant::now() < until, "{task} is still {shown}{}", said.err);
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < until, "waited in vain: {what}");
            std::thread::sleep(LOOK);
        }
    }

    /// The detail of an item's newest event of a name.
    pub(crate) fn detail(&self, item: &str, event: &str) -> Value {
        let page = self.json(&["item", "events", item]);
        let entries = page["entries"].as_array().unwrap();
        let found = entries.iter().rev().find(|e| e["name"] == event);
        found.unwrap_or_else(|| panic!("no {event} in {page}"))["detail"].clone()
    }
}

impl Running {
    /// Starts a process; what it said instead of `ready`, when it ended before.
    pub(crate) fn begin(mut command: Command, ready: &str) -> Result<Self, Vec<String>> {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let line = lines.by_ref().map_while(Result::ok).find(|line| {
            said.push(line.clone());
            line.contains(ready)
        });
        let Some(line) = line else {
            drop(child.wait());
            return Err(said);
        };
        // What else it says must be read, or it would wait for a reader.
        std::thread::spawn(move || lines.for_each(|line| eprintln!("{line:?}")));
        let url = line.split(['\u{20}', ',']).find(|word| word.starts_with("http")).unwrap_or("");
        Ok(Self { child, url: url.to_owned() })
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)
            .unwrap();
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Waits for the end and gives the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn open_to_all(path: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(path, mode).unwrap();
}

/// Waits until a file is there and gives what is in it.
pub(crate) fn read_soon(path: &Path) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            Ok(_) | Err(_) => assert!(Instant::now() < until, "{} is missing", path.display()),
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether a process is there and not merely waiting to be reaped.
pub(crate) fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) else {
        return false;
    };
    !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
}

/// Waits until a process is gone.
pub(crate) fn gone_soon(pid: &str) {
    let until = Instant::now() + PATIENCE;
    while is_alive(pid) {
        assert!(Instant::now() < until, "process {pid} is still there");
        std::thread::sleep(LOOK);
    }
}
