//! `armarius revision …`

use std::process::ExitCode;

use armarius_wire::v1::archive::Revision;

use crate::connect::Connection;
use crate::paper;

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
            let revision: Revision = connection.client()?.get(&path, &[])?;
            paper::show(connection.json, &revision, super::archive::revision_text)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
