//! `armarius why`

use std::process::ExitCode;

use armarius_wire::v1::why::Node;

use crate::connect::Connection;
use crate::paper;

/// Says what something waits for, since when, and what would clear it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A task (number or address), an item (collection/kind/key), or `batch:NUMBER`
    about: String,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { about, connection } = args;
    match about.strip_prefix("batch:") {
        Some(batch) => tell(&connection, "batch", batch)?,
        None if is_task(&about) => tell_task(&connection, &about)?,
        None => tell(&connection, "item", &about)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// An address of a task has an `@` before its first `/`.
pub(super) fn is_task(about: &str) -> bool {
    let head = about.split('/').next().unwrap_or_default();
    head.contains('@') || about.parse::<i64>().is_ok()
}

/// Asks and tells about a task.
pub(super) fn tell_task(connection: &Connection, task: &str) -> anyhow::Result<()> {
    let id = super::task::number(&connection.client()?, task)?;
    tell(connection, "task", &id.to_string())
}

/// Asks and tells.
pub(super) fn tell(connection: &Connection, kind: &str, about: &str) -> anyhow::Result<()> {
    let node: Node = connection.client()?.get("why", &[(kind, about)])?;
    paper::show(connection.json, &node, |node| {
        let mut text = String::new();
        write(&mut text, node, 0);
        text
    })
}

fn write(text: &mut String, node: &Node, depth: usize) {
    let indent = "  ".repeat(depth);
    text.push_str(&format!("{indent}{} (since {})\n", paper::clean(&node.what), node.since));
    if !node.clear.is_empty() {
        text.push_str(&format!("{indent}  → {}\n", paper::clean(&node.clear)));
    }
    for child in &node.because {
        write(text, child, depth + 1);
    }
}
