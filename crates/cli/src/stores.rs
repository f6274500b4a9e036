//! Which store is meant: `sqlite:PATH`, `memory`, or `postgres://…`; and an engine on it.
//!
//! An address may hold a password. It is never printed: what people see is [`StoreAt::shown`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use armarius_engine::output::Outputs;
use armarius_engine::seam::{Database as _, Description, Store, StoreError};
use armarius_engine::{Engine, Fatal, Options, StartError};
use armarius_store::output::Before;
use armarius_store::{Memory, OutputFiles, Sqlite, postgres, sqlite};

use crate::exit::Failure;

/// The store in a data folder.
pub(crate) const FILE: &str = "armarius.db";

/// What stands in the place of a secret.
const HIDDEN: &str = "***";

/// Where a store is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StoreAt {
    /// In this process, until it ends.
    Memory,
    /// A file of one process.
    Sqlite(PathBuf),
    /// A database that many servers share; the address may hold a password.
    Postgres(String),
}

impl StoreAt {
    /// Reads what was given, else the file in the data folder.
    pub(crate) fn of(given: Option<&str>, data: &Path) -> anyhow::Result<Self> {
        given.map_or_else(|| Ok(Self::Sqlite(data.join(FILE))), Self::read)
    }

    /// Reads an address.
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(Self::Postgres(text.to_owned()))
            }
            Some(_) | None => {
                let why = format!("{} is no store", hide(text));
                let hint = "write sqlite:PATH, memory, or postgres://USER@HOST/DATABASE";
                Err(Failure::new(why, hint).into())
            }
        }
    }

    /// The address, without secrets.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Memory => "memory".to_owned(),
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(url) => hide(url),
        }
    }

    /// An engine on it, and what it promises.
    pub(crate) fn start(&self, options: Options) -> anyhow::Result<(Engine, Description)> {
        match self {
            Self::Memory => start_one(Box::new(Memory::new()), options),
            Self::Sqlite(path) => {
                let store = Sqlite::open(path, sqlite::Options::default())
                    .map_err(|error| unusable(&error))?;
                start_one(Box::new(store), options)
            }
            Self::Postgres(url) => start_all(&open_database(url)?, options),
        }
    }

    /// The same, with a place for the output of tasks: where servers share a store they share that
    /// too.
    pub(crate) fn serve(&self, options: Options, shelf: &Shelf) -> anyhow::Result<Started> {
        match self {
            Self::Memory | Self::Sqlite(_) => {
                let outputs = Arc::new(shelf.files()?);
                let (engine, description) = self.start(options)?;
                Ok(Started { engine, description, outputs })
            }
            Self::Postgres(url) => {
                let database = open_database(url)?;
                let now = database.outputs(shelf.whole_bytes_max);
                // What was written before there was a database is still shown.
                let outputs: Arc<dyn Outputs> = match shelf.folder.is_dir() {
                    true => Arc::new(Before { now, before: shelf.files()? }),
                    false => Arc::new(now),
                };
                let (engine, description) = start_all(&database, options)?;
                Ok(Started { engine, description, outputs })
            }
        }
    }
}

fn start_all(
    database: &postgres::Database,
    options: Options,
) -> anyhow::Result<(Engine, Description)> {
    let engine = Engine::start_all(database, options).map_err(not_started)?;
    Ok((engine, database.describe()))
}

/// Where this server keeps output, if its store does not.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    pub(crate) folder: PathBuf,
    /// Up to so many bytes an output is kept whole.
    pub(crate) whole_bytes_max: u64,
}

impl Shelf {
    fn files(&self) -> anyhow::Result<OutputFiles> {
        let opened = OutputFiles::open(&self.folder, self.whole_bytes_max);
        opened.with_context(|| self.folder.display().to_string())
    }
}

/// What runs on a store.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) engine: Engine,
    pub(crate) description: Description,
    pub(crate) outputs: Arc<dyn Outputs>,
}

impl fmt::Debug for StoreAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// A database that many servers share.
pub(crate) fn open_database(url: &str) -> anyhow::Result<postgres::Database> {
    let opened = postgres::Database::open(url, postgres::Options::default());
    opened.map_err(|error| no_database(&error))
}

/// Why a database cannot be used, with what to do about it.
fn no_database(error: &StoreError) -> anyhow::Error {
    let hint = match error {
        StoreError::Unavailable(_) | StoreError::Unknown(_) => {
            "is the database running, and may this user connect to it?"
        }
        StoreError::Unusable(_) => "check the address, and that no newer version has been here",
        StoreError::Full(_) | StoreError::Corrupt(_) | StoreError::Disk(_) => hint_of(error),
    };
    match Fatal::of(error) {
        Some(fatal) => Failure::fatal(&fatal, hint).into(),
        None => Failure::new(error.to_string(), hint).into(),
    }
}

/// An engine on one store.
pub(crate) fn start_one(
    store: Box<dyn Store>,
    options: Options,
) -> anyhow::Result<(Engine, Description)> {
    let about = store.describe();
    Ok((Engine::start(store, options).map_err(not_started)?, about))
}

fn not_started(error: StartError) -> anyhow::Error {
    match error {
        StartError::Store(error) => unusable(&error),
        StartError::Thread(error) => Failure::new(error.to_string(), "try again").into(),
    }
}

/// Why a store cannot be used, with what to do and the code to exit with.
pub(crate) fn unusable(error: &StoreError) -> anyhow::Error {
    match Fatal::of(error) {
        Some(fatal) => Failure::fatal(&fatal, hint_of(error)).into(),
        None => Failure::new(error.to_string(), hint_of(error)).into(),
    }
}

fn hint_of(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unusable(_) => {
            "one data folder is for one server; stop the other one, or choose another --data"
        }
        StoreError::Full(_) => "free space on the disk of the store",
        StoreError::Unavailable(_) | StoreError::Unknown(_) => "try again in a moment",
        StoreError::Corrupt(_) => "restore a backup, or run `armarius doctor` to see more",
        StoreError::Disk(_) => "check the disk, then start again; what was acknowledged is there",
    }
}

/// An address without its passwords: that of the user, and any that stands among the parameters.
pub(crate) fn hide(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (place, query) = rest.split_once('?').map_or((rest, None), |(p, q)| (p, Some(q)));
    // A password may hold any sign, so everything up to the last @ is the user's.
    let place = match place.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:{HIDDEN}@{host}"),
            None => format!("{user}@{host}"),
        },
        None => place.to_owned(),
    };
    let parameter = |one: &str| match one.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("password") => {
            format!("{name}={HIDDEN}")
        }
        Some(_) | None => one.to_owned(),
    };
    let query = query.map(|q| q.split('&').map(parameter).collect::<Vec<_>>().join("&"));
    match query {
        Some(query) => format!("{scheme}://{place}?{query}"),
        None => format!("{scheme}://{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_read_and_shown_without_its_secret() {
        for (text, shown) in [
            ("memory", "memory"),
            ("sqlite:a/b.db", "sqlite:a/b.db"),
            ("postgres://u:s3cret@h:5/d", "postgres://u:***@h:5/d"),
            ("postgres://u:s@3:c/r@h/d?sslmode=require", "postgres://u:***@h/d?sslmode=require"),
            (
                "postgresql:///d?host=/run/x&password=s3&a=b",
                "postgresql:///d?host=/run/x&password=***&a=b",
            ),
            ("postgres://u@h/d", "postgres://u@h/d"),
        ] {
            let at = StoreAt::read(text).unwrap();
            assert_eq!(at.shown(), shown);
            assert_eq!(format!("{at:?}"), shown);
        }
    }

    #[test]
    fn what_is_no_store_is_said_without_its_secret() {
        for text in ["", "mysql://u:s3cret@h/d", "sqlite:", "postgres:u:x@h", "armarius.db"] {
            let why = StoreAt::read(text).unwrap_err().to_string();
            assert!(!why.contains("s3cret"), "{why}");
        }
        let data = Path::new("data");
        assert_eq!(StoreAt::of(None, data).unwrap(), StoreAt::Sqlite(data.join(FILE)));
    }
}
