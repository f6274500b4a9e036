//! What makes one step wrong by itself.

use std::collections::BTreeMap;

use super::super::codec::{COMMIT, PREV, PREV_PREFIX, length_text};
use super::super::{Action, Flow, On, Step};
use super::{Findings, plain_text, repeated, unbroken_text};
use crate::ids::Span;
use crate::limits;
use crate::text::Text;

/// Most retries a step may ask for.
pub const RETRIES_MAX: u32 = 1_000;
/// Highest exit code a process can have.
const EXIT_CODE_MAX: i32 = 255;

pub(super) fn check(findings: &mut Findings, flow: &Flow, index: usize, step: &Step) {
    name(findings, flow, index, step);
    edges(findings, flow, index, step);
    if step.name.as_str() != COMMIT {
        exclusive(findings, flow, index, step);
    }
    action(findings, index, step);
    surroundings(findings, index, step);
    clocks(findings, index, step);
    attempts(findings, index, step);
}

fn name(findings: &mut Findings, flow: &Flow, index: usize, step: &Step) {
    let name = step.name.as_str();
    let path = at!["tasks", index, "name"];
    if name == PREV || name.starts_with(PREV_PREFIX) {
        findings.add(
            path,
            format!("`{name}` reads as a task of the previous revision, not as a name"),
            "choose a name that does not begin with PREV",
        );
        return;
    }
    if name != COMMIT {
        return;
    }
    if !matches!(flow.on, On::Commit { .. }) {
        findings.add(
            path,
            "`COMMIT` is the name of the task that every revision has",
            "choose another name, or use `on: commit`",
        );
        return;
    }
    let bare = Step { depends: step.depends.clone(), ..Step::outside(step.name.clone()) };
    if *step != bare {
        findings.add(
            at!["tasks", index],
            "`COMMIT` may have `depends` and nothing else",
            "put the work into a task of its own; it depends on COMMIT by itself",
        );
    }
}

/// What can be said of `depends` and `cancels` without knowing the other steps.
fn edges(findings: &mut Findings, flow: &Flow, index: usize, step: &Step) {
    use super::super::Reference::{Prev, PrevTask, Task};
    let depends = step.depends.iter().map(|depend| &depend.on);
    let depends = depends.enumerate().map(|(i, on)| ("depends", i, on));
    let cancels = step.cancels.iter().enumerate().map(|(i, on)| ("cancels", i, on));
    for (key, i, reference) in depends.chain(cancels) {
        let path = || at!["tasks", index, key, i];
        match reference {
            Prev | PrevTask(_) if !matches!(flow.on, On::Commit { .. }) => findings.add(
                path(),
                "only a flow with `on: commit` has previous revisions",
                "name a task of this flow, or use `on: commit`",
            ),
            Prev | PrevTask(_) => {}
            Task(name) if step.name.as_str() == COMMIT => findings.add(
                path(),
                format!("every task depends on COMMIT, a circle: COMMIT → {name} → COMMIT"),
                format!("write `PREV:{name}` for the task in the previous revision"),
            ),
            Task(name) if *name == step.name => findings.add(
                path(),
                format!("`{name}` names itself"),
                match flow.on {
                    On::Commit { .. } => "write `PREV` for this task in the previous revision",
                    On::Items(_)
                    | On::Lot
                    | On::Submission
                    | On::Pairs { .. }
                    | On::Schedule(_)
                    | On::Manual => "remove it",
                },
            ),
            Task(_) => {}
        }
        if key == "cancels" && matches!(reference, Task(n) | PrevTask(n) if n.as_str() == COMMIT) {
            findings.add(
                path(),
                "`COMMIT` cannot be cancelled, later revisions wait for it",
                "name the task whose work is superseded",
            );
        }
    }
    let depends: Vec<_> = step.depends.iter().map(|depend| &depend.on).collect();
    repeated(findings, &depends, |i| at!["tasks", index, "depends", i]);
    repeated(findings, &step.cancels, |i| at!["tasks", index, "cancels", i]);
}

fn exclusive(findings: &mut Findings, flow: &Flow, index: usize, step: &Step) {
    let has_archive = match flow.on {
        On::Commit { .. } | On::Schedule(_) | On::Manual => true,
        On::Items(_) | On::Lot | On::Submission | On::Pairs { .. } => false,
    };
    if step.exclusive && !has_archive {
        findings.add(
            at!["tasks", index, "exclusive"],
            "`exclusive` holds an archive's lock, and this flow has no archive",
            "remove it; `concurrency: 1` lets one task of the flow run at a time",
        );
    }
}

fn action(findings: &mut Findings, index: usize, step: &Step) {
    match &step.action {
        Action::Command(argv) => {
            if argv.first().is_none_or(|program| program.is_empty()) {
                findings.add(
                    at!["tasks", index, "command"],
                    "the command names no program",
                    "give the program and its arguments, as in [convert, a.tif, a.jpg]",
                );
            }
            for (i, word) in argv.iter().enumerate() {
                unbroken_text(findings, at!["tasks", index, "command", i], word);
            }
        }
        Action::Script { text, shell } => {
            plain_text(findings, at!["tasks", index, "script"], text);
            plain_text(findings, at!["tasks", index, "shell"], shell);
        }
        Action::Run(_) => {
            if step.image.is_some() {
                findings.add(
                    at!["tasks", index, "image"],
                    "an image goes with `command` or `script`, not with `run`",
                    "remove the image, or say what is run in it",
                );
            }
        }
    }
    if let Some(image) = &step.image {
        plain_text(findings, at!["tasks", index, "image"], image);
        // A container program would take such a text for one of its options.
        if image.starts_with('-') || image.chars().any(char::is_whitespace) {
            findings.add(
                at!["tasks", index, "image"],
                format!("`{image}` is not the name of an image"),
                "write it as in registry.example.org/tools/ocr:5",
            );
        }
    }
}

/// What the task gets and where it runs.
fn surroundings(findings: &mut Findings, index: usize, step: &Step) {
    for (key, value) in &step.env {
        let path = || at!["tasks", index, "env", key.clone()];
        if key.is_empty() || key.contains('=') {
            findings.add(
                path(),
                format!("{key:?} cannot be the name of an environment variable"),
                "use a name without `=`",
            );
        }
        unbroken_text(findings, path(), key);
        unbroken_text(findings, path(), value);
    }
    params(findings, index, &step.params);
    repeated(findings, &step.secrets, |i| at!["tasks", index, "secrets", i]);
    repeated(findings, &step.labels, |i| at!["tasks", index, "labels", i]);
    if step.labels.len() > limits::LABELS_MAX {
        findings.add(
            at!["tasks", index, "labels"],
            format!("{} labels, more than {}", step.labels.len(), limits::LABELS_MAX),
            "give the workers one label that stands for several",
        );
    }
    if let Some(workdir) = &step.workdir {
        let path = at!["tasks", index, "workdir"];
        plain_text(findings, path.clone(), workdir);
        if workdir.starts_with('/') || workdir.split('/').any(|part| part == "..") {
            findings.add(
                path,
                format!("`{workdir}` leads out of the task's own directory"),
                "write a path below it, without a leading / and without ..",
            );
        }
    }
}

fn params(findings: &mut Findings, index: usize, params: &BTreeMap<Text, Text>) {
    for (key, value) in params {
        let path = || at!["tasks", index, "params", key.clone()];
        plain_text(findings, path(), key);
        unbroken_text(findings, path(), value);
    }
    let bytes: usize = params.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > limits::PAYLOAD_BYTES_MAX {
        findings.add(
            at!["tasks", index, "params"],
            format!("parameters of {bytes} bytes, more than {}", limits::PAYLOAD_BYTES_MAX),
            "keep the content elsewhere and pass its address",
        );
    }
}

fn clocks(findings: &mut Findings, index: usize, step: &Step) {
    positive(findings, index, "timeout", step.timeout);
    if let Some(silence) = step.progress_timeout {
        positive(findings, index, "progress_timeout", silence);
        if silence > step.timeout {
            findings.add(
                at!["tasks", index, "progress_timeout"],
                format!(
                    "silence of {} is never reached, the timeout is {}",
                    length_text(silence),
                    length_text(step.timeout)
                ),
                "make it shorter than the timeout",
            );
        }
    }
    super::lease_length(findings, at!["tasks", index, "ttl"], "ttl", step.ttl);
}

fn positive(findings: &mut Findings, index: usize, key: &'static str, span: Span) {
    if span.0 <= 0 {
        findings.add(
            at!["tasks", index, key],
            format!("{key} is {}, which leaves no time at all", length_text(span)),
            "give a length above zero, such as 10m",
        );
    }
}

fn attempts(findings: &mut Findings, index: usize, step: &Step) {
    let priorities = -limits::PRIORITY_MAX..=limits::PRIORITY_MAX;
    if !priorities.contains(&step.priority) {
        findings.out_of_range(
            at!["tasks", index, "priority"],
            "priority",
            step.priority,
            priorities,
        );
    }
    if step.retries > RETRIES_MAX {
        let path = at!["tasks", index, "retries"];
        findings.out_of_range(path, "retries", step.retries, 0..=RETRIES_MAX);
    }
    let (min, max) = (step.backoff.min, step.backoff.max);
    if min.0 < 0 || min > max {
        findings.add(
            at!["tasks", index, "backoff"],
            format!("back-off from {} to {} goes backwards", length_text(min), length_text(max)),
            "write the shorter waiting time first, as in 10s..1h",
        );
    }
    for code in step.exit_codes.keys().filter(|code| !(0..=EXIT_CODE_MAX).contains(*code)) {
        let path = at!["tasks", index, "exit_codes", code.to_string()];
        findings.out_of_range(path, "exit code", *code, 0..=EXIT_CODE_MAX);
    }
    if let Some(limit) = &step.limit {
        plain_text(findings, at!["tasks", index, "limit", "key"], &limit.key);
        if limit.max == 0 {
            findings.add(
                at!["tasks", index, "limit", "max"],
                "a limit of 0 would let nothing run",
                "give at least 1; a hold stops a step",
            );
        }
    }
}
