//! Repositories for the server: its questions, answered by the bridges.

use std::fs::File;
use std::path::{Path, PathBuf};

use armarius_bridges::archive::{
    self, FOLDER, Limits, Place, Point, Repository, Ring, branch_of, guess_kind, read_definitions,
};
use armarius_core::command::Definitions;
use armarius_core::rows::{Archive, ArchiveKind};
use armarius_core::text::Name;
use armarius_server::repositories::{Found, Past, Repositories, Wish};

/// The watched repositories of this server.
#[derive(Debug)]
pub(crate) struct Archives {
    pub(crate) ring: Ring,
    pub(crate) limits: Limits,
    /// Where exports are made before they are sent.
    pub(crate) scratch: PathBuf,
}

impl Archives {
    fn open(&self, archive: &Archive) -> Result<Box<dyn Repository>, String> {
        let place = Place {
            kind: archive.kind,
            place: archive.place.to_string(),
            branch: archive.branch.to_string(),
        };
        archive::open(&place, &self.limits).map_err(|trouble| trouble.to_string())
    }
}

fn point(number: i64, id: &str) -> Point {
    Point { number, id: id.to_owned() }
}

impl Repositories for Archives {
    fn news(&self, archive: &Name, revision: Option<i64>, actor: &Name) {
        self.ring.news(archive, revision, actor);
    }

    fn find(&self, wish: &Wish) -> Result<Found, String> {
        let place = whole(&wish.repo)?;
        let kind = wish.kind.or_else(|| guess_kind(&place)).ok_or_else(|| {
            format!("{} does not look like a repository; say --kind svn or git", wish.repo)
        })?;
        let branch = match (kind, &wish.branch) {
            (ArchiveKind::Svn, Some(_)) => {
                return Err("Subversion has no branches to count along; give the URL of the \
                            folder instead"
                    .to_owned());
            }
            (ArchiveKind::Svn, None) => String::new(),
            (ArchiveKind::Git, Some(branch)) => branch.clone(),
            (ArchiveKind::Git, None) => branch_of(&place, &self.limits).unwrap_or_default(),
        };
        let at = Place { kind, place: place.clone(), branch: branch.clone() };
        let opened = archive::open(&at, &self.limits);
        let looked = opened.and_then(|repository| repository.look(&Point::default(), 0));
        looked.map_err(|trouble| trouble.to_string())?;
        Ok(Found { kind, place, branch })
    }

    fn past(&self, archive: &Archive) -> Result<Past, String> {
        let said = |trouble: archive::Trouble| trouble.to_string();
        let (repository, planned) = (self.open(archive)?, archive.planned);
        // Without an id nothing is compared with what was planned.
        let seen = repository.look(&point(planned, ""), 0).map_err(said)?;
        let has_it = archive.has_planned() && seen.youngest >= planned;
        let id = if has_it { repository.point(planned).map_err(said)?.id } else { String::new() };
        Ok(Past { youngest: seen.youngest, identity: seen.identity, id })
    }

    fn definitions(&self, archive: &Archive, number: i64, id: &str) -> Result<Definitions, String> {
        let files = self.open(archive)?.files(&point(number, id), FOLDER);
        files.map(|files| read_definitions(&files)).map_err(|trouble| trouble.to_string())
    }

    fn changes(&self, archive: &Archive, number: i64, id: &str) -> Result<String, String> {
        let changes = self.open(archive)?.changes(&point(number, id));
        let changes = changes.map_err(|trouble| trouble.to_string())?;
        // A name with a line break would look like two.
        let plain = |path: &str| path.replace(['\n', '\r'], "\u{fffd}");
        let lines = changes.paths.iter().map(|c| format!("{} {}\n", c.how, plain(&c.path)));
        Ok(lines.collect())
    }

    fn export(&self, archive: &Archive, number: i64, id: &str) -> Result<File, String> {
        let said = |error: std::io::Error| format!("{}: {error}", self.scratch.display());
        std::fs::create_dir_all(&self.scratch).map_err(said)?;
        let folder = tempfile::tempdir_in(&self.scratch).map_err(said)?;
        let tree = folder.path().join("tree");
        let exported = self.open(archive)?.export(&point(number, id), &tree);
        exported.map_err(|trouble| trouble.to_string())?;
        let file = tempfile::tempfile_in(folder.path()).map_err(said)?;
        let mut tar = tar::Builder::new(file);
        tar.follow_symlinks(false);
        tar.append_dir_all(".", &tree).map_err(said)?;
        let mut file = tar.into_inner().map_err(said)?;
        std::io::Seek::rewind(&mut file).map_err(said)?;
        Ok(file)
    }
}

/// A path without links, as it stands for the server; a URL stays as it is.
fn whole(repo: &str) -> Result<String, String> {
    if repo.contains("://") {
        return Ok(repo.trim_end_matches('/').to_owned());
    }
    let path = Path::new(repo).canonicalize().map_err(|error| match short_url(repo) {
        Some(url) => format!("{repo} is no folder of this machine; write the URL as {url}"),
        None => format!("{repo}: {error}"),
    })?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| format!("{repo}: the path is not UTF-8"))
}

/// `user@host:path`, as the programs of git and ssh also understand it. Whether the path begins at
/// somebody's home depends on the host, so that it has to be said.
fn short_url(repo: &str) -> Option<String> {
    let (host, path) = repo.split_once(':')?;
    let is_host = !host.is_empty() && !host.contains('/');
    is_host.then(|| format!("ssh://{host}/{}", path.trim_start_matches('/')))
}
