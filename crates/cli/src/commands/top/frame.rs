//! One picture as lines that fit the screen.

use std::time::Duration;

use armarius_wire::v1::flow::Flow;
use armarius_wire::v1::task::Task;

use super::Picture;
use crate::commands::watch::counts;
use crate::paper::{self, Ink};
use crate::progress::span;

/// Lines in so many columns, at most so many. What runs and what failed get what the queues leave.
pub(super) fn lines(picture: &Picture, ink: Ink, columns: usize, rows: usize) -> Vec<String> {
    let Picture { url, stats, done_per_s, commits_per_s, .. } = picture;
    let up = span(Duration::from_secs(stats.uptime_s));
    let mut lines = vec![
        format!("{}  {url}, version {}, up {up}", ink.strong("armarius"), stats.version),
        counts(&stats.tasks),
        format!(
            "{done_per_s:.1} done/s, {commits_per_s:.1} commits/s, half of them within {} µs, 99 \
             of 100 within {} µs",
            stats.commit_p50_us, stats.commit_p99_us
        ),
        format!("{} workers hold leases, {} claims wait for work", workers(picture), stats.parked),
    ];
    let left = rows.saturating_sub(lines.len());
    let (queues, running, failed) = shares(left, picture);
    lines.extend(section(ink, "queues", queues, &self::queues(&picture.flows, columns)));
    lines.extend(section(ink, "running", running, &tasks(&picture.running, columns)));
    lines.extend(section(ink, "failed, newest first", failed, &tasks(&picture.failed, columns)));
    lines.into_iter().map(|line| cut(line, columns)).take(rows).collect()
}

/// How many lines each section gets: half for the queues if they need it.
fn shares(left: usize, picture: &Picture) -> (usize, usize, usize) {
    if left > usize::MAX / 2 {
        return (left, left, left);
    }
    let steps: usize = picture.flows.iter().map(|flow| flow.steps.len()).sum();
    let queues = (steps + 3).min(left / 2);
    let rest = left.saturating_sub(queues);
    let failed = (picture.failed.len() + 3).min(rest / 2);
    (queues, rest.saturating_sub(failed), failed)
}

fn section(ink: Ink, title: &str, room: usize, table: &str) -> Vec<String> {
    let rows = table.lines().count().saturating_sub(1);
    if room < 3 || rows == 0 {
        return Vec::new();
    }
    let mut lines = vec![String::new(), ink.strong(title)];
    lines.extend(table.lines().take(room - 2).map(str::to_owned));
    lines
}

fn queues(flows: &[Flow], columns: usize) -> String {
    let steps = flows.iter().flat_map(|flow| flow.steps.iter().map(move |step| (flow, step)));
    let busy = |t: &armarius_wire::v1::status::Counts| t.waiting + t.held + t.ready + t.leased;
    let mut rows: Vec<_> = steps.collect();
    rows.sort_by_key(|(_, step)| std::cmp::Reverse(busy(&step.tasks)));
    let row = |(flow, step): &(&Flow, &armarius_wire::v1::flow::Step)| {
        let t = step.tasks;
        [
            format!("{}/{}.{}", flow.collection, flow.name, step.step),
            t.waiting.to_string(),
            t.held.to_string(),
            t.ready.to_string(),
            t.leased.to_string(),
            t.done.to_string(),
            t.failed.to_string(),
        ]
    };
    let head = ["queue", "waiting", "held", "ready", "leased", "done", "failed"];
    paper::table_in(Ink::default(), columns, head, rows.iter().map(row).collect())
}

fn tasks(tasks: &[Task], columns: usize) -> String {
    let row = |task: &Task| {
        [
            task.task.to_string(),
            task.address.clone(),
            task.attempts.to_string(),
            paper::when(&task.since),
            task.worker.clone().unwrap_or_else(|| task.cause.clone()),
        ]
    };
    let head = ["task", "address", "attempt", "since", ""];
    paper::table_in(Ink::default(), columns, head, tasks.iter().map(row).collect())
}

fn workers(picture: &Picture) -> usize {
    let mut names: Vec<&str> = picture.leases.iter().map(|lease| lease.worker.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}

/// A line without colours is cut at the edge; one with colours is short by itself.
fn cut(line: String, columns: usize) -> String {
    if line.contains('\u{1b}') { line } else { line.chars().take(columns).collect() }
}
