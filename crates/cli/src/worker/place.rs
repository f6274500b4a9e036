//! The folder of one attempt: where it runs, what it is given, what it leaves.

use std::fs::{self, DirBuilder};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use super::den::remove_all;

/// The folder of one attempt.
///
/// `run` is where it runs, `tmp` is scratch, `in` is what it is given, `out` is what it leaves.
/// They belong to the task's user; the folder itself does not, so that nobody can put other things
/// in their place.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    user: Option<(u32, u32)>,
}

impl Place {
    pub(super) fn make(path: PathBuf, user: Option<(u32, u32)>) -> io::Result<Self> {
        remove_all(&path);
        DirBuilder::new().mode(if user.is_some() { 0o711 } else { 0o700 }).create(&path)?;
        let place = Self { path, user };
        for name in ["run", "tmp", "in", "out"] {
            place.folder(name)?;
        }
        Ok(place)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder it runs in, perhaps one below.
    pub(super) fn run_folder(&self, below: Option<&str>) -> io::Result<PathBuf> {
        let mut folder = PathBuf::from("run");
        for part in Path::new(below.unwrap_or_default()).components() {
            match part {
                Component::Normal(name) => {
                    folder.push(name);
                    self.folder(&folder)?;
                }
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                    let why = "workdir leads out of the folder";
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
                }
            }
        }
        Ok(folder)
    }

    fn folder(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let path = self.path.join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        self.hand_over(&path)
    }

    /// Writes something the task is given.
    pub(super) fn give(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(bytes)?;
        self.hand_over(&path)
    }

    pub(super) fn hand_over(&self, path: &Path) -> io::Result<()> {
        match self.user {
            Some((user, group)) => std::os::unix::fs::lchown(path, Some(user), Some(group)),
            None => Ok(()),
        }
    }

    /// Reads something the task left; `None` when it left nothing. The task may have put anything
    /// there: links are not followed, and only a file of moderate size is read.
    pub(super) fn take(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, String> {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let opened =
            fs::OpenOptions::new().read(true).custom_flags(flags).open(self.path.join(name));
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot be read: {error}")),
        };
        if !file.metadata().is_ok_and(|about| about.is_file()) {
            return Err("is no file".to_owned());
        }
        let mut bytes = Vec::new();
        let read = file.take(bytes_max + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("cannot be read: {error}"))?;
        if bytes.len() as u64 > bytes_max {
            return Err(format!("is larger than {} KiB", bytes_max / 1024));
        }
        Ok(Some(bytes))
    }

    /// Removes it with all that is in it.
    pub(super) fn remove(self) {
        remove_all(&self.path);
    }
}

/// The first folder on the way that a user cannot enter.
pub(super) fn barrier(path: &Path, (user, group): (u32, u32)) -> Option<PathBuf> {
    let shut = |folder: &&Path| {
        let Ok(about) = fs::metadata(folder) else { return false };
        let needed = if about.uid() == user {
            0o100
        } else if about.gid() == group {
            0o010
        } else {
            0o001
        };
        about.mode() & needed == 0
    };
    let on_the_way: Vec<&Path> = path.ancestors().collect();
    on_the_way.into_iter().rev().find(shut).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_task_left_is_read_with_care() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::make(folder.path().join("a"), None).unwrap();
        assert_eq!(place.take("out/x", 9), Ok(None));
        fs::write(place.path().join("out/x"), "123456789").unwrap();
        assert_eq!(place.take("out/x", 9), Ok(Some(b"123456789".to_vec())));
        assert_eq!(place.take("out/x", 8), Err("is larger than 0 KiB".to_owned()));
        assert_eq!(place.take("out", 9), Err("is no file".to_owned()));
        std::os::unix::fs::symlink("/etc/passwd", place.path().join("out/y")).unwrap();
        assert!(place.take("out/y", 9999).unwrap_err().starts_with("cannot be read"));
        assert!(place.run_folder(Some("../x")).is_err());
        assert_eq!(place.run_folder(Some("a/./b")).unwrap(), Path::new("run/a/b"));
        place.remove();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_shut_folder_on_the_way_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(folder.path(), mode).unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        assert_eq!(barrier(&inner, (65534, 65534)).as_deref(), Some(folder.path()));
    }
}
