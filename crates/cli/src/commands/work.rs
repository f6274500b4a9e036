//! `armarius work`: a worker.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;

use crate::connect::Connection;
use crate::signals::Ends;
use crate::worker;

/// Claims tasks and runs their commands and scripts, until it is asked to end.
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
    /// The folder in which tasks get folders of their own
    #[arg(long, value_name = "DIR", default_value = "armarius-data/work")]
    folder: PathBuf,
    /// Seconds running tasks may go on after SIGTERM; then they are stopped and given back
    #[arg(long, value_name = "SECONDS", default_value_t = worker::FINISH_DEFAULT.as_secs())]
    finish_within: u64,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let client = args.connection.client()?;
    let folder = std::path::absolute(&args.folder).context("cannot tell the folder")?;
    let name = args.worker.unwrap_or_else(worker::default_name);
    eprintln!("worker {name} for {}, {} at once", client.url(), args.slots);
    let options = worker::Options {
        client,
        name,
        labels: args.labels,
        slots: usize::from(args.slots),
        folder,
        finish: Duration::from_secs(args.finish_within),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut ends = Ends::listen()?;
        let working = worker::start(options)?;
        ends.next().await;
        eprintln!("stopping");
        working.stop();
        Ok(ExitCode::SUCCESS)
    })
}
