//! The servers: processes that are killed and started again.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use armarius_sim::node::Line;
use armarius_store::conformance::cluster::Cluster;
use tempfile::TempDir;

use crate::proxy::Proxy;

/// How long a server may take to answer after its start.
const START_MAX: Duration = Duration::from_secs(60);

/// Where sockets lie, and which database it is.
pub(crate) struct Place {
    folder: TempDir,
    database: PathBuf,
    port: u16,
    shards: u16,
}

impl Place {
    pub(crate) fn new(folder: TempDir, cluster: &Cluster, shards: u16) -> Self {
        let database = cluster.folder().to_owned();
        Self { folder, database, port: cluster.port(), shards }
    }

    /// The database's address through the socket in a folder.
    fn url(&self, folder: &std::path::Path) -> String {
        let (folder, shards) = (folder.display(), self.shards);
        format!("postgres://postgres@/postgres?host={folder}&schema=chaos&shards={shards}")
    }

    /// The database's address, without a proxy.
    pub(crate) fn direct_url(&self) -> String {
        self.url(&self.database)
    }
}

/// One server.
pub(crate) struct Node {
    socket: PathBuf,
    url: String,
    proxy: Proxy,
    process: Mutex<Child>,
}

impl Node {
    pub(crate) fn start(place: &Place, n: usize) -> Self {
        let folder = place.folder.path();
        let proxy = Proxy::start(folder.join(format!("p{n}")), &place.database, place.port);
        let socket = folder.join(format!("node{n}"));
        let url = place.url(&proxy.folder);
        let process = Mutex::new(spawn(&url, &socket));
        let node = Self { socket, url, proxy, process };
        node.await_answer();
        node
    }

    /// A line to it, if it is there.
    pub(crate) fn line(&self) -> Option<Line> {
        Line::open(&self.socket).ok()
    }

    pub(crate) fn kill_and_restart(&self) {
        let mut process = self.process.lock().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
        drop(std::fs::remove_file(&self.socket));
        *process = spawn(&self.url, &self.socket);
    }

    pub(crate) fn cut(&self) {
        self.proxy.cut();
    }

    /// Stands still, and then goes on as if nothing had been.
    pub(crate) fn freeze(&self, span: Duration) {
        let process = self.process.lock().unwrap();
        signal("-STOP", process.id());
        std::thread::sleep(span);
        signal("-CONT", process.id());
    }

    fn await_answer(&self) {
        let began = Instant::now();
        while self.line().is_none() {
            assert!(began.elapsed() < START_MAX, "a server does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Ok(process) = self.process.get_mut() {
            drop(process.kill());
            drop(process.wait());
        }
    }
}

fn spawn(url: &str, socket: &std::path::Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_node"));
    command.arg(url).arg(socket).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().unwrap()
}

fn signal(which: &str, process: u32) {
    let status = Command::new("kill").args([which, &process.to_string()]).status().unwrap();
    assert!(status.success(), "cannot send {which}");
}
