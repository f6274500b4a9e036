//! A revision of a git repository as files, byte by byte as they were committed.
//!
//! Not by `git archive`, which leaves out and rewrites what the attributes of the tree say, and not
//! by a plain checkout, which ends lines and fills in what they say. A repository of its own stands
//! in between: it borrows the objects, and has attributes that override all others.

use std::io;
use std::path::{Path, PathBuf};

use super::git::Git;
use super::repository::{Point, Trouble};

/// What an export does not take from a person's settings: files are as they were committed, and
/// nothing is written but them.
const SETTINGS: [&str; 8] = [
    "-c",
    "core.autocrlf=false",
    "-c",
    "core.symlinks=true",
    "-c",
    "core.fileMode=true",
    "-c",
    "core.attributesFile=/dev/null",
];

/// Stands above the attributes of the tree.
const ATTRIBUTES: &str = "* -text -eol -ident -filter !working-tree-encoding\n";

pub(super) fn export(git: &Git, at: &Point, into: &Path) -> Result<(), Trouble> {
    let said = |error: io::Error| Trouble::Unreachable(format!("{}: {error}", into.display()));
    std::fs::create_dir_all(into).map_err(said)?;
    // Understood from the repository's folder, so as a whole.
    let into = into.canonicalize().map_err(said)?;
    let between = into.with_extension("git");
    let done = check_out(git, at, &into, &between);
    match std::fs::remove_dir_all(&between) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => done.and(Err(said(error))),
        Ok(()) | Err(_) => done,
    }
}

fn check_out(git: &Git, at: &Point, into: &Path, between: &Path) -> Result<(), Trouble> {
    let ask = |words: &[&str]| {
        let said = git.git(words)?.or_trouble("git")?;
        Ok::<String, Trouble>(said.text().trim_end_matches('\n').to_owned())
    };
    let objects =
        PathBuf::from(ask(&["rev-parse", "--path-format=absolute", "--git-path", "objects"])?);
    let format = format!("--object-format={}", ask(&["rev-parse", "--show-object-format"])?);
    let place = between.display().to_string();
    ask(&["init", "--quiet", "--bare", "--template=", &format, &place])?;
    let info = between.join("info");
    let said = |error: io::Error| Trouble::Unreachable(format!("{}: {error}", info.display()));
    std::fs::create_dir_all(&info).map_err(said)?;
    std::fs::write(info.join("attributes"), ATTRIBUTES).map_err(said)?;
    let (from, to) = (format!("--git-dir={place}"), format!("--work-tree={}", into.display()));
    for verb in
        [&["read-tree", "--end-of-options", &at.id][..], &["checkout-index", "--all", "--quiet"]]
    {
        let words = [&[&*from, &*to], &SETTINGS[..], verb].concat();
        let borrowed = Some(("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects.as_path()));
        git.git_with(borrowed, &words, 1_024)?.or_trouble("git")?;
    }
    Ok(())
}
