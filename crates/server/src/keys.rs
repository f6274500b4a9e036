//! Keys: who may do what.
//!
//! A key is written `ark_ID_SECRET`: a public id of 16 hexadecimal digits and a secret of 256 bits.
//! Only the SHA-256 of the secret is kept, in `keys.json` in the data folder, which is readable by
//! its owner alone and replaced whole. (A *token* is a fencing number, never a credential.)

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use armarius_core::text::Name;
use armarius_engine::clock::{Clock as _, SystemClock};
use armarius_wire::v1::key::{Key, Role};
use armarius_wire::v1::time;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The file in the data folder.
const FILE: &str = "keys.json";
/// Bytes of a key's public part.
const ID_BYTES: usize = 8;
/// Bytes of a key's secret.
const SECRET_BYTES: usize = 32;
/// Keys one server may have.
const KEYS_MAX: usize = 10_000;

/// Who is asking, as authenticated.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The key's name: the actor of what it causes.
    pub(crate) actor: Name,
    /// What the key's holder may do.
    pub(crate) role: Role,
    /// Only these collections; all when `None`.
    pub(crate) scope: Option<Arc<[Name]>>,
}

/// All keys.
#[derive(Debug)]
pub struct Ring {
    path: PathBuf,
    entries: RwLock<Vec<Entry>>,
}

/// A key that was just made. Its text is shown once and kept nowhere.
#[derive(Debug)]
pub struct Fresh {
    /// The public part.
    pub id: String,
    /// The whole key.
    pub text: String,
}

/// Why keys cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file.
    #[error("{}: {why}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// What happened.
        why: String,
    },
    /// The operating system gave no random bits.
    #[error("no random bits: {0}")]
    Random(String),
    /// Another key has the name.
    #[error("there is a key named {0} already")]
    NameTaken(String),
    /// There are too many.
    #[error("there are {KEYS_MAX} keys already")]
    TooMany,
    /// Nobody could make another key.
    #[error("this is the last admin key for everything")]
    LastAdmin,
    /// There is no such key.
    #[error("there is no key {0}")]
    Unknown(String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    id: String,
    name: String,
    role: Role,
    #[serde(default)]
    collections: Vec<String>,
    digest: String,
    since: String,
    /// Lives as long as the process and is never written.
    #[serde(skip)]
    lent: bool,
}

#[derive(Serialize, Deserialize)]
struct Content {
    keys: Vec<Entry>,
}

impl Ring {
    /// Reads the keys of a data folder. There are none before the first start.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let entries = match fs::read_to_string(&path) {
            Ok(text) => {
                check_private(&path)?;
                let content: Content =
                    serde_json::from_str(&text).map_err(|e| failed(&path, &e))?;
                content.keys
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(failed(&path, &e)),
        };
        Ok(Self { path, entries: RwLock::new(entries) })
    }

    /// Whether there is any key that is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read(|entries| entries.iter().all(|entry| entry.lent))
    }

    /// Makes a key and keeps it.
    pub fn add(&self, name: &Name, role: Role, collections: &[Name]) -> Result<Fresh, Error> {
        self.insert(name, role, collections, false, |_| Ok(()))
    }

    /// Makes the first key: an admin's. It is written to a file of its own before it is kept, so
    /// that a crash in between leaves no server without a way in.
    pub fn add_first(&self, name: &Name, file: &Path) -> Result<Fresh, Error> {
        self.insert(name, Role::Admin, &[], false, |fresh| {
            write_private(file, &format!("{}\n", fresh.text)).map_err(|e| failed(file, &e))
        })
    }

    /// Makes a key that ends with the process, for a part of the process itself.
    pub fn lend(&self, name: &Name, role: Role) -> Result<Fresh, Error> {
        self.insert(name, role, &[], true, |_| Ok(()))
    }

    /// Ends a key, at once.
    pub fn revoke(&self, id: &str) -> Result<(), Error> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let mut left = entries.clone();
        left.retain(|entry| entry.id != id);
        if left.len() == entries.len() {
            return Err(Error::Unknown(id.to_owned()));
        }
        let whole_admin = |e: &Entry| !e.lent && e.role == Role::Admin && e.collections.is_empty();
        if !left.iter().any(whole_admin) {
            return Err(Error::LastAdmin);
        }
        self.save(&left)?;
        *entries = left;
        Ok(())
    }

    /// All keys, without their secrets.
    #[must_use]
    pub fn list(&self) -> Vec<Key> {
        let shown = |entry: &Entry| Key {
            id: entry.id.clone(),
            name: entry.name.clone(),
            role: entry.role,
            collections: entry.collections.clone(),
            since: entry.since.clone(),
        };
        self.read(|entries| entries.iter().filter(|e| !e.lent).map(shown).collect())
    }

    /// Who presents this key, if it is one of ours.
    #[must_use]
    pub(crate) fn caller(&self, presented: &str) -> Option<Caller> {
        let (id, secret) = presented.strip_prefix("ark_")?.split_once('_')?;
        let digest = digest_of(secret);
        self.read(|entries| {
            let entry = entries.iter().find(|entry| entry.id == id)?;
            if !same(entry.digest.as_bytes(), digest.as_bytes()) {
                return None;
            }
            let names = entry.collections.iter().map(|name| Name::trusted(name));
            let scope: Arc<[Name]> = names.collect();
            Some(Caller {
                actor: Name::trusted(&entry.name),
                role: entry.role,
                scope: (!scope.is_empty()).then_some(scope),
            })
        })
    }

    fn insert(
        &self,
        name: &Name,
        role: Role,
        collections: &[Name],
        lent: bool,
        before: impl FnOnce(&Fresh) -> Result<(), Error>,
    ) -> Result<Fresh, Error> {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        if entries.iter().any(|entry| entry.name == name.as_str()) {
            return Err(Error::NameTaken(name.to_string()));
        }
        if entries.len() >= KEYS_MAX {
            return Err(Error::TooMany);
        }
        let (id, secret) = (random_hex::<ID_BYTES>()?, random_hex::<SECRET_BYTES>()?);
        let entry = Entry {
            id: id.clone(),
            name: name.to_string(),
            role,
            collections: collections.iter().map(Name::to_string).collect(),
            digest: digest_of(&secret),
            since: time::text(SystemClock::default().wall()),
            lent,
        };
        let mut grown = entries.clone();
        grown.push(entry);
        let text = format!("ark_{id}_{secret}");
        let fresh = Fresh { id, text };
        before(&fresh)?;
        if !lent {
            self.save(&grown)?;
        }
        *entries = grown;
        Ok(fresh)
    }

    fn read<T>(&self, look: impl FnOnce(&[Entry]) -> T) -> T {
        look(&self.entries.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn save(&self, entries: &[Entry]) -> Result<(), Error> {
        let keys = entries.iter().filter(|entry| !entry.lent).cloned().collect();
        let text = serde_json::to_string_pretty(&Content { keys });
        let text = text.map_err(|e| failed(&self.path, &e))?;
        write_private(&self.path, &text).map_err(|e| failed(&self.path, &e))
    }
}

impl Caller {
    /// Whether the key is for this collection.
    #[must_use]
    pub(crate) fn may(&self, collection: &str) -> bool {
        match &self.scope {
            Some(scope) => scope.iter().any(|name| name.as_str() == collection),
            None => true,
        }
    }
}

/// Replaces a file whole, readable by its owner alone, durable when this returns.
pub fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    // What a crash left behind may have other permissions.
    drop(fs::remove_file(&fresh));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    File::open(folder)?.sync_all()
}

fn check_private(path: &Path) -> Result<(), Error> {
    let mode = fs::metadata(path).map_err(|e| failed(path, &e))?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let why = format!("others may read it; run chmod 600 {}", path.display());
    Err(Error::File { path: path.to_owned(), why })
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::File { path: path.to_owned(), why: why.to_string() }
}

fn digest_of(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

fn random_hex<const N: usize>() -> Result<String, Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| Error::Random(e.to_string()))?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares in a time that does not depend on where the first difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    #[test]
    fn a_key_opens_until_it_is_revoked_and_the_file_holds_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let ring = Ring::open(folder.path()).unwrap();
        assert!(ring.is_empty());
        let admin = ring.add(&name("admin"), Role::Admin, &[]).unwrap();
        let maps = ring.add(&name("maps"), Role::Worker, &[name("maps")]).unwrap();
        let again = Ring::open(folder.path()).unwrap();
        let caller = again.caller(&maps.text).unwrap();
        assert!(caller.may("maps") && !caller.may("books"));
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        let secret = maps.text.rsplit('_').next().unwrap();
        assert!(!text.contains(secret));
        again.revoke(&maps.id).unwrap();
        assert!(again.caller(&maps.text).is_none());
        assert!(matches!(again.revoke(&admin.id), Err(Error::LastAdmin)));
    }

    #[test]
    fn what_is_not_a_key_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ring = Ring::open(folder.path()).unwrap();
        let key = ring.add(&name("admin"), Role::Admin, &[]).unwrap();
        let cut = &key.text[..key.text.len() - 1];
        for presented in ["", "ark_", "ark__", cut, &key.text.to_uppercase(), "ark_x_y"] {
            assert!(ring.caller(presented).is_none(), "{presented}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        Ring::open(folder.path()).unwrap().add(&name("a"), Role::Admin, &[]).unwrap();
        let path = folder.path().join(FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Ring::open(folder.path()).unwrap_err().to_string().contains("chmod 600"));
    }

    #[test]
    fn names_are_unique_and_lent_keys_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let ring = Ring::open(folder.path()).unwrap();
        ring.add(&name("a"), Role::Admin, &[]).unwrap();
        assert!(matches!(ring.add(&name("a"), Role::Worker, &[]), Err(Error::NameTaken(_))));
        let lent = ring.lend(&name("worker here"), Role::Worker).unwrap();
        assert!(ring.caller(&lent.text).is_some());
        assert!(Ring::open(folder.path()).unwrap().caller(&lent.text).is_none());
    }
}
