//! What can be chosen about how tasks are run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::container::{Containers, is_image};
use super::launch::Bounds;
use super::place::barrier;
use super::{Options, user};
use crate::exit::Failure;

/// Memory of one process below which hardly any program starts.
const MEMORY_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// How tasks are run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Manner {
    /// The folder in which tasks get folders of their own
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The folder in which results wait until the server has taken them
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// basic: own folder, process group and limits; strict: also no network, a read-only system and
    /// no other files (needs bubblewrap)
    #[arg(long, value_enum, default_value_t = Isolation::Basic)]
    isolation: Isolation,
    /// A folder that strictly isolated tasks may read; may be given several times
    #[arg(long, value_name = "DIR")]
    share: Vec<PathBuf>,
    /// As whom tasks run when the worker is root: a name or UID:GID; armarius if there is such a
    /// user, else nobody
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Let tasks run as root when the worker is root
    #[arg(long)]
    allow_root: bool,
    /// Memory of one process of a task, such as 512M or 4G; what the machine has if absent
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    memory: Option<u64>,
    /// Processes and threads of a task
    #[arg(long, value_name = "N", default_value_t = 4096)]
    processes: u64,
    /// Files a process of a task has open
    #[arg(long, value_name = "N", default_value_t = 4096)]
    open_files: u64,
    /// Largest file a task may write, such as 20G; without a limit if absent
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    file_size: Option<u64>,
    /// Also run steps with an image, by this tool: podman, docker, or one with words of its own
    /// such as "podman --runtime runc"
    #[arg(long, value_name = "COMMAND")]
    container_tool: Option<String>,
    /// A word for the tool's run, such as --network=none; may be given several times
    #[arg(long, value_name = "WORD", allow_hyphen_values = true, requires = "container_tool")]
    container_arg: Vec<String>,
    /// The image of steps that name none; without it they run outside of containers
    #[arg(long, value_name = "IMAGE", requires = "container_tool")]
    default_image: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Isolation {
    Basic,
    Strict,
}

impl Manner {
    /// Puts what was chosen into the options; `home` is where the folders are unless they are
    /// named.
    pub(crate) fn settle(&self, home: &Path, options: &mut Options) -> anyhow::Result<()> {
        let is_root = rustix::process::geteuid().is_root();
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let user = user::choose(self.user.as_deref(), self.allow_root, is_root, &users)?;
        options.bounds = Bounds {
            user,
            memory_bytes_max: self.memory.or_else(machine_memory),
            processes_max: Some(self.processes),
            open_files_max: Some(self.open_files),
            file_bytes_max: self.file_size,
            may_rise: false,
        };
        options.folder = self.folder(home, user)?;
        options.state = absolute(self.state.as_deref().unwrap_or(&home.join("results")))?;
        options.strict = match self.isolation {
            Isolation::Basic => None,
            Isolation::Strict => {
                let shared: Result<_, _> = self.share.iter().map(|path| absolute(path)).collect();
                Some(shared?)
            }
        };
        options.containers = self.containers()?;
        Ok(())
    }

    fn containers(&self) -> Result<Option<Containers>, Failure> {
        let Some(tool) = &self.container_tool else { return Ok(None) };
        let tool: Vec<String> = tool.split_whitespace().map(str::to_owned).collect();
        if tool.is_empty() {
            return Err(Failure::new("--container-tool names no program", "say podman or docker"));
        }
        if let Some(image) = self.default_image.as_deref().filter(|image| !is_image(image)) {
            let why = format!("{image:?} is not the name of an image");
            return Err(Failure::new(why, "name one such as docker.io/library/debian:13"));
        }
        let (args, default_image) = (self.container_arg.clone(), self.default_image.clone());
        Ok(Some(Containers { tool, args, default_image }))
    }

    /// Where tasks have their folders. Another user's tasks must be able to get there.
    fn folder(&self, home: &Path, user: Option<(u32, u32)>) -> anyhow::Result<PathBuf> {
        let wanted = absolute(self.folder.as_deref().unwrap_or(&home.join("work")))?;
        let Some(user) = user else { return Ok(wanted) };
        let Some(shut) = barrier(&wanted, user) else { return Ok(wanted) };
        if self.folder.is_some() {
            let why = format!("tasks run as user {}, who cannot enter {}", user.0, shut.display());
            let hint = "choose another --folder or --user, or open that folder (chmod o+x)";
            return Err(Failure::new(why, hint).into());
        }
        elsewhere(&wanted)
    }
}

/// A folder of root's in the machine's folder for temporary things, the same one at each start.
fn elsewhere(wanted: &Path) -> anyhow::Result<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
    let name: String =
        wanted.display().to_string().chars().map(|c| if c == '/' { '-' } else { c }).collect();
    let path = std::env::temp_dir().join(format!("armarius{name}"));
    let shown = || path.display().to_string();
    match std::fs::DirBuilder::new().mode(0o711).create(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(shown);
        }
        Ok(()) | Err(_) => {}
    }
    let about = std::fs::symlink_metadata(&path).with_context(shown)?;
    if !about.is_dir() || about.uid() != 0 || about.mode() & 0o022 != 0 {
        let why = format!("{} belongs to somebody else", shown());
        return Err(Failure::new(why, "remove it, or choose another --folder").into());
    }
    Ok(path)
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| path.display().to_string())
}

/// Bytes of memory the machine has.
fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024).filter(|bytes| *bytes >= MEMORY_BYTES_MIN)
}

/// `512`, `512K`, `512M`, `4G`, `1T`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "" => 1,
        "K" => 1024,
        "M" => 1024 * 1024,
        "G" => 1024 * 1024 * 1024,
        "T" => 1024_u64.pow(4),
        other => return Err(format!("{other:?} is no unit; use K, M, G or T")),
    };
    let number: u64 = digits.parse().map_err(|_| "give a number, such as 512M".to_owned())?;
    let bytes = number.checked_mul(unit).ok_or_else(|| "that is too much".to_owned())?;
    match bytes {
        MEMORY_BYTES_MIN.. => Ok(bytes),
        _ => Err(format!("less than {} M is too little", MEMORY_BYTES_MIN / 1024 / 1024)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("512M"), Ok(512 * 1024 * 1024));
        assert_eq!(bytes("2G"), Ok(2 * 1024 * 1024 * 1024));
        assert_eq!(bytes("99999999"), Ok(99_999_999));
        for wrong in ["", "M", "1", "5X", "-1M", "99999999999T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
