//! The files the rules look at.

use super::Finding;
use super::mask::{self, Masks};
use anyhow::Context;
use std::path::Path;

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] = &[".git", "target", "armarius-data", "node_modules"];

/// Files that are read although their names have no known ending.
const NAMED: &[&str] = &[".ci/run"];

/// Endings of the files that are read.
const ENDINGS: &[&str] =
    &["rs", "toml", "md", "sql", "html", "css", "yml", "yaml", "sh", "service", "conf", "feature"];

/// A repository, as far as the rules care.
pub(crate) struct Tree {
    /// Its text files, sorted by path.
    pub(crate) files: Vec<File>,
    /// The paths of all its files, read or not.
    paths: Vec<String>,
}

/// One text file.
pub(crate) struct File {
    /// From the root, with slashes.
    pub(crate) path: String,
    /// As it is on disk.
    pub(crate) text: String,
    /// For Rust: the code alone and the comments alone, byte for byte at the same places.
    pub(crate) masks: Masks,
}

impl Tree {
    /// Reads everything below a folder.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut tree = Self { files: Vec::new(), paths: Vec::new() };
        read_folder(root, "", &mut tree)?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A repository made of these paths and texts.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let files = files.iter().map(|(path, text)| File::new(path, text)).collect();
        Self { files, paths }
    }

    /// The Rust sources.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// Whether a file or folder is at a path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let below = format!("{path}/");
        path.is_empty() || self.paths.iter().any(|file| file == path || file.starts_with(&below))
    }

    /// The file at a path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        let masks = if has_ending(path, "rs") { mask::split(text) } else { Masks::default() };
        Self { path: path.to_owned(), text: text.to_owned(), masks }
    }

    /// Whether it is Rust source.
    pub(crate) fn is_rust(&self) -> bool {
        has_ending(&self.path, "rs")
    }

    /// The folder it lies in; empty for the root.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Its name without folder and ending.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// A finding at a line, counted from 1.
    pub(crate) fn finding(&self, line: usize, rule: &'static str, advice: String) -> Finding {
        Finding { file: self.path.clone(), line, rule, advice }
    }

    /// The line, counted from 1, in which a byte lies.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        before.filter(|byte| **byte == b'\n').count() + 1
    }
}

/// Whether a path ends in this ending.
pub(crate) fn has_ending(path: &str, ending: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, last)| last == ending)
}

/// Whether material for tests lies at this path: it may look as it must.
pub(crate) fn is_fixture(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "fixtures" | "snapshots" | "corpus"))
}

fn read_folder(folder: &Path, path: &str, tree: &mut Tree) -> anyhow::Result<()> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let below = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.contains(&name) {
            read_folder(&entry.path(), &below, tree)?;
        } else if kind.is_file() {
            if is_read(&below) {
                let text = std::fs::read_to_string(entry.path())
                    .with_context(|| format!("reading {below}"))?;
                tree.files.push(File::new(&below, &text));
            }
            tree.paths.push(below);
        }
    }
    Ok(())
}

fn is_read(path: &str) -> bool {
    let known = NAMED.contains(&path) || ENDINGS.iter().any(|ending| has_ending(path, ending));
    known && !is_fixture(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let file = File::new("a.rs", "one\ntwo\nthree\n");
        assert_eq!((file.line_of(0), file.line_of(4), file.line_of(8)), (1, 2, 3));
    }

    #[test]
    fn paths_come_apart() {
        let file = File::new("crates/core/src/task.rs", "");
        assert_eq!((file.folder(), file.stem()), ("crates/core/src", "task"));
        let file = File::new("README.md", "");
        assert_eq!((file.folder(), file.stem()), ("", "README"));
    }

    #[test]
    fn fixtures_and_unknown_endings_are_not_read() {
        assert!(is_read("crates/core/src/task.rs"));
        assert!(is_read(".ci/run"));
        assert!(!is_read("crates/cli/tests/fixtures/odd.yml"));
        assert!(!is_read("logo.png"));
    }
}
