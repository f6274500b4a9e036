//! What a task of a revision is given: which revision it is, what that changed, and, where the step
//! asks for it, everything at that revision.

use std::io::{self, Read};
use std::path::{Component, Path};

use armarius_wire::client::{Client, Error, segment};
use armarius_wire::v1::claim::{Revision, Task};

use super::order::No;
use super::place::Place;

/// Bytes of changed paths that are given.
const PATHS_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Files and folders of one export.
const ENTRIES_MAX: usize = 2_000_000;
/// Bytes of one export.
const EXPORT_BYTES_MAX: u64 = 64 * 1024 * 1024 * 1024;
/// The file of changed paths.
const PATHS: &str = "in/changed-paths";

/// Brings what the task is given into its folder.
pub(super) fn bring(
    client: &Client,
    revision: &Revision,
    task: &Task,
    place: &Place,
) -> Result<(), No> {
    let at = format!("archives/{}/revisions/{}", segment(&revision.archive), revision.number);
    let paths = client.get_text(&format!("{at}/paths"), PATHS_BYTES_MAX);
    place.give(PATHS, paths.map_err(|error| unread("its changed paths", &error))?.as_bytes())?;
    if revision.source {
        let tar = client.open(&format!("{at}/export"));
        let tar = tar.map_err(|error| unread("its source", &error))?;
        unpack(tar, place).map_err(|error| {
            let why = format!("cannot bring the source of {}: {error}", task.item.address);
            match error.kind() {
                io::ErrorKind::InvalidData => No::permanent(why),
                // The server or the connection is gone, or there is no room just now.
                _ => No::not_yet(why),
            }
        })?;
    }
    Ok(())
}

/// Nothing of the task was run, so that a server or a repository that is away costs no attempt.
fn unread(what: &str, error: &Error) -> No {
    let why = format!("cannot get {what}: {error}");
    match error {
        Error::Unreachable { .. } => No::not_yet(why),
        Error::Refused(no) if no.status >= 500 || no.code == "wrong-state" => No::not_yet(why),
        Error::Refused(_) | Error::Garbled { .. } => No::transient(why),
    }
}

/// What the environment says about the revision, without the prefix of every name.
pub(super) fn variables(
    revision: &Revision,
    task: &Task,
    root: &Path,
) -> Vec<(&'static str, String)> {
    let r = revision;
    vec![
        ("ARCHIVE", r.archive.clone()),
        ("ARCHIVE_KIND", r.kind.clone()),
        ("REVISION", r.number.to_string()),
        ("REVISION_ID", r.id.clone()),
        ("PREVIOUS_REVISION", (r.number - 1).to_string()),
        ("PREVIOUS_REVISION_ID", r.previous_id.clone()),
        ("REPOSITORY", r.repo.clone()),
        ("CHANGED_PATHS", root.join(PATHS).display().to_string()),
        // A commit that carries this is known to come from this task.
        ("CAUSE", format!("{}:{}", r.depth, task.address)),
    ]
}

/// Unpacks an export into the folder the task runs in. Nothing of it may lead out of there.
fn unpack(tar: impl Read, place: &Place) -> io::Result<()> {
    let into = place.path().join("run");
    let mut archive = tar::Archive::new(tar.take(EXPORT_BYTES_MAX));
    archive.set_preserve_permissions(false);
    archive.set_preserve_mtime(true);
    for (n, entry) in archive.entries()?.enumerate() {
        if n >= ENTRIES_MAX {
            let why = format!("more than {ENTRIES_MAX} files");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let parts = path.components();
        let is_inside =
            parts.clone().all(|p| matches!(p, Component::Normal(_) | Component::CurDir));
        if !is_inside || !entry.unpack_in(&into)? {
            let why = format!("{} leads out of the folder", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        place.hand_over(&into.join(&path))?;
    }
    Ok(())
}
