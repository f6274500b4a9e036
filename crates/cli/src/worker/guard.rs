//! A small process beside the worker that outlives it by a moment: when the worker dies, however
//! that happens, it ends every task that was running, so that none goes on without a lease.
//!
//! The worker tells it the process groups of its tasks through a pipe, one line each: `+ 123` when
//! one begins, `- 123` before its number may be used again. The end of the pipe is the end of the
//! worker.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group};

/// The hidden command that runs the guard.
pub(crate) const COMMAND: &str = "guard";

/// The worker's end of the pipe.
pub(super) struct Guard(Mutex<ChildStdin>);

/// A task the guard knows of until this is dropped.
pub(super) struct Guarded<'g>(&'g Guard, Pid);

impl Guard {
    /// Starts the process, in a group of its own, so that no key pressed in a terminal ends it.
    pub(super) fn start() -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut child = Command::new(program)
            .arg(COMMAND)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start the guard")?;
        let pipe = child.stdin.take().context("the guard has no pipe")?;
        Ok(Self(Mutex::new(pipe)))
    }

    /// Tells the guard of a task.
    pub(super) fn watch(&self, group: Pid) -> Guarded<'_> {
        self.tell('+', group);
        Guarded(self, group)
    }

    fn tell(&self, sign: char, group: Pid) {
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a guard tasks still run; only a killed worker would leave them behind.
        drop(writeln!(pipe, "{sign} {}", group.as_raw_nonzero()));
    }
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        self.0.tell('-', self.1);
    }
}

/// The guard itself: reads until the worker is gone, then ends what is left.
pub(crate) fn stand(worker: impl BufRead) -> io::Result<()> {
    for group in left(worker)?.into_iter().filter_map(Pid::from_raw) {
        // One that is gone already needs no end.
        let _gone = kill_process_group(group, Signal::KILL);
    }
    Ok(())
}

fn left(worker: impl BufRead) -> io::Result<BTreeSet<i32>> {
    let mut groups = BTreeSet::new();
    for line in worker.lines() {
        let line = line?;
        let (sign, number) = line.split_once(' ').unwrap_or_default();
        let Some(group) = number.parse().ok().filter(|n| *n > 1) else { continue };
        match sign {
            "+" => groups.insert(group),
            _ => groups.remove(&group),
        };
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_ended_is_left() {
        let groups = left("+ 10\n+ 11\n- 10\nnonsense\n+ 0\n- 12\n".as_bytes()).unwrap();
        assert_eq!(groups, BTreeSet::from([11]));
    }
}
