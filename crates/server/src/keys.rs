//! Keys: who may do what.
//!
//! A key is written `ark_ID_SECRET`: a public id of 16 hexadecimal digits and a secret of 256 bits.
//! Keys are rows of the store and change by commands like everything else; only the SHA-256 of a
//! secret is kept. The ring is this server's copy of those rows. (A *token* is a fencing number,
//! never a credential.)

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use armarius_core::command::{Command, MakeKey};
use armarius_core::event::{Hash, digest};
use armarius_core::rows;
use armarius_core::text::Name;
use armarius_core::view::{CommitHead, View};
use armarius_engine::{EngineError, Handle};
use armarius_wire::v1::key::{Key, Role};
use armarius_wire::v1::time;

/// Bytes of a key's public part.
const ID_BYTES: usize = 8;
/// Bytes of a key's secret.
const SECRET_BYTES: usize = 32;
/// Bytes of what tells one store from another.
const MARK_BYTES: usize = 8;
/// Who makes the first key.
const HOUSE: &str = "armarius";

/// Who is asking, as authenticated.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The key's name: the actor of what it causes.
    pub(crate) actor: Name,
    /// What the key's holder may do.
    pub(crate) role: Role,
    /// Only these collections; all when `None`.
    pub(crate) scope: Option<Arc<[Name]>>,
    /// The key's public part.
    pub(crate) key: Name,
    /// Set when nothing is to be changed: what would have been is noted here.
    pub(crate) rehearsal: Option<crate::rehearse::Rehearsal>,
}

/// This server's copy of all keys.
#[derive(Debug)]
pub struct Ring {
    handle: Handle,
    kept: RwLock<HashMap<Name, rows::Key>>,
    /// The commit the copy was made after.
    seen: Mutex<Option<CommitHead>>,
    /// Made of the oldest key: all servers of a store agree on it, and no other store has it.
    mark: OnceLock<String>,
    /// Keys that end with the process and are kept nowhere.
    lent: RwLock<HashMap<Name, Lent>>,
}

#[derive(Debug)]
struct Lent {
    caller: Caller,
    digest: Hash,
}

/// A key that was just made. Its text is shown once and kept nowhere.
#[derive(Debug)]
pub struct Fresh {
    /// The public part.
    pub id: String,
    /// The whole key.
    pub text: String,
    digest: Hash,
}

/// Why keys cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file of the first key.
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
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Ring {
    /// Reads the keys of the store behind this handle. There are none before the first start.
    pub fn open(handle: Handle) -> Result<Self, Error> {
        let ring = Self {
            handle,
            kept: RwLock::default(),
            seen: Mutex::default(),
            mark: OnceLock::new(),
            lent: RwLock::default(),
        };
        ring.refresh()?;
        Ok(ring)
    }

    /// Whether nobody could make a key.
    #[must_use]
    pub fn lacks_admin(&self) -> bool {
        !read(&self.kept).values().any(rows::Key::is_whole_admin)
    }

    /// Makes a key and keeps it.
    pub fn add(
        &self,
        actor: &Name,
        name: &Name,
        role: Role,
        collections: &[Name],
    ) -> Result<Fresh, Error> {
        let fresh = Fresh::new()?;
        self.keep(actor, &fresh, name, role, collections)?;
        Ok(fresh)
    }

    /// Makes the first key: an admin's. It is written to a file of its own before it is kept, so
    /// that a crash in between leaves no server without a way in.
    pub fn add_first(&self, name: &Name, file: &Path) -> Result<Fresh, Error> {
        let fresh = Fresh::new()?;
        write_private(file, &format!("{}\n", fresh.text)).map_err(|e| failed(file, &e))?;
        self.keep(&Name::trusted(HOUSE), &fresh, name, Role::Admin, &[])?;
        Ok(fresh)
    }

    /// Makes a key that ends with the process, for a part of the process itself.
    pub fn lend(&self, name: &Name, role: Role) -> Result<Fresh, Error> {
        let fresh = Fresh::new()?;
        let key = Name::trusted(&fresh.id);
        let caller =
            Caller { actor: name.clone(), role, scope: None, key: key.clone(), rehearsal: None };
        let mut lent = self.lent.write().unwrap_or_else(PoisonError::into_inner);
        lent.insert(key, Lent { caller, digest: fresh.digest });
        Ok(fresh)
    }

    /// All keys that open something, without their secrets, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Key> {
        let shown = |key: &rows::Key| Key {
            id: key.id.to_string(),
            name: key.name.to_string(),
            role: key.role.into(),
            collections: key.collections.iter().map(Name::to_string).collect(),
            since: time::text(key.made_at),
            changed: time::text(key.changed_at),
        };
        let kept = read(&self.kept);
        let mut live: Vec<_> = kept.values().filter(|key| key.revoked_at.is_none()).collect();
        live.sort_by_key(|key| (key.made_at, &key.id));
        live.into_iter().map(shown).collect()
    }

    /// Reads the rows again, if anything was committed since: what another server changed is known
    /// here from then on.
    pub fn refresh(&self) -> Result<(), Error> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let read = self.handle.question(|reader| {
            let head = reader.head()?;
            if *seen == Some(head) {
                return Ok(None);
            }
            let mut view = View::new(0);
            reader.look(&[], &mut view, true)?;
            let rows = view.keys.iter().map(|(id, key)| (id.clone(), key.clone())).collect();
            Ok(Some((head, rows)))
        })?;
        if let Some((head, rows)) = read {
            let rows: HashMap<Name, rows::Key> = rows;
            let oldest = rows.values().min_by_key(|key| (key.made_at, &key.id));
            if let Some(key) = oldest {
                self.mark.get_or_init(|| hex(digest(&key.id).first_chunk::<MARK_BYTES>()));
            }
            *self.kept.write().unwrap_or_else(PoisonError::into_inner) = rows;
            *seen = Some(head);
        }
        Ok(())
    }

    /// What tells this store from others on the same machine.
    pub(crate) fn mark(&self) -> &str {
        self.mark.get().map_or("", String::as_str)
    }

    /// Who presents this key, if it is one of ours.
    #[must_use]
    pub(crate) fn caller(&self, presented: &str) -> Option<Caller> {
        let (id, secret) = presented.strip_prefix("ark_")?.split_once('_')?;
        let (id, digest) = (Name::new(id).ok()?, digest(secret));
        if let Some(lent) = read(&self.lent).get(&id) {
            return same(&lent.digest, &digest).then(|| lent.caller.clone());
        }
        let kept = read(&self.kept);
        let key = kept.get(&id).filter(|key| key.revoked_at.is_none())?;
        same(&key.digest, &digest).then(|| caller_of(key))
    }

    /// Who holds the key of this id, if it still opens something.
    #[must_use]
    pub(crate) fn holder(&self, id: &Name) -> Option<Caller> {
        let kept = read(&self.kept);
        kept.get(id).filter(|key| key.revoked_at.is_none()).map(caller_of)
    }

    fn keep(
        &self,
        actor: &Name,
        fresh: &Fresh,
        name: &Name,
        role: Role,
        collections: &[Name],
    ) -> Result<(), Error> {
        self.handle.call(actor.clone(), None, fresh.command(name, role, collections))?;
        self.refresh()
    }
}

impl Fresh {
    /// A key that opens nothing until it is kept.
    pub(crate) fn new() -> Result<Self, Error> {
        let (id, secret) = (random_hex::<ID_BYTES>()?, random_hex::<SECRET_BYTES>()?);
        Ok(Self { text: format!("ark_{id}_{secret}"), digest: digest(&secret), id })
    }

    /// What keeps it.
    pub(crate) fn command(&self, name: &Name, role: Role, collections: &[Name]) -> Command {
        Command::MakeKey(MakeKey {
            id: Name::trusted(&self.id),
            name: name.clone(),
            role: role.into(),
            collections: collections.to_vec(),
            digest: self.digest,
        })
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

fn caller_of(key: &rows::Key) -> Caller {
    let scope = (!key.collections.is_empty()).then(|| key.collections.as_slice().into());
    Caller {
        actor: key.name.clone(),
        role: key.role.into(),
        scope,
        key: key.id.clone(),
        rehearsal: None,
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

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::File { path: path.to_owned(), why: why.to_string() }
}

/// Random bits of the operating system, as hexadecimal digits.
pub(crate) fn random_hex<const N: usize>() -> Result<String, Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| Error::Random(e.to_string()))?;
    Ok(hex(Some(&bytes)))
}

fn hex<const N: usize>(bytes: Option<&[u8; N]>) -> String {
    bytes.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares in a time that does not depend on where the first difference is.
fn same(a: &Hash, b: &Hash) -> bool {
    a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}
