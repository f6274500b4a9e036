//! Which processes there are, as `/proc` tells.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::{Pid, Signal, kill_process};

/// How often a tree that keeps growing is looked at before it is killed as it is.
const LOOKS_MAX: usize = 50;

/// Everything below a process: children, their children, and so on.
pub(super) fn below(root: Pid) -> Vec<Pid> {
    let mut by_parent: BTreeMap<i32, Vec<Pid>> = BTreeMap::new();
    for pid in all() {
        if let Some(parent) = stat(pid).and_then(|s| s.parent) {
            by_parent.entry(parent).or_default().push(pid);
        }
    }
    let (mut found, mut next) = (Vec::new(), vec![root]);
    while let Some(parent) = next.pop() {
        let children = by_parent.remove(&parent.as_raw_nonzero().get()).unwrap_or_default();
        found.extend_from_slice(&children);
        next.extend(children);
    }
    found
}

/// Asks everything below a process to end.
pub(super) fn ask_below(root: Pid) {
    below(root).into_iter().for_each(|pid| send(pid, Signal::TERM));
}

/// Kills everything below a process. What is stopped first can no longer run away by forking.
pub(super) fn kill_below(root: Pid) {
    let mut known = Vec::new();
    for _ in 0..LOOKS_MAX {
        let fresh: Vec<Pid> = below(root).into_iter().filter(|pid| !known.contains(pid)).collect();
        if fresh.is_empty() {
            break;
        }
        fresh.iter().for_each(|pid| send(*pid, Signal::STOP));
        known.extend(fresh);
    }
    known.iter().for_each(|pid| send(*pid, Signal::KILL));
}

/// The processes whose environment says so. Those of other users cannot be read, and are not ours.
pub(super) fn marked(mark: &str) -> Vec<Pid> {
    let is_marked = |pid: &Pid| {
        let environ = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
        environ.is_ok_and(|all| all.split(|b| *b == 0).any(|var| var.starts_with(mark.as_bytes())))
    };
    all().into_iter().filter(is_marked).collect()
}

/// Kills the processes whose environment says so, as often as new ones come.
pub(super) fn kill_marked(mark: &str) {
    for _ in 0..LOOKS_MAX {
        let found = marked(mark);
        if found.is_empty() {
            return;
        }
        found.iter().for_each(|pid| send(*pid, Signal::STOP));
        found.iter().for_each(|pid| send(*pid, Signal::KILL));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Threads a user has now: what the kernel's limit of processes counts.
pub(super) fn threads_of(user: u32) -> u64 {
    let own = |pid: &Pid| {
        let folder = fs::metadata(format!("/proc/{}", pid.as_raw_nonzero()));
        folder.is_ok_and(|about| about.uid() == user)
    };
    let counts = all().into_iter().filter(own).filter_map(|pid| stat(pid).map(|s| s.threads));
    counts.sum()
}

fn send(pid: Pid, signal: Signal) {
    // One that is gone needs no signal.
    let _gone = kill_process(pid, signal);
}

fn all() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let number = |entry: std::io::Result<fs::DirEntry>| {
        Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?)
    };
    entries.filter_map(number).collect()
}

struct Stat {
    parent: Option<i32>,
    threads: u64,
}

fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    read_stat(&text)
}

/// The name of a process is in parentheses and may hold anything, parentheses too.
fn read_stat(text: &str) -> Option<Stat> {
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let is_dead = matches!(*fields.first()?, "Z" | "X");
    let parent = fields.get(1)?.parse().ok().filter(|_| !is_dead);
    Some(Stat { parent, threads: fields.get(17)?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lie_about_the_parent() {
        let text = "7 (a) S 1 (b) S 42 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 9 0 0";
        let read = read_stat(text).unwrap();
        assert_eq!((read.parent, read.threads), (Some(42), 3));
    }

    #[test]
    fn the_dead_have_no_parent() {
        let text = "7 (a) Z 42 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0";
        assert_eq!(read_stat(text).unwrap().parent, None);
    }
}
