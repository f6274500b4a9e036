//! The folder somebody works in, read as a revision of it would be.

use std::fs::{self, File as Opened};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use armarius_wire::flowfile::FILE_BYTES_MAX;

use super::definitions::{FILES_MAX, FOLDER, is_definition};
use super::repository::{Content, File};

/// The definitions of an archive in the folder of somebody who works on it, or in its `_workflows`
/// alone; `None` when it has no such folder.
pub fn files_in(root: &Path) -> io::Result<Option<Vec<File>>> {
    let folder = match is_folder_of_definitions(root)? {
        true => root.to_owned(),
        false => root.join(FOLDER),
    };
    let here = match fs::symlink_metadata(&folder) {
        Ok(here) => here,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !here.is_dir() {
        let content = if here.is_symlink() { Content::Link } else { Content::NoFolder };
        return Ok(Some(vec![file(&folder, content)]));
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        // Nothing else can be committed as a file.
        let is_one = kind.is_file() || kind.is_symlink();
        if is_one && name.to_str().is_some_and(is_definition) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    paths.truncate(FILES_MAX);
    paths.iter().map(|path| Ok(file(path, content(path)?))).collect::<io::Result<_>>().map(Some)
}

/// What a path holds, as it would be committed.
fn content(path: &Path) -> io::Result<Content> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Ok(Content::Link);
    }
    let mut bytes = Vec::new();
    Opened::open(path)?.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Content::Bytes(bytes))
}

fn file(path: &Path, content: Content) -> File {
    File { name: path.to_string_lossy().into_owned(), content }
}

fn is_folder_of_definitions(path: &Path) -> io::Result<bool> {
    let named = |path: &Path| path.file_name().is_some_and(|name| name == FOLDER);
    Ok(named(path) || named(&path.canonicalize()?))
}
