//! Rows to write: `key` tells rows of one table apart, `variant` changes everything about a row
//! that may change. Values are at the edges of what is allowed on purpose.

use std::sync::Arc;

use armarius_core::event::{Event, Outcome, digest};
use armarius_core::flow::{Calendar, Flow, Missed, Overlap, Step, Way, When};
use armarius_core::ids::{
    BatchId, CollectionId, ErrandId, FlowId, HoldId, ItemId, LeaseId, QueueId, ScheduleId, Span,
    TaskId, Time, Token, VersionId,
};
use armarius_core::rows::{
    Archive, ArchiveKind, ArchiveState, Batch, BatchState, Body, Collection, Counter, Destination,
    Edge, Errand, FlowRow, Follow, Grip, Hold, Idem, Item, Key, Lease, Letter, Made, Manifest,
    ManifestState, Mark, Member, Queue, Rank, Role, Round, RoundKey, Schedule, Scope, Slots, Spot,
    Target, Task, Version,
};
use armarius_core::task::{Cause, State};
use armarius_core::text::{Name, Text};

fn name(stem: &str, n: i64) -> Name {
    Name::trusted(&format!("{stem} é{n}"))
}

fn text(stem: &str, n: i64) -> Text {
    if n % 5 == 4 { Text::from("") } else { Text::from(format!("{stem} '{n}' \"書\"")) }
}

fn pick<T: Clone>(choices: &[T], n: i64) -> T {
    let at = usize::try_from(n.rem_euclid(choices.len() as i64)).unwrap_or_default();
    match choices.get(at) {
        Some(choice) => choice.clone(),
        None => panic!("nothing to choose from"),
    }
}

fn small(n: i64) -> u32 {
    pick(&[0, 1, 127, 65_536, u32::MAX], n)
}

fn count(n: i64) -> i64 {
    pick(&[0, 1, -1, 255, 1 << 40, i64::MAX, i64::MIN], n)
}

fn counts(n: i64) -> [i64; 7] {
    std::array::from_fn(|i| count(n + i as i64))
}

/// A lease's name.
#[must_use]
pub fn lease_id(key: i64) -> LeaseId {
    LeaseId(u128::from(key.unsigned_abs()) << 100 | u128::from(key.unsigned_abs()))
}

/// A collection.
#[must_use]
pub fn collection(key: i64, variant: i64) -> (CollectionId, Collection) {
    let id = CollectionId(key);
    let notify = (0..variant % 3).map(|n| text("https://", n)).collect();
    let robots = (0..variant % 4).map(FlowId).collect();
    let (item, served) = (ItemId(key), count(variant));
    (id, Collection { id, name: name("collection", key), item, served, notify, robots })
}

/// A flow.
#[must_use]
pub fn flow(key: i64, variant: i64) -> (FlowId, FlowRow) {
    let id = FlowId(key);
    let row = FlowRow {
        id,
        collection: CollectionId(key % 2),
        name: name("flow", key),
        version: VersionId(variant),
        removed: variant % 2 == 1,
        taken: (variant % 3 == 1).then(|| lease_id(variant)),
    };
    (id, row)
}

/// A version of a flow.
#[must_use]
pub fn version(key: i64, variant: i64) -> (VersionId, Version) {
    let id = VersionId(key);
    let mut def = Flow::manual(name("flow", variant));
    def.tasks.push(Step::outside(name("step", variant)));
    let digest = digest(&key.to_string());
    (id, Version { id, flow: FlowId(key % 2), digest, def: Arc::new(def), at: Time(variant) })
}

/// A queue.
#[must_use]
pub fn queue(key: i64, variant: i64) -> (QueueId, Queue) {
    let id = QueueId(key);
    let labels = (0..variant % 3).map(|n| name("label", n)).collect();
    let (collection, flow, step) = (CollectionId(1), FlowId(key % 2), name("step", key));
    let choice = usize::try_from(variant).unwrap_or_default() % Way::ALL.len();
    let way = Way::ALL.get(choice).copied().unwrap_or(Way::Outside);
    (id, Queue { id, collection, flow, step, labels, way, counts: counts(variant) })
}

/// A hold.
#[must_use]
pub fn hold(key: i64, variant: i64) -> (HoldId, Hold) {
    let id = HoldId(key);
    let scopes = [
        Scope::Collection(CollectionId(key)),
        Scope::Flow(FlowId(key)),
        Scope::Step(QueueId(key)),
        Scope::Batch(BatchId(key)),
        Scope::Item(ItemId(key)),
        Scope::Task(TaskId(key)),
    ];
    let row = Hold {
        id,
        scope: pick(&scopes, key),
        reason: text("reason", variant),
        owner: name("owner", variant),
        since: Time(variant),
        until: (variant % 2 == 0).then_some(Time(count(variant))),
    };
    (id, row)
}

/// A schedule.
#[must_use]
pub fn schedule(key: i64, variant: i64) -> (ScheduleId, Schedule) {
    let id = ScheduleId(key);
    let calendar = Calendar {
        cron: Text::from("0 * * * *"),
        tz: text("Europe", variant),
        missed: pick(&[Missed::Latest, Missed::All, Missed::Skip], variant),
        overlap: pick(&[Overlap::Skip, Overlap::Allow, Overlap::Replace], variant),
    };
    let row = Schedule {
        id,
        flow: FlowId(key),
        item: ItemId(key),
        calendar,
        last_slot: Time(count(variant)),
        last_round: small(variant),
        removed: variant % 2 == 1,
    };
    (id, row)
}

/// A key.
#[must_use]
pub fn key(key: i64, variant: i64) -> (Name, Key) {
    let id = name("key", key);
    let row = Key {
        id: id.clone(),
        item: ItemId(key),
        name: name("holder", variant),
        role: pick(&Role::ALL, variant),
        collections: (0..variant % 3).map(|n| name("collection", n)).collect(),
        digest: digest(&variant.to_string()),
        made_at: Time(variant),
        changed_at: Time(count(variant)),
        revoked_at: (variant % 2 == 1).then_some(Time(count(variant + 1))),
    };
    (id, row)
}

/// An archive.
#[must_use]
pub fn archive(key: i64, variant: i64) -> (CollectionId, Archive) {
    let collection = CollectionId(key);
    let row = Archive {
        collection,
        kind: pick(&ArchiveKind::ALL, variant),
        place: text("place", variant),
        branch: text("branch", variant),
        first: count(key),
        trusted: variant % 2 == 0,
        identity: text("identity", variant),
        youngest: count(variant),
        noticed: count(variant),
        planned: count(variant),
        planned_id: text("id", variant),
        awaiting_since: Time(count(variant)),
        state: pick(&ArchiveState::ALL, variant),
        reason: text("reason", variant),
        since: Time(count(variant)),
        barrier: (0..variant % 3).map(TaskId).collect(),
        flows: (0..variant % 4).map(FlowId).collect(),
        depth_max: small(variant),
    };
    (collection, row)
}

/// A counter.
#[must_use]
pub fn counter(key: i64, variant: i64) -> (Counter, i64) {
    // The clock is left out: it would carry the time of every later transaction with it.
    let counters: Vec<_> = Counter::ALL.into_iter().filter(|c| *c != Counter::Clock).collect();
    (pick(&counters, key), count(variant))
}

/// An item.
#[must_use]
pub fn item(key: i64, variant: i64) -> (ItemId, Item) {
    let id = ItemId(key);
    let row = Item {
        id,
        collection: CollectionId(key % 2),
        kind: name("kind", key % 3),
        key: Text::from(format!("key/{key}")),
        priority: pick(&[0, 1, -1_000_000, 1_000_000], variant),
        first_seen_at: Time(1_700_000_000_000_000 + key),
        ordinal: (variant % 2 == 1).then_some(count(variant)),
        types: (0..variant % 3).map(|n| name("type", n)).collect(),
        attributes: text("{}", variant),
        changed_seq: count(variant),
        deleted: variant % 3 == 2,
    };
    (id, row)
}

/// A mark.
#[must_use]
pub fn mark(key: i64, variant: i64) -> ((ItemId, Name), Mark) {
    let row = Mark {
        n: count(variant),
        outcome: pick(&[Outcome::Success, Outcome::Failure], variant),
        based_on: variant,
        at: Time(variant),
        hidden: variant % 2 == 1,
        imported: variant % 3 == 1,
    };
    ((ItemId(key / 2), name("event", key)), row)
}

/// The body of a task: item `key / 2`, queue `key % 2`.
#[must_use]
pub fn body(key: i64, variant: i64) -> (TaskId, Body) {
    let id = TaskId(key);
    let queue = QueueId(key % 2 + 1);
    let row = Body {
        id,
        item: ItemId(key / 2),
        queue,
        flow: queue_flow(queue),
        version: VersionId(variant),
        part: if key % 3 == 0 { Text::from("") } else { Text::from(format!("part {key}")) },
        round: u32::try_from(key % 3 + 1).unwrap_or(1),
        solo: variant % 2 == 0,
        batch: (variant % 2 == 1).then_some(BatchId(variant % 3)),
        payload: text("{}", variant),
        created_at: Time(variant),
        fingerprint: text("seen", variant),
        depth: small(variant),
    };
    (id, row)
}

/// The flow of a queue, as [`queue`] has it.
#[must_use]
pub fn queue_flow(queue: QueueId) -> FlowId {
    FlowId(queue.0 % 2)
}

/// A task.
#[must_use]
pub fn task(key: i64, variant: i64) -> (TaskId, Task) {
    let id = TaskId(key);
    let causes = [
        Cause::None,
        Cause::Superseded(TaskId(key + 1)),
        Cause::TriggerGone,
        Cause::Skipped,
        Cause::Operator,
        Cause::Permanent,
        Cause::Exhausted,
        Cause::Poison,
        Cause::Timeout,
        Cause::Transient,
        Cause::NotYet,
    ];
    let row = Task {
        id,
        state: pick(&State::ALL, variant),
        token: Token(count(variant)),
        attempts: small(variant),
        failures: small(variant + 1),
        lapses: small(variant + 2),
        priority: pick(&[0, i32::MIN, i32::MAX], variant),
        ord: count(variant + 1),
        ready_at: Time(count(variant + 2)),
        spot: pick(&[Spot::Nowhere, Spot::Queue, Spot::Line, Spot::Timer], variant),
        admitted: pick(&[0, 1, u8::MAX], variant),
        blockers: small(variant + 3),
        lease: (variant % 2 == 1).then(|| lease_id(variant)),
        hold: (variant % 3 == 1).then_some(HoldId(variant)),
        cause: pick(&causes, variant),
        since: Time(count(variant + 3)),
    };
    (id, row)
}

/// The key of a round.
#[must_use]
pub fn round_key(key: i64) -> RoundKey {
    let round = u32::try_from(key % 3 + 1).unwrap_or(1);
    RoundKey { item: ItemId(key / 3), flow: FlowId(key % 2), round }
}

/// A round.
#[must_use]
pub fn round(key: i64, variant: i64) -> (RoundKey, Round) {
    let counts = std::array::from_fn(|i| small(variant + i as i64));
    let batch = (variant % 2 == 0).then_some(BatchId(variant));
    (round_key(key), Round { counts, blocking: small(variant), batch })
}

/// The newest instance of a step.
#[must_use]
pub fn newest(key: i64, variant: i64) -> (QueueId, (i64, TaskId)) {
    (QueueId(key), (count(variant), TaskId(variant)))
}

/// Slots of a limit.
#[must_use]
pub fn slots(key: i64, variant: i64) -> (Text, Slots) {
    (text("host", key), Slots { max: small(variant), used: small(variant + 1) })
}

/// A lease.
#[must_use]
pub fn lease(key: i64, variant: i64) -> (LeaseId, Lease) {
    let id = lease_id(key);
    let grip = |n| Grip {
        task: TaskId(n),
        token: Token(count(n + 3)),
        stopping: n % 2 == 1,
        basis: count(n),
        deadline: Time(count(n + variant)),
        silent_at: Time(n),
    };
    let row = Lease {
        id,
        worker: name("worker", variant),
        actor: name("actor", variant),
        ttl: Span(count(variant)),
        granted_at: Time(variant),
        expires_at: Time(1_000 + 7 * (variant + key)),
        grips: (0..variant % 4).map(grip).collect(),
    };
    (id, row)
}

/// A batch.
#[must_use]
pub fn batch(key: i64, variant: i64) -> (BatchId, Batch) {
    let id = BatchId(key);
    let row = Batch {
        id,
        collection: CollectionId(key),
        item: ItemId(key),
        state: pick(&BatchState::ALL, variant),
        total: count(variant),
        open: count(variant + 1),
        done: count(variant + 2),
        failed: count(variant + 3),
        cancelled: count(variant + 4),
        generation: small(variant),
    };
    (id, row)
}

/// A destination.
#[must_use]
pub fn destination(key: i64, variant: i64) -> (Text, Destination) {
    let due_at = (variant % 3 != 2).then_some(Time(variant % 2));
    (text("https://", key), Destination { next: count(variant), tries: small(variant), due_at })
}

/// An idempotency key.
#[must_use]
pub fn idem(key: i64, variant: i64) -> (Text, Idem) {
    let made = [
        Made::Round(round_key(variant), TaskId(variant)),
        Made::Event(ItemId(variant), count(variant)),
        Made::Batch(BatchId(variant)),
        Made::Item(ItemId(variant)),
        Made::Hold(HoldId(variant)),
    ];
    (text("idem", key), Idem { digest: digest(&variant.to_string()), made: pick(&made, variant) })
}

/// A manifest.
#[must_use]
pub fn manifest(key: i64, variant: i64) -> ((TaskId, Token), Manifest) {
    let state = pick(&ManifestState::ALL, variant);
    let row = Manifest { state, text: text("manifest", variant), at: Time(variant) };
    ((TaskId(key / 2), Token(key)), row)
}

fn rank(key: i64) -> Rank {
    let behind = i32::try_from(key / 4).unwrap_or_default() - 1;
    Rank { behind, ord: key / 2 - 1, task: TaskId(key) }
}

/// A place in a queue.
#[must_use]
pub fn ready(owner: i64, key: i64, _: i64) -> (QueueId, Rank, ()) {
    (QueueId(owner), rank(key), ())
}

/// A place in a line.
#[must_use]
pub fn line(owner: i64, key: i64, _: i64) -> (Text, Rank, ()) {
    (text("limit", owner), rank(key), ())
}

/// A place on the clock.
#[must_use]
pub fn timer(_: i64, key: i64, _: i64) -> ((), (Time, TaskId), ()) {
    ((), (Time(key / 2), TaskId(key)), ())
}

/// A dependency; odd owners are tasks that do not exist yet.
#[must_use]
pub fn dependent(owner: i64, key: i64, variant: i64) -> (Target, TaskId, Edge) {
    let when = pick(&[When::Done, When::Settled], variant);
    (target(owner), TaskId(key), Edge { when, inner: variant % 3 == 0 })
}

/// What a dependency points at.
#[must_use]
pub fn target(owner: i64) -> Target {
    match owner % 2 {
        0 => Target::Task(TaskId(owner)),
        _ => Target::Absent(Text::from(format!("flow.step@c/k/{owner}"))),
    }
}

/// An open instance.
#[must_use]
pub fn instance(owner: i64, key: i64, _: i64) -> (QueueId, (i64, TaskId), ()) {
    (QueueId(owner), (key / 2 - 1, TaskId(key)), ())
}

/// A task that met a hold.
#[must_use]
pub fn held(owner: i64, key: i64, _: i64) -> (HoldId, TaskId, ()) {
    (HoldId(owner), TaskId(key), ())
}

/// A member of a batch.
#[must_use]
pub fn member(owner: i64, key: i64, variant: i64) -> (BatchId, i64, Member) {
    let solo = (variant % 2 == 0).then_some(TaskId(variant));
    (BatchId(owner), key, Member { round: round_key(variant), solo })
}

/// An errand.
#[must_use]
pub fn errand(_: i64, key: i64, variant: i64) -> ((), ErrandId, Errand) {
    let id = ErrandId(key);
    let follows = [
        Follow::Settled(TaskId(variant)),
        Follow::Bind(text("address", variant), TaskId(variant)),
        Follow::Supersede(TaskId(variant)),
        Follow::Wake(ItemId(variant), 7, text("event", variant)),
        Follow::Rewound(ItemId(variant)),
        Follow::Fill(FlowId(variant), variant % 2 == 1),
        Follow::Release(HoldId(variant)),
        Follow::Report(BatchId(variant)),
        Follow::CancelBatch(BatchId(variant)),
        Follow::DeleteBatch(BatchId(variant)),
        Follow::RetryBatch(BatchId(variant)),
        Follow::DeleteItem(ItemId(variant)),
        Follow::Reprioritise(ItemId(variant), -7),
    ];
    let (follow, cursor) = (pick(&follows, variant), count(variant));
    ((), id, Errand { id, follow, cursor, actor: name("actor", variant), since: Time(variant) })
}

/// A letter.
#[must_use]
pub fn letter(owner: i64, key: i64, variant: i64) -> (Text, i64, Letter) {
    (text("https://", owner), key, Letter { body: text("body", variant), at: Time(variant) })
}

/// An event. Its hash is not chained: stores keep what they are given.
#[must_use]
pub fn event(item: i64, n: i64, variant: i64) -> Event {
    let detail = (variant % 2 == 1).then(|| text("detail", variant));
    Event {
        item: ItemId(item),
        n,
        name: name("event", variant % 4),
        at: Time(count(variant)),
        actor: name("actor", variant % 3),
        task: (variant % 3 == 1).then_some(TaskId(variant)),
        to: (variant % 4 == 1).then(|| pick(&State::ALL, variant)),
        token: (variant % 2 == 0).then_some(Token(count(variant))),
        outcome: (variant % 3 == 0).then(|| pick(&[Outcome::Success, Outcome::Failure], variant)),
        detail_digest: detail.as_deref().map(digest),
        detail,
        hash: digest(&format!("{item} {n} {variant}")),
    }
}
