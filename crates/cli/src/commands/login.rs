//! `armarius login`

use std::process::ExitCode;

use armarius_wire::v1::login::Link;
use serde::Serialize;

use crate::connect::Connection;
use crate::paper;

/// Prints a link that signs you in to the server's pages, once.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Shown {
    url: String,
    valid_s: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let client = args.connection.client()?;
    let link: Link = client.post("logins", &serde_json::json!({}))?;
    let shown = Shown { url: format!("{}{}", client.url(), link.path), valid_s: link.valid_s };
    eprintln!("works once, within {} minutes", shown.valid_s / 60);
    paper::show(args.connection.json, &shown, |shown| shown.url.clone())?;
    Ok(ExitCode::SUCCESS)
}
