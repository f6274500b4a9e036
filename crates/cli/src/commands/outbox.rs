//! `armarius outbox list`

use std::process::ExitCode;

use armarius_wire::v1::Page;
use armarius_wire::v1::outbox::Destination;

use crate::connect::Connection;
use crate::paper;

/// The outbox: letters that have not arrived yet.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Lists destinations that letters wait for; those that are tried first come first
    List {
        #[command(flatten)]
        connection: Connection,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Verb::List { connection } = args.verb;
    let page: Page<Destination> = connection.client()?.get("outbox", &[("max", "1000")])?;
    paper::show(connection.json, &page, |page| {
        let row = |one: &Destination| {
            [
                one.to.clone(),
                one.waiting.to_string(),
                one.next.to_string(),
                one.tries.to_string(),
                paper::when(&one.due_at),
                paper::when(&one.since),
            ]
        };
        let head = ["destination", "waiting", "next", "tries", "due", "since"];
        paper::table(head, page.entries.iter().map(row).collect())
    })?;
    Ok(ExitCode::SUCCESS)
}
