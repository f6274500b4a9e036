//! Opening a round of a flow on an item, on somebody's request.

use super::desk::{Desk, Rule, check_object, check_priority};
use super::item::{living, refuse_revision};
use super::plan::Opening;
use crate::address::TaskAddress;
use crate::command::Submit;
use crate::ids::{BatchId, CollectionId, FlowId, ItemId, Time};
use crate::limits::{DEPENDS_MAX, KEY_BYTES_MAX, PAYLOAD_BYTES_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{BatchState, Made, RoundKey, Target};
use crate::text::{Text, check};

/// Most parts one submission may have.
const PARTS_MAX: usize = 1_000;

pub(super) fn submit(desk: &mut Desk<'_>, submit: &Submit) -> Rule<Reply> {
    check_submit(submit)?;
    let request = if desk.call.idem.is_some() { request_text(submit) } else { String::new() };
    if let Some(Made::Round(key, task)) = desk.made_before(&submit.item.collection, &request)? {
        let RoundKey { item, flow, round } = key;
        return Ok(Reply::Round { item, flow, round, task, repeated: true });
    }
    let home = desk.collection_named(&submit.item.collection)?;
    let (home, home_item) = (home.id, home.item);
    let row = desk.flow_named(desk.collection(home)?, &submit.flow)?;
    let (flow, version) = (row.id, row.version);
    if let Some(batch) = submit.batch {
        refuse_closed(desk, batch, home)?;
    }
    let depends = targets(desk, submit, flow)?;
    let priority = submit.priority.unwrap_or(0);
    let item = match desk.find_item(&submit.item)? {
        Some(_) => living(desk, &submit.item)?.id,
        None => {
            refuse_revision(desk, &submit.item)?;
            desk.new_item(&submit.item, priority)?
        }
    };
    refuse_own_item(item, home_item)?;
    let opening = Opening {
        item,
        flow,
        version,
        payload: submit.payload.clone(),
        priority: submit.priority.unwrap_or(desk.item(item)?.priority),
        not_before: submit.not_before.unwrap_or(Time::ZERO),
        parts: parts(&submit.parts),
        batch: submit.batch,
        fingerprint: Text::from(""),
        depth: 0,
        depends,
        commit: None,
    };
    let (round, task) = desk.open_round(opening)?;
    let made = Made::Round(RoundKey { item, flow, round }, task);
    desk.remember(&submit.item.collection, &request, made)?;
    Ok(Reply::Round { item, flow, round, task, repeated: false })
}

fn parts(given: &[Text]) -> Vec<Text> {
    if given.is_empty() { vec![Text::from("")] } else { given.to_vec() }
}

fn check_submit(submit: &Submit) -> Result<(), Refusal> {
    check_object("payload", &submit.payload, PAYLOAD_BYTES_MAX)?;
    if let Some(priority) = submit.priority {
        check_priority(priority)?;
    }
    if submit.depends.len() > DEPENDS_MAX {
        return Err(Refusal::new(
            Code::TooLarge,
            format!("{} dependencies, more than {DEPENDS_MAX}", submit.depends.len()),
        )
        .hint("put a task between that gathers them"));
    }
    if submit.parts.len() > PARTS_MAX {
        return Err(Refusal::new(
            Code::TooLarge,
            format!("{} parts, more than {PARTS_MAX}", submit.parts.len()),
        )
        .hint("submit them in several rounds"));
    }
    for (i, part) in submit.parts.iter().enumerate() {
        check("part", part, 1, KEY_BYTES_MAX)?;
        if submit.parts.iter().take(i).any(|p| p == part) {
            return Err(Refusal::new(Code::AlreadyExists, format!("part {part} is named twice"))
                .hint("name each part once"));
        }
    }
    Ok(())
}

fn refuse_closed(desk: &Desk<'_>, batch: BatchId, home: CollectionId) -> Rule<()> {
    // A batch belongs to one collection, and so do its members.
    match desk.view.batches.get(&batch)?.filter(|row| row.collection == home) {
        None => Err(Refusal::new(Code::NoSuchBatch, format!("there is no batch {batch}"))
            .hint("open it first, in the collection of its items")
            .into()),
        Some(row) if row.state != BatchState::Open => Err(Refusal::new(
            Code::BatchSealed,
            format!("batch {batch} is {} and takes no more members", row.state.as_str()),
        )
        .hint("open a new batch")
        .into()),
        Some(_) => Ok(()),
    }
}

/// A collection's own item carries the record of what was done to the collection.
fn refuse_own_item(item: ItemId, home_item: ItemId) -> Rule<()> {
    if item == home_item {
        return Err(Refusal::new(Code::BadName, "a collection's own item takes no work")
            .hint("choose another kind or key")
            .into());
    }
    Ok(())
}

/// Collections are independent of each other, also in where they live.
fn refuse_foreign(at: &TaskAddress, submit: &Submit) -> Result<(), Refusal> {
    if at.item.collection == submit.item.collection {
        return Ok(());
    }
    let home = &submit.item.collection;
    Err(Refusal::new(Code::AcrossCollections, format!("{at} is not in collection {home}"))
        .hint("a task depends on tasks of its own collection; submit it when the other is done"))
}

/// What the round waits for, after refusing circles.
fn targets(desk: &Desk<'_>, submit: &Submit, flow: FlowId) -> Rule<Vec<Target>> {
    if submit.depends.is_empty() {
        return Ok(Vec::new());
    }
    let mut targets = Vec::with_capacity(submit.depends.len());
    for at in &submit.depends {
        refuse_foreign(at, submit)?;
        let target = desk.resolve(at)?;
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let round = match desk.find_item(&submit.item)? {
        Some(item) => desk.latest_round((item, flow))?.saturating_add(1),
        None => 1,
    };
    let queues = desk.view.queues.iter().filter(|(_, q)| q.flow == flow);
    let mut news = Vec::new();
    for (_, queue) in queues {
        for part in parts(&submit.parts) {
            news.push(TaskAddress {
                flow: submit.flow.clone(),
                step: queue.step.clone(),
                item: submit.item.clone(),
                part,
                round,
            });
        }
    }
    desk.refuse_circle(&targets, &news)?;
    Ok(targets)
}

/// The request in words that do not change between versions of this program.
fn request_text(submit: &Submit) -> String {
    let depends: Vec<String> = submit.depends.iter().map(ToString::to_string).collect();
    format!(
        "submit {} {} {:?} {:?} {:?} {:?} {:?}",
        submit.item,
        submit.flow,
        submit.payload,
        submit.priority,
        submit.parts,
        depends,
        submit.batch.map(|b| b.0),
    )
}
