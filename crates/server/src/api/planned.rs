//! What was planned for revisions and what came of it, read from rows and events.

use std::collections::BTreeMap;

use armarius_core::address::ItemAddress;
use armarius_core::decide::revision_address;
use armarius_core::event::Event;
use armarius_core::flow::codec::COMMIT;
use armarius_core::ids::{ItemId, TaskId, Time, VersionId};
use armarius_core::rows::{Body, Item, ItemKey, Task as Row};
use armarius_core::task::{Cause, State as Stand};
use armarius_core::text::Name;
use armarius_core::view::Need;
use armarius_engine::seam::{History, HistoryLimits};
use armarius_wire::v1::archive::{Revision, Task};
use armarius_wire::v1::{raw, time};
use serde_json::Value;

use super::behind;
use super::runs::Runs;
use crate::look::{Look, Lost};

/// What is read of one revision: the tasks that are shown, and the events their times come from.
const LIMITS: HistoryLimits = HistoryLimits { tasks_max: 4_000, events_max: 20_000 };
/// Who fires schedules: the server itself.
const SCHEDULER: &str = "armarius";
/// Revisions that are read in one go.
const TOGETHER_MAX: usize = 25;

/// A revision, and what its tasks were planned from.
pub(crate) struct Planned {
    pub(crate) revision: Revision,
    /// In the order of its tasks: the version of the flow, and the task that replaced it.
    pub(crate) origins: Vec<(VersionId, Option<TaskId>)>,
}

/// A revision with its tasks; `None` when nobody has heard of it.
pub(crate) fn read(
    look: &mut Look<'_>,
    archive: &Name,
    number: i64,
) -> Result<Option<Planned>, Lost> {
    Ok(read_span(look, archive, number, number)?.pop())
}

/// The known revisions of a stretch with their tasks, newest first.
pub(crate) fn read_span(
    look: &mut Look<'_>,
    archive: &Name,
    bottom: i64,
    top: i64,
) -> Result<Vec<Planned>, Lost> {
    let numbers: Vec<i64> = (bottom..=top).rev().collect();
    let mut all = Vec::with_capacity(numbers.len());
    for some in numbers.chunks(TOGETHER_MAX) {
        let items = items(look, archive, some)?;
        let ids: Vec<ItemId> = items.iter().map(|(_, item)| item.id).collect();
        let histories = look.reader.histories(&ids, LIMITS)?;
        load_replacements(look, &histories)?;
        let begin = all.len();
        for ((number, item), history) in items.iter().zip(&histories) {
            all.push(planned(look, *number, item, history)?);
        }
        tell_who_is_behind(look, &histories, &mut all[begin..])?;
    }
    Ok(all)
}

fn tell_who_is_behind(
    look: &mut Look<'_>,
    histories: &[History],
    revisions: &mut [Planned],
) -> Result<(), Lost> {
    let (mut waiting, mut places) = (Vec::new(), Vec::new());
    for (planned, history) in revisions.iter_mut().zip(histories) {
        let number = planned.revision.revision;
        for ((body, row), task) in history.tasks.iter().rev().zip(&mut planned.revision.tasks) {
            if row.state == Stand::Waiting {
                waiting.push((body, number));
                places.push(&mut task.behind);
            }
        }
    }
    let told = behind::of_tasks(look, &waiting)?;
    places.into_iter().zip(told).for_each(|(place, told)| *place = told);
    Ok(())
}

/// The items of those revisions that are known, asked for together instead of one by one.
fn items(look: &mut Look<'_>, archive: &Name, numbers: &[i64]) -> Result<Vec<(i64, Item)>, Lost> {
    let home = look.ask(|view| Ok(view.collection_names.get(archive)?.copied()))?;
    let Some(collection) = home else { return Ok(Vec::new()) };
    let key = |number: &i64| {
        let ItemAddress { kind, key, .. } = revision_address(archive, *number);
        ItemKey { collection, kind, key }
    };
    let keys: Vec<ItemKey> = numbers.iter().map(key).collect();
    let needs: Vec<Need> = keys.iter().filter_map(|k| look.view.item_keys.missing(k)).collect();
    look.load(&needs)?;
    let ids = keys.iter().filter_map(|key| look.view.item_keys.get(key).ok().flatten());
    let needs: Vec<Need> = ids.filter_map(|id| look.view.items.missing(id)).collect();
    look.load(&needs)?;
    look.ask(|view| {
        let mut found = Vec::new();
        for (number, key) in numbers.iter().zip(&keys) {
            let Some(id) = view.item_keys.get(key)? else { continue };
            found.extend(view.items.get(id)?.map(|item| (*number, item.clone())));
        }
        Ok(found)
    })
}

/// The tasks that replaced others, to tell their names.
fn load_replacements(look: &mut Look<'_>, histories: &[History]) -> Result<(), Lost> {
    let rows = histories.iter().flat_map(|history| &history.tasks).map(|(_, row)| row);
    let mut by: Vec<TaskId> = rows.filter_map(replaced_by).collect();
    by.sort_unstable();
    by.dedup();
    let needs: Vec<Need> = by.iter().filter_map(|id| look.view.bodies.missing(id)).collect();
    look.load(&needs)?;
    let bodies = by.iter().filter_map(|id| look.view.bodies.get(id).ok().flatten());
    let needs: Vec<Need> = bodies.filter_map(|body| look.view.items.missing(&body.item)).collect();
    Ok(look.load(&needs)?)
}

fn replaced_by(row: &Row) -> Option<TaskId> {
    match row.cause {
        Cause::Superseded(by) => Some(by),
        _ => None,
    }
}

fn planned(
    look: &mut Look<'_>,
    number: i64,
    item: &Item,
    History { tasks, events }: &History,
) -> Result<Planned, Lost> {
    let (runs, occasions) = (Runs::of(events), Occasions::of(events));
    let mut revision = told(number, item, events);
    for (body, row) in tasks.iter().rev() {
        let mut task = shown(look, body, row, &runs)?;
        occasions.tell(body, &mut task);
        revision.tasks.push(task);
    }
    revision.state = state(&revision, tasks).to_owned();
    let origin = |(body, row): &(Body, Row)| (body.version, replaced_by(row));
    let origins = tasks.iter().rev().map(origin).collect();
    Ok(Planned { revision, origins })
}

/// What is known of the revision itself.
fn told(number: i64, item: &Item, events: &[Event]) -> Revision {
    let said: Value = serde_json::from_str(&item.attributes).unwrap_or_default();
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    let mut revision = Revision {
        revision: number,
        seen_at: time::text(item.first_seen_at),
        id: text("id"),
        author: text("author"),
        at: said["at_us"].as_i64().map(|us| time::text(Time(us))).unwrap_or_default(),
        message: text("message"),
        paths: said["paths"].as_u64().unwrap_or_default(),
        cause: said["cause"]["task"].as_str().unwrap_or_default().to_owned(),
        depth: said["cause"]["depth"].as_u64().and_then(|d| d.try_into().ok()).unwrap_or_default(),
        ..Revision::default()
    };
    for event in events {
        let verdict = match event.name.as_str() {
            "revision.planned" => "planned",
            "revision.invalid" => "invalid",
            "revision.untrusted" => "untrusted",
            "revision.runaway" => "runaway",
            "revision.skipped" => "skipped",
            _ => continue,
        };
        verdict.clone_into(&mut revision.state);
        let detail = event.detail.as_deref().unwrap_or_default();
        revision.remarks = remarks(verdict, &serde_json::from_str(detail).unwrap_or_default());
    }
    revision
}

fn remarks(verdict: &str, detail: &Value) -> Vec<String> {
    let list = |key: &str| detail[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match verdict {
        "invalid" => list("problems")
            .iter()
            .map(|p| match p["line"].as_u64().unwrap_or_default() {
                0 => format!("{}: {}", text(&p["file"]), text(&p["reason"])),
                line => format!("{}:{line}: {}", text(&p["file"]), text(&p["reason"])),
            })
            .collect(),
        "untrusted" => list("flows")
            .iter()
            .map(|f| {
                let tasks: Vec<String> =
                    f["tasks"].as_array().into_iter().flatten().map(text).collect();
                let flow = text(&f["flow"]);
                format!("not run, the archive is not trusted: {flow} ({})", tasks.join(", "))
            })
            .collect(),
        "runaway" => vec![format!(
            "nothing of it runs: {} revisions made by tasks stand behind it, more than {}",
            detail["depth"], detail["max"]
        )],
        "skipped" => vec![format!("skipped: {}", text(&detail["reason"]))],
        _ => list("left_out")
            .iter()
            .map(|f| format!("left out: {}, {}", text(&f["flow"]), text(&f["why"])))
            .collect(),
    }
}

/// How a revision stands: like the work its commit gave. What came later, by hand, by a calendar or
/// by a robot, ends for itself. Tasks are given newest first.
fn state<'r>(revision: &'r Revision, tasks: &[(Body, Row)]) -> &'r str {
    match revision.state.as_str() {
        "" => return "awaited",
        "planned" => {}
        other => return other,
    }
    let told = tasks.iter().rev().zip(&revision.tasks);
    let given = told.filter(|(_, task)| task.trigger == "commit").map(|((_, row), _)| row);
    let mut given: Vec<&Row> = given.collect();
    if given.is_empty() {
        // So much was started on it later that the limit left out what its commit gave.
        given.extend(tasks.iter().map(|(_, row)| row));
    }
    let any = |stand: fn(&Row) -> bool| given.iter().any(|row| stand(row));
    let commit = tasks.iter().rev().zip(&revision.tasks).find(|(_, task)| task.name == COMMIT);
    let commit = commit.map(|((_, row), _)| row.state);
    if commit == Some(Stand::Waiting) {
        "waiting"
    } else if any(|row| matches!(row.state, Stand::Ready | Stand::Leased | Stand::Held)) {
        "open"
    } else if any(|row| row.state == Stand::Failed || row.cause == Cause::Operator) {
        "failed"
    } else if any(|row| !row.state.is_settled()) {
        "open"
    } else {
        "done"
    }
}

fn shown(look: &mut Look<'_>, body: &Body, row: &Row, runs: &Runs) -> Result<Task, Lost> {
    let (flow, name) = look.ask(|view| {
        let flow = view.flows.get(&body.flow)?.map(|f| f.name.to_string());
        let step = view.queues.get(&body.queue)?.map(|q| q.step.to_string());
        Ok((flow.unwrap_or_default(), step.unwrap_or_default()))
    })?;
    let superseded_by = match replaced_by(row) {
        Some(by) => short(look, by, body.item)?,
        None => String::new(),
    };
    let last = runs.last(body.id);
    Ok(Task {
        task: body.id.0,
        name,
        flow,
        round: body.round,
        state: row.state.as_str().to_owned(),
        cause: row.cause.as_str().to_owned(),
        superseded_by,
        attempts: row.attempts,
        planned_at: time::text(body.created_at),
        started_at: last.started_at,
        ended_at: last.ended_at,
        worker: last.worker,
        exit_code: last.exit_code,
        reason: last.reason,
        ..Task::default()
    })
}

/// `NAME@REVISION`, or just the name within the same revision.
fn short(look: &mut Look<'_>, task: TaskId, home: ItemId) -> Result<String, Lost> {
    look.ask(|view| {
        let Some(body) = view.bodies.get(&task)? else { return Ok(format!("task {task}")) };
        let step = view.queues.get(&body.queue)?.map(|q| q.step.to_string()).unwrap_or_default();
        let item = view.items.get(&body.item)?;
        Ok(match item.filter(|item| item.id != home) {
            Some(item) => format!("{step}@{}", item.key),
            None => step,
        })
    })
}

/// Why tasks came to be, as the events of their revision tell.
struct Occasions<'e> {
    /// When the revision was planned: what was made in that commit was made by it.
    planned_at: Option<Time>,
    /// Who made each of the others.
    makers: BTreeMap<TaskId, &'e Name>,
}

impl<'e> Occasions<'e> {
    fn of(events: &'e [Event]) -> Self {
        let planned = events.iter().find(|event| event.name.as_str() == "revision.planned");
        let mut makers = BTreeMap::new();
        for event in events {
            if let Some(task) = event.task {
                makers.entry(task).or_insert(&event.actor);
            }
        }
        Self { planned_at: planned.map(|event| event.at), makers }
    }

    fn tell(&self, body: &Body, task: &mut Task) {
        let given: Value = serde_json::from_str(&body.payload).unwrap_or_default();
        let maker = self.makers.get(&body.id).map(ToString::to_string).unwrap_or_default();
        if let Some(slot) = given["slot_us"].as_i64().filter(|_| maker == SCHEDULER) {
            "schedule".clone_into(&mut task.trigger);
            task.slot = time::text(Time(slot));
        } else if !body.fingerprint.is_empty() {
            "robot".clone_into(&mut task.trigger);
        } else if self.planned_at == Some(body.created_at) || task.name == COMMIT {
            "commit".clone_into(&mut task.trigger);
        } else {
            "manual".clone_into(&mut task.trigger);
            task.started_by = maker;
            task.params = raw(&body.payload);
        }
    }
}
