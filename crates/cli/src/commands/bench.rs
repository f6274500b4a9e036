//! `armarius bench`: what this machine and this engine do, measured.

mod callers;
mod engine;
mod figures;
mod floor;
mod follow;
mod http;
mod load;
mod robots;

use std::process::ExitCode;

/// Measures the engine, or the machine below it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Drives full lifecycles – submit, claim, report – through the engine and its store.
    Engine(engine::Args),
    /// One task with many dependents, and one large batch, while others are served.
    Follow(follow::Args),
    /// Drives full lifecycles through the API of a server it starts; then idle workers, and the way
    /// of a submission to the worker's hands.
    Http(http::Args),
    /// Events with many robots registered, and robots registered on a large archive.
    Robots(robots::Args),
    /// The machine's limits: latency of a durable write, sequential write rate.
    Floor(floor::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.what {
        What::Engine(args) => engine::run(&args)?,
        What::Follow(args) => follow::run(&args)?,
        What::Http(args) => http::run(&args)?,
        What::Robots(args) => robots::run(&args)?,
        What::Floor(args) => floor::run(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}
