//! `armarius revision …`

use std::process::ExitCode;

use armarius_wire::v1::archive::Revision;

use crate::connect::Connection;
use crate::paper;

/// Changed paths that are read at most; far fewer are shown.
const PATHS_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Revisions of archives.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Shows one: who made it, what it ran, what came of it
    Show {
        /// The archive
        archive: String,
        /// The revision
        revision: i64,
        #[command(flatten)]
        connection: Connection,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Show { archive, revision, connection } => {
            let path = format!("{}/revisions/{revision}", super::archive::at(&archive));
            let client = connection.client()?;
            let revision: Revision = client.get(&path, &[])?;
            // A repository that is away now keeps nobody from seeing what it ran.
            let paths = match revision.paths {
                0 => String::new(),
                _ => client.get_text(&format!("{path}/paths"), PATHS_BYTES_MAX).unwrap_or_default(),
            };
            paper::show(connection.json, &revision, |revision| {
                super::archive::revision_text(revision, &paths)
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
