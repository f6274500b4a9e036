//! What every rule works at: the view, the call, and a few ways to read and to write.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use crate::address::{self, ItemAddress};
use crate::command::Call;
use crate::event::{self, Canon, Event, Hash, Head, Outcome};
use crate::flow::check::did_you_mean;
use crate::flow::{Flow, Step};
use crate::ids::{CollectionId, FlowId, ItemId, QueueId, TaskId, Time, Token, in_shard};
use crate::limits;
use crate::refusal::{Code, Refusal};
use crate::rows::{
    Body, Collection, Counter, FlowRow, Follow, Idem, Item, ItemKey, Made, Mark, Queue, Task,
    Version,
};
use crate::task::State;
use crate::text::{Name, Text, check};
use crate::view::{Glanced, Need, Stop, View};

/// A result of a rule.
pub(super) type Rule<T> = Result<T, Stop>;

/// The view, the call, and what the present decision still causes.
pub(super) struct Desk<'a> {
    pub(super) view: &'a mut View,
    pub(super) call: &'a Call,
    /// Who acts: the caller, or whoever caused the errand that is being run.
    pub(super) actor: Name,
    /// What has to follow from what was decided.
    pub(super) follows: VecDeque<Follow>,
    /// Rows the follow-ups may still touch in this decision.
    pub(super) budget: usize,
    /// Rows that were only looked at, and will hardly be asked for again.
    pub(super) glanced: Option<Glanced>,
}

/// What an event says beyond who and when.
#[derive(Default)]
pub(super) struct Fact {
    pub(super) name: Option<Name>,
    pub(super) task: Option<TaskId>,
    pub(super) to: Option<State>,
    pub(super) token: Option<Token>,
    pub(super) outcome: Option<Outcome>,
    pub(super) detail: Option<Text>,
    /// SHA-256 of what the event is about and what stands elsewhere, when there is no detail.
    pub(super) digest: Option<Hash>,
}

/// The names of events that the rules write themselves.
macro_rules! event_names {
    ($($name:ident = $text:literal),* $(,)?) => {$(
        pub(super) static $name: LazyLock<Name> = LazyLock::new(|| Name::trusted($text));
    )*};
}

event_names! {
    TASK_WAITING = "task.waiting",
    TASK_HELD = "task.held",
    TASK_READY = "task.ready",
    TASK_LEASED = "task.leased",
    TASK_DONE = "task.done",
    TASK_FAILED = "task.failed",
    TASK_CANCELLED = "task.cancelled",
    TASK_STALE = "task.stale",
    TASK_STOPPED = "task.stopped",
    TASK_PRIORITY = "task.priority",
    ITEM_PUT = "item.put",
    ITEM_TOUCHED = "item.touched",
    ITEM_DELETED = "item.deleted",
    ITEM_PRIORITY = "item.priority",
    ITEM_REWOUND = "item.rewound",
    COLLECTION_PUT = "collection.put",
    FLOW_APPLIED = "flow.applied",
    FLOW_REMOVED = "flow.removed",
    HOLD_SET = "hold.set",
    HOLD_RELEASED = "hold.released",
    BATCH_OPENED = "batch.opened",
    BATCH_SEALED = "batch.sealed",
    BATCH_REPORTING = "batch.reporting",
    BATCH_REPORT_PAGE = "batch.report-page",
    BATCH_REPORTED = "batch.reported",
    BATCH_CANCELLED = "batch.cancelled",
    BATCH_RETRIED = "batch.retried",
    BATCH_DELETED = "batch.deleted",
    SCHEDULE_FIRED = "schedule.fired",
    SCHEDULE_SKIPPED = "schedule.skipped",
    EPOCH_RAISED = "epoch.raised",
    ARCHIVE_PUT = "archive.put",
    ARCHIVE_REACHED = "archive.reached",
    ARCHIVE_UNREACHABLE = "archive.unreachable",
    ARCHIVE_STOPPED = "archive.stopped",
    ARCHIVE_RESUMED = "archive.resumed",
    ARCHIVE_ACCEPTED = "archive.accepted",
    ARCHIVE_REMOVED = "archive.removed",
    REVISION_SEEN = "revision.seen",
    REVISION_PLANNED = "revision.planned",
    REVISION_INVALID = "revision.invalid",
    REVISION_RUNAWAY = "revision.runaway",
    REVISION_UNTRUSTED = "revision.untrusted",
    REVISION_SKIPPED = "revision.skipped",
    KEY_MADE = "key.made",
    KEY_CHANGED = "key.changed",
    KEY_REVOKED = "key.revoked",
    LINK_MADE = "link.made",
    LINK_USED = "link.used",
    SESSION_OPENED = "session.opened",
    SESSION_USED = "session.used",
    SESSION_ENDED = "session.ended",
}

/// Whether only the rules themselves may write events of this name.
pub(super) fn is_reserved(name: &Name) -> bool {
    ["task.", "item.", "revision.", "archive."].iter().any(|prefix| name.starts_with(prefix))
}

/// The event name of a transition into a state.
pub(super) fn event_name(state: State) -> &'static Name {
    match state {
        State::Waiting => &TASK_WAITING,
        State::Held => &TASK_HELD,
        State::Ready => &TASK_READY,
        State::Leased => &TASK_LEASED,
        State::Done => &TASK_DONE,
        State::Failed => &TASK_FAILED,
        State::Cancelled => &TASK_CANCELLED,
    }
}

impl<'a> Desk<'a> {
    pub(super) fn new(view: &'a mut View, call: &'a Call) -> Self {
        Self {
            view,
            call,
            actor: call.actor.clone(),
            follows: VecDeque::new(),
            budget: limits::FOLLOW_ROWS_MAX,
            glanced: None,
        }
    }

    pub(super) fn now(&self) -> Time {
        self.call.now
    }

    /// Stops with everything that is missing, if anything is.
    pub(super) fn require(&self, needs: impl Iterator<Item = Need>) -> Rule<()> {
        let needs: Vec<Need> = needs.collect();
        if needs.is_empty() { Ok(()) } else { Err(Stop::Need(needs)) }
    }

    /// The next number of a kind.
    pub(super) fn mint(&mut self, counter: Counter) -> Rule<i64> {
        let n = self.count(counter)?.saturating_add(1);
        self.view.counters.put(counter, n);
        Ok(in_shard(self.view.shard, n))
    }

    pub(super) fn count(&self, counter: Counter) -> Rule<i64> {
        Ok(self.view.counters.get(&counter)?.copied().unwrap_or(0))
    }

    /// Marks a budgeted piece of follow-up work; false when it must wait for an errand.
    pub(super) fn spend(&mut self, rows: usize) -> bool {
        match self.budget.checked_sub(rows) {
            Some(left) => {
                self.budget = left;
                true
            }
            None => false,
        }
    }

    // Reading what must be there.

    pub(super) fn collection_named(&self, name: &Name) -> Rule<&Collection> {
        let id = self.view.collection_names.get(name)?.copied();
        id.and_then(|id| self.view.collections.get(&id).ok().flatten()).ok_or_else(|| {
            Refusal::new(Code::NoSuchCollection, format!("there is no collection {name}"))
                .hint("make it first, or check the spelling")
                .into()
        })
    }

    pub(super) fn flow_named(&self, collection: &Collection, name: &Name) -> Rule<&FlowRow> {
        let key = (collection.id, name.clone());
        let id = self.view.flow_names.get(&key)?.copied();
        let row = id.and_then(|id| self.view.flows.get(&id).ok().flatten());
        row.filter(|f| !f.removed).ok_or_else(|| {
            Refusal::new(
                Code::NoSuchFlow,
                format!("there is no flow {name} in collection {}", collection.name),
            )
            .hint(did_you_mean(name, self.flows_of(collection), "apply its definition first"))
            .into()
        })
    }

    fn flows_of(&self, collection: &Collection) -> impl Iterator<Item = &str> {
        let rows = self.view.flows.iter().map(|(_, flow)| flow);
        rows.filter(|f| f.collection == collection.id && !f.removed).map(|f| f.name.as_str())
    }

    pub(super) fn collection(&self, id: CollectionId) -> Rule<&Collection> {
        self.view.collections.get(&id)?.ok_or_else(|| gap("collection", id.0))
    }

    pub(super) fn flow(&self, id: FlowId) -> Rule<&FlowRow> {
        self.view.flows.get(&id)?.ok_or_else(|| gap("flow", id.0))
    }

    pub(super) fn queue(&self, id: QueueId) -> Rule<&Queue> {
        self.view.queues.get(&id)?.ok_or_else(|| gap("queue", id.0))
    }

    pub(super) fn version(&self, body: &Body) -> Rule<&Version> {
        self.view.versions.get(&body.version)?.ok_or_else(|| gap("version", body.version.0))
    }

    /// The definition a task follows, by the version it was planned with.
    pub(super) fn def(&self, body: &Body) -> Rule<Arc<Flow>> {
        Ok(Arc::clone(&self.version(body)?.def))
    }

    /// The step a task follows, by the version it was planned with.
    pub(super) fn step(&self, body: &Body) -> Rule<&Step> {
        let name = &self.queue(body.queue)?.step;
        self.version(body)?.def.step(name).ok_or_else(|| gap("step of task", body.id.0))
    }

    /// The step a task follows, out of its definition.
    pub(super) fn step_in<'f>(&self, def: &'f Flow, body: &Body) -> Rule<&'f Step> {
        let name = &self.queue(body.queue)?.step;
        def.step(name).ok_or_else(|| gap("step of task", body.id.0))
    }

    pub(super) fn item(&self, id: ItemId) -> Rule<&Item> {
        self.view.items.get(&id)?.ok_or_else(|| gap("item", id.0))
    }

    pub(super) fn body(&self, id: TaskId) -> Rule<&Body> {
        self.view.bodies.get(&id)?.ok_or_else(|| gap("body of task", id.0))
    }

    pub(super) fn task(&self, id: TaskId) -> Rule<&Task> {
        self.view.tasks.get(&id)?.ok_or_else(|| {
            Refusal::new(Code::NoSuchTask, format!("there is no task {id}"))
                .hint("look it up by its address or in the list of tasks")
                .into()
        })
    }

    /// The item at an address, if it exists.
    pub(super) fn find_item(&self, at: &ItemAddress) -> Rule<Option<ItemId>> {
        let collection = self.collection_named(&at.collection)?.id;
        let key = ItemKey { collection, kind: at.kind.clone(), key: at.key.clone() };
        Ok(self.view.item_keys.get(&key)?.copied())
    }

    pub(super) fn item_at(&self, at: &ItemAddress) -> Rule<&Item> {
        match self.find_item(at)? {
            Some(id) => self.item(id),
            None => Err(Refusal::new(Code::NoSuchItem, format!("there is no item {at}"))
                .hint("put it first, or check kind and key")
                .into()),
        }
    }

    // Writing.

    /// Makes an item at an address that has none.
    pub(super) fn new_item(&mut self, at: &ItemAddress, priority: i32) -> Rule<ItemId> {
        check("key", &at.key, 1, limits::KEY_BYTES_MAX)?;
        let collection = self.collection_named(&at.collection)?.id;
        let id = ItemId(self.mint(Counter::Item)?);
        let item = Item {
            id,
            collection,
            kind: at.kind.clone(),
            key: at.key.clone(),
            priority,
            first_seen_at: self.now(),
            ordinal: None,
            types: Vec::new(),
            attributes: Text::from(""),
            changed_seq: 0,
            deleted: false,
        };
        let key = ItemKey { collection, kind: item.kind.clone(), key: item.key.clone() };
        self.view.items.put(id, item);
        self.view.item_keys.put(key, id);
        // A new item has no history, so nobody needs to look for one.
        self.view.heads.put(id, Head::default());
        self.view.item_tasks.begin(id);
        self.view.collection_items.put(collection, id, ());
        Ok(id)
    }

    /// Appends an event to an item's history.
    pub(super) fn append(&mut self, item: ItemId, fact: Fact) -> Rule<i64> {
        let head = self.view.heads.get(&item)?.copied().unwrap_or_default();
        let mut stream = String::with_capacity(64);
        let row = self.item(item)?;
        let home = self.collection(row.collection)?;
        address::push_item(&mut stream, &home.name, &row.kind, &row.key);
        let task = match fact.task {
            Some(task) => self.task_text(task)?,
            None => String::new(),
        };
        let mut event = Event {
            item,
            n: head.n.saturating_add(1),
            name: fact.name.unwrap_or_else(|| fact.to.map_or(&*TASK_STALE, event_name).clone()),
            at: self.now(),
            actor: self.actor.clone(),
            task: fact.task,
            to: fact.to,
            token: fact.token,
            outcome: fact.outcome,
            detail_digest: fact.detail.as_deref().map(event::digest).or(fact.digest),
            detail: fact.detail,
            hash: Hash::default(),
        };
        event.hash = event::chain(&event, Canon { stream: &stream, task: &task }, &head.hash);
        let n = event.n;
        self.view.heads.put(item, Head { n, hash: event.hash });
        self.view.events.push(event);
        Ok(n)
    }

    /// `flow.step#part~round`: what a task is within its item.
    pub(super) fn task_text(&self, task: TaskId) -> Rule<String> {
        let body = self.body(task)?;
        let queue = self.queue(body.queue)?;
        let flow = self.flow(body.flow)?;
        Ok(event::task_text(&flow.name, &queue.step, &body.part, body.round))
    }

    /// Writes the mark of an event.
    pub(super) fn mark(&mut self, item: ItemId, name: &Name, n: i64, outcome: Outcome, basis: i64) {
        let at = self.now();
        let mark = Mark { n, outcome, based_on: basis, at, hidden: false, imported: false };
        self.put_mark(item, name, mark);
    }

    pub(super) fn put_mark(&mut self, item: ItemId, name: &Name, mark: Mark) {
        self.view.item_marks.put(item, name.clone(), ());
        self.view.marks.put((item, name.clone()), mark);
    }

    /// Something happened to an item: the robots that an event of this name concerns (all, when it
    /// is empty) look at it before the decision is over.
    pub(super) fn wake_robots(&mut self, item: ItemId, by: &str, depth: u32) -> Rule<()> {
        let home = self.item(item)?.collection;
        if !self.collection(home)?.robots.is_empty() {
            self.follows.push_back(Follow::Wake(item, depth, by.into()));
        }
        Ok(())
    }

    /// What an idempotency key made before in a collection, after checking that it is the same
    /// request.
    pub(super) fn made_before(&self, home: &Name, request: &str) -> Rule<Option<Made>> {
        let Some(key) = self.idem_key(home)? else { return Ok(None) };
        match self.view.idems.get(&key)? {
            None => Ok(None),
            Some(idem) if idem.digest == event::digest(request) => Ok(Some(idem.made)),
            Some(_) => Err(Refusal::new(
                Code::KeyReused,
                "this idempotency key was used for a different request",
            )
            .hint("use a new key for a new request, the old one only to repeat it")
            .into()),
        }
    }

    /// Remembers what an idempotency key made.
    pub(super) fn remember(&mut self, home: &Name, request: &str, made: Made) -> Rule<()> {
        if let Some(key) = self.idem_key(home)? {
            self.view.idems.put(key, Idem { digest: event::digest(request), made });
        }
        Ok(())
    }

    /// Keys of different callers never meet, and neither do those of different collections: each
    /// collection may live elsewhere.
    fn idem_key(&self, home: &Name) -> Rule<Option<Text>> {
        let Some(idem) = &self.call.idem else { return Ok(None) };
        check("idempotency key", idem, 1, limits::IDEM_BYTES_MAX)?;
        let mut key = String::new();
        address::escape_name(&mut key, &self.call.actor);
        key.push('/');
        address::escape_name(&mut key, home);
        key.push('/');
        key.push_str(idem);
        Ok(Some(key.into()))
    }
}

/// A row that another row points at is missing: the store contradicts itself.
fn gap(what: &str, id: i64) -> Stop {
    Refusal::new(Code::WrongState, format!("the {what} {id} is missing from the store"))
        .hint("run `armarius doctor`")
        .into()
}

/// Refuses text that should be a JSON object, or empty, and is not.
pub(super) fn check_object(what: &str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    check(what, text, 0, bytes_max)?;
    if text.is_empty() {
        return Ok(());
    }
    // Only read, not kept: a payload is text, and stays as it was given.
    let hint = "give an object, like {\"host\":\"example.org\"}";
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(value) if value.get().starts_with('{') => Ok(()),
        Ok(_) => {
            Err(Refusal::new(Code::BadJson, format!("{what} is not a JSON object")).hint(hint))
        }
        Err(e) => Err(Refusal::new(Code::BadJson, format!("{what} is not JSON: {e}")).hint(hint)),
    }
}

/// Refuses a priority outside its range.
pub(super) fn check_priority(priority: i32) -> Result<(), Refusal> {
    let max = limits::PRIORITY_MAX;
    if (-max..=max).contains(&priority) {
        return Ok(());
    }
    Err(Refusal::new(Code::OutOfRange, format!("priority {priority} is out of range"))
        .hint(format!("use a number from -{max} to {max}; higher goes first")))
}
