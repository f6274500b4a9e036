//! What the server asks of repositories: a seam, because it reads none itself.

use std::fmt;
use std::fs::File;

use armarius_core::command::Definitions;
use armarius_core::rows::{Archive, ArchiveKind};
use armarius_core::text::Name;

/// Where a repository is, as somebody says.
#[derive(Clone, Debug)]
pub struct Wish {
    /// A path or a URL.
    pub repo: String,
    /// Its kind, if it was said.
    pub kind: Option<ArchiveKind>,
    /// The branch, if it was said.
    pub branch: Option<String>,
}

/// Where a repository really is.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its kind.
    pub kind: ArchiveKind,
    /// The place, whole.
    pub place: String,
    /// The branch; empty where there is none.
    pub branch: String,
}

/// What a repository has now, of an archive that was planned from it.
#[derive(Clone, Debug)]
pub struct Past {
    /// Its youngest revision, 0 when there is none.
    pub youngest: i64,
    /// What tells it from another one at the same place.
    pub identity: String,
    /// What it calls the planned revision; empty where numbers say enough, or when there is none.
    pub id: String,
}

/// Repositories, for questions that only they can answer. The text of an error is for people.
pub trait Repositories: Send + Sync + fmt::Debug {
    /// There is news of an archive.
    fn news(&self, archive: &Name, revision: Option<i64>, actor: &Name);

    /// Whether a repository is there and can be read.
    fn find(&self, wish: &Wish) -> Result<Found, String>;

    /// The history of an archive's repository as it is now, whatever was planned from it.
    fn past(&self, archive: &Archive) -> Result<Past, String>;

    /// The definitions at a revision; `id` is what the repository calls it.
    fn definitions(
        &self,
        archive: &Archive,
        revision: i64,
        id: &str,
    ) -> Result<Definitions, String>;

    /// The paths a revision changed, one per line: `A`, `M` or `D`, a space, the path.
    fn changes(&self, archive: &Archive, revision: i64, id: &str) -> Result<String, String>;

    /// Everything at a revision, as a tar file that is nowhere else.
    fn export(&self, archive: &Archive, revision: i64, id: &str) -> Result<File, String>;
}

/// A server without repositories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nothing;

const NONE: &str = "this server reads no repositories";

impl Repositories for Nothing {
    fn news(&self, _: &Name, _: Option<i64>, _: &Name) {}

    fn find(&self, _: &Wish) -> Result<Found, String> {
        Err(NONE.to_owned())
    }

    fn past(&self, _: &Archive) -> Result<Past, String> {
        Err(NONE.to_owned())
    }

    fn definitions(&self, _: &Archive, _: i64, _: &str) -> Result<Definitions, String> {
        Err(NONE.to_owned())
    }

    fn changes(&self, _: &Archive, _: i64, _: &str) -> Result<String, String> {
        Err(NONE.to_owned())
    }

    fn export(&self, _: &Archive, _: i64, _: &str) -> Result<File, String> {
        Err(NONE.to_owned())
    }
}
