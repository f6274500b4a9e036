//! `armarius commit`: tells the server that an archive has a revision. Hooks call it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use armarius_wire::client::Client;
use armarius_wire::v1::archive::Notice;

use crate::connect::Connection;
use crate::exit::Failure;

/// Tells the server that an archive has a revision: it looks at the repository and catches up.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The archive
    archive: String,
    /// The revision; anything but a number means just: look
    revision: Option<String>,
    /// The transaction it came from
    #[arg(value_name = "TXN")]
    transaction: Option<String>,
    /// The transaction it came from
    #[arg(long, value_name = "TXN", conflicts_with = "transaction")]
    txn: Option<String>,
    /// Take the server's URL and the key from this file, one per line
    #[arg(long, value_name = "FILE")]
    hook: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let client = match &args.hook {
        Some(file) => client_of(file)?,
        None => args.connection.client()?,
    };
    let revision = args.revision.and_then(|text| text.trim_start_matches('r').parse().ok());
    let notice = Notice { revision, txn: args.txn.or(args.transaction) };
    client.tell(&format!("{}/notices", super::archive::at(&args.archive)), &notice)?;
    Ok(ExitCode::SUCCESS)
}

fn client_of(file: &Path) -> anyhow::Result<Client> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut lines = text.lines();
    match (lines.next(), lines.next()) {
        (Some(url), Some(key)) => Ok(Client::new(url.trim(), key.trim())),
        (_, _) => {
            let why = format!("{} does not hold a URL and a key", file.display());
            Err(Failure::new(why, "`armarius archive hook NAME --install` makes it").into())
        }
    }
}
