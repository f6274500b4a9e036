//! The servers this user has started, so that a command finds its server from any folder.
//!
//! They are kept in `armarius/servers.toml` in the user's configuration folder; the one that was
//! started last comes last.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Server {
    /// Its data folder.
    pub(crate) data: PathBuf,
    /// Where it listens.
    pub(crate) url: String,
    /// The file with the key of its first admin.
    pub(crate) key_file: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Book {
    #[serde(default)]
    server: Vec<Server>,
}

/// Writes a server down as the one started last.
pub(crate) fn record(server: &Server) -> anyhow::Result<()> {
    let path = path()
        .context("there is no configuration folder: neither XDG_CONFIG_HOME nor HOME is set")?;
    let mut book = read(&path)?;
    book.server.retain(|known| known.data != server.data && known.data.exists());
    book.server.push(server.clone());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let text = format!(
        "# Written by armarius; the server started last comes last.\n\n{}",
        toml::to_string(&book)?
    );
    armarius_server::keys::write_private(&path, &text).with_context(|| path.display().to_string())
}

/// The server of a data folder, or the one started last.
pub(crate) fn find(data: Option<&Path>) -> anyhow::Result<Option<Server>> {
    let Some(path) = path() else { return Ok(None) };
    let book = read(&path)?;
    let wanted = data.map(|data| data.canonicalize().unwrap_or_else(|_| data.to_owned()));
    let mut known = book.server.into_iter().rev();
    Ok(known.find(|server| wanted.as_ref().is_none_or(|data| *data == server.data)))
}

fn read(path: &Path) -> anyhow::Result<Book> {
    match fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).with_context(|| path.display().to_string()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Book::default()),
        Err(e) => Err(e).with_context(|| path.display().to_string()),
    }
}

fn path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("armarius").join("servers.toml"))
}
