//! What the server keeps beside the store: the output of tasks, and secrets.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use armarius_core::address::escape_name;
use armarius_engine::output::{OutputError, Outputs};
use tokio::sync::watch;

use crate::problem::{Fault, Own};

/// Bytes of a secret.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// What the server keeps beside the store.
#[derive(Debug)]
pub struct Shelf {
    /// Where the output of tasks is.
    outputs: Arc<dyn Outputs>,
    /// The folder of secrets: a folder for each collection, a file for each secret.
    secrets: PathBuf,
    /// Counts what came.
    came: watch::Sender<u64>,
}

impl Shelf {
    /// Brings the parts together.
    #[must_use]
    pub fn new(outputs: Arc<dyn Outputs>, secrets: PathBuf) -> Self {
        Self { outputs, secrets, came: watch::Sender::new(0) }
    }

    /// Does something with the outputs on a thread beside the runtime.
    pub(crate) async fn with_outputs<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Outputs) -> Result<T, OutputError> + Send + 'static,
    ) -> Result<T, Fault> {
        let outputs = Arc::clone(&self.outputs);
        let asked = tokio::task::spawn_blocking(move || ask(&*outputs)).await;
        let broke = |_| Fault::own(Own::Internal, "reading output broke", "report it");
        asked.map_err(broke)?.map_err(|error| match error {
            OutputError::Full(_) => Fault::own(
                Own::StoreFull,
                "there is no room left for output",
                "free space on the disk of the data folder",
            ),
            OutputError::Unavailable(why) => Fault::own(Own::Unavailable, why, "try again later"),
        })
    }

    /// Something came.
    pub(crate) fn ring(&self) {
        self.came.send_modify(|n| *n += 1);
    }

    /// Tells when something comes.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.came.subscribe()
    }

    /// The value of a secret. One that others can read is none.
    pub(crate) fn secret(&self, collection: &str, name: &str) -> io::Result<String> {
        let path = self.secrets.join(file_name(collection)).join(file_name(name));
        let about = fs::symlink_metadata(&path)?;
        if !about.is_file() || about.mode() & 0o077 != 0 || about.len() > SECRET_BYTES_MAX {
            let why = "not a file of its owner alone (chmod 600), or larger than 64 KiB";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let value = fs::read_to_string(&path)?;
        // Whoever writes a file with an editor or echo does not mean the last line break.
        Ok(value.strip_suffix('\n').map_or_else(|| value.clone(), str::to_owned))
    }
}

/// A name as the name of a file: nothing in it leads elsewhere.
#[must_use]
pub fn file_name(name: &str) -> String {
    let mut escaped = String::new();
    escape_name(&mut escaped, name);
    escaped
}
