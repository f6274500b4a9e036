//! Batches: items submitted together and reported together, with exact counters.

use super::desk::{
    BATCH_CANCELLED, BATCH_DELETED, BATCH_OPENED, BATCH_REPORT_PAGE, BATCH_REPORTED,
    BATCH_REPORTING, BATCH_RETRIED, BATCH_SEALED, Desk, Fact, Rule,
};
use super::follow::Progress;
use crate::address::ItemAddress;
use crate::ids::{BatchId, TaskId};
use crate::limits::{ERRAND_CHUNK_MAX, KEY_BYTES_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Batch, BatchState, Counter, Follow, Made, Member, RoundStatus};
use crate::text::{Name, Text, check};

/// The kind of the items that carry a batch's own events.
pub(super) const KIND: &str = "batch";

pub(super) fn open(desk: &mut Desk<'_>, collection: &Name, key: &Text) -> Rule<Reply> {
    check("key", key, 0, KEY_BYTES_MAX)?;
    super::key::refuse_house(collection)?;
    let request = format!("batch {collection} {key}");
    if let Some(Made::Batch(id)) = desk.made_before(collection, &request)? {
        return Ok(Reply::Batch(id));
    }
    let home = desk.collection_named(collection)?.id;
    let id = BatchId(desk.mint(Counter::Batch)?);
    let key: Text = if key.is_empty() { id.to_string().into() } else { key.clone() };
    let at = ItemAddress { collection: collection.clone(), kind: Name::trusted(KIND), key };
    if desk.find_item(&at)?.is_some() {
        return Err(Refusal::new(Code::AlreadyExists, format!("there is a batch {at} already"))
            .hint("choose another key, or none to get a number")
            .into());
    }
    let item = desk.new_item(&at, 0)?;
    let batch = Batch {
        id,
        collection: home,
        item,
        state: BatchState::Open,
        total: 0,
        open: 0,
        done: 0,
        failed: 0,
        cancelled: 0,
        generation: 0,
    };
    desk.view.batches.put(id, batch);
    desk.view.members.begin(id);
    desk.tell_batch(id, &BATCH_OPENED, None)?;
    desk.remember(collection, &request, Made::Batch(id))?;
    Ok(Reply::Batch(id))
}

pub(super) fn seal(desk: &mut Desk<'_>, id: BatchId) -> Rule<Reply> {
    let mut batch = expect(desk, id, &[BatchState::Open], "sealed")?;
    batch.state = BatchState::Processing;
    let settled = batch.open == 0;
    desk.view.batches.put(id, batch);
    desk.tell_batch(id, &BATCH_SEALED, None)?;
    if settled {
        desk.begin_report(id)?;
    }
    Ok(Reply::Ok)
}

pub(super) fn cancel(desk: &mut Desk<'_>, id: BatchId) -> Rule<Reply> {
    expect(desk, id, &[BatchState::Open, BatchState::Processing], "cancelled")?;
    desk.tell_batch(id, &BATCH_CANCELLED, None)?;
    desk.follows.push_back(Follow::CancelBatch(id));
    Ok(Reply::Ok)
}

pub(super) fn retry(desk: &mut Desk<'_>, id: BatchId) -> Rule<Reply> {
    let states = [BatchState::Open, BatchState::Processing, BatchState::Failed];
    expect(desk, id, &states, "retried")?;
    desk.tell_batch(id, &BATCH_RETRIED, None)?;
    desk.follows.push_back(Follow::RetryBatch(id));
    Ok(Reply::Ok)
}

/// Another report of a failed batch, once what was retried has settled.
pub(super) fn report_again(desk: &mut Desk<'_>, id: BatchId) -> Rule<Reply> {
    let batch = expect(desk, id, &[BatchState::Failed], "reported again")?;
    if batch.open > 0 {
        return Err(Refusal::new(
            Code::WrongState,
            format!("{} members of batch {id} are still open", batch.open),
        )
        .hint("wait until they have settled")
        .into());
    }
    desk.begin_report(id)?;
    Ok(Reply::Ok)
}

/// A tombstone: open work is cancelled, history stays.
pub(super) fn delete(desk: &mut Desk<'_>, id: BatchId) -> Rule<Reply> {
    let states = [
        BatchState::Open,
        BatchState::Processing,
        BatchState::Reporting,
        BatchState::Completed,
        BatchState::Failed,
    ];
    let mut batch = expect(desk, id, &states, "deleted")?;
    batch.state = BatchState::Deleted;
    desk.view.batches.put(id, batch);
    desk.tell_batch(id, &BATCH_DELETED, None)?;
    desk.follows.push_back(Follow::DeleteBatch(id));
    Ok(Reply::Ok)
}

fn expect(desk: &Desk<'_>, id: BatchId, states: &[BatchState], verb: &str) -> Rule<Batch> {
    match desk.view.batches.get(&id)? {
        None => Err(Refusal::new(Code::NoSuchBatch, format!("there is no batch {id}"))
            .hint("check the number")
            .into()),
        Some(batch) if !states.contains(&batch.state) => Err(Refusal::new(
            Code::WrongState,
            format!("batch {id} is {} and cannot be {verb}", batch.state.as_str()),
        )
        .hint("look at the batch's present state")
        .into()),
        Some(batch) => Ok(batch.clone()),
    }
}

impl Desk<'_> {
    /// The last member settled: the report is composed by a follow-up, however large it is.
    pub(super) fn begin_report(&mut self, id: BatchId) -> Rule<()> {
        let Some(mut batch) = self.view.batches.get(&id)?.cloned() else { return Ok(()) };
        batch.state = BatchState::Reporting;
        batch.generation += 1;
        self.view.batches.put(id, batch);
        self.tell_batch(id, &BATCH_REPORTING, None)?;
        self.follows.push_back(Follow::Report(id));
        Ok(())
    }

    /// Composes a report: pages of what failed, then the closing line.
    pub(super) fn report_batch(&mut self, id: BatchId, cursor: i64) -> Rule<Progress> {
        let Some(mut batch) = self.view.batches.get(&id)?.cloned() else {
            return Ok(Progress::Done);
        };
        if batch.state != BatchState::Reporting {
            return Ok(Progress::Done);
        }
        let (members, more) = self.members_after(id, cursor)?;
        let last = members.last().map_or(cursor, |(n, _)| *n);
        let mut failed = Vec::new();
        for (_, member) in &members {
            if self.status_of(member)? == RoundStatus::Failed {
                failed.push(self.member_text(member)?);
            }
        }
        if !failed.is_empty() {
            let page = serde_json::json!({ "generation": batch.generation, "failed": failed });
            self.tell_batch(id, &BATCH_REPORT_PAGE, Some(page.to_string().into()))?;
        }
        if more {
            return Ok(Progress::More(last));
        }
        // Somebody retried a member meanwhile: the report begins anew when that has settled.
        batch.state = match (batch.open, batch.failed) {
            (0, 0) => BatchState::Completed,
            (0, _) => BatchState::Failed,
            (_, _) => BatchState::Processing,
        };
        let state = batch.state;
        let report = closing(&batch);
        let home = batch.collection;
        self.view.batches.put(id, batch);
        if state == BatchState::Processing {
            return Ok(Progress::Done);
        }
        self.tell_batch(id, &BATCH_REPORTED, Some(report.clone()))?;
        for to in self.collection(home)?.notify.clone() {
            self.post(&to, &report)?;
        }
        Ok(Progress::Done)
    }

    /// A piece of a batch's members after a cursor, and whether there are more.
    pub(super) fn members_after(
        &self,
        id: BatchId,
        cursor: i64,
    ) -> Rule<(Vec<(i64, Member)>, bool)> {
        let list = self.view.members.after(&id, Some(&cursor), ERRAND_CHUNK_MAX + 1)?;
        let mut members: Vec<(i64, Member)> =
            list.take(ERRAND_CHUNK_MAX + 1).map(|(n, m)| (*n, *m)).collect();
        let more = members.len() > ERRAND_CHUNK_MAX;
        members.truncate(ERRAND_CHUNK_MAX);
        let view = &self.view;
        self.require(members.iter().filter_map(|(_, m)| match m.solo {
            Some(task) => view.tasks.missing(&task),
            None => view.rounds.missing(&m.round),
        }))?;
        Ok((members, more))
    }

    pub(super) fn status_of(&self, member: &Member) -> Rule<RoundStatus> {
        match member.solo {
            Some(task) => Ok(RoundStatus::of(self.task(task)?.state)),
            None => {
                let round = self.view.rounds.get(&member.round)?;
                Ok(round.map_or(RoundStatus::Open, crate::rows::Round::status))
            }
        }
    }

    /// The tasks of a member's round.
    pub(super) fn member_tasks(&self, member: &Member) -> Rule<Vec<TaskId>> {
        if let Some(task) = member.solo {
            return Ok(vec![task]);
        }
        let mut tasks = Vec::new();
        let of_item = self.view.item_tasks.first(&member.round.item, usize::MAX / 2)?;
        for (task, ()) in of_item {
            let body = self.body(*task)?;
            if body.flow == member.round.flow && body.round == member.round.round {
                tasks.push(*task);
            }
        }
        Ok(tasks)
    }

    fn member_text(&self, member: &Member) -> Rule<String> {
        let item = self.item(member.round.item)?;
        let mut text = String::new();
        let home = self.collection(item.collection)?;
        crate::address::push_item(&mut text, &home.name, &item.kind, &item.key);
        Ok(text)
    }

    pub(super) fn tell_batch(
        &mut self,
        id: BatchId,
        name: &Name,
        detail: Option<Text>,
    ) -> Rule<()> {
        let Some(item) = self.view.batches.get(&id)?.map(|b| b.item) else { return Ok(()) };
        let fact = Fact { name: Some(name.clone()), detail, ..Fact::default() };
        self.append(item, fact).map(|_| ())
    }
}

/// The closing line of a report: the same text for the history and for every letter.
fn closing(batch: &Batch) -> Text {
    serde_json::json!({
        "batch": batch.id.0,
        "generation": batch.generation,
        "state": batch.state.as_str(),
        "total": batch.total,
        "done": batch.done,
        "failed": batch.failed,
        "cancelled": batch.cancelled,
    })
    .to_string()
    .into()
}
