//! `armarius robot …`

use std::process::ExitCode;

use armarius_wire::client::segment;
use armarius_wire::v1::hold::{IsSet, On, Set};
use armarius_wire::v1::robot::{Edge, Line, Query, Robot};

use crate::connect::{Connection, Steering, Way};
use crate::exit::Failure;
use crate::paper;

/// Robots: flows that are woken by what happened to items.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Lists them, with the items that wait, are in work, or failed
    List {
        /// Only of this collection
        collection: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Shows one: what wakes it, what it records, who comes before and after it
    Show {
        /// The collection
        collection: String,
        /// The robot
        robot: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Takes no more items; what is in work goes on
    Pause {
        /// The collection
        collection: String,
        /// The robot
        robot: String,
        /// Why
        #[arg(long, default_value = "paused")]
        reason: String,
        #[command(flatten)]
        steering: Steering,
    },
    /// Goes on after a pause
    Resume {
        /// The collection
        collection: String,
        /// The robot
        robot: String,
        #[command(flatten)]
        steering: Steering,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::List { collection, connection } => {
            let line = line(&connection, collection.as_deref())?;
            paper::show(connection.json, &line, |line| list(&line.robots))?;
        }
        Verb::Show { collection, robot, connection } => {
            let mut line = line(&connection, Some(&collection))?;
            let one = find(&line, &collection, &robot)?.clone();
            if connection.json {
                paper::show(true, &one, |_| String::new())?;
            } else {
                line.edges.retain(|edge| edge.to == robot || edge.from.as_ref() == Some(&robot));
                paper::line(show(&one, &line.edges).trim_end())?;
            }
        }
        Verb::Pause { collection, robot, reason, steering } => {
            let on = On { collection: Some(collection), flow: Some(robot), ..On::default() };
            let set = Set { on, reason, until: None };
            if !steering.only_told(Way::Post, "holds", &set)? {
                let done: IsSet = steering.connection.client()?.post("holds", &set)?;
                paper::show(steering.connection.json, &done, |done| {
                    format!("paused by hold {}; what is in work goes on", done.hold)
                })?;
            }
        }
        Verb::Resume { collection, robot, steering } => {
            let line = line(&steering.connection, Some(&collection))?;
            let Some(paused) = &find(&line, &collection, &robot)?.paused else {
                let why = format!("{robot} is not paused");
                return Err(Failure::new(why, "`armarius robot list` shows how it stands").into());
            };
            let path = format!("holds/{}", paused.hold);
            if !steering.only_told(Way::Delete, &path, &())? {
                steering.connection.client()?.delete(&path)?;
                eprintln!("{robot} goes on");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(connection: &Connection, collection: Option<&str>) -> anyhow::Result<Line> {
    let query: Vec<(&str, &str)> = collection.iter().map(|c| ("collection", *c)).collect();
    Ok(connection.client()?.get("robots", &query)?)
}

fn find<'l>(line: &'l Line, collection: &str, robot: &str) -> anyhow::Result<&'l Robot> {
    let found = line.robots.iter().find(|r| r.collection == collection && r.name == robot);
    found.ok_or_else(|| {
        let why = format!("there is no robot {robot} in {}", segment(collection));
        Failure::new(why, "`armarius robot list` shows those there are").into()
    })
}

fn list(robots: &[Robot]) -> String {
    let row = |robot: &Robot| {
        let tasks = robot.tasks;
        [
            robot.collection.clone(),
            robot.name.clone(),
            wakes(&robot.query),
            robot.records.clone().unwrap_or_default(),
            (tasks.waiting + tasks.held + tasks.ready).to_string(),
            tasks.leased.to_string(),
            tasks.failed.to_string(),
            tasks.done.to_string(),
            stands(robot),
        ]
    };
    let head =
        ["collection", "robot", "wakes on", "records", "waiting", "working", "failed", "done", ""];
    paper::table(head, robots.iter().map(row).collect())
}

/// How a robot stands, where there is something to say.
fn stands(robot: &Robot) -> String {
    let paused = robot.paused.as_ref().map(|p| format!("paused: {}", p.reason));
    let filling =
        robot.filling.as_ref().map(|f| format!("asked about {} % of the items", f.percent));
    let holder = robot.holder.as_ref().map(|worker| format!("held by {worker}"));
    let warned = (!robot.warnings.is_empty()).then(|| "see its warnings".to_owned());
    paused.into_iter().chain(filling).chain(holder).chain(warned).collect::<Vec<_>>().join("; ")
}

/// A query in one line.
fn wakes(query: &Query) -> String {
    let lists = [
        ("", &query.success),
        ("failed ", &query.failed),
        ("no ", &query.absent),
        ("no or old ", &query.stale),
        ("kind ", &query.kinds),
        ("type ", &query.types),
        ("key ", &query.items),
    ];
    let parts = lists.iter().filter(|(_, names)| !names.is_empty());
    parts.map(|(word, names)| format!("{word}{}", names.join("+"))).collect::<Vec<_>>().join(", ")
}

fn show(robot: &Robot, edges: &[Edge]) -> String {
    let tasks = robot.tasks;
    let flag = |is: bool| if is { "yes".to_owned() } else { String::new() };
    let mut text = paper::pairs(&[
        ("robot", format!("{}/{}", robot.collection, robot.name)),
        ("version", robot.version.get(..12).unwrap_or(&robot.version).to_owned()),
        ("wakes on", wakes(&robot.query)),
        ("records", robot.records.clone().unwrap_or_default()),
        ("changes content", flag(robot.touches)),
        ("one at a time", flag(robot.singleton)),
        ("items per claim", robot.max_items.to_string()),
        ("at once", robot.concurrency.map_or_else(String::new, |n| n.to_string())),
        ("waiting", (tasks.waiting + tasks.held + tasks.ready).to_string()),
        ("since", robot.waiting_since.clone().unwrap_or_default()),
        ("working", tasks.leased.to_string()),
        ("failed", tasks.failed.to_string()),
        ("done", tasks.done.to_string()),
        ("lately", format!("{} in a minute, {} in an hour", robot.done_minute, robot.done_hour)),
        ("stands", stands(robot)),
    ]);
    let row = |edge: &Edge| {
        let from = edge.from.clone().unwrap_or_else(|| "(outside)".to_owned());
        [from, edge.event.clone(), edge.how.clone(), edge.to.clone()]
    };
    if !edges.is_empty() {
        text.push('\n');
        let head = ["recorded by", "event", "wanted", "by"];
        text.push_str(&paper::table(head, edges.iter().map(row).collect()));
    }
    for warning in &robot.warnings {
        text.push_str(&format!("\nwarning: {warning}"));
    }
    text
}
