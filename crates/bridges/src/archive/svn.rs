//! Subversion: `svnlook` for a folder on this machine, `svn` for a URL.
//!
//! Every path is asked for at a peg revision: looked up in the youngest one, a file deleted since
//! would not be found.

use std::path::{Path, PathBuf};

use armarius_core::command::About;
use armarius_core::limits::{KEY_BYTES_MAX, MESSAGE_BYTES_MAX};
use armarius_wire::flowfile::FILE_BYTES_MAX;
use armarius_wire::v1::time;

use super::definitions::{self, FILES_MAX};
use super::program::{Said, run};
use super::repository::{
    Change, Changes, Content, File, Limits, Place, Point, Repository, Seen, Stamp, Trouble,
    refuse_option, shorten,
};

/// The revision property by which a task says that it made the revision.
const CAUSE: &str = "armarius:cause";
/// What Subversion says when a path is not there at that revision.
const NO_PATH: [&str; 3] = ["E160013", "W160013", "E200009"];

/// What Subversion says when a file does not have a property.
const NO_PROPERTY: [&str; 2] = ["E200017", "W200017"];
/// How the content of a link begins.
const LINK: &[u8] = b"link ";

/// A Subversion repository.
pub(super) struct Svn {
    root: Root,
    limits: Limits,
}

enum Root {
    /// The repository's own folder.
    Folder(PathBuf),
    /// A URL, of the repository or of a folder in it.
    Url(String),
}

impl Svn {
    pub(super) fn open(place: &Place, limits: &Limits) -> Result<Self, Trouble> {
        refuse_option("place of a repository", &place.place)?;
        let root = if place.place.contains("://") {
            Root::Url(place.place.trim_end_matches('/').to_owned())
        } else {
            Root::Folder(PathBuf::from(&place.place))
        };
        Ok(Self { root, limits: limits.clone() })
    }

    fn svnlook(&self, verb: &str, folder: &Path, more: &[&str]) -> Result<Said, Trouble> {
        let mut arguments = vec![verb.to_owned()];
        let (options, paths): (Vec<&str>, Vec<&str>) = more.iter().partition(|a| is_option(a));
        arguments.extend(options.into_iter().map(str::to_owned));
        arguments.push("--".to_owned());
        arguments.push(folder.display().to_string());
        arguments.extend(paths.into_iter().map(str::to_owned));
        run("svnlook", arguments, None, self.limits.program_bytes_max, &self.limits)
    }

    fn svn(&self, verb: &str, more: &[&str]) -> Result<Said, Trouble> {
        let fixed = [verb, "--non-interactive", "--no-auth-cache"];
        let arguments = fixed.iter().chain(more);
        run("svn", arguments, None, self.limits.program_bytes_max, &self.limits)
    }

    fn svn_item(&self, url: &str, item: &str) -> Result<String, Trouble> {
        let item = format!("--show-item={item}");
        let said = self.svn("info", &["--no-newline", &item, "--", url])?.or_trouble("svn info")?;
        Ok(said.text().trim().to_owned())
    }

    fn log_of(&self, url: &str, number: i64) -> Result<(About, Changes), Trouble> {
        let root = self.svn_item(url, "repos-root-url")?;
        let (range, peg) = (format!("-r{number}"), format!("{root}@{number}"));
        let said = self.svn("log", &["-v", &range, "--", &peg])?.or_trouble("svn log")?;
        let inside = url.strip_prefix(&root).unwrap_or_default();
        let (mut about, changes) = read_log(&said.text(), inside);
        if about.cause.is_none() {
            let said = self.svn("propget", &["--revprop", &range, CAUSE, "--", &root])?;
            about.cause = said.ok.then(|| definitions::cause_of(said.text().trim())).flatten();
        }
        Ok((about, changes))
    }
}

fn is_option(argument: &str) -> bool {
    argument.starts_with('-')
}

impl Repository for Svn {
    fn look(&self, known: &Point, max: usize) -> Result<Seen, Trouble> {
        let (youngest, identity) = match &self.root {
            Root::Folder(folder) => {
                let said = |verb| self.svnlook(verb, folder, &[])?.or_trouble("svnlook");
                (said("youngest")?.text(), said("uuid")?.text())
            }
            Root::Url(url) => (self.svn_item(url, "revision")?, self.svn_item(url, "repos-uuid")?),
        };
        let youngest: i64 = youngest
            .trim()
            .parse()
            .map_err(|_| Trouble::Unreachable(format!("{youngest:?} is no revision")))?;
        let next = (known.number.saturating_add(1)..=youngest).take(max);
        let next = next.map(|number| Point { number, id: String::new() }).collect();
        Ok(Seen { identity: identity.trim().to_owned(), youngest, next })
    }

    fn stamp(&self) -> Option<Stamp> {
        match &self.root {
            Root::Folder(folder) => Some(Stamp::of(folder, &["db/current", "db/uuid"])),
            Root::Url(_) => None,
        }
    }

    fn point(&self, number: i64) -> Result<Point, Trouble> {
        Ok(Point { number, id: String::new() })
    }

    fn about(&self, at: &Point) -> Result<(About, Changes), Trouble> {
        let folder = match &self.root {
            Root::Url(url) => return self.log_of(url, at.number),
            Root::Folder(folder) => folder,
        };
        let revision = format!("-r{}", at.number);
        let info = self.svnlook("info", folder, &[&revision])?.or_trouble("svnlook info")?.text();
        let mut lines = info.splitn(4, '\n');
        let author = lines.next().unwrap_or_default();
        let when = lines.next().unwrap_or_default();
        let message = lines.nth(1).unwrap_or_default().trim_end();
        let cause = match definitions::cause_in(message) {
            Some(cause) => Some(cause),
            None => {
                let said = self.svnlook("propget", folder, &["--revprop", &revision, CAUSE])?;
                said.ok.then(|| definitions::cause_of(said.text().trim())).flatten()
            }
        };
        let about = About {
            author: shorten(author, KEY_BYTES_MAX).into(),
            at: time_of(when),
            message: shorten(message, MESSAGE_BYTES_MAX).into(),
            cause,
            ..About::default()
        };
        Ok((about, self.changes(at)?))
    }

    fn changes(&self, at: &Point) -> Result<Changes, Trouble> {
        let folder = match &self.root {
            Root::Url(url) => return self.log_of(url, at.number).map(|(_, changes)| changes),
            Root::Folder(folder) => folder,
        };
        let revision = format!("-r{}", at.number);
        let said = self.svnlook("changed", folder, &[&revision])?.or_trouble("svnlook changed")?;
        let mut changes = Changes::default();
        for line in said.text().lines() {
            let (Some(how), Some(path)) = (line.chars().next(), line.get(4..)) else { continue };
            note(&mut changes, if how == '_' { 'M' } else { how }, path, "");
        }
        Ok(changes)
    }

    fn files(&self, at: &Point, folder: &str) -> Result<Vec<File>, Trouble> {
        let names = match self.names(at, folder)? {
            Listed::Inside(names) => names,
            Listed::NoFolder => {
                let is_link = self.is_special(at, folder)?;
                let content = if is_link { Content::Link } else { Content::NoFolder };
                return Ok(vec![File { name: folder.to_owned(), content }]);
            }
        };
        let mut files = Vec::new();
        for name in names.into_iter().take(FILES_MAX) {
            let path = format!("{folder}/{name}");
            let said = match &self.root {
                Root::Folder(root) => {
                    let root = root.display().to_string();
                    let revision = format!("-r{}", at.number);
                    let arguments = ["cat", &revision, "--", &root, &path];
                    run("svnlook", arguments, None, FILE_BYTES_MAX + 1, &self.limits)?
                }
                Root::Url(url) => {
                    let peg = format!("{url}/{}@{}", encode(&path), at.number);
                    let arguments = ["cat", "--non-interactive", "--no-auth-cache", "--", &peg];
                    run("svn", arguments, None, FILE_BYTES_MAX + 1, &self.limits)?
                }
            };
            if !said.ok && !said.cut {
                return Err(Trouble::Unreachable(format!("{path}: {}", said.complaint)));
            }
            let is_link = said.out.starts_with(LINK) && self.is_special(at, &path)?;
            let content = if is_link { Content::Link } else { Content::Bytes(said.out) };
            files.push(File { name: path, content });
        }
        Ok(files)
    }

    fn export(&self, at: &Point, into: &Path) -> Result<(), Trouble> {
        let url = match &self.root {
            Root::Url(url) => url.clone(),
            Root::Folder(folder) => {
                let whole = folder.canonicalize().map_err(|error| {
                    Trouble::Unreachable(format!("{}: {error}", folder.display()))
                })?;
                format!("file://{}", encode(&whole.display().to_string()))
            }
        };
        let (peg, into) = (format!("{url}@{}", at.number), into.display().to_string());
        let said = self.svn("export", &["-q", "--ignore-externals", "--", &peg, &into])?;
        said.or_trouble("svn export").map(drop)
    }
}

impl Svn {
    /// Files directly in a folder that may hold definitions.
    fn names(&self, at: &Point, folder: &str) -> Result<Listed, Trouble> {
        let said = match &self.root {
            Root::Folder(root) => {
                let revision = format!("-r{}", at.number);
                self.svnlook("tree", root, &["-N", "--full-paths", &revision, folder])?
            }
            Root::Url(url) => {
                self.svn("list", &["--", &format!("{url}/{}@{}", encode(folder), at.number)])?
            }
        };
        if !said.ok && NO_PATH.iter().any(|code| said.complaint.contains(code)) {
            return Ok(Listed::Inside(Vec::new()));
        }
        let text = said.or_trouble("svn")?.text();
        // A file is listed as itself; so is one of the same name in a folder behind a URL.
        if text.trim_end() == folder && self.is_file(at, folder)? {
            return Ok(Listed::NoFolder);
        }
        let inside = format!("{folder}/");
        let names = text.lines().map(|line| line.strip_prefix(&inside).unwrap_or(line));
        let names = names.filter(|name| definitions::is_definition(name));
        Ok(Listed::Inside(names.map(str::to_owned).collect()))
    }

    fn is_file(&self, at: &Point, path: &str) -> Result<bool, Trouble> {
        match &self.root {
            Root::Folder(_) => Ok(true),
            Root::Url(url) => {
                let peg = format!("{url}/{}@{}", encode(path), at.number);
                Ok(self.svn_item(&peg, "kind")? == "file")
            }
        }
    }

    /// Whether a file stands for something else, which can only be a link.
    fn is_special(&self, at: &Point, path: &str) -> Result<bool, Trouble> {
        let said = match &self.root {
            Root::Folder(root) => {
                let revision = format!("-r{}", at.number);
                self.svnlook("propget", root, &[&revision, "svn:special", path])?
            }
            Root::Url(url) => {
                let peg = format!("{url}/{}@{}", encode(path), at.number);
                self.svn("propget", &["svn:special", "--", &peg])?
            }
        };
        if !said.ok && !NO_PROPERTY.iter().any(|code| said.complaint.contains(code)) {
            return Err(Trouble::Unreachable(format!("{path}: {}", said.complaint)));
        }
        Ok(said.ok)
    }
}

/// What a path of a repository holds.
enum Listed {
    /// A folder: the files in it that may hold definitions.
    Inside(Vec<String>),
    /// A file.
    NoFolder,
}

/// What `svn log -v` says about one revision.
fn read_log(text: &str, inside: &str) -> (About, Changes) {
    let mut lines = text.lines().skip_while(|line| !line.starts_with('r'));
    let head: Vec<&str> = lines.next().unwrap_or_default().split(" | ").collect();
    let mut changes = Changes::default();
    let mut author = String::new();
    let mut at = None;
    if let [_, by @ .., when, _] = head.as_slice() {
        author = by.join(" | ");
        at = time_of(when);
    }
    for line in lines.by_ref().skip(1).take_while(|line| !line.is_empty()) {
        let Some((how, path)) = line.trim_start().split_once(' ') else { continue };
        let path = match path.rsplit_once(" (from ") {
            Some((path, from)) if from.ends_with(')') => path,
            Some(_) | None => path,
        };
        note(&mut changes, how.chars().next().unwrap_or('M'), path, inside);
    }
    let message: Vec<&str> = lines.collect();
    let message = message.join("\n");
    let message = message.trim_end().trim_end_matches('-').trim_end();
    let about = About {
        author: shorten(&author, KEY_BYTES_MAX).into(),
        at,
        message: shorten(message, MESSAGE_BYTES_MAX).into(),
        cause: definitions::cause_in(message),
        ..About::default()
    };
    (about, changes)
}

/// `2026-11-15 13:35:36 +0000 (Sun, 15 Nov 2026)`.
fn time_of(text: &str) -> Option<armarius_core::ids::Time> {
    let mut words = text.split(' ');
    let (day, clock, zone) = (words.next()?, words.next()?, words.next()?);
    let (hours, minutes) = (zone.get(..3)?, zone.get(3..5)?);
    time::parse(&format!("{day}T{clock}{hours}:{minutes}"))
}

/// Notes a change, if it is at or below the folder that is the archive's root.
fn note(changes: &mut Changes, how: char, path: &str, inside: &str) {
    let how = if how == 'U' || how == 'R' { 'M' } else { how };
    let path = path.trim_start_matches('/');
    let inside = inside.trim_matches('/');
    let below = if inside.is_empty() {
        Some(path)
    } else {
        path.strip_prefix(inside).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match below.map(|rest| rest.trim_start_matches('/')) {
        Some("") => changes.root = true,
        Some(rest) => changes.paths.push(Change { how, path: rest.to_owned() }),
        None => changes.root |= inside.starts_with(&format!("{path}/")),
    }
}

/// A path as it stands in a URL.
fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_below_the_folder_that_is_the_root() {
        let text = "-----\n\
            r7 | ada | lovelace | 2026-11-15 13:35:36 +0100 (Sun, 15 Nov 2026) | 3 lines\n\
            Changed paths:\n   M /trunk/a b.txt\n   A /trunk/c (from /branches/c:3)\n   D /other\n\
            \nsays this\n\nArmarius-Cause: 2:f.a@c/revision/6\n-----\n";
        let (about, changes) = read_log(text, "/trunk");
        assert_eq!(&*about.author, "ada | lovelace");
        assert!(about.at.is_some());
        assert_eq!(about.cause.map(|c| c.depth), Some(2));
        let paths: Vec<String> =
            changes.paths.iter().map(|c| format!("{} {}", c.how, c.path)).collect();
        assert_eq!(paths, ["M a b.txt", "A c"]);
        assert!(!changes.root);
        let (_, changes) = read_log(&text.replace("/other", "/trunk"), "/trunk/deep");
        assert!(changes.root);
    }
}
