//! A server of its own in a folder that is removed again.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use armarius_wire::client::Client;

/// A server in another process, ended when this is dropped.
pub(crate) struct Server {
    child: Child,
    /// Removed after the server has ended.
    _folder: tempfile::TempDir,
    pub(crate) url: String,
    pub(crate) key: String,
}

impl Server {
    /// Starts `armarius VERB` in a new folder below `dir`, with these arguments, and waits until it
    /// listens.
    pub(crate) fn start(dir: &Path, verb: &str, more: &[String]) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("armarius-own-")
            .tempdir_in(dir)
            .with_context(|| format!("cannot write to {}", dir.display()))?;
        let data = folder.path().join("data");
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        let mut child = Command::new(program)
            .arg(verb)
            .args(more)
            .arg("--data")
            .arg(&data)
            // It is not to be found by other commands.
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a server")?;
        let said = child.stderr.take().context("the server has no voice")?;
        let mut lines = BufReader::new(said).lines();
        let mut heard = Vec::new();
        let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
            heard.push(line.clone());
            let rest = line.strip_prefix("listening on ")?.split(',').next()?.to_owned();
            Some(rest)
        });
        // What else it says must be read, or it would wait for a reader.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let Some(url) = url else {
            drop(child.wait());
            anyhow::bail!("the server did not start: {}", heard.join("; "));
        };
        let key = std::fs::read_to_string(data.join("admin.key")).context("no key")?;
        Ok(Self { child, _folder: folder, url, key: key.trim().to_owned() })
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.url, &self.key)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // One that is gone already needs no signal.
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        drop(self.child.wait());
    }
}
