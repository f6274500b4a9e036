//! The commands, one file each: `Args` says what can be typed, `run` does it.

mod batch;
mod bench;
mod collection;
mod doctor;
mod event;
mod flow;
mod guard;
mod hold;
mod item;
mod key;
mod launch;
mod serve;
mod status;
mod submit;
mod task;
mod up;
mod why;
mod work;
mod worker;

use std::process::ExitCode;

/// What can be done.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Starts everything on this machine: server and worker.
    Up(up::Args),
    /// Starts a server.
    Serve(serve::Args),
    /// Starts a worker: claims tasks from a server and runs them.
    Work(work::Args),
    /// Workers: who holds which tasks.
    Worker(worker::Args),
    /// Shows how the server is.
    Status(status::Args),
    /// Collections: namespaces with policy.
    Collection(collection::Args),
    /// Flows: definitions of work.
    Flow(flow::Args),
    /// Items: things work is done to.
    Item(item::Args),
    /// Events: facts about items.
    Event(event::Args),
    /// Submits work: opens a round of a flow on items.
    Submit(submit::Args),
    /// Tasks: work that is waiting, running or done.
    Task(task::Args),
    /// Batches: items submitted and reported together.
    Batch(batch::Args),
    /// Holds: brakes on work.
    Hold(hold::Args),
    /// Why something is not running: the whole tree of what it waits for.
    Why(why::Args),
    /// Keys: who may do what.
    Key(key::Args),
    /// Ends the tasks of a worker that died.
    #[command(hide = true)]
    Guard(guard::Args),
    /// Becomes a task when its worker says so.
    #[command(hide = true)]
    Launch(launch::Args),
    /// Checks a store that no server has open: everything, against everything.
    Doctor(doctor::Args),
    /// Measures the engine, or the machine below it.
    Bench(bench::Args),
}

/// Does it.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Up(args) => up::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Work(args) => work::run(args),
        Command::Worker(args) => worker::run(args),
        Command::Status(args) => status::run(args),
        Command::Collection(args) => collection::run(args),
        Command::Flow(args) => flow::run(args),
        Command::Item(args) => item::run(args),
        Command::Event(args) => event::run(args),
        Command::Submit(args) => submit::run(args),
        Command::Task(args) => task::run(args),
        Command::Batch(args) => batch::run(args),
        Command::Hold(args) => hold::run(args),
        Command::Why(args) => why::run(args),
        Command::Key(args) => key::run(args),
        Command::Guard(args) => guard::run(args),
        Command::Launch(args) => launch::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Bench(args) => bench::run(args),
    }
}
