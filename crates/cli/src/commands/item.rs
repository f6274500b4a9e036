//! `armarius item …`

mod find;
mod premis;
pub(super) mod rewind;
mod timeline;

use std::process::ExitCode;

use anyhow::Context as _;
use armarius_wire::client::{Client, in_path};
use armarius_wire::v1::event::{Added, Event};
use armarius_wire::v1::item::{Item, Placed, Priority, Put, PutOne, PutReply, Touch};
use armarius_wire::v1::{Page, Raw};

use super::task::task_table;
use crate::connect::{Connection, Steering, Way};
use crate::paper;
use crate::records::{self, One, Source};

/// Items: things work is done to. An item is written collection/kind/key.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Makes an item, or changes what is said about it; many with --from
    ///
    /// Records have the fields item, priority, ordinal, types and attributes. In CSV, types are
    /// separated by semicolons, and a column attributes.NAME is a field of the attributes. Putting
    /// the same items again changes nothing, so that a list can be sent again after a failure.
    Put {
        /// collection/kind/key
        #[arg(required_unless_present = "from", conflicts_with = "from")]
        item: Option<String>,
        #[command(flatten)]
        source: Source,
        /// Higher first
        #[arg(long, allow_negative_numbers = true)]
        priority: Option<i32>,
        /// Position in a sequence
        #[arg(long, allow_negative_numbers = true)]
        ordinal: Option<i64>,
        /// A content model; can be given several times
        #[arg(long = "type", value_name = "TYPE")]
        types: Vec<String>,
        /// Free attributes, a JSON object
        #[arg(long, value_name = "JSON")]
        attributes: Option<String>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Shows an item: how its events stand, the newest ones, and its newest tasks
    Show {
        /// collection/kind/key
        item: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Lists the items of a collection
    List {
        /// The collection
        collection: String,
        /// At most so many
        #[arg(long, default_value_t = 100)]
        max: usize,
        /// Go on where the last list ended
        #[arg(long)]
        cursor: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Finds items by what happened to them, as a robot's trigger does
    Find(find::Args),
    /// Shows an item's history
    Events {
        /// collection/kind/key
        item: String,
        /// At most so many
        #[arg(long, default_value_t = 1000)]
        max: usize,
        /// Go on where the last list ended
        #[arg(long)]
        cursor: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Says that an item's content changed
    Touch {
        /// collection/kind/key
        item: String,
        /// What changed, JSON
        #[arg(long, value_name = "JSON")]
        detail: Option<String>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Makes an item's events from one on invisible to robots, so that they are woken anew
    Rewind(rewind::Args),
    /// Writes an item's history as a PREMIS record
    Premis(premis::ExportArgs),
    /// Brings histories in from PREMIS records
    Import(premis::ImportArgs),
    /// Changes the priority of an item and of its tasks that wait
    #[command(alias = "prioritize")]
    Prioritise {
        /// collection/kind/key
        item: String,
        /// Higher first
        #[arg(allow_negative_numbers = true)]
        priority: i32,
        #[command(flatten)]
        steering: Steering,
    },
    /// Deletes an item: its work is cancelled, its history stays
    Delete {
        /// collection/kind/key
        item: String,
        #[command(flatten)]
        steering: Steering,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Put { item, source, priority, ordinal, types, attributes, steering } => {
            let types = (!types.is_empty()).then_some(types);
            let put = Put { priority, ordinal, types, attributes: json_of(attributes)? };
            match item {
                Some(item) => self::put(&item, &put, &steering)?,
                None => put_all(&source, &put, &steering)?,
            }
        }
        Verb::Show { item, connection } => {
            let client = connection.client()?;
            let item: Item = client.get(&at(&item), &[])?;
            let newest = if connection.json { Vec::new() } else { newest_events(&client, &item)? };
            paper::show(connection.json, &item, |item| show(item, &newest))?;
        }
        Verb::Find(args) => find::run(args, list)?,
        Verb::Rewind(args) => return rewind::run(args),
        Verb::Premis(args) => premis::export(&args)?,
        Verb::Import(args) => premis::import(&args)?,
        Verb::List { collection, max, cursor, connection } => {
            let max = max.to_string();
            let mut query = vec![("collection", collection.as_str()), ("max", max.as_str())];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page: Page<Item> = connection.client()?.get("items", &query)?;
            paper::show(connection.json, &page, |page| list(&page.entries))?;
            super::task::tell_more(page.next.as_deref());
        }
        Verb::Events { item, max, cursor, connection } => {
            let max = max.to_string();
            let mut query = vec![("item", item.as_str()), ("max", max.as_str())];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page: Page<Event> = connection.client()?.get("events", &query)?;
            paper::show(connection.json, &page, |page| events(&page.entries))?;
            super::task::tell_more(page.next.as_deref());
        }
        Verb::Touch { item, detail, steering } => {
            let touch = Touch { item, detail: json_of(detail)? };
            if !steering.only_told(Way::Post, "items/touch", &touch)? {
                let added: Added = steering.connection.client()?.post("items/touch", &touch)?;
                let n = added.n.unwrap_or_default();
                paper::show(steering.connection.json, &added, |_| format!("event {n}"))?;
            }
        }
        Verb::Prioritise { item, priority, steering } => {
            let body = Priority { item, priority };
            if !steering.only_told(Way::Post, "items/priority", &body)? {
                steering.connection.client()?.tell("items/priority", &body)?;
                eprintln!("item {} has priority {priority}", body.item);
            }
        }
        Verb::Delete { item, steering } => {
            if !steering.only_told(Way::Delete, &at(&item), &())? {
                steering.connection.client()?.delete(&at(&item))?;
                eprintln!("item {item} takes no more work; its history stays");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn put(item: &str, put: &Put, steering: &Steering) -> anyhow::Result<()> {
    if steering.only_told(Way::Put, &at(item), put)? {
        return Ok(());
    }
    let reply: PutReply = steering.connection.client()?.put(&at(item), put)?;
    let news = if reply.fresh { "new" } else { "known" };
    paper::show(steering.connection.json, &reply, |reply| format!("{} ({news})", reply.item))
}

/// Many items; what the command line says counts where the record says nothing.
fn put_all(source: &Source, put: &Put, steering: &Steering) -> anyhow::Result<()> {
    steering.no_rehearsal_of_many()?;
    let complete = |one: &mut PutOne| {
        one.priority = one.priority.or(put.priority);
        one.ordinal = one.ordinal.or(put.ordinal);
        one.types = one.types.take().or_else(|| put.types.clone());
        one.attributes = one.attributes.take().or_else(|| put.attributes.clone());
    };
    let judge = |placed: &Placed| match (&placed.problem, placed.fresh) {
        (Some(problem), _) => One::Refused(problem.clone()),
        (None, Some(false)) => One::Known,
        (None, Some(true) | None) => One::Taken,
    };
    let client = steering.connection.client()?;
    let summary = source.send(&client, "items", complete, judge)?;
    records::tell(steering.connection.json, &summary)
}

fn at(item: &str) -> String {
    format!("items/{}", in_path(item))
}

/// JSON that was typed.
pub(super) fn json_of(text: Option<String>) -> anyhow::Result<Option<Raw>> {
    let parse =
        |text: String| serde_json::value::RawValue::from_string(text).context("this is not JSON");
    text.map(parse).transpose()
}

fn newest_events(client: &Client, item: &Item) -> anyhow::Result<Vec<Event>> {
    let after = item.newest.unwrap_or_default() - timeline::SHOWN_MAX;
    let cursor = after.max(0).to_string();
    let query = [("item", item.item.as_str()), ("cursor", cursor.as_str())];
    let page: Page<Event> = client.get("events", &query)?;
    Ok(page.entries)
}

fn show(item: &Item, newest: &[Event]) -> String {
    let mut text = paper::pairs(&[
        ("item", item.item.clone()),
        ("priority", item.priority.to_string()),
        ("ordinal", item.ordinal.map_or_else(String::new, |n| n.to_string())),
        ("types", item.types.join(", ")),
        ("attributes", item.attributes.as_ref().map_or_else(String::new, |a| a.get().to_owned())),
        ("first seen", item.first_seen_at.clone()),
        ("changed by event", item.changed_seq.to_string()),
        ("deleted", if item.deleted { "yes".to_owned() } else { String::new() }),
    ]);
    if !item.marks.is_empty() {
        text.push('\n');
        text.push_str(&timeline::marks(item));
    }
    if !newest.is_empty() {
        text.push('\n');
        text.push_str(&timeline::lines(newest));
    }
    if !item.tasks.is_empty() {
        text.push('\n');
        text.push_str(&task_table(&item.tasks));
    }
    text
}

fn list(items: &[Item]) -> String {
    let row = |item: &Item| {
        [
            item.item.clone(),
            item.priority.to_string(),
            item.types.join(","),
            paper::when(&item.first_seen_at),
            if item.deleted { "deleted".to_owned() } else { String::new() },
        ]
    };
    let head = ["item", "priority", "types", "first seen", ""];
    paper::table(head, items.iter().map(row).collect())
}

fn events(events: &[Event]) -> String {
    let row = |event: &Event| {
        [
            event.n.to_string(),
            paper::when(&event.at),
            event.name.clone(),
            event.outcome.clone().or_else(|| event.to.clone()).unwrap_or_default(),
            event.task.map_or_else(String::new, |task| task.to_string()),
            timeline::who(event),
            event.detail.as_ref().map_or_else(String::new, |d| d.get().to_owned()),
        ]
    };
    let head = ["n", "at", "event", "outcome", "task", "who", "detail"];
    paper::table(head, events.iter().map(row).collect())
}
