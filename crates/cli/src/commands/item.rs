//! `armarius item …`

use std::process::ExitCode;

use anyhow::Context as _;
use armarius_wire::client::in_path;
use armarius_wire::v1::event::{Added, Event};
use armarius_wire::v1::item::{Item, Put, PutReply, Touch};
use armarius_wire::v1::{Page, Raw};

use super::task::task_table;
use crate::connect::Connection;
use crate::paper;

/// Items: things work is done to. An item is written collection/kind/key.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Makes an item, or changes what is said about it
    Put {
        /// collection/kind/key
        item: String,
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
        connection: Connection,
    },
    /// Shows an item and its newest tasks
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
        connection: Connection,
    },
    /// Deletes an item: its work is cancelled, its history stays
    Delete {
        /// collection/kind/key
        item: String,
        #[command(flatten)]
        connection: Connection,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Put { item, priority, ordinal, types, attributes, connection } => {
            let types = (!types.is_empty()).then_some(types);
            let put = Put { priority, ordinal, types, attributes: json_of(attributes)? };
            let reply: PutReply = connection.client()?.put(&at(&item), &put)?;
            let news = if reply.fresh { "new" } else { "known" };
            paper::show(connection.json, &reply, |reply| format!("{} ({news})", reply.item))?;
        }
        Verb::Show { item, connection } => {
            let item: Item = connection.client()?.get(&at(&item), &[])?;
            paper::show(connection.json, &item, show)?;
        }
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
        Verb::Touch { item, detail, connection } => {
            let touch = Touch { item, detail: json_of(detail)? };
            let added: Added = connection.client()?.post("items/touch", &touch)?;
            let n = added.n.unwrap_or_default();
            paper::show(connection.json, &added, |_| format!("event {n}"))?;
        }
        Verb::Delete { item, connection } => {
            connection.client()?.delete(&at(&item))?;
            eprintln!("item {item} takes no more work; its history stays");
        }
    }
    Ok(ExitCode::SUCCESS)
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

fn show(item: &Item) -> String {
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
            item.first_seen_at.clone(),
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
            event.at.clone(),
            event.name.clone(),
            event.outcome.clone().or_else(|| event.to.clone()).unwrap_or_default(),
            event.task.map_or_else(String::new, |task| task.to_string()),
            event.actor.clone(),
            event.detail.as_ref().map_or_else(String::new, |d| d.get().to_owned()),
        ]
    };
    let head = ["n", "at", "event", "outcome", "task", "actor", "detail"];
    paper::table(head, events.iter().map(row).collect())
}
