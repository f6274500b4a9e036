//! Limits the operating system sets, where they can be moved.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Files a server may have open: connections, mostly.
const OPEN_FILES_WANTED: u64 = 16_384;

/// Takes as many open files as the system lets it have, up to what a server can use. Where that is
/// little, connections beyond it wait.
pub(crate) fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(OPEN_FILES_WANTED).min(OPEN_FILES_WANTED);
    if limit.current.is_some_and(|current| current < most) {
        limit.current = Some(most);
        // What cannot be had is gone without.
        setrlimit(Resource::Nofile, limit).ok();
    }
}
