//! One task of a flow file.

use std::collections::BTreeMap;

use armarius_core::flow::codec::{COMMIT, parse_length, parse_reference};
use armarius_core::flow::{Action, Backoff, Class, Depend, Limit, Reference, Step, When};
use armarius_core::text::{Name, Text};

use super::error::Findings;
use super::fields::Fields;
use super::node::{Kind, Node};
use super::{scalars, words};

/// Reads a task. Without a readable name there is none; every other fault leaves a default.
pub(super) fn read(found: &mut Findings, node: &Node) -> Option<Step> {
    let mut fields = Fields::open(found, node, "a task")?;
    let name = fields.needed(found, "name", "give the task a name");
    let name = name.and_then(|node| scalars::name(found, node));
    let mut step = Step::outside(name.clone().unwrap_or_else(|| Name::trusted("unnamed")));
    fields.set(found, "depends", &mut step.depends, |f, node| scalars::list(f, node, depend));
    fields.set(found, "cancels", &mut step.cancels, |f, node| scalars::list(f, node, reference));
    fields.set(found, "exclusive", &mut step.exclusive, scalars::flag);
    step.action = action(found, &mut fields, &step).unwrap_or_else(stand_in);
    let text = |f: &mut Findings, node: &Node| scalars::text(f, node).map(Some);
    let length = |f: &mut Findings, node: &Node| scalars::length(f, node).map(Some);
    fields.set(found, "image", &mut step.image, text);
    fields.set(found, "env", &mut step.env, texts);
    fields.set(found, "secrets", &mut step.secrets, scalars::names);
    fields.set(found, "params", &mut step.params, texts);
    fields.set(found, "source", &mut step.source, scalars::flag);
    fields.set(found, "workdir", &mut step.workdir, text);
    fields.set(found, "labels", &mut step.labels, scalars::names);
    fields.set(found, "priority", &mut step.priority, scalars::number);
    fields.set(found, "timeout", &mut step.timeout, scalars::length);
    fields.set(found, "progress_timeout", &mut step.progress_timeout, length);
    fields.set(found, "ttl", &mut step.ttl, scalars::length);
    fields.set(found, "retries", &mut step.retries, scalars::number);
    fields.set(found, "backoff", &mut step.backoff, backoff);
    fields.set(found, "exit_codes", &mut step.exit_codes, exit_codes);
    fields.set(found, "late", &mut step.late, scalars::word);
    fields.set(found, "limit", &mut step.limit, |f, node| limit(f, node).map(Some));
    fields.close(found);
    name.map(|_| step)
}

/// Exactly one way to run, or a report of why there is none.
fn action(found: &mut Findings, fields: &mut Fields<'_>, step: &Step) -> Option<Action> {
    let shell = fields.take_entry("shell");
    let ways: Vec<_> = ["command", "script", "run"]
        .into_iter()
        .filter_map(|key| fields.take_entry(key).map(|(at, node)| (key, at, node)))
        .collect();
    if let [(first, ..), rest @ ..] = ways.as_slice() {
        for (key, at, _) in rest {
            let message = format!("both `{first}` and `{key}`, a task runs one thing");
            found.add(at.place, message, "make it two tasks, or remove one of them");
        }
    }
    if let (Some((at, _)), false) = (shell, ways.iter().any(|(key, ..)| *key == "script")) {
        found.add(at.place, "`shell` without `script`", "give the script, or remove the shell");
    }
    let Some((key, at, node)) = ways.into_iter().next() else {
        if step.name.as_str() == COMMIT {
            return Some(step.action.clone());
        }
        let message = "the task does not say what to run";
        let hint = "give `command`, `script` with `shell`, or `run`; \
                    `run: outside` leaves it to whoever claims it";
        found.idle(fields.place, message, hint);
        return None;
    };
    match key {
        "command" => command(found, node).map(Action::Command),
        "script" => {
            let Some((_, shell)) = shell else {
                found.add(at.place, "`script` without `shell`", "name it, as in `shell: bash`");
                return None;
            };
            let text = scalars::text(found, node);
            let shell = scalars::text(found, shell);
            Some(Action::Script { text: text?, shell: shell? })
        }
        _ => scalars::name(found, node).map(Action::Run),
    }
}

/// What stands for an unreadable action, so that the rules have nothing to say about it.
fn stand_in() -> Action {
    Action::Command(vec![Text::from("unreadable")])
}

fn command(found: &mut Findings, node: &Node) -> Option<Vec<Text>> {
    match &node.kind {
        Kind::List(_) => scalars::texts(found, node),
        Kind::Plain(text) | Kind::Text(text) => match words::split(text) {
            Ok(words) => Some(words.into_iter().map(Text::from).collect()),
            Err((message, hint)) => {
                found.add(node.place, message, hint);
                None
            }
        },
        Kind::Nothing | Kind::Map(_) => {
            scalars::wrong(found, node, "a command, as a list of words or one text");
            None
        }
    }
}

fn depend(found: &mut Findings, node: &Node) -> Option<Depend> {
    if !matches!(node.kind, Kind::Map(_)) {
        return reference(found, node).map(|on| Depend { on, when: When::Done });
    }
    let mut fields = Fields::open(found, node, "a dependency")?;
    let task = fields.needed(found, "task", "write {task: x, on: settled}");
    let mut when = When::Done;
    fields.set(found, "on", &mut when, scalars::word);
    fields.close(found);
    let on = task.and_then(|node| reference(found, node))?;
    Some(Depend { on, when })
}

fn reference(found: &mut Findings, node: &Node) -> Option<Reference> {
    let Some(text) = node.spelling() else {
        scalars::wrong(found, node, "the name of a task, `PREV` or `PREV:task`");
        return None;
    };
    parse_reference(text).map_err(|refusal| scalars::refused(found, node, &refusal)).ok()
}

fn texts(found: &mut Findings, node: &Node) -> Option<BTreeMap<Text, Text>> {
    scalars::map(found, node, scalars::text, scalars::text)
}

/// `10s..1h`, or a map of `min` and `max`.
fn backoff(found: &mut Findings, node: &Node) -> Option<Backoff> {
    if let Kind::Map(_) = node.kind {
        let hint = "write {min: 10s, max: 1h}";
        let mut fields = Fields::open(found, node, "a back-off")?;
        let min = fields.needed(found, "min", hint);
        let max = fields.needed(found, "max", hint);
        fields.close(found);
        let min = min.and_then(|node| scalars::length(found, node));
        let max = max.and_then(|node| scalars::length(found, node));
        return Some(Backoff { min: min?, max: max? });
    }
    let ends = node.spelling().and_then(|text| text.split_once(".."));
    let read = |text: &str| parse_length(text.trim());
    let backoff = ends.and_then(|(min, max)| Some(Backoff { min: read(min)?, max: read(max)? }));
    if backoff.is_none() {
        scalars::wrong(found, node, "two lengths of time, such as 10s..1h");
    }
    backoff
}

fn exit_codes(found: &mut Findings, node: &Node) -> Option<BTreeMap<i32, Class>> {
    let code = |found: &mut Findings, key: &Node| {
        let spelling = key.spelling().filter(|spelling| scalars::is_decimal(spelling));
        let code = spelling.and_then(|spelling| spelling.parse().ok());
        if code.is_none() {
            scalars::wrong(found, key, "an exit code, a whole number");
        }
        code
    };
    scalars::map(found, node, code, scalars::word)
}

fn limit(found: &mut Findings, node: &Node) -> Option<Limit> {
    let hint = "write {key: host, max: 2}";
    let mut fields = Fields::open(found, node, "a limit")?;
    let key = fields.needed(found, "key", hint);
    let max = fields.needed(found, "max", hint);
    fields.close(found);
    let key = key.and_then(|node| scalars::text(found, node));
    let max = max.and_then(|node| scalars::number(found, node));
    Some(Limit { key: key?, max: max? })
}
