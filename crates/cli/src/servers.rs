//! The servers this user has started, so that a command finds its server from any folder.
//!
//! They are kept in `armarius/servers.toml` in the user's configuration folder; the one that was
//! started last comes last.

use std::fs;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// How long a server that is looked for may take to answer.
const ANSWER_MAX: Duration = Duration::from_millis(500);

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
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    // Two servers that start together must not write over each other. Held until it is dropped.
    let _lock = lock(&path.with_extension("lock"))?;
    let mut book = read(&path)?;
    book.server.retain(|known| known.data != server.data && known.data.exists());
    book.server.push(server.clone());
    let text = format!(
        "# Written by armarius; the server started last comes last.\n\n{}",
        toml::to_string(&book)?
    );
    armarius_server::keys::write_private(&path, &text).with_context(|| path.display().to_string())
}

fn lock(path: &Path) -> anyhow::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).open(path);
    let file = file.with_context(|| path.display().to_string())?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(file)
}

/// The server of a data folder, or the newest that answers. A record whose server does not answer
/// is passed over, with a word about it; if none answers, the newest is given all the same, so that
/// the caller can say where it was.
pub(crate) fn find(data: Option<&Path>) -> anyhow::Result<Option<Server>> {
    let known = known()?;
    if let Some(data) = data {
        let wanted = data.canonicalize().unwrap_or_else(|_| data.to_owned());
        return Ok(known.into_iter().find(|server| server.data == wanted));
    }
    let Some(found) = known.iter().position(answers) else {
        return Ok(known.into_iter().next());
    };
    if let (Some(stale), Some(server), true) = (known.first(), known.get(found), found > 0) {
        let (stale, data) = (stale.data.display(), server.data.display());
        eprintln!("note: the server of {stale} does not answer; using that of {data}");
    }
    Ok(known.into_iter().nth(found))
}

/// The server of this user at an address.
pub(crate) fn at(url: &str) -> anyhow::Result<Option<Server>> {
    Ok(known()?.into_iter().find(|server| is_same(&server.url, url)))
}

/// Whether two addresses mean the same server.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// All that are known, the one started last first.
fn known() -> anyhow::Result<Vec<Server>> {
    path().map_or_else(|| Ok(Vec::new()), |path| known_in(&path))
}

/// All that are known in a file, the one started last first.
pub(crate) fn known_in(path: &Path) -> anyhow::Result<Vec<Server>> {
    Ok(read(path)?.server.into_iter().rev().collect())
}

/// Whether somebody listens where the server said it does.
fn answers(server: &Server) -> bool {
    let place = server.url.split("://").last().unwrap_or_default();
    let mut found = place.to_socket_addrs().into_iter().flatten();
    found.any(|address| TcpStream::connect_timeout(&address, ANSWER_MAX).is_ok())
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
