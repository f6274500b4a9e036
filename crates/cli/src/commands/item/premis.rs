//! `armarius item premis`, `armarius item import`: histories as PREMIS records.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context as _;
use armarius_bridges::premis::{self, Agent, Identifier, Record, Version};
use armarius_core::address::ItemAddress;
use armarius_core::text::Name;
use armarius_wire::client::Client;
use armarius_wire::v1::event::{Add, Added, Event, Outcome};
use armarius_wire::v1::item::{Item, Put, PutReply};
use armarius_wire::v1::{Page, raw};
use serde::Serialize;

use super::at;
use crate::connect::Connection;
use crate::exit::{Failure, refused};
use crate::paper;

/// Events fetched or sent at a time.
const PAGE: usize = 1_000;
/// What identifies things of ours.
const OURS: &str = "armarius";

/// Writes an item's history as a PREMIS record.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// collection/kind/key
    item: String,
    /// 3.0 or 2.2
    #[arg(long, default_value = "3.0")]
    version: Version,
    #[command(flatten)]
    connection: Connection,
}

/// Brings histories in from PREMIS records, 3.0 or 2.2.
///
/// Each object becomes an item, each of its events an event of that item, in order of time. The
/// same record can be imported again: an event is known by its identifier. Imported events never
/// cover what happened here.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// PREMIS records
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The collection and kind of the items, as maps/page; records that were written by Armarius
    /// say it themselves
    #[arg(long, value_name = "COLLECTION/KIND")]
    into: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

pub(super) fn export(args: &ExportArgs) -> anyhow::Result<()> {
    let events = history(&args.connection.client()?, &args.item)?;
    let record = record(&args.item, &events);
    paper::line(premis::write(&record, args.version).trim_end())
}

fn history(client: &Client, item: &str) -> anyhow::Result<Vec<Event>> {
    let (mut events, mut cursor) = (Vec::new(), None::<String>);
    let max = PAGE.to_string();
    loop {
        let mut query = vec![("item", item), ("max", max.as_str())];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page: Page<Event> = client.get("events", &query)?;
        events.extend(page.entries);
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(events),
        }
    }
}

/// The events that say how something ended; transitions of tasks are our own affair.
fn record(item: &str, events: &[Event]) -> Record {
    let facts = events.iter().filter(|e| e.outcome.is_some() && !e.name.starts_with("task."));
    Record {
        object: Identifier { kind: OURS.to_owned(), value: item.to_owned() },
        events: facts.map(event).collect(),
    }
}

fn event(event: &Event) -> premis::Event {
    let said = event.said.clone().unwrap_or_default();
    premis::Event {
        id: identifier(event),
        name: event.name.clone(),
        // The schemas want a moment; what was told and is none is left to our own record.
        at: said.at.as_deref().and_then(premis::normal).unwrap_or_else(|| event.at.clone()),
        success: event.outcome.as_deref() == Some("success"),
        detail: event.detail.as_ref().map(|detail| {
            // A text is shown as it is, anything else as JSON.
            serde_json::from_str(detail.get()).unwrap_or_else(|_| detail.get().to_owned())
        }),
        agents: agents(event),
    }
}

/// What an event brought along, or a UUID made of its hash: unique whenever it happened.
fn identifier(event: &Event) -> Identifier {
    if let Some(id) = event.said.as_ref().and_then(|said| said.id.as_deref()) {
        let (kind, value) = id.split_once('=').unwrap_or(("local", id));
        return Identifier { kind: kind.replace("%3D", "="), value: value.to_owned() };
    }
    let digits = event.hash.get(..32).unwrap_or(&event.hash);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    // Version 8: made by somebody's own rule, here from a SHA-256.
    let value = format!(
        "{}-{}-8{}-a{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    );
    Identifier { kind: "UUID".to_owned(), value }
}

/// What an identifier is called in our history.
fn told_id(id: &Identifier) -> String {
    format!("{}={}", id.kind.replace('=', "%3D"), id.value)
}

fn agents(event: &Event) -> Vec<Agent> {
    let mut agents = Vec::new();
    if let Some(work) = &event.work {
        let version = work.version.get(..12).unwrap_or(&work.version).to_owned();
        agents.push(Agent {
            id: Identifier { kind: OURS.to_owned(), value: format!("{}-{version}", work.flow) },
            name: work.flow.clone(),
            version,
            role: "executing program".to_owned(),
            software: true,
        });
    }
    let said = event.said.clone().unwrap_or_default();
    for agent in said.agent.iter().flat_map(|agent| agent.split("; ")) {
        let id = Identifier { kind: "local".to_owned(), value: agent.to_owned() };
        agents.push(Agent { id, ..Agent::default() });
    }
    if !said.imported {
        let id = Identifier { kind: OURS.to_owned(), value: event.actor.clone() };
        let (name, role) = (event.actor.clone(), "implementer".to_owned());
        agents.push(Agent { id, name, role, ..Agent::default() });
    }
    agents
}

/// What an import did.
#[derive(Debug, Default, Serialize)]
struct Imported {
    items: usize,
    added: usize,
    known: usize,
}

pub(super) fn import(args: &ImportArgs) -> anyhow::Result<()> {
    let client = args.connection.client()?;
    let mut done = Imported::default();
    // All are read before the first is sent.
    let mut records = Vec::new();
    for path in &args.files {
        let size = std::fs::metadata(path).with_context(|| path.display().to_string())?.len();
        if size > premis::DOCUMENT_BYTES_MAX as u64 {
            let why = format!("{} has {size} bytes", path.display());
            let hint = format!("a record may have {} bytes; split it", premis::DOCUMENT_BYTES_MAX);
            return Err(Failure::new(why, hint).into());
        }
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        let found = premis::read(&bytes).map_err(|error| {
            let why = format!("{}: {error}", path.display());
            Failure::new(why, "nothing was imported; correct the file and try again")
        })?;
        records.extend(found);
    }
    for record in &records {
        let item = address(record, args.into.as_deref())?;
        bring(&client, &item, record, &mut done)?;
    }
    paper::show(args.connection.json, &done, |done| {
        format!("{} items, {} events added, {} known already", done.items, done.added, done.known)
    })
}

/// The item a record is about.
fn address(record: &Record, into: Option<&str>) -> anyhow::Result<ItemAddress> {
    let own = ItemAddress::parse(&record.object.value).ok();
    let own = own.filter(|_| record.object.kind == OURS);
    let Some(into) = into else {
        let why = format!("whose item {} is is not said", record.object.value);
        return own.ok_or_else(|| Failure::new(why, "give --into COLLECTION/KIND").into());
    };
    let Some((collection, kind)) = into.split_once('/') else {
        return Err(Failure::new(format!("{into} names no kind"), "give --into maps/page").into());
    };
    let key = own.map_or_else(|| record.object.value.as_str().into(), |own| own.key);
    Ok(ItemAddress { collection: Name::new(collection)?, kind: Name::new(kind)?, key })
}

fn bring(
    client: &Client,
    item: &ItemAddress,
    record: &Record,
    done: &mut Imported,
) -> anyhow::Result<()> {
    let address = item.to_string();
    let reply: PutReply = match client.get::<Item>(&at(&address), &[]) {
        Ok(found) if found.deleted => {
            let why = format!("item {address} is deleted");
            return Err(Failure::new(why, "put it again first, if it should come back").into());
        }
        Ok(_) => PutReply { item: address.clone(), fresh: false },
        Err(_) => client.put(&at(&address), &Put::default())?,
    };
    done.items += 1;
    // Our own events come home without being doubled.
    let here: BTreeSet<String> = if reply.fresh {
        BTreeSet::new()
    } else {
        history(client, &address)?.iter().map(|e| told_id(&identifier(e))).collect()
    };
    let fresh = record.events.iter().filter(|event| !here.contains(&told_id(&event.id)));
    let adds: Vec<Add> = fresh.map(|event| add(&address, event)).collect();
    done.known += record.events.len() - adds.len();
    for chunk in adds.chunks(PAGE) {
        let added: Vec<Added> = client.post("events", &chunk)?;
        for one in added {
            match one.problem {
                Some(problem) => return Err(refused(problem)),
                None if one.repeated => done.known += 1,
                None => done.added += 1,
            }
        }
    }
    Ok(())
}

fn add(item: &str, event: &premis::Event) -> Add {
    let agents: Vec<&str> = event.agents.iter().map(|agent| agent.id.value.as_str()).collect();
    let detail = event.detail.as_deref().map(|text| serde_json::Value::from(text).to_string());
    Add {
        id: Some(told_id(&event.id)),
        item: item.to_owned(),
        name: event.name.clone(),
        outcome: if event.success { Outcome::Success } else { Outcome::Failure },
        detail: detail.as_deref().and_then(raw),
        at: Some(event.at.clone()),
        agent: (!agents.is_empty()).then(|| agents.join("; ")),
        imported: true,
    }
}
