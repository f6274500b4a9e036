//! What every revision ran, and what that came to.

use armarius_wire::v1::Page;
use armarius_wire::v1::archive::{Revision, Task};

use crate::connect::Connection;
use crate::paper::{self, Ink};

pub(super) fn run(
    archive: &str,
    max: u16,
    before: Option<i64>,
    connection: &Connection,
) -> anyhow::Result<()> {
    let max = max.to_string();
    let before = before.map(|revision| revision.to_string());
    let mut query = vec![("max", max.as_str())];
    query.extend(before.iter().map(|revision| ("cursor", revision.as_str())));
    let page: Page<Revision> = connection.client()?.get(&format!("{archive}/log"), &query)?;
    paper::show(connection.json, &page, |page| {
        let mut text = paper::table(HEAD, page.entries.iter().flat_map(rows).collect());
        let superseded = saved(&page.entries);
        if !superseded.is_empty() {
            text.push_str(&format!("\n{superseded}"));
        }
        if let Some(next) = &page.next {
            text.push_str(&format!("\nearlier ones: --before {next}"));
        }
        text
    })
}

const HEAD: [&str; 7] = ["revision", "task", "state", "why", "started", "took", "who"];

fn rows(revision: &Revision) -> Vec<[String; 7]> {
    let ink = Ink::of_stdout();
    let first_line = revision.message.lines().next().unwrap_or_default();
    let mut rows = vec![[
        revision.revision.to_string(),
        String::new(),
        ink.state(&revision.state),
        revision.remarks.first().cloned().unwrap_or_else(|| first_line.to_owned()),
        revision.seen_at.clone(),
        String::new(),
        revision.author.clone(),
    ]];
    rows.extend(revision.tasks.iter().map(|task| row(task, ink)));
    rows
}

fn row(task: &Task, ink: Ink) -> [String; 7] {
    let again = if task.round > 1 { format!(" ~{}", task.round) } else { String::new() };
    let why = match (task.superseded_by.as_str(), task.exit_code) {
        ("", Some(code)) if task.state == "failed" => format!("{}, exit {code}", task.cause),
        ("", _) => task.cause.clone(),
        (by, _) => format!("superseded by {by}"),
    };
    [
        String::new(),
        format!("{}{again}", task.name),
        ink.state(&task.state),
        why,
        task.started_at.clone(),
        took(task),
        task.worker.clone(),
    ]
}

fn took(task: &Task) -> String {
    use armarius_wire::v1::time;
    match (time::parse(&task.started_at), time::parse(&task.ended_at)) {
        (Some(from), Some(to)) => long(u64::try_from((to.0 - from.0) / 1_000).unwrap_or_default()),
        (Some(_) | None, Some(_) | None) => String::new(),
    }
}

/// What superseding saved among these revisions.
fn saved(revisions: &[Revision]) -> String {
    let tasks = revisions.iter().flat_map(|revision| &revision.tasks);
    let superseded: Vec<&Task> = tasks.filter(|task| !task.superseded_by.is_empty()).collect();
    if superseded.is_empty() {
        return String::new();
    }
    let stopped = superseded.iter().filter(|task| !task.started_at.is_empty()).count();
    let known: Vec<u64> = superseded.iter().filter_map(|task| task.saved_ms).collect();
    let unknown = superseded.len() - known.len();
    let saved = match (known.is_empty(), unknown) {
        (true, _) => "what that saved is not known, none of their like came to an end".to_owned(),
        (false, 0) => format!("about {} of work saved", long(known.iter().sum())),
        (false, _) => format!(
            "about {} of work saved, not counting {unknown} whose like never came to an end",
            long(known.iter().sum())
        ),
    };
    format!(
        "superseded: {} ({} never ran, {stopped} stopped while running); {saved}",
        superseded.len(),
        superseded.len() - stopped,
    )
}

fn long(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{ms} ms"),
        _ => crate::progress::span(std::time::Duration::from_millis(ms)),
    }
}

/// One revision, whole.
pub(crate) fn revision_text(revision: &Revision) -> String {
    let r = revision;
    let mut pairs = vec![("revision", r.revision.to_string()), ("state", r.state.clone())];
    for (name, value) in [("id", &r.id), ("author", &r.author), ("at", &r.at), ("seen", &r.seen_at)]
    {
        if !value.is_empty() {
            pairs.push((name, value.clone()));
        }
    }
    let paths = if r.paths == 1 { "path" } else { "paths" };
    pairs.push(("changed", format!("{} {paths}", r.paths)));
    if !r.cause.is_empty() {
        pairs.push(("made by", format!("{} (depth {})", r.cause, r.depth)));
    }
    let mut text = paper::pairs(&pairs);
    if !r.message.is_empty() {
        text.push_str(&format!("\n{}\n", paper::clean(&r.message)));
    }
    for remark in &r.remarks {
        text.push_str(&format!("\n{}", paper::clean(remark)));
    }
    let ink = Ink::of_stdout();
    let number = |task: &Task| {
        let [_, name, state, why, started, took, who] = row(task, ink);
        [task.task.to_string(), name, state, why, started, took, who]
    };
    let rows: Vec<[String; 7]> = r.tasks.iter().map(number).collect();
    let head = ["number", "task", "state", "why", "started", "took", "who"];
    text.push_str(&format!("\n\n{}", paper::table(head, rows)));
    text
}
