//! `armarius start`: a flow of an archive, by hand.

use std::process::ExitCode;

use armarius_wire::v1::archive::{Start, Started};
use armarius_wire::v1::raw;

use crate::connect::{Steering, Way};
use crate::paper;

/// Starts a flow of an archive at a revision, as it is defined there.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The flow
    flow: String,
    /// The archive
    #[arg(long)]
    archive: String,
    /// The revision; the newest planned one when it is not given
    #[arg(long, value_name = "REV")]
    rev: Option<i64>,
    /// A parameter; can be given several times
    #[arg(long = "param", value_name = "KEY=VALUE", value_parser = parameter)]
    params: Vec<(String, String)>,
    /// The same id never starts it twice
    #[arg(long)]
    id: Option<String>,
    #[command(flatten)]
    steering: Steering,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err("write it as KEY=VALUE".to_owned()),
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let params: serde_json::Map<String, serde_json::Value> =
        args.params.into_iter().map(|(key, value)| (key, value.into())).collect();
    let params =
        if params.is_empty() { None } else { raw(&serde_json::Value::Object(params).to_string()) };
    let start = Start { flow: args.flow.clone(), revision: args.rev, params, id: args.id };
    let path = format!("{}/start", super::archive::at(&args.archive));
    if args.steering.only_told(Way::Post, &path, &start)? {
        return Ok(ExitCode::SUCCESS);
    }
    let connection = &args.steering.connection;
    let started: Started = connection.client()?.post(&path, &start)?;
    paper::show(connection.json, &started, |s| {
        let again = if s.repeated { ", as before" } else { "" };
        format!(
            "{} at revision {}: round {}, task {}{again}",
            args.flow, s.revision, s.round, s.task
        )
    })?;
    Ok(ExitCode::SUCCESS)
}
