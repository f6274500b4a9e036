//! Everything that can be asked about the rows [`sample`] makes.

use armarius_core::ids::{BatchId, CollectionId, HoldId, ItemId, QueueId, TaskId};
use armarius_core::rows::{ItemKey, TaskKey};
use armarius_core::view::Need;

use super::sample;

/// One need of each kind for each of the first rows, with stretches of `n` entries of the lists.
#[must_use]
pub fn everything_near(rows: i64, n: usize) -> Vec<Need> {
    let mut needs: Vec<Need> = (0..rows).flat_map(rows_near).collect();
    needs.extend((0..rows).flat_map(|key| lists_near(key, n)));
    needs.extend([
        Need::Timer((), None, n),
        Need::DueLease((), None, n),
        Need::Errands((), None, n),
        Need::DueLetters((), None, n),
    ]);
    needs
}

fn rows_near(key: i64) -> Vec<Need> {
    let (version, item, body) =
        (sample::version(key, 0).1, sample::item(key, 0).1, sample::body(key, 0).1);
    let (collection, kind) = (item.collection, item.kind);
    vec![
        Need::Version(version.id),
        Need::VersionDigest((version.flow, version.digest)),
        Need::Item(item.id),
        Need::ItemKey(ItemKey { collection, kind, key: item.key }),
        Need::Head(item.id),
        Need::Mark(sample::mark(key, 0).0),
        Need::Body(body.id),
        Need::TaskKey(TaskKey {
            item: body.item,
            queue: body.queue,
            part: body.part,
            round: body.round,
        }),
        Need::Task(TaskId(key)),
        Need::Round(sample::round_key(key)),
        Need::Newest(QueueId(key)),
        Need::Slots(sample::slots(key, 0).0),
        Need::Lease(sample::lease_id(key)),
        Need::Batch(BatchId(key)),
        Need::Destination(sample::destination(key, 0).0),
        Need::Idem(sample::idem(key, 0).0),
        Need::Manifest(sample::manifest(key, 0).0),
    ]
}

fn lists_near(key: i64, n: usize) -> Vec<Need> {
    vec![
        Need::Ready(QueueId(key), None, n),
        Need::Line(sample::line(key, 0, 0).0, None, n),
        Need::Dependents(sample::target(key), None, n),
        Need::Blockers(TaskId(key), None, n),
        Need::Instances(QueueId(key), None, n),
        Need::Held(HoldId(key), None, n),
        Need::Members(BatchId(key), None, n),
        Need::ItemTasks(ItemId(key), None, n),
        Need::ItemMarks(ItemId(key), None, n),
        Need::CollectionItems(CollectionId(key), None, n),
        Need::Letters(sample::letter(key, 0, 0).0, None, n),
    ]
}
