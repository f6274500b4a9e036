//! Answers what a view needs: rows set-wise, in the order of their keys; lists one by one.

use armarius_core::event::Hash;
use armarius_core::ids::{BatchId, FlowId, ItemId, LeaseId, QueueId, TaskId, Token, VersionId};
use armarius_core::rows::{ItemKey, RoundKey, TaskKey};
use armarius_core::text::{Name, Text};
use armarius_core::view::{Need, View};

use super::desk::Desk;
use super::fault::Answer;
use super::rows::{
    archive, batch, collection, counter, edge, errand, event, flow, hold, idem, item, key, lease,
    letter, line, manifest, round, schedule, task,
};

/// Loads the whole tables, and the names that follow from them.
pub(super) fn whole(desk: &Desk, view: &mut View) -> Answer<()> {
    counter::load_whole(desk, view)?;
    collection::load_whole(desk, view)?;
    flow::load_whole(desk, view)?;
    hold::load_whole(desk, view)?;
    archive::load_whole(desk, view)?;
    schedule::load_whole(desk, view)?;
    key::load_whole(desk, view)
}

/// Answers every need.
pub(super) fn load(desk: &Desk, needs: &[Need], view: &mut View) -> Answer<()> {
    let mut sorted: Vec<&Need> = needs.iter().collect();
    sorted.sort_unstable();
    let mut wanted = Wanted::default();
    for need in sorted {
        wanted.note(desk, need, view)?;
    }
    wanted.load(desk, view)
}

/// Keys of rows, by table.
#[derive(Default)]
struct Wanted {
    versions: Vec<VersionId>,
    digests: Vec<(FlowId, Hash)>,
    items: Vec<ItemId>,
    item_keys: Vec<ItemKey>,
    heads: Vec<ItemId>,
    marks: Vec<(ItemId, Name)>,
    bodies: Vec<TaskId>,
    task_keys: Vec<TaskKey>,
    tasks: Vec<TaskId>,
    latest_rounds: Vec<(ItemId, FlowId)>,
    rounds: Vec<RoundKey>,
    newest: Vec<QueueId>,
    slots: Vec<Text>,
    leases: Vec<LeaseId>,
    batches: Vec<BatchId>,
    destinations: Vec<Text>,
    idems: Vec<Text>,
    manifests: Vec<(TaskId, Token)>,
}

impl Wanted {
    /// Notes the key of a row; loads a list at once.
    #[rustfmt::skip]
    fn note(&mut self, desk: &Desk, need: &Need, view: &mut View) -> Answer<()> {
        match need {
            // Whole tables are loaded when the transaction begins.
            Need::Collection(_) | Need::CollectionName(_) | Need::Flow(_) | Need::FlowName(_)
            | Need::Queue(_) | Need::QueueName(_) | Need::Hold(_) | Need::HoldScope(_)
            | Need::Schedule(_) | Need::Archive(_) | Need::Key(_) | Need::Counter(_) => {}
            Need::Version(k) => self.versions.push(*k),
            Need::VersionDigest(k) => self.digests.push(*k),
            Need::Item(k) => self.items.push(*k),
            Need::ItemKey(k) => self.item_keys.push(k.clone()),
            Need::Head(k) => self.heads.push(*k),
            Need::Mark(k) => self.marks.push(k.clone()),
            Need::Body(k) => self.bodies.push(*k),
            Need::TaskKey(k) => self.task_keys.push(k.clone()),
            Need::Task(k) => self.tasks.push(*k),
            Need::LatestRound(k) => self.latest_rounds.push(*k),
            Need::Round(k) => self.rounds.push(*k),
            Need::Newest(k) => self.newest.push(*k),
            Need::Slots(k) => self.slots.push(k.clone()),
            Need::Lease(k) => self.leases.push(*k),
            Need::Batch(k) => self.batches.push(*k),
            Need::Destination(k) => self.destinations.push(k.clone()),
            Need::Idem(k) => self.idems.push(k.clone()),
            Need::Manifest(k) => self.manifests.push(*k),
            Need::Ready(p, after, n) => line::load_ready(desk, (*p, *after, *n), view)?,
            Need::Line(p, after, n) => line::load_line(desk, (p, *after, *n), view)?,
            Need::Timer((), after, n) => line::load_timers(desk, (*after, *n), view)?,
            Need::DueLease((), after, n) => lease::load_due(desk, (*after, *n), view)?,
            Need::Dependents(p, after, n) => edge::load_dependents(desk, (p, *after, *n), view)?,
            Need::Blockers(p, after, n) => {
                edge::load_blockers(desk, (*p, after.as_ref(), *n), view)?;
            }
            Need::Instances(p, after, n) => line::load_instances(desk, (*p, *after, *n), view)?,
            Need::Held(p, after, n) => hold::load_held(desk, (*p, *after, *n), view)?,
            Need::Members(p, after, n) => batch::load_members(desk, (*p, *after, *n), view)?,
            Need::ItemTasks(p, after, n) => task::load_of_item(desk, (*p, *after, *n), view)?,
            Need::ItemMarks(p, after, n) => {
                item::load_mark_names(desk, (*p, after.as_ref(), *n), view)?;
            }
            Need::CollectionItems(p, after, n) => {
                item::load_of_collection(desk, (*p, *after, *n), view)?;
            }
            Need::Errands((), after, n) => errand::load(desk, (*after, *n), view)?,
            Need::Letters(p, after, n) => letter::load_letters(desk, (p, *after, *n), view)?,
            Need::DueLetters((), after, n) => letter::load_due(desk, (after.as_ref(), *n), view)?,
        }
        Ok(())
    }

    /// Loads the rows that were noted.
    fn load(self, desk: &Desk, view: &mut View) -> Answer<()> {
        flow::load_versions(desk, &self.versions, view)?;
        flow::load_digests(desk, &self.digests, view)?;
        item::load(desk, &self.items, view)?;
        item::load_keys(desk, &self.item_keys, view)?;
        item::load_marks(desk, &self.marks, view)?;
        event::load_heads(desk, &self.heads, view)?;
        task::load_bodies(desk, &self.bodies, view)?;
        task::load_keys(desk, &self.task_keys, view)?;
        task::load(desk, &self.tasks, view)?;
        task::load_latest_rounds(desk, &self.latest_rounds, view)?;
        round::load(desk, &self.rounds, view)?;
        line::load_newest(desk, &self.newest, view)?;
        line::load_slots(desk, &self.slots, view)?;
        lease::load(desk, &self.leases, view)?;
        batch::load(desk, &self.batches, view)?;
        letter::load_destinations(desk, &self.destinations, view)?;
        idem::load(desk, &self.idems, view)?;
        manifest::load(desk, &self.manifests, view)
    }
}
