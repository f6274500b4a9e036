//! `armarius collection …`

use std::process::ExitCode;

use armarius_wire::client::segment;
use armarius_wire::v1::Page;
use armarius_wire::v1::collection::{Collection, Put};

use crate::connect::{Connection, Steering, Way};
use crate::paper;

/// Collections: namespaces with policy.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Makes a collection, or changes who is told about its batches
    Put {
        /// Its name
        name: String,
        /// Who is told about settled batches; can be given several times
        #[arg(long, value_name = "URL")]
        notify: Vec<String>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Lists them
    List {
        #[command(flatten)]
        connection: Connection,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Put { name, notify, steering } => {
            let (path, put) = (format!("collections/{}", segment(&name)), Put { notify });
            if !steering.only_told(Way::Put, &path, &put)? {
                steering.connection.client()?.put_done(&path, &put)?;
                eprintln!("collection {name} is there");
            }
        }
        Verb::List { connection } => {
            let page: Page<Collection> = connection.client()?.get("collections", &[])?;
            paper::show(connection.json, &page, |page| {
                let row = |c: &Collection| {
                    let t = c.tasks;
                    [
                        c.name.clone(),
                        c.flows.to_string(),
                        t.waiting.to_string(),
                        t.held.to_string(),
                        t.ready.to_string(),
                        t.leased.to_string(),
                        t.done.to_string(),
                        t.failed.to_string(),
                        t.cancelled.to_string(),
                    ]
                };
                let head = [
                    "collection",
                    "flows",
                    "waiting",
                    "held",
                    "ready",
                    "leased",
                    "done",
                    "failed",
                    "cancelled",
                ];
                paper::table(head, page.entries.iter().map(row).collect())
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
