//! `armarius worker list`

use std::process::ExitCode;

use armarius_wire::v1::Page;
use armarius_wire::v1::worker::Worker;

use crate::connect::Connection;
use crate::paper;

/// Workers: who asks for work, and who holds which tasks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Lists the workers that asked for work lately or hold some
    List {
        #[command(flatten)]
        connection: Connection,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Verb::List { connection } = args.verb;
    let page: Page<Worker> = connection.client()?.get("workers", &[])?;
    paper::show(connection.json, &page, |page| {
        let row = |worker: &Worker| {
            let tasks: Vec<String> = worker.tasks.iter().map(i64::to_string).collect();
            let number = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
            [
                worker.worker.clone(),
                worker.actor.clone(),
                worker.labels.join(","),
                number(worker.slots.map(u64::from)),
                worker.waiting.to_string(),
                number(worker.asked_s),
                tasks.join(","),
            ]
        };
        let head = ["worker", "key", "labels", "slots", "waiting", "asked s ago", "holds tasks"];
        paper::table(head, page.entries.iter().map(row).collect())
    })?;
    Ok(ExitCode::SUCCESS)
}
