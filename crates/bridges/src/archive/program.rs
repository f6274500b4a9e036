//! Runs a program of a repository: fixed arguments, no shell, an environment of its own, a limit on
//! time and output.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::repository::{Limits, Trouble};

/// Bytes of complaints that are kept.
const COMPLAINT_BYTES_MAX: usize = 4_096;
/// How often a program that runs is looked after, while its output has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a program said.
#[derive(Debug)]
pub(super) struct Said {
    /// Whether it ended well.
    pub(super) ok: bool,
    /// What it wrote, up to the limit.
    pub(super) out: Vec<u8>,
    /// There was more.
    pub(super) cut: bool,
    /// What it complained about, on one line.
    pub(super) complaint: String,
}

impl Said {
    /// Its output as text; bytes that are none are shown as such.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Its output, if it ended well and said all.
    pub(super) fn or_trouble(self, what: &str) -> Result<Self, Trouble> {
        if self.cut {
            return Err(Trouble::Unreachable(format!("{what}: more output than is read")));
        }
        if !self.ok {
            return Err(Trouble::Unreachable(format!("{what}: {}", self.complaint)));
        }
        Ok(self)
    }
}

/// Runs a program with arguments, perhaps with one more variable; reads `bytes_max` of its output.
pub(super) fn run<I: AsRef<OsStr>>(
    name: &str,
    arguments: impl IntoIterator<Item = I>,
    variable: Option<(&str, &Path)>,
    bytes_max: usize,
    limits: &Limits,
) -> Result<Said, Trouble> {
    let mut command = Command::new(name);
    command.args(arguments).env_clear().stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    for kept in ["PATH", "HOME", "SSH_AUTH_SOCK", "TMPDIR"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command.env("LC_ALL", "C.UTF-8").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ASKPASS", "false")
        .env("SVN_SSH", "ssh -oBatchMode=yes");
    command.envs(variable);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Trouble::Unreachable(format!("{name} is not installed on the server's machine"))
        }
        _ => Trouble::Unreachable(format!("cannot start {name}: {error}")),
    })?;
    let until = Instant::now() + limits.program_time_max;
    let out = listen(child.stdout.take(), bytes_max);
    let complaints = listen(child.stderr.take(), COMPLAINT_BYTES_MAX);
    let heard = hear(&out, until).and_then(|out| Some((out, hear(&complaints, until)?)));
    let Some(((out, cut), (complaints, _))) = heard else {
        end(&mut child);
        let seconds = limits.program_time_max.as_secs();
        return Err(Trouble::Unreachable(format!("{name} took longer than {seconds} s")));
    };
    let ok = wait(&mut child, until, name)?;
    let complaint = String::from_utf8_lossy(&complaints);
    let complaint = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Said { ok, out, cut, complaint })
}

type Heard = (Vec<u8>, bool);

/// Reads what comes, keeps the beginning of it, and never lets the writer wait.
fn listen(from: Option<impl Read + Send + 'static>, bytes_max: usize) -> mpsc::Receiver<Heard> {
    let (tx, rx) = mpsc::sync_channel(1);
    let read = move || {
        let (mut kept, mut cut) = (Vec::new(), false);
        if let Some(mut from) = from {
            let mut piece = [0; 16 * 1024];
            while let Ok(n @ 1..) = from.read(&mut piece) {
                let room = bytes_max.saturating_sub(kept.len()).min(n);
                kept.extend_from_slice(&piece[..room]);
                cut |= room < n;
            }
        }
        // Whoever waited may have given up.
        drop(tx.send((kept, cut)));
    };
    drop(thread::Builder::new().name("repository".to_owned()).spawn(read));
    rx
}

fn hear(from: &mpsc::Receiver<Heard>, until: Instant) -> Option<Heard> {
    from.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
}

fn wait(child: &mut Child, until: Instant, name: &str) -> Result<bool, Trouble> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                if let Some(signal) = status.signal() {
                    let why = format!("{name} was ended by signal {signal}");
                    return Err(Trouble::Unreachable(why));
                }
                return Ok(status.success());
            }
            Ok(None) if Instant::now() < until => thread::sleep(LOOK_EVERY),
            Ok(None) | Err(_) => {
                end(child);
                return Err(Trouble::Unreachable(format!("{name} does not end")));
            }
        }
    }
}

/// Ends a program with everything it started.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    drop(child.kill());
    drop(child.wait());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_cut_and_time_is_limited() {
        let limits = Limits { program_time_max: Duration::from_millis(300), ..Limits::default() };
        let said = run("printf", ["abcdef"], None, 3, &Limits::default()).unwrap();
        assert_eq!((said.out.as_slice(), said.cut, said.ok), (&b"abc"[..], true, true));
        let trouble = run("sleep", ["60"], None, 3, &limits).unwrap_err();
        assert!(trouble.to_string().contains("longer than"), "{trouble}");
        let trouble = run("no-such-program-here", [""], None, 3, &limits).unwrap_err();
        assert!(trouble.to_string().contains("not installed"), "{trouble}");
    }
}
