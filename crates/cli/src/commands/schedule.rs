//! `armarius schedule list`

use std::process::ExitCode;

use armarius_wire::v1::Page;
use armarius_wire::v1::schedule::Schedule;

use crate::connect::Connection;
use crate::paper;

/// Schedules: flows that are woken by the clock.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Lists them; those that fire first come first
    List {
        /// Only of this collection
        collection: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Verb::List { collection, connection } = args.verb;
    let query: Vec<(&str, &str)> = collection.iter().map(|c| ("collection", c.as_str())).collect();
    let page: Page<Schedule> = connection.client()?.get("schedules", &query)?;
    paper::show(connection.json, &page, |page| {
        let row = |one: &Schedule| {
            [
                one.collection.clone(),
                one.flow.clone(),
                one.cron.clone(),
                one.tz.clone(),
                one.next.clone().unwrap_or_default(),
                one.last.clone().unwrap_or_default(),
                one.missed.clone(),
                one.overlap.clone(),
            ]
        };
        let head = ["collection", "flow", "cron", "zone", "next", "last", "missed", "overlap"];
        paper::table(head, page.entries.iter().map(row).collect())
    })?;
    Ok(ExitCode::SUCCESS)
}
