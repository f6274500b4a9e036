//! The hook that a repository runs after a commit.
//!
//! It runs with an empty environment and must neither delay nor fail a commit: it starts this
//! program in the background with everything closed, and ends. What it does not tell, the server
//! finds out by itself.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use armarius_wire::client::{Client, segment};
use armarius_wire::v1::Page;
use armarius_wire::v1::archive::Archive;
use armarius_wire::v1::key::{Add, Added, Key, Role};
use serde::Serialize;

use super::script;
use crate::connect::Connection;
use crate::exit::Failure;
use crate::paper;

/// Where the key of a hook lies on another machine, unless it is said.
const ELSEWHERE: &str = "/etc/armarius";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its name
    name: String,
    /// Install it, with a key that may do nothing but notify
    #[arg(long)]
    install: bool,
    /// Make its key and print that, too: for a repository on another machine
    #[arg(long, conflicts_with = "install")]
    show_key: bool,
    /// Where the key will lie on that machine
    #[arg(long, value_name = "PATH", conflicts_with = "install")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let client = args.connection.client()?;
    let archive: Archive = client.get(&super::at(&args.name), &[])?;
    let folder = folder(&archive);
    if !args.install {
        return print(args, &archive, folder.as_deref(), &client);
    }
    let Some(folder) = folder else {
        let why = format!("{} is not a repository on this machine", archive.repo);
        let hint = format!(
            "run this where the repository is; or print all that belongs there with \
             `armarius archive hook {} --show-key`",
            args.name
        );
        return Err(Failure::new(why, hint).into());
    };
    install(&archive, &folder, &client)
}

/// Ends the key of an archive's hook and removes its line, as far as that can be done from here.
pub(super) fn forget(archive: &Archive, client: &Client) {
    let ended = end_keys(&archive.name, client);
    match &ended {
        Ok(0) => {}
        Ok(_) => eprintln!("the key of its hook has ended"),
        Err(error) => {
            eprintln!(
                "the key of its hook may still be valid: {}",
                paper::clean(&error.to_string())
            );
            eprintln!("`armarius key list` shows it as {}", key_name(&archive.name));
        }
    }
    match folder(archive) {
        Some(folder) => {
            if let Err(error) = take_away(archive, &folder) {
                eprintln!("its hook is still there: {}", paper::clean(&format!("{error:#}")));
            }
        }
        None if matches!(ended, Ok(0)) => {}
        None => eprintln!("remove the line that names it from the hook of {}", archive.repo),
    }
}

/// One file of what belongs to a hook.
#[derive(Serialize)]
struct Sheet {
    path: String,
    text: String,
}

#[derive(Serialize)]
struct Sheets {
    files: Vec<Sheet>,
}

fn print(
    args: &Args,
    archive: &Archive,
    folder: Option<&Path>,
    client: &Client,
) -> anyhow::Result<()> {
    let name = &args.name;
    let file = match (&args.key_file, folder) {
        (Some(file), _) if file.is_absolute() => file.clone(),
        (Some(file), _) => {
            let why = format!("{} is not a whole path", file.display());
            return Err(Failure::new(why, "hooks run anywhere; begin it with /").into());
        }
        (None, folder) => key_file(folder.unwrap_or(Path::new(ELSEWHERE)), name),
    };
    let hooks = folder.unwrap_or(Path::new("hooks"));
    let mut files = Vec::new();
    for hook in kinds(archive) {
        let call = call(archive, &file, hook)?;
        let text = script::with(&script::fresh(hook.is_told_by_input), name, &call);
        files.push(Sheet { path: hooks.join(hook.file).display().to_string(), text });
    }
    if args.show_key {
        let text = format!("{}\n{}\n", client.url(), fresh_key(name, client)?);
        files.push(Sheet { path: file.display().to_string(), text });
    }
    paper::show(args.connection.json, &Sheets { files }, |sheets| {
        let one = |sheet: &Sheet| format!("# {}\n{}", sheet.path, sheet.text);
        sheets.files.iter().map(one).collect::<Vec<_>>().join("\n")
    })?;
    match (args.show_key, folder) {
        (true, _) => {
            eprintln!("the key is shown only now, and one that was made before has ended");
            eprintln!("make the hooks executable; who commits must be able to read the key file,");
            eprintln!("start {} and reach {}", program()?, client.url());
        }
        (false, Some(_)) => {
            eprintln!("its key belongs into {}: the server's URL and the key,", file.display());
            eprintln!("one per line; `armarius archive hook {name} --install` does all of it");
        }
        (false, None) => {
            eprintln!("its key belongs into {} on that machine;", file.display());
            eprintln!(
                "--show-key makes it and prints that file, too; --key-file puts it elsewhere"
            );
        }
    }
    Ok(())
}

fn install(archive: &Archive, folder: &Path, client: &Client) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let name = &archive.name;
    let file = key_file(folder, name);
    let key = fresh_key(name, client)?;
    write(&file, &format!("{}\n{key}\n", client.url()), 0o640)?;
    let mut foreign = Vec::new();
    for hook in kinds(archive) {
        let (path, call) = (folder.join(hook.file), call(archive, &file, hook)?);
        let old = read(&path)?.unwrap_or_else(|| script::fresh(hook.is_told_by_input));
        if script::is_ours(&old) {
            write(&path, &script::with(&old, name, &call), 0o755)?;
            eprintln!("installed {}", path.display());
        } else if script::line_of(&old, name).is_some() {
            eprintln!("{} has its line", path.display());
        } else {
            foreign.push((path, call));
        }
    }
    eprintln!("its key, which may only notify, is in {}:", file.display());
    eprintln!("whoever commits as another user of this machine must be able to read it");
    let paths: Vec<String> = foreign.iter().map(|(path, _)| path.display().to_string()).collect();
    match foreign.first() {
        None => Ok(()),
        Some((_, call)) => {
            let why = format!("there already and not ours: {}", paths.join(", "));
            Err(Failure::new(why, format!("add this line to it, before it ends: {call}")).into())
        }
    }
}

/// Removes the line of an archive from the hooks, and the file of its key.
fn take_away(archive: &Archive, folder: &Path) -> anyhow::Result<()> {
    let name = &archive.name;
    for hook in kinds(archive) {
        let path = folder.join(hook.file);
        let Some(old) = read(&path)? else { continue };
        let Some(line) = script::line_of(&old, name) else { continue };
        if !script::is_ours(&old) {
            eprintln!("remove this line from {}: {line}", path.display());
            continue;
        }
        let rest = script::without(&old, name);
        if script::is_idle(&rest) {
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
            eprintln!("removed {}", path.display());
        } else {
            write(&path, &rest, 0o755)?;
            eprintln!("removed its line from {}", path.display());
        }
    }
    let file = key_file(folder, name);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| file.display().to_string())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn key_name(archive: &str) -> String {
    format!("hook of {archive}")
}

/// A key for nothing but notices of this archive; the one of an earlier installation ends.
fn fresh_key(archive: &str, client: &Client) -> anyhow::Result<String> {
    end_keys(archive, client)?;
    let (name, collections) = (key_name(archive), vec![archive.to_owned()]);
    let added: Added = client.post("keys", &Add { name, role: Role::Notifier, collections })?;
    Ok(added.key)
}

/// Ends what keys the hook of an archive has; how many it were.
fn end_keys(archive: &str, client: &Client) -> anyhow::Result<usize> {
    let (name, mut ended) = (key_name(archive), 0);
    let page: Page<Key> = client.get("keys", &[])?;
    for old in page.entries.iter().filter(|key| key.name == name) {
        client.delete(&format!("keys/{}", segment(&old.id)))?;
        ended += 1;
    }
    Ok(ended)
}

/// What stands in a hook; none when there is no such file.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
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
    let path = PathBuf::from(place);
    if place.contains("://") || !path.is_dir() {
        return None;
    }
    let inner = path.join(".git");
    Some(if inner.is_dir() { inner.join("hooks") } else { path.join("hooks") })
}

fn key_file(folder: &Path, archive: &str) -> PathBuf {
    folder.join(format!("armarius-{}.key", segment(archive)))
}

/// A hook of a kind of repository.
#[derive(Clone, Copy)]
struct Hook {
    file: &'static str,
    is_told_by_input: bool,
    /// What it passes on.
    more: &'static str,
}

fn kinds(archive: &Archive) -> &'static [Hook] {
    const SVN: [Hook; 1] =
        [Hook { file: "post-commit", is_told_by_input: false, more: "\"$2\" \"$3\"" }];
    const GIT: [Hook; 2] = [
        Hook { file: "post-receive", is_told_by_input: true, more: "" },
        Hook { file: "post-commit", is_told_by_input: false, more: "" },
    ];
    if archive.kind == "svn" { &SVN } else { &GIT }
}

fn call(archive: &Archive, key_file: &Path, hook: &Hook) -> anyhow::Result<String> {
    let key_file = key_file.display().to_string();
    Ok(script::call(&program()?, &key_file, &archive.name, hook.more))
}

fn program() -> anyhow::Result<String> {
    let program = std::env::current_exe().context("cannot find this program")?;
    Ok(program.display().to_string())
}
