//! `armarius worker list`

use std::process::ExitCode;

use armarius_wire::v1::Page;
use armarius_wire::v1::lease::Lease;

use crate::connect::Connection;
use crate::paper;

/// Workers: who holds which tasks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Lists leases: worker by worker, those that lapse first come first
    List {
        #[command(flatten)]
        connection: Connection,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Verb::List { connection } = args.verb;
    let page: Page<Lease> = connection.client()?.get("leases", &[("max", "1000")])?;
    paper::show(connection.json, &page, |page| {
        let row = |lease: &Lease| {
            let tasks: Vec<String> = lease.tasks.iter().map(i64::to_string).collect();
            let stopping = if lease.stopping.is_empty() { "" } else { "stopping" };
            [
                lease.worker.clone(),
                lease.actor.clone(),
                paper::when(&lease.granted_at),
                paper::when(&lease.expires_at),
                tasks.join(","),
                stopping.to_owned(),
            ]
        };
        let head = ["worker", "key", "granted", "lapses", "tasks", ""];
        paper::table(head, page.entries.iter().map(row).collect())
    })?;
    Ok(ExitCode::SUCCESS)
}
