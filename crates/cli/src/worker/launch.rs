//! How a task's first process begins: as this program, which waits for the worker's word and then
//! becomes the task.
//!
//! The worker has to tell its guard the process group before anything of the task runs; else a
//! worker that is killed in between would leave the task behind. So what it starts is a launcher
//! that waits. Its standard input is one end of a pair of sockets: a byte is the go-ahead, the end
//! of the stream is the end of the worker. Once the task runs the pair is closed; if the task
//! cannot be run, the reason comes back first.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};

/// The hidden command that launches a task.
pub(crate) const COMMAND: &str = "launch";

/// What the launcher ends with when it did not become the task.
const NOT_LAUNCHED: u8 = 127;

/// The worker's end of the pair.
pub(super) struct Launcher(UnixStream);

impl Launcher {
    /// A command that will wait for the go-ahead before it becomes this program. Its group is its
    /// own.
    pub(super) fn ready(argv: &[String]) -> io::Result<(Command, Self)> {
        if argv.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (own, theirs) = UnixStream::pair()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args([COMMAND, "--"]).args(argv).process_group(0);
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        Ok((command, Self(own)))
    }

    /// Gives the go-ahead, and says why the program could not be run if so.
    pub(super) fn go(mut self) -> io::Result<()> {
        // A launcher that is gone already was killed; its end tells more than a broken pipe.
        drop(self.0.write_all(b"g"));
        let mut errno = Vec::new();
        drop(self.0.read_to_end(&mut errno));
        match <[u8; 4]>::try_from(errno) {
            Ok(errno) => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno))),
            Err(_) => Ok(()),
        }
    }
}

/// Ends a child that was never let go.
pub(super) fn discard(mut child: Child) {
    drop(child.kill());
    drop(child.wait());
}

/// The launcher itself: comes back only if it did not become the task.
pub(crate) fn stand_by(argv: &[String]) -> io::Result<ExitCode> {
    let stdin = io::stdin();
    // A copy that closes when the task begins, and that stays when it cannot.
    let mut worker = UnixStream::from(stdin.as_fd().try_clone_to_owned()?);
    let (mut word, Some((program, arguments))) = ([0; 1], argv.split_first()) else {
        return Ok(ExitCode::from(NOT_LAUNCHED));
    };
    if worker.read(&mut word)? == 1 {
        let error = Command::new(program).args(arguments).stdin(Stdio::null()).exec();
        let errno = error.raw_os_error().unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
        worker.write_all(&errno.to_ne_bytes())?;
    }
    Ok(ExitCode::from(NOT_LAUNCHED))
}
