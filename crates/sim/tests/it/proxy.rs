//! Stands between a server and the database, and can cut what runs through it, or lead elsewhere.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A listening socket in a folder, as the database's is.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) folder: PathBuf,
    server: Arc<Mutex<PathBuf>>,
    name: String,
    running: Arc<Mutex<Vec<UnixStream>>>,
}

impl Proxy {
    /// Listens in a folder of its own for connections to the server in another.
    pub(crate) fn start(folder: PathBuf, server: &Path, port: u16) -> Self {
        std::fs::create_dir(&folder).unwrap();
        let name = format!(".s.PGSQL.{port}");
        let listener = UnixListener::bind(folder.join(&name)).unwrap();
        let running: Arc<Mutex<Vec<UnixStream>>> = Arc::default();
        let server = Arc::new(Mutex::new(server.join(&name)));
        let (kept, towards) = (Arc::clone(&running), Arc::clone(&server));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let server = towards.lock().unwrap().clone();
                // A database that is away refuses, and so does this.
                if let (Ok(near), Ok(far)) = (stream, UnixStream::connect(server)) {
                    drop(join(near, far, &kept));
                }
            }
        });
        Self { folder, server, name, running }
    }

    /// Leads to another server from now on; what runs is cut.
    pub(crate) fn lead_to(&self, server: &Path) {
        *self.server.lock().unwrap() = server.join(&self.name);
        self.cut();
    }

    /// Cuts everything that runs through it.
    pub(crate) fn cut(&self) {
        for stream in self.running.lock().unwrap().drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

fn join(near: UnixStream, far: UnixStream, kept: &Mutex<Vec<UnixStream>>) -> io::Result<()> {
    kept.lock().unwrap().extend([near.try_clone()?, far.try_clone()?]);
    for (from, to) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
        std::thread::spawn(move || {
            drop(io::copy(&mut &from, &mut &to));
            drop(from.shutdown(Shutdown::Both));
            drop(to.shutdown(Shutdown::Both));
        });
    }
    Ok(())
}
