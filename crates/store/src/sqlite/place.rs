//! Where the file is: not on a network, and how much room there is.

use std::path::Path;

use armarius_engine::seam::StoreError;

use super::fault::Answer;

/// File systems whose locks and syncs reach over a network, or through a program, and cannot be
/// relied on. The numbers are those of `statfs`.
const REMOTE: [(u64, &str); 14] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x564c, "NCP"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
];

/// Refuses a file on a file system that cannot keep it.
pub(super) fn check(path: &Path) -> Answer<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let stat = rustix::fs::statfs(folder)
        .map_err(|e| StoreError::Unusable(format!("{}: {e}", folder.display())))?;
    refuse(path, u64::try_from(stat.f_type).unwrap_or_default())
}

/// Bytes this process may still write at a place.
pub(super) fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn refuse(path: &Path, kind: u64) -> Answer<()> {
    let Some((_, name)) = REMOTE.iter().find(|(magic, _)| *magic == kind) else { return Ok(()) };
    let path = path.display();
    Err(StoreError::Unusable(format!(
        "{path} is on {name}, where locks and syncs cannot be relied on; use a local disk, or \
         PostgreSQL"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_file_system_is_refused_by_name() {
        let refusal = refuse(Path::new("/mnt/a.db"), 0x6969).unwrap_err().to_string();
        assert!(refusal.contains("NFS"), "{refusal}");
        assert!(refuse(Path::new("/mnt/a.db"), 0xef53).is_ok());
    }

    #[test]
    fn this_folder_has_room() {
        assert!(free_bytes(Path::new(".")).is_some_and(|b| b > 0));
    }
}
