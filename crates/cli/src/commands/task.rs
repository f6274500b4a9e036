//! `armarius task …`

mod log;

use std::process::ExitCode;

use armarius_wire::client::Client;
use armarius_wire::v1::Page;
use armarius_wire::v1::archive::Revision;
use armarius_wire::v1::hold::{Hold, On, Set};
use armarius_wire::v1::task::{Priority, Reason, Run, Task};
use serde_json::json;

use crate::connect::{Connection, Steering, Way};
use crate::exit::Failure;
use crate::paper;

/// Tasks: work that is waiting, running or done. A task is given by its number or its address,
/// flow.step@collection/kind/key with optional #part and ~round; one of a revision also by
/// task@archive/revision.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Lists tasks, newest first
    List(List),
    /// Shows one
    Show(One),
    /// Shows what one writes, or has written
    Log(log::Log),
    /// Says what one waits for
    Why(One),
    /// Gives a failed or cancelled task another attempt
    Retry(Steered),
    /// Counts a task as unnecessary; what depends on it goes on
    Skip(WithReason),
    /// Ends a task; what depends on it stays blocked
    Cancel(WithReason),
    /// Sets a hold on a task
    Hold {
        /// Number or address
        task: String,
        /// Why
        #[arg(long)]
        reason: String,
        /// Until when, as 2026-11-15T10:00:00Z
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Releases the hold on a task
    Release(Steered),
    /// Changes a task's priority
    #[command(alias = "priority", alias = "prioritize")]
    Prioritise {
        /// Number or address
        task: String,
        /// Higher first
        #[arg(allow_negative_numbers = true)]
        priority: i32,
        #[command(flatten)]
        steering: Steering,
    },
}

#[derive(Debug, clap::Args)]
struct List {
    /// Only in these states, separated by commas
    #[arg(long)]
    state: Option<String>,
    /// Only of this collection
    #[arg(long)]
    collection: Option<String>,
    /// Only of this flow
    #[arg(long)]
    flow: Option<String>,
    /// Only of this step
    #[arg(long)]
    step: Option<String>,
    /// Only of this item
    #[arg(long)]
    item: Option<String>,
    /// Only of this batch
    #[arg(long)]
    batch: Option<String>,
    /// Only those in their state since this moment or later, as 2026-11-15T10:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only those in their state since before this moment
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 100)]
    max: usize,
    /// Go on where the last list ended
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, clap::Args)]
struct One {
    /// Number or address
    task: String,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, clap::Args)]
struct Steered {
    /// Number or address
    task: String,
    #[command(flatten)]
    steering: Steering,
}

#[derive(Debug, clap::Args)]
struct WithReason {
    /// Number or address
    task: String,
    /// Why
    #[arg(long, default_value = "")]
    reason: String,
    #[command(flatten)]
    steering: Steering,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::List(list) => self::list(&list)?,
        Verb::Show(One { task, connection }) => {
            let task = find(&connection.client()?, &task)?;
            paper::show(connection.json, &task, show)?;
        }
        Verb::Log(log) => log::run(&log)?,
        Verb::Why(One { task, connection }) => super::why::tell_task(&connection, &task)?,
        Verb::Retry(Steered { task, steering }) => {
            steer(&steering, &task, "retry", &json!({}))?;
        }
        Verb::Skip(WithReason { task, reason, steering }) => {
            steer(&steering, &task, "skip", &Reason { reason })?;
        }
        Verb::Cancel(WithReason { task, reason, steering }) => {
            steer(&steering, &task, "cancel", &Reason { reason })?;
        }
        Verb::Hold { task, reason, until, steering } => {
            let task = Some(number(&steering.connection.client()?, &task)?);
            let on = On { task, ..On::default() };
            super::hold::set(&steering, &Set { on, reason, until })?;
        }
        Verb::Release(Steered { task, steering }) => release(&steering, &task)?,
        Verb::Prioritise { task, priority, steering } => {
            steer(&steering, &task, "priority", &Priority { priority })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(list: &List) -> anyhow::Result<()> {
    let max = list.max.to_string();
    let mut query = vec![("max", max.as_str())];
    for (name, value) in [
        ("state", &list.state),
        ("collection", &list.collection),
        ("flow", &list.flow),
        ("step", &list.step),
        ("item", &list.item),
        ("batch", &list.batch),
        ("since", &list.since),
        ("before", &list.before),
        ("cursor", &list.cursor),
    ] {
        query.extend(value.as_deref().map(|value| (name, value)));
    }
    let page: Page<Task> = list.connection.client()?.get("tasks", &query)?;
    paper::show(list.connection.json, &page, |page| task_table(&page.entries))?;
    tell_more(page.next.as_deref());
    Ok(())
}

/// Says how to go on with a list that was cut.
pub(super) fn tell_more(next: Option<&str>) {
    if let Some(next) = next {
        eprintln!("there may be more: --cursor {next}");
    }
}

/// A task by number or address.
pub(super) fn find(client: &Client, task: &str) -> anyhow::Result<Task> {
    if task.parse::<i64>().is_ok() {
        return Ok(client.get(&format!("tasks/{task}"), &[])?);
    }
    if let Some(id) = of_revision(client, task)? {
        return Ok(client.get(&format!("tasks/{id}"), &[])?);
    }
    let page: Page<Task> = client.get("tasks", &[("address", task)])?;
    page.entries.into_iter().next().ok_or_else(|| anyhow::anyhow!("there is no task {task}"))
}

/// A task of a revision as people say it, `build-PDF@books/7`: the newest of that name there.
fn of_revision(client: &Client, task: &str) -> anyhow::Result<Option<i64>> {
    let Some((name, (archive, revision))) =
        task.split_once('@').and_then(|(name, at)| Some((name, at.split_once('/')?)))
    else {
        return Ok(None);
    };
    let Ok(revision) = revision.trim_start_matches('r').parse::<i64>() else { return Ok(None) };
    let path = format!("{}/revisions/{revision}", super::archive::at(archive));
    let shown: Revision = client.get(&path, &[])?;
    let named = shown.tasks.iter().filter(|task| task.name == name);
    match named.max_by_key(|task| task.round) {
        Some(task) => Ok(Some(task.task)),
        None => {
            let names: Vec<&str> = shown.tasks.iter().map(|task| task.name.as_str()).collect();
            let why = format!("revision {revision} of {archive} has no task {name}");
            Err(Failure::new(why, format!("it has {}", names.join(", "))).into())
        }
    }
}

/// The number of a task given by number or address.
pub(super) fn number(client: &Client, task: &str) -> anyhow::Result<i64> {
    match task.parse::<i64>() {
        Ok(id) => Ok(id),
        Err(_) => Ok(find(client, task)?.task),
    }
}

/// Does something to a task and shows how it stands afterwards.
fn steer(
    steering: &Steering,
    task: &str,
    verb: &str,
    body: &impl serde::Serialize,
) -> anyhow::Result<()> {
    let client = steering.connection.client()?;
    let id = number(&client, task)?;
    let path = format!("tasks/{id}/{verb}");
    if steering.only_told(Way::Post, &path, body)? {
        return Ok(());
    }
    client.tell(&path, body)?;
    let task: Task = client.get(&format!("tasks/{id}"), &[])?;
    paper::show(steering.connection.json, &task, |task| task_table(std::slice::from_ref(task)))
}

/// Releases the hold that is on a task itself.
fn release(steering: &Steering, task: &str) -> anyhow::Result<()> {
    let client = steering.connection.client()?;
    let id = number(&client, task)?;
    let holds: Page<Hold> = client.get("holds", &[])?;
    let Some(hold) = holds.entries.iter().find(|hold| hold.on.task == Some(id)) else {
        let why = format!("there is no hold on task {task} itself");
        return Err(Failure::new(why, "`armarius why` says what holds it").into());
    };
    super::hold::release(steering, hold.hold)
}

/// Tasks as a table.
pub(super) fn task_table(tasks: &[Task]) -> String {
    let row = |task: &Task| {
        [
            task.task.to_string(),
            task.address.clone(),
            task.state.clone(),
            task.cause.clone(),
            task.attempts.to_string(),
            task.priority.to_string(),
            paper::when(&task.since),
            task.worker.clone().unwrap_or_default(),
        ]
    };
    let head = ["task", "address", "state", "cause", "attempts", "priority", "since", "worker"];
    paper::table(head, tasks.iter().map(row).collect())
}

/// When it ran last, for how long, where, and with what end.
fn last_run(run: &Run) -> String {
    let mut text = format!("{} at {}", run.started_at, run.worker);
    let took = paper::between(&run.started_at, &run.ended_at);
    if !took.is_empty() {
        text.push_str(&format!(", {took}"));
    }
    if let Some(code) = run.exit_code {
        text.push_str(&format!(", exit {code}"));
    }
    text
}

fn show(task: &Task) -> String {
    paper::pairs(&[
        ("task", task.task.to_string()),
        ("address", task.address.clone()),
        ("state", task.state.clone()),
        ("cause", task.cause.clone()),
        ("since", task.since.clone()),
        ("created", task.created_at.clone()),
        ("ready at", task.ready_at.clone().unwrap_or_default()),
        ("priority", task.priority.to_string()),
        ("attempts", task.attempts.to_string()),
        ("token", task.token.clone()),
        ("waits for", if task.blockers > 0 { task.blockers.to_string() } else { String::new() }),
        ("batch", task.batch.map_or_else(String::new, |batch| batch.to_string())),
        ("worker", task.worker.clone().unwrap_or_default()),
        ("last run", task.run.as_ref().map_or_else(String::new, last_run)),
        ("payload", task.payload.as_ref().map_or_else(String::new, |p| p.get().to_owned())),
    ])
}
