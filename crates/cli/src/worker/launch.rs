//! How a task's first process begins: as this program, which takes on the task's limits and user
//! and then becomes the task.
//!
//! Nothing may run between `fork` and `exec` without `unsafe`; between two `exec`s anything may. So
//! the keeper starts this program again, which waits for a word on its standard input, limits
//! itself, and calls `exec`. The end of its input instead of the word is the end of the keeper.
//! Once the task runs, the pair of sockets is closed; if it cannot be run, the reason comes first.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::Context as _;
use rustix::process::{Gid, Resource, Rlimit, Signal, Uid};
use serde::{Deserialize, Serialize};

use super::tree;

/// The hidden command that launches a task.
pub(crate) const COMMAND: &str = "launch";

/// What the launcher ends with when it did not become the task.
const NOT_LAUNCHED: u8 = 127;
/// Bytes of a reason.
const REASON_BYTES_MAX: u64 = 4096;
/// How much sooner than others the kernel ends a task when memory is short, of 1000.
const OOM_SCORE: &str = "500";

/// What a task's processes may take, each; `None` leaves what the worker itself has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bounds {
    /// User and group they run as.
    pub(crate) user: Option<(u32, u32)>,
    /// Bytes of memory of one process.
    pub(crate) memory_bytes_max: Option<u64>,
    /// Processes and threads, all together.
    pub(crate) processes_max: Option<u64>,
    /// Files one process has open.
    pub(crate) open_files_max: Option<u64>,
    /// Bytes of one file.
    pub(crate) file_bytes_max: Option<u64>,
    /// May gain rights by programs that give them (`sudo`); then it could not be ended any more.
    pub(crate) may_rise: bool,
}

/// A launcher that waits.
pub(super) struct Launcher {
    pub(super) child: Child,
    word: UnixStream,
}

/// Why a task cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reason {
    /// For people.
    pub(super) why: String,
    /// Another attempt would not help.
    pub(super) permanent: bool,
}

/// This very program, also after its file was replaced by a newer one.
pub(super) fn program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { PathBuf::from("/proc/self/exe") })
}

impl Launcher {
    /// Starts a launcher in this place with this environment; it waits for the word.
    pub(super) fn start(
        argv: &[String],
        env: &BTreeMap<String, String>,
        folder: &Path,
        bounds: &Bounds,
    ) -> anyhow::Result<Self> {
        let (own, theirs) = UnixStream::pair()?;
        let child = Command::new(program()?)
            .args([COMMAND, &serde_json::to_string(bounds)?, "--"])
            .args(argv)
            .env_clear()
            .envs(env)
            .current_dir(folder)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        Ok(Self { child, word: own })
    }

    /// Gives the word; says why the task could not be run if so.
    pub(super) fn go(&mut self) -> Result<(), Reason> {
        // A launcher that is gone already was killed; its end tells more than a broken pipe.
        drop(self.word.write_all(b"g"));
        let mut said = Vec::new();
        drop((&mut self.word).take(REASON_BYTES_MAX).read_to_end(&mut said));
        match serde_json::from_slice(&said) {
            Ok(reason) => Err(reason),
            Err(_) => Ok(()),
        }
    }
}

/// The launcher itself: comes back only if it did not become the task.
pub(crate) fn stand_by(bounds: &str, argv: &[String]) -> anyhow::Result<ExitCode> {
    let bounds: Bounds = serde_json::from_str(bounds)?;
    let stdin = io::stdin();
    // A copy that closes when the task begins, and that stays when it cannot.
    let mut keeper = UnixStream::from(stdin.as_fd().try_clone_to_owned()?);
    let mut word = [0; 1];
    if keeper.read(&mut word)? == 1 {
        let reason = become_task(&bounds, argv);
        keeper.write_all(&serde_json::to_vec(&reason)?)?;
    }
    Ok(ExitCode::from(NOT_LAUNCHED))
}

/// Comes back only with the reason why not.
fn become_task(bounds: &Bounds, argv: &[String]) -> Reason {
    let Some((program, arguments)) = argv.split_first() else {
        return Reason { why: "there is no program to run".to_owned(), permanent: true };
    };
    if let Err(error) = limit(bounds) {
        return Reason { why: format!("cannot limit the task: {error:#}"), permanent: false };
    }
    let error = Command::new(program).args(arguments).stdin(Stdio::null()).exec();
    let permanent = matches!(
        error.kind(),
        // A program that is not there will not be there next time; anything else may pass.
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput
    );
    Reason { why: format!("cannot run {program:?}: {error}"), permanent }
}

fn limit(bounds: &Bounds) -> anyhow::Result<()> {
    rustix::process::setsid().context("no session of its own")?;
    // Without this it is only ended later than it should be.
    drop(std::fs::write("/proc/self/oom_score_adj", OOM_SCORE));
    let uid = bounds.user.map_or_else(|| rustix::process::getuid().as_raw(), |(uid, _)| uid);
    let processes = bounds.processes_max.map(|max| max + tree::threads_of(uid));
    for (resource, max) in [
        (Resource::Core, Some(0)),
        (Resource::Data, bounds.memory_bytes_max),
        (Resource::Nproc, processes),
        (Resource::Nofile, bounds.open_files_max),
        (Resource::Fsize, bounds.file_bytes_max),
    ] {
        if let Some(max) = max {
            // Nobody may have more than the worker has.
            let hard = rustix::process::getrlimit(resource).maximum;
            let max = Some(hard.map_or(max, |hard| hard.min(max)));
            rustix::process::setrlimit(resource, Rlimit { current: max, maximum: max })
                .with_context(|| format!("{resource:?}"))?;
        }
    }
    if let Some((uid, gid)) = bounds.user {
        become_user(Uid::from_raw(uid), Gid::from_raw(gid))
            .with_context(|| format!("cannot become user {uid}, group {gid}"))?;
    }
    if !bounds.may_rise {
        rustix::thread::set_no_new_privs(true).context("cannot give up rights for good")?;
    }
    // Set last: a change of user would take it back.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .context("cannot be tied to its keeper")
}

/// This process has one thread, so that what holds for the thread holds for all of it.
fn become_user(uid: Uid, gid: Gid) -> rustix::io::Result<()> {
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)
}
