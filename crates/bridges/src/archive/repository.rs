//! What can be asked of a repository, whatever its kind.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use armarius_core::command::About;
use armarius_core::rows::ArchiveKind;

use super::{git, svn};

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its kind.
    pub kind: ArchiveKind,
    /// A path or a URL.
    pub place: String,
    /// The branch that is counted along; empty for the one that is checked out.
    pub branch: String,
}

/// How much is read, and how long that may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long one program may run.
    pub program_time_max: Duration,
    /// How many bytes of its output are read.
    pub program_bytes_max: usize,
    /// Where copies of repositories elsewhere are kept; such are refused without it.
    pub mirrors: Option<PathBuf>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            program_time_max: Duration::from_secs(60),
            program_bytes_max: 64 * 1024 * 1024,
            mirrors: None,
        }
    }
}

/// A revision, by number and by what the repository calls it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Its number.
    pub number: i64,
    /// What the repository calls it; empty where the number says enough.
    pub id: String,
}

/// What a look showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What tells this repository from another one at the same place; empty where history does.
    pub identity: String,
    /// The youngest revision, 0 when there is none.
    pub youngest: i64,
    /// The revisions that follow the one asked about, oldest first, as many as were asked for.
    pub next: Vec<Point>,
}

/// A file of definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path below the archive's root.
    pub name: String,
    /// What it holds.
    pub content: Content,
}

/// What stands where a definition is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A file's bytes, at most one more than a flow file may have.
    Bytes(Vec<u8>),
    /// A symbolic link, which is never followed: it would mean something else on every machine.
    Link,
    /// A file where the folder should be.
    NoFolder,
}

/// One path a revision changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `A`, `M` or `D`.
    pub how: char,
    /// The path below the archive's root.
    pub path: String,
}

/// What a revision changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The paths.
    pub paths: Vec<Change>,
    /// The root itself, or a folder above it, was changed.
    pub root: bool,
}

/// Why something could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It may work later.
    Unreachable(String),
    /// The history is not the one that was known.
    Rewritten(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) | Self::Rewritten(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Trouble {}

/// What some files of a repository look like from outside: whoever commits replaces one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp(Vec<Option<(u64, u64, SystemTime)>>);

impl Stamp {
    /// Of these files of a folder, those that are missing included.
    pub(super) fn of(folder: &Path, files: &[&str]) -> Self {
        let look = |file: &&str| {
            let about = std::fs::metadata(folder.join(file)).ok()?;
            Some((about.ino(), about.len(), about.modified().ok()?))
        };
        Self(files.iter().map(look).collect())
    }
}

/// A repository that can be read.
pub trait Repository: Send + Sync {
    /// What there is, and up to `max` revisions that follow the one known.
    fn look(&self, known: &Point, max: usize) -> Result<Seen, Trouble>;

    /// A cheap sign: as long as it stays the same, nothing has changed. None where there is no
    /// such sign.
    fn stamp(&self) -> Option<Stamp>;

    /// The revision of a number.
    fn point(&self, number: i64) -> Result<Point, Trouble>;

    /// Who made a revision, when, with which words, and what it changed.
    fn about(&self, at: &Point) -> Result<(About, Changes), Trouble>;

    /// What a revision changed.
    fn changes(&self, at: &Point) -> Result<Changes, Trouble>;

    /// The definitions directly in a folder below the root, at a revision; none when it is not
    /// there. What is no folder stands for itself.
    fn files(&self, at: &Point, folder: &str) -> Result<Vec<File>, Trouble>;

    /// Writes everything at a revision into a folder that does not exist yet.
    fn export(&self, at: &Point, into: &Path) -> Result<(), Trouble>;
}

/// Opens a repository. Nothing is read yet.
pub fn open(place: &Place, limits: &Limits) -> Result<Box<dyn Repository>, Trouble> {
    Ok(match place.kind {
        ArchiveKind::Svn => Box::new(svn::Svn::open(place, limits)?),
        ArchiveKind::Git => Box::new(git::Git::open(place, limits)?),
    })
}

/// What kind of repository is probably there.
#[must_use]
pub fn guess_kind(place: &str) -> Option<ArchiveKind> {
    let path = Path::new(place.strip_prefix("file://").unwrap_or(place));
    if path.join("format").is_file() && path.join("db").is_dir() {
        return Some(ArchiveKind::Svn);
    }
    if path.join("HEAD").is_file() || path.join(".git").exists() {
        return Some(ArchiveKind::Git);
    }
    if place.starts_with("svn://") || place.starts_with("svn+ssh://") {
        return Some(ArchiveKind::Svn);
    }
    (place.starts_with("git://") || place.trim_end_matches('/').ends_with(".git"))
        .then_some(ArchiveKind::Git)
}

/// Refuses what a program could take for an option.
pub(super) fn refuse_option(what: &str, text: &str) -> Result<(), Trouble> {
    if text.is_empty() || text.starts_with('-') || text.contains(['\0', '\n', '\r']) {
        return Err(Trouble::Unreachable(format!("{text:?} is no {what}")));
    }
    Ok(())
}

/// Text of any bytes, shortened at a character.
pub(super) fn shorten(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
