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
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Keeps a value, read from standard input; the last line break does not count
    Put {
        /// The collection
        collection: String,
        /// Its name, which is also the name of the variable tasks find it in
        name: String,
    },
    /// Lists names, never values
    List,
    /// Forgets a value
    Remove {
        /// The collection
        collection: String,
        /// Its name
        name: String,
    },
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let folder = args.data.join("secrets");
    if !args.data.is_dir() {
        let why = format!("there is no data folder {}", args.data.display());
        return Err(Failure::new(why, "name the server's with --data").into());
    }
    match &args.verb {
        Verb::Put { collection, name } => {
            Name::new(collection)?;
            let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !name.chars().all(is_fit) || name.starts_with(|c: char| c.is_ascii_digit()) {
                let why = format!("{name:?} cannot be the name of a variable");
                return Err(Failure::new(why, "use letters, digits and _").into());
            }
            put(&folder.join(file_name(collection)), &file_name(name))?;
        }
        Verb::Remove { collection, name } => {
            let path = folder.join(file_name(collection)).join(file_name(name));
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
        Verb::List => {
            let mut rows = Vec::new();
            for collection in names(&folder)? {
                for name in names(&folder.join(file_name(&collection)))? {
                    rows.push([collection.clone(), name]);
                }
            }
            paper::line(&paper::table(["collection", "name"], rows))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn put(folder: &Path, name: &str) -> anyhow::Result<()> {
    let mut value = String::new();
    io::stdin().take(VALUE_BYTES_MAX + 1).read_to_string(&mut value).context("cannot read it")?;
    if value.len() as u64 > VALUE_BYTES_MAX {
        return Err(Failure::new("the value is larger than 64 KiB", "keep it elsewhere").into());
    }
    let shown = || folder.display().to_string();
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(shown)?;
    // A reader sees the old value or the new one, never half of one.
    let fresh = folder.join(format!("{name}.new"));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .with_context(shown)?;
    file.write_all(value.as_bytes()).and_then(|()| file.sync_all()).with_context(shown)?;
    fs::rename(&fresh, folder.join(name)).with_context(shown)
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
