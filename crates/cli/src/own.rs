//! A server of its own in a folder that is removed again.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use armarius_wire::client::Client;

use crate::servers;

/// How long a server may take to start.
const START_MAX: Duration = Duration::from_secs(60);
/// The rest between two looks whether it has.
const LOOK: Duration = Duration::from_millis(20);
/// Lines of it that are kept, for when it does not start.
const LINES_MAX: usize = 20;

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
        Self::start_on(None, dir, verb, more)
    }

    /// As [`Server::start`], on this store, which stays as the server leaves it.
    pub(crate) fn start_on(
        store: Option<&str>,
        dir: &Path,
        verb: &str,
        more: &[String],
    ) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("armarius-own-")
            .tempdir_in(dir)
            .with_context(|| format!("cannot write to {}", dir.display()))?;
        let (data, config) = (folder.path().join("data"), folder.path().join("config"));
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        let mut command = Command::new(program);
        // Settings of this machine are meant for other servers; their store above all.
        command.env_remove("ARMARIUS_CONFIG").env_remove("ARMARIUS_STORE");
        // An address may hold a password, which everybody could read on a command line.
        if let Some(store) = store {
            command.env("ARMARIUS_STORE", store);
        }
        let mut child = command
            .arg(verb)
            .args(more)
            .arg("--data")
            .arg(&data)
            // It is not to be found by other commands.
            .env("XDG_CONFIG_HOME", &config)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a server")?;
        let heard = listen(&mut child);
        let until = Instant::now() + START_MAX;
        let url = loop {
            let known = servers::known_in(&config.join("armarius").join("servers.toml"));
            if let Some(server) = known.ok().and_then(|known| known.into_iter().next()) {
                break server.url;
            }
            if child.try_wait()?.is_some() || Instant::now() > until {
                drop(child.kill());
                drop(child.wait());
                let heard = heard.lock().unwrap_or_else(PoisonError::into_inner).join("; ");
                anyhow::bail!("the server did not start: {heard}");
            }
            std::thread::sleep(LOOK);
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

/// What a process says, the last lines of it. It must be read, or it would wait for a reader.
fn listen(child: &mut Child) -> Arc<Mutex<Vec<String>>> {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let Some(said) = child.stderr.take() else { return heard };
    let own = Arc::clone(&heard);
    std::thread::spawn(move || {
        for line in BufReader::new(said).lines().map_while(Result::ok) {
            let mut heard = own.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push(line);
            let surplus = heard.len().saturating_sub(LINES_MAX);
            heard.drain(..surplus);
        }
    });
    heard
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // One that is gone already needs no signal.
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
        drop(self.child.wait());
    }
}
