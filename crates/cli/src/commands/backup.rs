//! `armarius backup`: a copy of what a server keeps, made while it runs.

pub(super) mod archive;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use armarius_store::sqlite::{self, Inspection};
use serde::Serialize;

use super::doctor;
use crate::config::{DATA_DEFAULT, FILE_NAME};
use crate::exit::Failure;
use crate::paper;
use crate::progress::{Progress, span};
use crate::servers;
use crate::stores::FILE as STORE_FILE;

use archive::{Part, Writing};

/// What stands beside the store and holds no secret.
const PLAIN: &[&str] = &[FILE_NAME, "output"];
/// What opens the server or what its tasks get.
const SECRET: &[&str] = &["admin.key", "secrets"];

/// Writes everything a server keeps into one file, while it runs, and checks the copy.
///
/// The file is a plain tar archive: the store as it stands at one moment, the configuration, what
/// tasks have written, and a manifest with the digest of each. The admin's key and secrets are left
/// out unless they are asked for; of other keys the store has only hashes. `armarius restore`
/// brings it back.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to be written; it must not exist
    file: PathBuf,
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = crate::config::DATA_DEFAULT)]
    data: PathBuf,
    /// The store's file, as `sqlite:PATH`; the one in the data folder when absent
    #[arg(long, value_name = "STORE", hide_env_values = true)]
    store: Option<String>,
    /// Include keys and secrets: whoever has the file can then open the server
    #[arg(long)]
    with_secrets: bool,
    /// Leave out what tasks have written
    #[arg(long)]
    without_output: bool,
    /// Show answers as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    file: String,
    bytes: u64,
    events: u64,
    commits: u64,
    items: u64,
    secrets: bool,
    seconds: f64,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { file, data, store, with_secrets, without_output, json } = args;
    let began = std::time::Instant::now();
    let data = at_hand(data)?;
    let store = doctor::file_of(store.as_deref(), &data)?;
    if file.exists() {
        let why = format!("{} is there already", file.display());
        return Err(Failure::new(why, "choose another name; a backup replaces nothing").into());
    }
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scratch = tempfile::Builder::new()
        .prefix(".armarius-backup-")
        .tempdir_in(folder)
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    let copy = scratch.path().join(STORE_FILE);
    copy_store(&store, &copy)?;
    let findings = doctor::look(&Inspection::of_copy(&copy)?);
    let history = match (findings.history, findings.wrong.first()) {
        (Some(history), None) => history,
        (_, wrong) => {
            let wrong = wrong.map_or("it cannot be read", String::as_str);
            let why = format!("the copy contradicts itself: {wrong}");
            let hint = "stop the server and run `armarius doctor`; nothing was written";
            return Err(Failure::corrupt(why, hint).into());
        }
    };
    let mut parts = vec![Part { name: STORE_FILE.to_owned(), path: copy }];
    let wanted = PLAIN.iter().filter(|name| !(without_output && **name == "output"));
    let secret = SECRET.iter().filter(|_| with_secrets);
    for name in wanted.chain(secret) {
        archive::collect(&data.join(name), name, &mut parts)?;
    }
    write(&scratch.path().join("whole"), &file, &parts)?;
    let report = Report {
        bytes: fs::metadata(&file).map_or(0, |m| m.len()),
        file: file.display().to_string(),
        events: history.events,
        commits: history.commits,
        items: history.items,
        secrets: with_secrets,
        seconds: began.elapsed().as_secs_f64(),
    };
    paper::show(json, &report, |r| {
        let Report { file, bytes, events, commits, items, .. } = r;
        let took = span(began.elapsed());
        format!(
            "{file}: {bytes} bytes, {events} events of {items} items in {commits} commits, checked \
             ({took})"
        )
    })?;
    if !with_secrets {
        eprintln!("the admin's key and secrets are not in it; --with-secrets includes them");
    }
    Ok(ExitCode::SUCCESS)
}

/// The data folder, or, where it is not there, that of this user's server.
fn at_hand(data: PathBuf) -> anyhow::Result<PathBuf> {
    if data.exists() || data != Path::new(DATA_DEFAULT) {
        return Ok(data);
    }
    let found = servers::find(None)?.map(|server| server.data);
    if let Some(found) = &found {
        eprintln!("data folder {}", found.display());
    }
    Ok(found.unwrap_or(data))
}

/// Copies the store with progress: how much of the new file is there.
fn copy_store(from: &Path, into: &Path) -> anyhow::Result<()> {
    let total = fs::metadata(from).map_or(0, |m| m.len());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut progress = Progress::new("copied", Some(total));
            while !done.load(Ordering::Relaxed) {
                progress.at(fs::metadata(into).map_or(0, |m| m.len()), "");
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let copied = sqlite::backup(from, into);
        done.store(true, Ordering::Relaxed);
        copied.with_context(|| format!("cannot copy {}", from.display()))
    })
}

/// Writes the archive under another name first, so that a file of this name is always whole.
fn write(scratch: &Path, file: &Path, parts: &[Part]) -> anyhow::Result<()> {
    let shown = || file.display().to_string();
    let mut options = OpenOptions::new();
    let out = options.write(true).create_new(true).mode(0o600).open(scratch).with_context(shown)?;
    let total = parts.iter().map(|part| fs::metadata(&part.path).map_or(0, |m| m.len())).sum();
    let mut progress = Progress::new("written", Some(total));
    let mut writing = Writing::new(out);
    for part in parts {
        writing.add(part, &mut |bytes| progress.at(bytes, ""))?;
    }
    let out = writing.finish()?;
    out.sync_all().with_context(shown)?;
    drop(out);
    archive::check(scratch)?;
    // A link, not a rename: it never replaces a file that came meanwhile.
    fs::hard_link(scratch, file).or_else(|_| fs::rename(scratch, file)).with_context(shown)?;
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(shown)
}
