//! `armarius man`: manual pages, one per verb.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::config;

/// Writes manual pages into a folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder, such as /usr/local/share/man/man1
    dir: PathBuf,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { dir } = args;
    std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    clap_mangen::generate_to(config::command(None), &dir)
        .with_context(|| dir.display().to_string())?;
    let pages = std::fs::read_dir(&dir).with_context(|| dir.display().to_string())?.count();
    eprintln!("{pages} pages in {}", dir.display());
    Ok(ExitCode::SUCCESS)
}
