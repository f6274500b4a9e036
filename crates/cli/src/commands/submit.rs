//! `armarius submit`

use std::io::BufRead as _;
use std::process::ExitCode;

use anyhow::Context as _;
use armarius_wire::client::Client;
use armarius_wire::v1::Raw;
use armarius_wire::v1::round::{Submit, Submitted};
use serde::{Deserialize, Serialize};

use super::item::json_of;
use crate::connect::Connection;
use crate::exit::{Failure, refused};
use crate::paper;
use crate::records::{self, One, Source};

/// Rounds sent at a time.
const BULK_MAX: usize = 500;

/// Opens a round of a flow on items.
///
/// With --from, a record has the fields item, payload, priority, not_before, parts, depends, batch
/// and id. In CSV, parts and depends are separated by semicolons, and a column payload.NAME is a
/// field of the payload. Every record gets an id, so that a list that broke off can be sent again
/// with the same --id: what was taken is not taken twice.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The flow
    flow: String,
    /// Items, each collection/kind/key; `-` reads them from standard input, one per line
    #[arg(required_unless_present = "from", conflicts_with = "from", value_name = "ITEM")]
    items: Vec<String>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    terms: Terms,
    #[command(flatten)]
    connection: Connection,
}

/// What is the same for all items.
#[derive(Debug, clap::Args)]
struct Terms {
    /// Parameters, a JSON object
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
    /// Higher first; the item's if absent
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// Not before this moment, as 2026-11-15T10:00:00Z
    #[arg(long, value_name = "TIME")]
    not_before: Option<String>,
    /// A part; can be given several times
    #[arg(long = "part", value_name = "PART")]
    parts: Vec<String>,
    /// The address of a task that must be done before; can be given several times
    #[arg(long = "depends", value_name = "TASK")]
    depends: Vec<String>,
    /// The batch it belongs to
    #[arg(long)]
    batch: Option<i64>,
    /// Your id of this submission: the same id never opens a second round. With several items each
    /// gets the id with its address behind it
    #[arg(long)]
    id: Option<String>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { flow, items, source, terms, connection } = args;
    if source.is_given() {
        submit_all(&flow, &source, &terms, &connection)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (client, items) = (connection.client()?, read(&items)?);
    let mut done = Vec::with_capacity(items.len());
    for chunk in items.chunks(BULK_MAX) {
        let rounds: Result<Vec<Submit>, _> =
            chunk.iter().map(|item| round(&flow, item, &terms, items.len() > 1)).collect();
        done.extend(send(&client, &rounds?)?);
    }
    let problems: Vec<(&String, &Submitted)> =
        items.iter().zip(&done).filter(|(_, one)| one.problem.is_some()).collect();
    let count = problems.len();
    if let ([(_, one)], 1) = (problems.as_slice(), items.len()) {
        return Err(refused(one.problem.clone().unwrap_or_default()));
    }
    paper::show(connection.json, &done, |done| table(&items, done))?;
    if count > 0 {
        let why = format!("{count} of {} were refused", items.len());
        return Err(Failure::new(why, "the others are submitted; see the list").into());
    }
    Ok(ExitCode::SUCCESS)
}

/// A round as a record says it: the flow may be left to the command line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    item: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flow: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<Raw>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<i64>,
}

/// Many; what the command line says counts where the record says nothing.
fn submit_all(
    flow: &str,
    source: &Source,
    terms: &Terms,
    connection: &Connection,
) -> anyhow::Result<()> {
    let id = terms.id.clone().unwrap_or_else(records::fresh_id);
    let payload = json_of(terms.payload.clone())?;
    let complete = |one: &mut Record| {
        one.flow.get_or_insert_with(|| flow.to_owned());
        let own = one.id.take();
        one.id = Some(own.unwrap_or_else(|| format!("{id} {}", one.item)));
        one.payload = one.payload.take().or_else(|| payload.clone());
        one.priority = one.priority.or(terms.priority);
        one.not_before = one.not_before.take().or_else(|| terms.not_before.clone());
        one.batch = one.batch.or(terms.batch);
        if one.parts.is_empty() {
            one.parts.clone_from(&terms.parts);
        }
        if one.depends.is_empty() {
            one.depends.clone_from(&terms.depends);
        }
    };
    let judge = |done: &Submitted| match &done.problem {
        Some(problem) => One::Refused(problem.clone()),
        None if done.repeated => One::Known,
        None => One::Taken,
    };
    let sent = source.send(&connection.client()?, "rounds", complete, judge);
    let mut summary = sent.with_context(|| records::again(&id))?;
    summary.id = Some(id);
    records::tell(connection.json, &summary)
}

fn read(given: &[String]) -> anyhow::Result<Vec<String>> {
    let mut items = Vec::new();
    for item in given {
        if item == "-" {
            for line in std::io::stdin().lock().lines() {
                let line = line.context("cannot read standard input")?;
                items.extend((!line.trim().is_empty()).then(|| line.trim().to_owned()));
            }
        } else {
            items.push(item.clone());
        }
    }
    Ok(items)
}

fn round(flow: &str, item: &str, terms: &Terms, several: bool) -> anyhow::Result<Submit> {
    let id = terms.id.as_ref().map(|id| if several { format!("{id} {item}") } else { id.clone() });
    Ok(Submit {
        id,
        item: item.to_owned(),
        flow: flow.to_owned(),
        payload: json_of(terms.payload.clone())?,
        priority: terms.priority,
        not_before: terms.not_before.clone(),
        parts: terms.parts.clone(),
        depends: terms.depends.clone(),
        batch: terms.batch,
    })
}

fn send(client: &Client, rounds: &[Submit]) -> anyhow::Result<Vec<Submitted>> {
    Ok(client.post("rounds", &rounds)?)
}

fn table(items: &[String], done: &[Submitted]) -> String {
    let row = |(item, one): (&String, &Submitted)| {
        let number = |n: Option<i64>| n.map_or_else(String::new, |n| n.to_string());
        let news = match &one.problem {
            Some(problem) => problem.detail.clone(),
            None if one.repeated => "known already".to_owned(),
            None => String::new(),
        };
        [item.clone(), number(one.task), number(one.round.map(i64::from)), news]
    };
    paper::table(["item", "task", "round", ""], items.iter().zip(done).map(row).collect())
}
