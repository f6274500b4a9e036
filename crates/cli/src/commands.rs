//! The commands, one file each: `Args` says what can be typed, `run` does it.

mod archive;
mod backup;
mod batch;
mod bench;
mod collection;
mod commit;
mod completions;
mod config;
mod demo;
mod doctor;
mod event;
mod feed;
mod flow;
mod hold;
mod item;
mod keep;
mod key;
mod launch;
mod login;
mod man;
mod outbox;
mod restore;
mod revision;
mod robot;
mod schedule;
mod secret;
mod serve;
mod start;
mod status;
mod store;
mod submit;
mod task;
mod top;
mod up;
mod watch;
mod why;
mod work;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;

/// What can be done.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Starts everything on this machine: server and worker.
    Up(up::Args),
    /// Plays stories on a server of its own, with real commands, and says where to look.
    Demo(demo::Args),
    /// Starts a server.
    Serve(serve::Args),
    /// Starts a worker: claims tasks from a server and runs them.
    Work(work::Args),
    /// Workers: who asks for work, and who holds which tasks.
    Worker(worker::Args),
    /// Shows how the server is.
    Status(status::Args),
    /// Collections: namespaces with policy.
    Collection(collection::Args),
    /// Archives: repositories whose every revision runs the workflow it defines.
    Archive(archive::Args),
    /// Tells the server that an archive has a revision.
    Commit(commit::Args),
    /// Revisions of archives.
    Revision(revision::Args),
    /// Starts a flow of an archive at a revision.
    Start(start::Args),
    /// Flows: definitions of work.
    Flow(flow::Args),
    /// Items: things work is done to.
    Item(item::Args),
    /// Events: facts about items.
    Event(event::Args),
    /// Robots: flows that are woken by what happened to items.
    Robot(robot::Args),
    /// Makes an item's events from one on invisible to robots, so that they are woken anew.
    Rewind(item::rewind::Args),
    /// Submits work: opens a round of a flow on items.
    Submit(submit::Args),
    /// Tasks: work that is waiting, running or done.
    Task(task::Args),
    /// Batches: items submitted and reported together.
    Batch(batch::Args),
    /// Holds: brakes on work.
    Hold(hold::Args),
    /// Schedules: flows that are woken by the clock.
    Schedule(schedule::Args),
    /// The outbox: letters that have not arrived yet.
    Outbox(outbox::Args),
    /// Why something is not running: the whole tree of what it waits for.
    Why(why::Args),
    /// Follows a task, an item, a batch or a collection until it has ended, or everything.
    Watch(watch::Args),
    /// A live view: queues, what runs, what failed, throughput.
    Top(top::Args),
    /// Prints a link that signs you in to the server's pages, once.
    Login(login::Args),
    /// Keys: who may do what.
    Key(key::Args),
    /// Secrets: values that tasks get and nobody sees.
    Secret(secret::Args),
    /// Stands above one task until nothing of it is left.
    #[command(hide = true)]
    Keep(keep::Args),
    /// Becomes a task when its keeper says so.
    #[command(hide = true)]
    Launch(launch::Args),
    /// Checks a store that no server has open: everything, against everything.
    Doctor(doctor::Args),
    /// Writes everything a server keeps into one file, while it runs.
    Backup(backup::Args),
    /// Brings a backup back into an empty data folder.
    Restore(restore::Args),
    /// Stores: copy one into another, call back what was lent.
    Store(store::Args),
    /// Measures the engine, or the machine below it.
    Bench(bench::Args),
    /// Settings: what they are, and where each comes from.
    Config(config::Args),
    /// Prints completions for a shell.
    Completions(completions::Args),
    /// Writes manual pages into a folder.
    Man(man::Args),
}

/// Does it. `config` is the configuration file that was named.
pub(crate) fn run(command: Command, config: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    match command {
        Command::Up(args) => up::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Work(args) => work::run(args),
        Command::Worker(args) => worker::run(args),
        Command::Status(args) => status::run(args),
        Command::Collection(args) => collection::run(args),
        Command::Archive(args) => archive::run(args),
        Command::Commit(args) => commit::run(args),
        Command::Revision(args) => revision::run(args),
        Command::Start(args) => start::run(args),
        Command::Flow(args) => flow::run(args),
        Command::Item(args) => item::run(args),
        Command::Event(args) => event::run(args),
        Command::Robot(args) => robot::run(args),
        Command::Rewind(args) => item::rewind::run(args),
        Command::Submit(args) => submit::run(args),
        Command::Task(args) => task::run(args),
        Command::Batch(args) => batch::run(args),
        Command::Hold(args) => hold::run(args),
        Command::Schedule(args) => schedule::run(args),
        Command::Outbox(args) => outbox::run(args),
        Command::Why(args) => why::run(args),
        Command::Watch(args) => watch::run(args),
        Command::Top(args) => top::run(args),
        Command::Login(args) => login::run(&args),
        Command::Key(args) => key::run(args),
        Command::Secret(args) => secret::run(&args),
        Command::Keep(args) => keep::run(args),
        Command::Launch(args) => launch::run(&args),
        Command::Doctor(args) => doctor::run(args),
        Command::Backup(args) => backup::run(args),
        Command::Restore(args) => restore::run(args),
        Command::Store(args) => store::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Config(args) => config::run(args, config),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}
