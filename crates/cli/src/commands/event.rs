//! `armarius event add`

use std::process::ExitCode;

use anyhow::Context as _;
use armarius_wire::v1::event::{Add, Added, Outcome};

use super::item::json_of;
use crate::connect::Connection;
use crate::exit::refused;
use crate::paper;
use crate::records::{self, One, Source};

/// Events: facts about items.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Appends an event to an item; many with --from
    ///
    /// Records have the fields item, name, outcome, detail, id, at and agent.
    Add {
        /// collection/kind/key
        #[arg(required_unless_present = "from", conflicts_with = "from")]
        item: Option<String>,
        /// What happened
        #[arg(required_unless_present = "from", conflicts_with = "from")]
        name: Option<String>,
        #[command(flatten)]
        source: Source,
        /// What came of it
        #[arg(long, value_enum, default_value_t = Ended::Success)]
        outcome: Ended,
        /// It did not work: short for --outcome failure
        #[arg(long)]
        failure: bool,
        /// Who or what did it; who adds it is known anyway
        #[arg(long)]
        agent: Option<String>,
        /// When it happened; information only, events are ordered by their arrival
        #[arg(long, value_name = "TIME")]
        at: Option<String>,
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

/// What came of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Ended {
    /// It worked.
    Success,
    /// It did not.
    Failure,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Verb::Add { item, name, source, outcome, failure, agent, at, detail, id, connection } =
        args.verb;
    let (Some(item), Some(name)) = (item, name) else {
        add_all(&source, id, &connection)?;
        return Ok(ExitCode::SUCCESS);
    };
    let outcome = match outcome {
        Ended::Success if !failure => Outcome::Success,
        Ended::Success | Ended::Failure => Outcome::Failure,
    };
    let detail = json_of(detail)?;
    let add = Add { id, item, name, outcome, detail, at, agent, imported: false };
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

fn add_all(source: &Source, id: Option<String>, connection: &Connection) -> anyhow::Result<()> {
    let id = id.unwrap_or_else(records::fresh_id);
    let complete = |add: &mut Add| {
        let own = add.id.take();
        add.id = Some(own.unwrap_or_else(|| format!("{id} {} {}", add.name, add.item)));
    };
    let judge = |added: &Added| match &added.problem {
        Some(problem) => One::Refused(problem.clone()),
        None if added.repeated => One::Known,
        None => One::Taken,
    };
    let sent = source.send(&connection.client()?, "events", complete, judge);
    let mut summary = sent.with_context(|| records::again(&id))?;
    summary.id = Some(id);
    records::tell(connection.json, &summary)
}
