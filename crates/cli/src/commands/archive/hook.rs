//! The hook that a repository runs after a commit.
//!
//! It runs with an empty environment and must neither delay nor fail a commit: it starts this
//! program in the background with everything closed, and ends. What it does not tell, the server
//! finds out by itself.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use armarius_wire::client::{Client, segment};
use armarius_wire::v1::Page;
use armarius_wire::v1::archive::Archive;
use armarius_wire::v1::key::{Add, Added, Key, Role};

use crate::connect::Connection;
use crate::exit::Failure;
use crate::paper;

/// By this line a hook of ours is known.
const MARK: &str = "# Made by `armarius archive hook`; the next --install replaces it.";

pub(super) fn run(name: &str, install: bool, connection: &Connection) -> anyhow::Result<()> {
    let client = connection.client()?;
    let archive: Archive = client.get(&super::at(name), &[])?;
    let folder = folder(&archive);
    if !install {
        let folder = folder.unwrap_or_else(|| PathBuf::from("hooks"));
        let file = key_file(&folder, name);
        for (hook, text) in hooks(&archive, &file)? {
            paper::line(&format!("# {}", folder.join(hook).display()))?;
            paper::line(&text)?;
        }
        eprintln!("its key belongs into {}: the server's URL and the key,", file.display());
        eprintln!("one per line; `armarius archive hook {name} --install` does all of it");
        return Ok(());
    }
    let folder = folder.filter(|folder| folder.parent().is_some_and(Path::is_dir));
    let Some(folder) = folder else {
        let why = format!("{} is not a repository on this machine", archive.repo);
        let hint = "run this where the repository is, or install what it prints without --install";
        return Err(Failure::new(why, hint).into());
    };
    put_in_place(name, &archive, &folder, &client)
}

fn put_in_place(
    name: &str,
    archive: &Archive,
    folder: &Path,
    client: &Client,
) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let file = key_file(folder, name);
    let hooks = hooks(archive, &file)?;
    for (hook, text) in &hooks {
        let path = folder.join(hook);
        let old = fs::read_to_string(&path).unwrap_or_default();
        if !old.is_empty() && !old.contains(MARK) {
            let why = format!("{} is there already and not ours", path.display());
            let call = text.lines().find(|line| line.contains(" commit ")).unwrap_or_default();
            return Err(Failure::new(why, format!("add this line to it: {call}")).into());
        }
    }
    let key = fresh_key(name, client)?;
    write(&file, &format!("{}\n{key}\n", client.url()), 0o640)?;
    for (hook, text) in &hooks {
        write(&folder.join(hook), text, 0o755)?;
        eprintln!("installed {}", folder.join(hook).display());
    }
    eprintln!("its key, which may only notify, is in {}:", file.display());
    eprintln!("whoever commits as another user of this machine must be able to read it");
    Ok(())
}

/// A key for nothing but notices of this archive; the one of an earlier installation ends.
fn fresh_key(archive: &str, client: &Client) -> anyhow::Result<String> {
    let name = format!("hook of {archive}");
    let page: Page<Key> = client.get("keys", &[])?;
    for old in page.entries.iter().filter(|key| key.name == name) {
        client.delete(&format!("keys/{}", segment(&old.id)))?;
    }
    let add = Add { name, role: Role::Notifier, collections: vec![archive.to_owned()] };
    let added: Added = client.post("keys", &add)?;
    Ok(added.key)
}

/// Replaces a file whole.
fn write(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let shown = || path.display().to_string();
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    drop(fs::remove_file(&fresh));
    let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh);
    let mut file = opened.with_context(shown)?;
    file.write_all(text.as_bytes()).with_context(shown)?;
    file.set_permissions(fs::Permissions::from_mode(mode)).with_context(shown)?;
    fs::rename(&fresh, path).with_context(shown)
}

/// Where a repository keeps its hooks, if it is on this machine.
fn folder(archive: &Archive) -> Option<PathBuf> {
    let place = archive.repo.strip_prefix("file://").unwrap_or(&archive.repo);
    if place.contains("://") {
        return None;
    }
    let path = PathBuf::from(place);
    let inner = path.join(".git");
    Some(if inner.is_dir() { inner.join("hooks") } else { path.join("hooks") })
}

fn key_file(folder: &Path, archive: &str) -> PathBuf {
    folder.join(format!("armarius-{}.key", segment(archive)))
}

/// The hooks of a kind, by file name.
fn hooks(archive: &Archive, file: &Path) -> anyhow::Result<Vec<(&'static str, String)>> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let call = |revision: &str| {
        let words = [
            quoted(&program.display().to_string()),
            "commit".to_owned(),
            format!("--hook {}", quoted(&file.display().to_string())),
            "--".to_owned(),
            quoted(&archive.name),
            revision.to_owned(),
        ];
        format!("{} </dev/null >/dev/null 2>&1 &", words.join(" ").trim_end())
    };
    let script = |body: &str| format!("#!/bin/sh\n{MARK}\n{body}\nexit 0\n");
    let local = format!("# The branch that counts: {}", branch(archive));
    Ok(match archive.kind.as_str() {
        "svn" => vec![("post-commit", script(&call("\"$2\" \"$3\"")))],
        _ => vec![
            ("post-receive", script(&format!("{local}\ncat >/dev/null\n{}", call("")))),
            ("post-commit", script(&format!("{local}\n{}", call("")))),
        ],
    })
}

fn branch(archive: &Archive) -> &str {
    if archive.branch.is_empty() { "the one checked out" } else { &archive.branch }
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_whatever_it_holds() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
