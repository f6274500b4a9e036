//! `armarius secret …`: values that tasks get and nobody sees.

use std::fs::{self, DirBuilder};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use armarius_core::address::unescape;
use armarius_core::text::Name;
use armarius_server::file_name;

use crate::config::DATA_DEFAULT;
use crate::exit::Failure;
use crate::paper;

/// Bytes of a value.
const VALUE_BYTES_MAX: u64 = 64 * 1024;

/// Secrets: values that the tasks of a collection get when their steps name them. They are files in
/// the server's data folder, for its user alone; this command needs no server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// The server's data folder
    #[arg(
        long,
        global = true,
        env = "ARMARIUS_DATA",
        value_name = "DIR",
        default_value = DATA_DEFAULT
    )]
    data: PathBuf,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

/// One, without its value.
#[derive(Debug, serde::Serialize)]
struct Secret {
    collection: String,
    name: String,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Keeps a value, read from standard input; the last line break does not count
    Put {
        /// The collection
        collection: String,
        /// Its name, which is also the name of the variable tasks find it in
        name: String,
        /// Tell what would happen, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Lists names, never values
    List,
    /// Forgets a value
    Remove {
        /// The collection
        collection: String,
        /// Its name
        name: String,
        /// Tell what would happen, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let folder = args.data.join("secrets");
    if !args.data.is_dir() {
        let why = format!("there is no data folder {}", args.data.display());
        return Err(Failure::new(why, "name the server's with --data").into());
    }
    match &args.verb {
        Verb::Put { collection, name, dry_run } => {
            check(collection, name)?;
            let (value, path) = (read()?, path_of(&folder, collection, name));
            let news = if path.exists() { "replaced" } else { "kept" };
            if !dry_run {
                put(&path, &value)?;
            }
            told(collection, name, news, *dry_run);
        }
        Verb::Remove { collection, name, dry_run } => {
            let path = path_of(&folder, collection, name);
            if !path.exists() {
                let why = format!("there is no secret {name} for collection {collection}");
                return Err(
                    Failure::new(why, "`armarius secret list` shows those there are").into()
                );
            }
            if !dry_run {
                fs::remove_file(&path).with_context(|| path.display().to_string())?;
            }
            told(collection, name, "forgotten", *dry_run);
        }
        Verb::List => {
            let mut kept = Vec::new();
            for collection in names(&folder)? {
                for name in names(&folder.join(file_name(&collection)))? {
                    kept.push(Secret { collection: collection.clone(), name });
                }
            }
            paper::show(args.json, &kept, |kept| {
                let row = |s: &Secret| [s.collection.clone(), s.name.clone()];
                paper::table(["collection", "name"], kept.iter().map(row).collect())
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn check(collection: &str, name: &str) -> anyhow::Result<()> {
    Name::new(collection)?;
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.chars().all(is_fit) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(());
    }
    let why = format!("{name:?} cannot be the name of a variable");
    Err(Failure::new(why, "use letters, digits and _").into())
}

fn path_of(folder: &Path, collection: &str, name: &str) -> PathBuf {
    folder.join(file_name(collection)).join(file_name(name))
}

fn told(collection: &str, name: &str, news: &str, dry_run: bool) {
    if dry_run {
        eprintln!("dry run: secret {name} of {collection} would be {news}; nothing was changed");
    } else {
        eprintln!("secret {name} of {collection} is {news}");
    }
}

fn read() -> anyhow::Result<String> {
    let mut value = String::new();
    io::stdin().take(VALUE_BYTES_MAX + 1).read_to_string(&mut value).context("cannot read it")?;
    if value.len() as u64 > VALUE_BYTES_MAX {
        return Err(Failure::new("the value is larger than 64 KiB", "keep it elsewhere").into());
    }
    Ok(value)
}

fn put(path: &Path, value: &str) -> anyhow::Result<()> {
    let shown = || path.display().to_string();
    let folder = path.parent().unwrap_or(path);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(shown)?;
    // A reader sees the old value or the new one, never half of one.
    let fresh = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .with_context(shown)?;
    file.write_all(value.as_bytes()).and_then(|()| file.sync_all()).with_context(shown)?;
    fs::rename(&fresh, path).with_context(shown)
}

/// The names in a folder, sorted; none when it is not there.
fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.contains('.') {
            names.push(unescape(&name)?.to_string());
        }
    }
    names.sort();
    Ok(names)
}
