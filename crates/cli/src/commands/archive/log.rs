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

/// Changed paths that are shown of a revision.
const PATHS_MAX: usize = 20;

const HEAD: [&str; 7] = ["revision", "task", "state", "why", "started", "took", "who"];

fn rows(revision: &Revision) -> Vec<[String; 7]> {
    let ink = Ink::of_stdout();
    let first_line = revision.message.lines().next().unwrap_or_default();
    let told = match revision.remarks.first() {
        Some(remark) if first_line.is_empty() => remark.clone(),
        Some(remark) => format!("{first_line} ({remark})"),
        None => first_line.to_owned(),
    };
    let mut rows = vec![[
        revision.revision.to_string(),
        String::new(),
        ink.state(&revision.state),
        told,
        revision.seen_at.clone(),
        String::new(),
        revision.author.clone(),
    ]];
    rows.extend(revision.tasks.iter().map(|task| row(task, ink)));
    rows
}

fn row(task: &Task, ink: Ink) -> [String; 7] {
    let again = if task.round > 1 { format!(" ~{}", task.round) } else { String::new() };
    [
        String::new(),
        format!("{}{again}", task.name),
        ink.state(&task.state),
        why(task),
        task.started_at.clone(),
        paper::between(&task.started_at, &task.ended_at),
        task.worker.clone(),
    ]
}

/// Why it is in its state, and why there is such a task where the commit itself did not bring it.
fn why(task: &Task) -> String {
    let mut words = Vec::new();
    match (task.superseded_by.as_str(), task.exit_code) {
        ("", Some(code)) if task.state == "failed" => {
            words.push(format!("{}, exit {code}", task.cause));
        }
        ("", _) if !task.behind.is_empty() => {
            words.push(format!("behind {}, which failed", task.behind));
        }
        ("", _) if task.reason.is_empty() => words.push(task.cause.clone()),
        ("", _) => words.push(format!("{}: {}", task.cause, task.reason)),
        (by, _) => words.push(format!("superseded by {by}")),
    }
    match task.trigger.as_str() {
        "schedule" => words.push(format!("due {}", task.slot)),
        "manual" => {
            let params = task.params.as_ref().map(|params| format!(" with {params}"));
            words.push(format!("started by {}{}", task.started_by, params.unwrap_or_default()));
        }
        _ => {}
    }
    words.retain(|word| !word.is_empty());
    words.join("; ")
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
        (false, 0) => format!("about {} of work saved", paper::long(known.iter().sum())),
        (false, _) => format!(
            "about {} of work saved, not counting {unknown} whose like never came to an end",
            paper::long(known.iter().sum())
        ),
    };
    format!(
        "superseded: {} ({} never ran, {stopped} stopped while running); {saved}",
        superseded.len(),
        superseded.len() - stopped,
    )
}

/// One revision, whole, with the paths it changed.
pub(crate) fn revision_text(revision: &Revision, changed: &str) -> String {
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
        text.push_str(&format!("\n{}\n", paper::clean(r.message.trim_end())));
    }
    for path in changed.lines().take(PATHS_MAX) {
        text.push_str(&format!("\n  {}", paper::clean(path)));
    }
    if let Some(more) = changed.lines().count().checked_sub(PATHS_MAX).filter(|more| *more > 0) {
        text.push_str(&format!("\n  and {more} more"));
    }
    if !changed.is_empty() {
        text.push('\n');
    }
    for remark in &r.remarks {
        text.push_str(&format!("\n{}\n", paper::clean(remark)));
    }
    let ink = Ink::of_stdout();
    let number = |task: &Task| {
        let [_, name, state, why, started, took, who] = row(task, ink);
        [task.task.to_string(), name, state, why, started, took, who]
    };
    let rows: Vec<[String; 7]> = r.tasks.iter().map(number).collect();
    let head = ["number", "task", "state", "why", "started", "took", "who"];
    text.push_str(&format!("\n{}", paper::table(head, rows)));
    text
}
