//! `armarius work`: a worker.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;

use crate::config::DATA_DEFAULT;
use crate::connect::Connection;
use crate::signals::Ends;
use crate::worker::{self, manner::Manner};

/// Claims tasks and runs their commands, scripts and containers, until it is asked to end.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What this worker can do, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "LABEL,…")]
    labels: Vec<String>,
    /// Tasks at once
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    slots: u16,
    /// The worker's name, for people; machine and process number if absent
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// Seconds running tasks may go on after SIGTERM; then they are stopped and given back
    #[arg(long, value_name = "SECONDS", default_value_t = worker::FINISH_DEFAULT.as_secs())]
    finish_within: u64,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let client = args.connection.client()?;
    // Beside what its server keeps, where that is known: both are this user's.
    let home = args.connection.data.unwrap_or_else(|| PathBuf::from(DATA_DEFAULT));
    let name = args.worker.unwrap_or_else(worker::default_name);
    let said = format!("worker {name} for {}, {} at once", client.url(), args.slots);
    let mut options = worker::Options::new(client, name);
    options.labels = args.labels;
    options.slots = usize::from(args.slots);
    options.finish = Duration::from_secs(args.finish_within);
    args.manner.settle(&home, &mut options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut ends = Ends::listen()?;
        let working = worker::start(options)?;
        eprintln!("{said}");
        ends.next().await;
        eprintln!("stopping");
        working.stop();
        Ok(ExitCode::SUCCESS)
    })
}
