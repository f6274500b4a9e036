//! `armarius event add`

use std::process::ExitCode;

use armarius_wire::v1::event::{Add, Added, Outcome};

use super::item::json_of;
use crate::connect::Connection;
use crate::exit::refused;
use crate::paper;

/// Events: facts about items.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Appends an event to an item
    Add {
        /// collection/kind/key
        item: String,
        /// What happened
        name: String,
        /// It did not work
        #[arg(long)]
        failure: bool,
        /// More, JSON
        #[arg(long, value_name = "JSON")]
        detail: Option<String>,
        /// Your id of this event: the same id never makes a second one
        #[arg(long)]
        id: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Verb::Add { item, name, failure, detail, id, connection } = args.verb;
    let outcome = if failure { Outcome::Failure } else { Outcome::Success };
    let add = Add { id, item, name, outcome, detail: json_of(detail)? };
    let added: Vec<Added> = connection.client()?.post("events", &[add])?;
    if let Some(problem) = added.iter().find_map(|one| one.problem.clone()) {
        return Err(refused(problem));
    }
    paper::show(connection.json, &added, |added| {
        let n = added.first().and_then(|one| one.n).unwrap_or_default();
        let repeated = added.first().is_some_and(|one| one.repeated);
        format!("event {n}{}", if repeated { ", known already" } else { "" })
    })?;
    Ok(ExitCode::SUCCESS)
}
