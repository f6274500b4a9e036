//! `armarius batch …`

use std::process::ExitCode;

use armarius_wire::v1::Page;
use armarius_wire::v1::batch::{Batch, Open, Opened};
use serde_json::json;

use crate::connect::{Connection, Steering, Way};
use crate::paper;

/// Batches: items submitted and reported together.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Opens a batch; submit into it with `armarius submit --batch`
    Open {
        /// The collection
        collection: String,
        /// Its key; a number if absent
        #[arg(long, default_value = "")]
        key: String,
        /// Your id of this batch: the same id never opens a second one
        #[arg(long)]
        id: Option<String>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Says that a batch is complete in number
    Seal(Steered),
    /// Shows one
    Show(One),
    /// Lists them, newest first
    List {
        /// At most so many
        #[arg(long, default_value_t = 100)]
        max: usize,
        /// Go on where the last list ended
        #[arg(long)]
        cursor: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Cancels what is open in a batch
    Cancel(Steered),
    /// Gives every failed member another attempt
    Retry(Steered),
    /// Composes another report of a failed batch
    Report(Steered),
    /// Deletes a batch: what is open is cancelled, history stays
    Delete(Steered),
}

#[derive(Debug, clap::Args)]
struct One {
    /// Its number
    batch: i64,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, clap::Args)]
struct Steered {
    /// Its number
    batch: i64,
    #[command(flatten)]
    steering: Steering,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Open { collection, key, id, steering } => {
            let open = Open { id, collection, key };
            if !steering.only_told(Way::Post, "batches", &open)? {
                let opened: Opened = steering.connection.client()?.post("batches", &open)?;
                paper::show(steering.connection.json, &opened, |o| o.batch.to_string())?;
            }
        }
        Verb::Show(One { batch, connection }) => show(batch, &connection)?,
        Verb::List { max, cursor, connection } => {
            let max = max.to_string();
            let mut query = vec![("max", max.as_str())];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page: Page<Batch> = connection.client()?.get("batches", &query)?;
            paper::show(connection.json, &page, |page| table(&page.entries))?;
            super::task::tell_more(page.next.as_deref());
        }
        Verb::Seal(one) => steer(&one, "seal")?,
        Verb::Cancel(one) => steer(&one, "cancel")?,
        Verb::Retry(one) => steer(&one, "retry")?,
        Verb::Report(one) => steer(&one, "report")?,
        Verb::Delete(Steered { batch, steering }) => {
            let path = format!("batches/{batch}");
            if !steering.only_told(Way::Delete, &path, &())? {
                steering.connection.client()?.delete(&path)?;
                eprintln!("batch {batch} is deleted; its history stays");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn steer(one: &Steered, verb: &str) -> anyhow::Result<()> {
    let Steered { batch, steering } = one;
    let path = format!("batches/{batch}/{verb}");
    if steering.only_told(Way::Post, &path, &json!({}))? {
        return Ok(());
    }
    steering.connection.client()?.tell(&path, &json!({}))?;
    show(*batch, &steering.connection)
}

fn show(batch: i64, connection: &Connection) -> anyhow::Result<()> {
    let batch: Batch = connection.client()?.get(&format!("batches/{batch}"), &[])?;
    paper::show(connection.json, &batch, |batch| table(std::slice::from_ref(batch)))
}

fn table(batches: &[Batch]) -> String {
    let row = |batch: &Batch| {
        [
            batch.batch.to_string(),
            batch.item.clone(),
            batch.state.clone(),
            batch.total.to_string(),
            batch.open.to_string(),
            batch.done.to_string(),
            batch.failed.to_string(),
            batch.cancelled.to_string(),
        ]
    };
    let head = ["batch", "item", "state", "total", "open", "done", "failed", "cancelled"];
    paper::table(head, batches.iter().map(row).collect())
}
