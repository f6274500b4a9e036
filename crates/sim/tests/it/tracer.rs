//! Runs the driver, alone or under `strace`, which kills or fails chosen system calls.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Calls by which the driver changes what is on the disk, or says that it has.
pub(crate) const CALLS: &[&str] =
    &["pwrite64", "fsync", "fdatasync", "ftruncate", "unlink", "write"];

/// Calls that make what was written durable; which of them is used depends on how SQLite was built.
pub(crate) const SYNCS: &[&str] = &["fsync", "fdatasync"];

/// What came of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Lines of its output.
    pub(crate) lines: Vec<String>,
    /// Its exit code; none when it was killed.
    pub(crate) code: Option<i32>,
    /// What it complained about.
    pub(crate) complaint: String,
}

impl Run {
    fn of(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        // A line without an end was not said.
        lines.retain(|line| line.ends_with('\n'));
        let lines = lines.iter().map(|line| line.trim_end().to_owned()).collect();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { lines, code: output.status.code(), complaint }
    }

    /// How many steps were acknowledged.
    pub(crate) fn acks(&self) -> usize {
        self.lines.iter().filter(|line| line.starts_with("ack ")).count()
    }
}

/// The driver with these words.
pub(crate) fn driver(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_driver"));
    command.args(words).stdin(Stdio::null());
    command
}

/// Runs the driver to its end.
pub(crate) fn run(words: &[&str]) -> Run {
    Run::of(&driver(words).output().unwrap())
}

/// Runs the driver under strace with an injection, such as `fsync:signal=KILL:when=3`. The log, if
/// one is wanted, shows the calls in their order, with paths.
pub(crate) fn run_injected(words: &[&str], inject: &str, log: Option<&Path>) -> Run {
    let mut command = strace(log.unwrap_or(Path::new("/dev/null")));
    command.arg("-e").arg(format!("inject={inject}"));
    command.arg(env!("CARGO_BIN_EXE_driver")).args(words).stdin(Stdio::null());
    Run::of(&command.output().expect("strace; `cargo xtask setup` installs it"))
}

fn strace(log: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-o"]).arg(log);
    command.arg("-e").arg(format!("trace={}", CALLS.join(",")));
    command
}

/// How often each call is made when nobody interferes: first by the thread that opens the file,
/// then by the lane. Strace counts the calls of each thread on its own.
pub(crate) fn count(words: &[&str], log: &Path) -> [BTreeMap<String, usize>; 2] {
    let mut command = strace(log);
    command.arg(env!("CARGO_BIN_EXE_driver")).args(words).stdin(Stdio::null());
    let run = Run::of(&command.output().expect("strace; `cargo xtask setup` installs it"));
    assert_eq!(run.code, Some(0), "{run:?}");
    let text = std::fs::read_to_string(log).unwrap();
    let mut threads: Vec<&str> = Vec::new();
    let mut counts: [BTreeMap<String, usize>; 2] = Default::default();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        if !threads.contains(&thread) {
            threads.push(thread);
        }
        let place = threads.iter().position(|t| *t == thread).unwrap();
        let call = rest.trim_start().split('(').next().unwrap_or_default();
        if let (Some(counts), true) = (counts.get_mut(place), CALLS.contains(&call)) {
            *counts.entry(call.to_owned()).or_default() += 1;
        }
    }
    counts
}
