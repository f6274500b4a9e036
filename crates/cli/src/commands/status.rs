//! `armarius status`

use std::process::ExitCode;

use armarius_wire::v1::status::{Durability, Stats};
use serde::Serialize;

use crate::connect::Connection;
use crate::paper;

/// Shows how the server is.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    connection: Connection,
}

#[derive(Serialize)]
struct Status {
    url: String,
    stats: Stats,
    durability: Durability,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { connection } = args;
    let client = connection.client()?;
    let status = Status {
        url: client.url().to_owned(),
        stats: client.get("stats", &[])?,
        durability: client.get("durability", &[])?,
    };
    paper::show(connection.json, &status, show)?;
    Ok(ExitCode::SUCCESS)
}

fn show(status: &Status) -> String {
    let Status { url, stats, durability } = status;
    let t = stats.tasks;
    paper::pairs(&[
        ("server", format!("{url}, version {}, {}", stats.version, stats.stage)),
        ("up for", format!("{} s", stats.uptime_s)),
        ("collections", stats.collections.to_string()),
        (
            "tasks",
            format!(
                "{} waiting, {} held, {} ready, {} leased, {} done, {} failed, {} cancelled",
                t.waiting, t.held, t.ready, t.leased, t.done, t.failed, t.cancelled
            ),
        ),
        ("workers waiting", stats.parked.to_string()),
        (
            "commits",
            format!(
                "{}, half within {} µs, 99 of 100 within {} µs",
                stats.commits, stats.commit_p50_us, stats.commit_p99_us
            ),
        ),
        ("store", format!("{}: {}", durability.store, durability.promise)),
    ])
}
