//! git, by its plumbing: revisions are the first parents of one branch, counted from its first.

use std::path::{Path, PathBuf};

use armarius_core::command::About;
use armarius_core::ids::Time;
use armarius_core::limits::{KEY_BYTES_MAX, MESSAGE_BYTES_MAX};
use armarius_wire::flowfile::FILE_BYTES_MAX;

use super::definitions::{self, FILES_MAX};
use super::export;
use super::program::{Said, run};
use super::repository::{
    Change, Changes, Content, File, Limits, Place, Point, Repository, Seen, Stamp, Trouble,
    refuse_option, shorten,
};

/// Branches that are named to somebody who wanted another.
const BRANCHES_NAMED_MAX: usize = 20;
/// Modes of entries in a tree that are no plain files.
const LINK: &str = "120000";
const FOLDER: &str = "040000";
const MODULE: &str = "160000";

/// A git repository.
pub(super) struct Git {
    folder: PathBuf,
    /// Where it is copied from, if it is elsewhere.
    remote: Option<String>,
    branch: String,
    limits: Limits,
}

impl Git {
    pub(super) fn open(place: &Place, limits: &Limits) -> Result<Self, Trouble> {
        refuse_option("place of a repository", &place.place)?;
        if !place.branch.is_empty() {
            refuse_option("branch", &place.branch)?;
        }
        let elsewhere = place.place.contains("://");
        let folder = if elsewhere {
            let mirrors = limits.mirrors.as_ref().ok_or_else(|| {
                Trouble::Unreachable("there is no folder for copies of repositories".to_owned())
            })?;
            mirrors.join(mirror_name(&place.place))
        } else {
            PathBuf::from(&place.place)
        };
        let remote = elsewhere.then(|| place.place.clone());
        Ok(Self { folder, remote, branch: place.branch.clone(), limits: limits.clone() })
    }

    pub(super) fn git(&self, arguments: &[&str]) -> Result<Said, Trouble> {
        self.git_reading(arguments, self.limits.program_bytes_max)
    }

    fn git_reading(&self, arguments: &[&str], bytes_max: usize) -> Result<Said, Trouble> {
        self.git_with(None, arguments, bytes_max)
    }

    pub(super) fn git_with(
        &self,
        variable: Option<(&str, &Path)>,
        arguments: &[&str],
        bytes_max: usize,
    ) -> Result<Said, Trouble> {
        let folder = self.folder.display().to_string();
        let safe = format!("safe.directory={folder}");
        let inner = format!("safe.directory={folder}/.git");
        let mut all = vec!["-c", &safe, "-c", &inner, "-c", "core.fsmonitor=false"];
        all.extend(["-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never"]);
        all.extend(["-C", &folder]);
        all.extend(arguments);
        run("git", all, variable, bytes_max, &self.limits)
    }

    fn lines(&self, arguments: &[&str]) -> Result<Vec<String>, Trouble> {
        let said = self.git(arguments)?.or_trouble("git")?;
        Ok(said.text().lines().map(str::to_owned).collect())
    }

    /// Brings the copy of a repository elsewhere up to date.
    fn fetch(&self) -> Result<(), Trouble> {
        let Some(remote) = &self.remote else { return Ok(()) };
        let is_new = !self.folder.join("HEAD").is_file();
        if is_new {
            let folder = self.folder.display().to_string();
            let made = std::fs::create_dir_all(&self.folder);
            made.map_err(|error| Trouble::Unreachable(format!("{folder}: {error}")))?;
            let arguments = ["init", "-q", "--bare", "--", &folder];
            run("git", arguments, None, 1_024, &self.limits)?.or_trouble("git init")?;
        }
        let wanted = if self.branch.is_empty() {
            "+HEAD:refs/heads/HEAD".to_owned()
        } else {
            format!("+refs/heads/{0}:refs/heads/{0}", self.branch)
        };
        let arguments =
            ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--", remote, &wanted];
        let fetched = self.git(&arguments).and_then(|said| said.or_trouble("git fetch"));
        if is_new && fetched.is_err() {
            // Nothing is left of what was never there.
            drop(std::fs::remove_dir_all(&self.folder));
        }
        fetched.map(drop)
    }

    /// The youngest commit of the branch; none when there is no commit yet.
    fn tip(&self) -> Result<Option<String>, Trouble> {
        let branch = match (&self.remote, self.branch.as_str()) {
            (Some(_), "") => "refs/heads/HEAD".to_owned(),
            (None, "") => "HEAD".to_owned(),
            (_, branch) => format!("refs/heads/{branch}"),
        };
        let wanted = format!("{branch}^{{commit}}");
        let said = self.git(&["rev-parse", "-q", "--verify", "--end-of-options", &wanted])?;
        if said.ok {
            return Ok(Some(said.text().trim().to_owned()));
        }
        // Not a repository, or one without this branch?
        self.git(&["rev-parse", "--git-dir"])?.or_trouble("git")?;
        Ok(None)
    }

    fn count(&self, range: &str) -> Result<i64, Trouble> {
        let lines = self.lines(&["rev-list", "--count", "--first-parent", range, "--"])?;
        let count = lines.first().and_then(|n| n.parse().ok());
        count.ok_or_else(|| Trouble::Unreachable("git rev-list counted nothing".to_owned()))
    }

    /// The oldest `max` of `count` commits of a range, oldest first, each with its first parent.
    fn oldest(
        &self,
        range: &str,
        count: i64,
        max: usize,
    ) -> Result<Vec<(String, String)>, Trouble> {
        let take = count.min(i64::try_from(max).unwrap_or(i64::MAX));
        let (skip, take) = (format!("--skip={}", count - take), format!("--max-count={take}"));
        let list = ["rev-list", "--first-parent", "--parents", "--reverse", &skip, &take, range];
        let lines = self.lines(&[&list[..], &["--"]].concat())?;
        let mut commits = Vec::with_capacity(lines.len());
        for line in lines {
            let mut words = line.split(' ');
            let id = words.next().unwrap_or_default().to_owned();
            commits.push((id, words.next().unwrap_or_default().to_owned()));
        }
        Ok(commits)
    }

    /// What a path holds, or a folder if it ends with a slash: mode, object and path of each entry.
    fn entries(&self, at: &Point, path: &str) -> Result<Vec<(String, String, String)>, Trouble> {
        let said = self.git(&["ls-tree", "-z", "--end-of-options", &at.id, path])?;
        let said = said.or_trouble("git ls-tree")?;
        let entry = |entry: &[u8]| {
            let entry = String::from_utf8_lossy(entry);
            let (about, path) = entry.split_once('\t')?;
            let mut about = about.split(' ');
            let (mode, object) = (about.next()?, about.nth(1)?);
            Some((mode.to_owned(), object.to_owned(), path.to_owned()))
        };
        Ok(said.out.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// Refuses what git would take for a pattern or for another revision of a branch.
    fn refuse_no_branch_name(&self) -> Result<(), Trouble> {
        let name = format!("refs/heads/{}", self.branch);
        if self.branch.is_empty()
            || run("git", ["check-ref-format", &name], None, 1_024, &self.limits)?.ok
        {
            return Ok(());
        }
        Err(Trouble::Unreachable(format!("{:?} cannot be the name of a branch", self.branch)))
    }

    /// A repository without any branch is empty; one with others was not meant.
    fn refuse_other_branches(&self) -> Result<(), Trouble> {
        if self.remote.is_some() {
            return Ok(());
        }
        let count = format!("--count={BRANCHES_NAMED_MAX}");
        let list = ["for-each-ref", &count, "--format=%(refname:lstrip=2)", "refs/heads/"];
        let branches = self.lines(&list)?;
        if branches.is_empty() {
            return Ok(());
        }
        let branches = branches.join(", ");
        let why = match self.branch.as_str() {
            "" => format!("what is checked out has no commits, but there are branches: {branches}"),
            branch => format!("there is no branch {branch}, but there are: {branches}"),
        };
        Err(Trouble::Unreachable(why))
    }

    fn refuse_shallow(&self) -> Result<(), Trouble> {
        let said = self.lines(&["rev-parse", "--is-shallow-repository"])?;
        if said.first().is_some_and(|line| line == "true") {
            let why = "the repository is a shallow copy, whose revisions cannot be counted";
            return Err(Trouble::Unreachable(why.to_owned()));
        }
        Ok(())
    }

    /// Nothing is planned yet: revisions are counted from the first commit.
    fn look_from_start(&self, known: &Point, tip: &str, max: usize) -> Result<Seen, Trouble> {
        self.refuse_shallow()?;
        let youngest = self.count(tip)?;
        let left = (youngest - known.number).max(0);
        let next = if left == 0 { Vec::new() } else { self.oldest(tip, left, max)? };
        Ok(seen(known, youngest, next))
    }
}

impl Repository for Git {
    fn look(&self, known: &Point, max: usize) -> Result<Seen, Trouble> {
        if known.id.is_empty() {
            self.refuse_no_branch_name()?;
        }
        self.fetch()?;
        let rewritten = |why: String| Err(Trouble::Rewritten(why));
        let Some(tip) = self.tip()? else {
            if known.id.is_empty() {
                self.refuse_other_branches()?;
                return Ok(seen(known, 0, Vec::new()));
            }
            return rewritten(format!("the branch of revision {} is gone", known.number));
        };
        if known.id.is_empty() {
            return self.look_from_start(known, &tip, max);
        }
        if tip == known.id {
            return Ok(seen(known, known.number, Vec::new()));
        }
        let there = format!("{}^{{commit}}", known.id);
        if !self.git(&["cat-file", "-e", &there])?.ok {
            return rewritten(format!("revision {} was {}, which is gone", known.number, known.id));
        }
        let range = format!("{}..{tip}", known.id);
        let count = self.count(&range)?;
        let next = if count == 0 { Vec::new() } else { self.oldest(&range, count, max)? };
        let parent = next.first().map_or("", |(_, parent)| parent.as_str());
        if parent != known.id {
            return rewritten(format!(
                "revision {} is no longer {}: the branch was rewritten",
                known.number, known.id
            ));
        }
        Ok(seen(known, known.number + count, next))
    }

    fn stamp(&self) -> Option<Stamp> {
        if self.remote.is_some() || self.branch.is_empty() {
            return None;
        }
        let inner = self.folder.join(".git");
        let folder = match (inner.is_dir(), self.folder.join("HEAD").is_file()) {
            (true, _) => &inner,
            (false, true) => &self.folder,
            // A file that says where the repository is.
            (false, false) => return None,
        };
        let branch = format!("refs/heads/{}", self.branch);
        Some(Stamp::of(folder, &["HEAD", &branch, "packed-refs", "reftable/tables.list"]))
    }

    fn point(&self, number: i64) -> Result<Point, Trouble> {
        let gone = || Trouble::Unreachable(format!("there is no revision {number}"));
        let tip = self.tip()?.ok_or_else(gone)?;
        let back = self.count(&tip)? - number;
        if back < 0 || number < 1 {
            return Err(gone());
        }
        let skip = format!("--skip={back}");
        let list = ["rev-list", "--first-parent", &skip, "--max-count=1", &tip, "--"];
        let id = self.lines(&list)?.into_iter().next().ok_or_else(gone)?;
        Ok(Point { number, id })
    }

    fn about(&self, at: &Point) -> Result<(About, Changes), Trouble> {
        let format = "--format=%an%x00%ct%x00%B";
        let said = self.git(&["show", "-s", format, "--end-of-options", &at.id])?;
        let text = said.or_trouble("git show")?.text();
        let mut parts = text.splitn(3, '\0');
        let author = parts.next().unwrap_or_default();
        let seconds: Option<i64> = parts.next().and_then(|s| s.trim().parse().ok());
        let message = parts.next().unwrap_or_default().trim_end();
        let about = About {
            id: at.id.as_str().into(),
            author: shorten(author, KEY_BYTES_MAX).into(),
            at: seconds.map(|s| Time(s.saturating_mul(1_000_000))),
            message: shorten(message, MESSAGE_BYTES_MAX).into(),
            cause: definitions::cause_in(message),
            ..About::default()
        };
        Ok((about, self.changes(at)?))
    }

    fn changes(&self, at: &Point) -> Result<Changes, Trouble> {
        let tree = ["diff-tree", "--root", "--no-commit-id", "--name-status", "--no-renames"];
        let more = ["-r", "-z", "-m", "--first-parent", "--end-of-options", &at.id];
        let said = self.git(&[&tree[..], &more].concat())?.or_trouble("git diff-tree")?;
        let mut changes = Changes::default();
        let mut words = said.out.split(|byte| *byte == 0);
        while let (Some(how), Some(path)) = (words.next(), words.next()) {
            let how = char::from(how.first().copied().unwrap_or(b'M'));
            let how = if how == 'A' || how == 'D' { how } else { 'M' };
            changes.paths.push(Change { how, path: String::from_utf8_lossy(path).into_owned() });
        }
        Ok(changes)
    }

    fn files(&self, at: &Point, folder: &str) -> Result<Vec<File>, Trouble> {
        let inside = format!("{folder}/");
        let entries = self.entries(at, &inside)?;
        if entries.is_empty() {
            let here = self.entries(at, folder)?.into_iter().next();
            let content = here.and_then(|(mode, _, _)| match &*mode {
                LINK => Some(Content::Link),
                FOLDER | MODULE => None,
                _ => Some(Content::NoFolder),
            });
            return Ok(content
                .map(|content| File { name: folder.to_owned(), content })
                .into_iter()
                .collect());
        }
        let mut files = Vec::new();
        for (mode, blob, path) in entries {
            let name = path.strip_prefix(&inside).unwrap_or(&path);
            let is_file = mode != FOLDER && mode != MODULE;
            if !is_file || !definitions::is_definition(name) || files.len() >= FILES_MAX {
                continue;
            }
            let content = if mode == LINK {
                Content::Link
            } else {
                let said = self.git_reading(&["cat-file", "blob", &blob], FILE_BYTES_MAX + 1)?;
                if !said.ok && !said.cut {
                    return Err(Trouble::Unreachable(format!("{path}: {}", said.complaint)));
                }
                Content::Bytes(said.out)
            };
            files.push(File { name: path, content });
        }
        Ok(files)
    }

    fn export(&self, at: &Point, into: &Path) -> Result<(), Trouble> {
        export::export(self, at, into)
    }
}

/// The branch that is checked out in a repository, if there is one.
pub fn branch_of(place: &str, limits: &Limits) -> Option<String> {
    let kind = armarius_core::rows::ArchiveKind::Git;
    let place = Place { kind, place: place.to_owned(), branch: String::new() };
    let git = Git::open(&place, limits).ok().filter(|git| git.remote.is_none())?;
    let said = git.git(&["symbolic-ref", "-q", "--short", "HEAD"]).ok()?;
    let branch = said.text().trim().to_owned();
    (said.ok && !branch.is_empty()).then_some(branch)
}

fn seen(known: &Point, youngest: i64, next: Vec<(String, String)>) -> Seen {
    let numbers = known.number + 1..;
    let next = numbers.zip(next).map(|(number, (id, _))| Point { number, id }).collect();
    Seen { identity: String::new(), youngest, next }
}

/// A folder name for the copy of a repository elsewhere.
fn mirror_name(url: &str) -> String {
    let kept: String =
        url.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect();
    let sum = url.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}-{sum:016x}.git", shorten(&kept, 80))
}
