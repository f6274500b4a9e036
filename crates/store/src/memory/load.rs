//! What a view needs, from memory.

use std::collections::BTreeMap;
use std::ops::Bound;

use armarius_core::view::{Need, Ranged, View};

use super::Shared;
use crate::world::Names;

impl Shared {
    /// Brings a view's whole tables and commit head up to date.
    pub(super) fn refresh(&self, view: &mut View) {
        let head = self.world.head();
        if view.head == head && head.n > 0 {
            return;
        }
        *view = View::new(view.shard);
        view.head = head;
        let world = &self.world;
        world.collections.values().for_each(|r| view.collections.load(r.id, Some(r.clone())));
        world.flows.values().for_each(|r| view.flows.load(r.id, Some(r.clone())));
        world.queues.values().for_each(|r| view.queues.load(r.id, Some(r.clone())));
        world.holds.values().for_each(|r| view.holds.load(r.id, Some(r.clone())));
        world.schedules.values().for_each(|r| view.schedules.load(r.id, Some(r.clone())));
        let archives = world.archives.values();
        archives.for_each(|r| view.archives.load(r.collection, Some(r.clone())));
        world.counters.iter().for_each(|(k, n)| view.counters.load(*k, Some(*n)));
        world.keys.iter().for_each(|(k, r)| view.keys.load(k.clone(), Some(r.clone())));
        Names::of(world).fill(view);
    }

    /// Answers every need.
    pub(super) fn load(&self, needs: &[Need], view: &mut View) {
        needs.iter().for_each(|need| self.answer(need, view));
    }

    #[rustfmt::skip]
    fn answer(&self, need: &Need, view: &mut View) {
        let (w, d, v) = (&self.world, &self.derived, view);
        match need {
            // Whole tables are loaded by `refresh`, and so are the names that follow from them.
            Need::Collection(_) | Need::CollectionName(_) | Need::Flow(_) | Need::FlowName(_)
            | Need::Queue(_) | Need::QueueName(_) | Need::Hold(_) | Need::HoldScope(_)
            | Need::Schedule(_) | Need::Archive(_) | Need::Key(_) | Need::Counter(_) => {}
            Need::Version(k) => v.versions.load(*k, w.versions.get(k).cloned()),
            Need::VersionDigest(k) => v.version_digests.load(*k, d.version_digests.get(k).copied()),
            Need::Item(k) => v.items.load(*k, w.items.get(k).cloned()),
            Need::ItemKey(k) => v.item_keys.load(k.clone(), d.item_keys.get(k).copied()),
            Need::Head(k) => v.heads.load(*k, w.event_head(*k)),
            Need::Mark(k) => v.marks.load(k.clone(), w.marks.get(k).cloned()),
            Need::Body(k) => v.bodies.load(*k, w.bodies.get(k).cloned()),
            Need::TaskKey(k) => v.task_keys.load(k.clone(), d.task_keys.get(k).copied()),
            Need::Task(k) => v.tasks.load(*k, w.tasks.get(k).cloned()),
            Need::LatestRound(k) => v.latest_rounds.load(*k, d.latest_round(k.0, k.1)),
            Need::Round(k) => v.rounds.load(*k, w.rounds.get(k).cloned()),
            Need::Newest(k) => v.newest.load(*k, w.newest.get(k).copied()),
            Need::Slots(k) => v.slots.load(k.clone(), w.slots.get(k).copied()),
            Need::Lease(k) => v.leases.load(*k, w.leases.get(k).cloned()),
            Need::Batch(k) => v.batches.load(*k, w.batches.get(k).cloned()),
            Need::Destination(k) => v.destinations.load(k.clone(), w.destinations.get(k).cloned()),
            Need::Idem(k) => v.idems.load(k.clone(), w.idems.get(k).cloned()),
            Need::Manifest(k) => v.manifests.load(*k, w.manifests.get(k).cloned()),
            Need::Ready(p, a, n) => lend(&mut v.ready, p, w.ready.get(p), a, *n),
            Need::Line(p, a, n) => lend(&mut v.lines, p, w.lines.get(p), a, *n),
            Need::Timer(p, a, n) => lend(&mut v.timers, p, w.timers.get(p), a, *n),
            Need::DueLease(p, a, n) => lend(&mut v.due_leases, p, d.due_leases.get(p), a, *n),
            Need::Dependents(p, a, n) => lend(&mut v.dependents, p, w.dependents.get(p), a, *n),
            Need::Blockers(p, a, n) => lend(&mut v.blockers, p, d.blockers.get(p), a, *n),
            Need::Instances(p, a, n) => lend(&mut v.instances, p, w.instances.get(p), a, *n),
            Need::Held(p, a, n) => lend(&mut v.held, p, w.held.get(p), a, *n),
            Need::Members(p, a, n) => lend(&mut v.members, p, w.members.get(p), a, *n),
            Need::ItemTasks(p, a, n) => lend(&mut v.item_tasks, p, d.item_tasks.get(p), a, *n),
            Need::ItemMarks(p, a, n) => lend(&mut v.item_marks, p, d.item_marks.get(p), a, *n),
            Need::CollectionItems(p, a, n) => {
                lend(&mut v.collection_items, p, d.collection_items.get(p), a, *n);
            }
            Need::Errands(p, a, n) => lend(&mut v.errands, p, w.errands.get(p), a, *n),
            Need::Letters(p, a, n) => lend(&mut v.letters, p, w.letters.get(p), a, *n),
            Need::DueLetters(p, a, n) => lend(&mut v.due_letters, p, d.due_letters.get(p), a, *n),
        }
    }
}

/// Notes in a view at least one and up to `n` entries after a key, and whether there are no more.
fn lend<P, K, R>(
    list: &mut Ranged<P, K, R>,
    owner: &P,
    rows: Option<&BTreeMap<K, R>>,
    after: &Option<K>,
    n: usize,
) where
    P: Ord + Clone,
    K: Ord + Clone,
    R: Clone,
{
    let lower = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut rest = rows.into_iter().flat_map(|rows| rows.range((lower, Bound::Unbounded)));
    let entry = |(k, r): (&K, &R)| (k.clone(), r.clone());
    let found = rest.by_ref().take(n.max(1)).map(entry).collect();
    list.load(owner.clone(), after.clone(), found, rest.next().is_none());
}
