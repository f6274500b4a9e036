//! `armarius hold …`

use std::process::ExitCode;

use armarius_wire::v1::Page;
use armarius_wire::v1::hold::{Hold, IsSet, On, Set};

use crate::connect::{Connection, Steering, Way};
use crate::paper;

/// Holds: brakes on work.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Sets a hold on a collection, a flow or step of it, a batch, an item or a task
    Set {
        /// A collection
        #[arg(long)]
        collection: Option<String>,
        /// A flow of the collection
        #[arg(long, requires = "collection")]
        flow: Option<String>,
        /// A step of the flow
        #[arg(long, requires = "flow")]
        step: Option<String>,
        /// A batch, by number
        #[arg(long)]
        batch: Option<i64>,
        /// An item
        #[arg(long)]
        item: Option<String>,
        /// A task, by number
        #[arg(long)]
        task: Option<i64>,
        /// Why
        #[arg(long)]
        reason: String,
        /// Until when, as 2026-11-15T10:00:00Z
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Lists them
    List {
        #[command(flatten)]
        connection: Connection,
    },
    /// Releases one
    Release {
        /// Its number
        hold: i64,
        #[command(flatten)]
        steering: Steering,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Set { collection, flow, step, batch, item, task, reason, until, steering } => {
            let on = On { collection, flow, step, batch, item, task };
            set(&steering, &Set { on, reason, until })?;
        }
        Verb::List { connection } => {
            let page: Page<Hold> = connection.client()?.get("holds", &[])?;
            paper::show(connection.json, &page, |page| {
                let row = |hold: &Hold| {
                    [
                        hold.hold.to_string(),
                        on_what(&hold.on),
                        hold.reason.clone(),
                        hold.owner.clone(),
                        paper::when(&hold.since),
                        hold.until.as_deref().map_or_else(String::new, paper::when),
                    ]
                };
                let head = ["hold", "on", "reason", "owner", "since", "until"];
                paper::table(head, page.entries.iter().map(row).collect())
            })?;
        }
        Verb::Release { hold, steering } => release(&steering, hold)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Sets a hold and tells its number.
pub(super) fn set(steering: &Steering, set: &Set) -> anyhow::Result<()> {
    if steering.only_told(Way::Post, "holds", set)? {
        return Ok(());
    }
    let set: IsSet = steering.connection.client()?.post("holds", set)?;
    paper::show(steering.connection.json, &set, |set| set.hold.to_string())
}

/// Releases a hold.
pub(super) fn release(steering: &Steering, hold: i64) -> anyhow::Result<()> {
    let path = format!("holds/{hold}");
    if !steering.only_told(Way::Delete, &path, &())? {
        steering.connection.client()?.delete(&path)?;
        eprintln!("hold {hold} is released");
    }
    Ok(())
}

fn on_what(on: &On) -> String {
    let On { collection, flow, step, batch, item, task } = on;
    let word =
        |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
    let number = |name: &str, value: Option<i64>| value.map(|value| format!("{name} {value}"));
    [
        word("collection", collection),
        word("flow", flow),
        word("step", step),
        number("batch", *batch),
        word("item", item),
        number("task", *task),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(", ")
}
