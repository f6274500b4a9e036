//! `armarius item find`: the query language of triggers, asked by a person.

use armarius_wire::v1::Page;
use armarius_wire::v1::item::{Find, Item};
use armarius_wire::v1::robot::Query;

use crate::connect::Connection;
use crate::paper;
use crate::progress::Progress;

/// Pages read for one list before the rest is left to the next command.
const PAGES_MAX: usize = 100_000;

/// What is asked of the items; every condition must hold.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The collection
    collection: String,
    /// Of this kind; several times: any of them
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// With this type; several times: all of them
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// The newest event of this name is a success
    #[arg(long, value_name = "EVENT")]
    success: Vec<String>,
    /// The newest event of this name is a failure
    #[arg(long, value_name = "EVENT")]
    failed: Vec<String>,
    /// There is no event of this name
    #[arg(long, value_name = "EVENT")]
    absent: Vec<String>,
    /// There is no event of this name, or it is older than the item's content
    #[arg(long, value_name = "EVENT")]
    stale: Vec<String>,
    /// With this key; several times: any of them
    #[arg(long = "key", value_name = "KEY")]
    keys: Vec<String>,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    max: usize,
    /// Go on where the last list ended
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

pub(super) fn run(args: Args, list: impl FnOnce(&[Item]) -> String) -> anyhow::Result<()> {
    let client = args.connection.client()?;
    let query = Query {
        kinds: args.kinds,
        types: args.types,
        success: args.success,
        failed: args.failed,
        absent: args.absent,
        stale: args.stale,
        items: args.keys,
    };
    let mut progress = Progress::new("looked", None);
    let mut found = Page { entries: Vec::new(), next: args.cursor };
    // A page looks at a bounded number of items and may find none: the list goes on by itself.
    for page in 0..PAGES_MAX {
        let max = Some((args.max - found.entries.len()).clamp(1, 1_000));
        let cursor = found.next.take();
        let find = Find { collection: args.collection.clone(), query: query.clone(), cursor, max };
        let next: Page<Item> = client.post("items/find", &find)?;
        found.entries.extend(next.entries);
        found.next = next.next;
        if found.next.is_none() || found.entries.len() >= args.max {
            break;
        }
        progress.at(page as u64 + 1, "pages");
    }
    progress.end();
    paper::show(args.connection.json, &found, |page| list(&page.entries))?;
    crate::commands::task::tell_more(found.next.as_deref());
    Ok(())
}
