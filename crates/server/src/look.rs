//! Questions: reading what is committed, in the words people use.

use armarius_core::address::{ItemAddress, TaskAddress};
use armarius_core::ids::{BatchId, ItemId, QueueId, TaskId};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::rows::{Body, Item, ItemKey, Task, TaskKey};
use armarius_core::text::Name;
use armarius_core::view::{Need, Stop, View};
use armarius_engine::seam::{Reader, StoreError};

use crate::body::TaskRef;
use crate::keys::Caller;
use crate::registry::Registry;

/// How often one question may ask for more rows.
const ROUNDS_MAX: usize = 1_000;

/// A reader with a sheet of what it has read so far.
pub(crate) struct Look<'r> {
    pub(crate) reader: &'r mut dyn Reader,
    pub(crate) view: View,
    /// How many shards there are behind it.
    pub(crate) shards: u16,
}

/// Why a question has no answer.
pub(crate) enum Lost {
    /// The answer is no.
    Refused(Refusal),
    /// The store.
    Store(StoreError),
}

impl From<StoreError> for Lost {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Refusal> for Lost {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

fn too_much() -> Lost {
    Lost::Store(StoreError::Unavailable("a question asked for too much".to_owned()))
}

impl<'r> Look<'r> {
    /// Begins with the newest picture of what is always read whole.
    pub(crate) fn begin(
        reader: &'r mut dyn Reader,
        registry: &Registry,
        shards: u16,
    ) -> Result<Self, StoreError> {
        let view = registry.sheet(reader)?;
        Ok(Self { reader, view, shards })
    }

    /// Asks until everything the question needs is there.
    pub(crate) fn ask<T>(
        &mut self,
        mut question: impl FnMut(&View) -> Result<T, Stop>,
    ) -> Result<T, Lost> {
        for _ in 0..ROUNDS_MAX {
            match question(&self.view) {
                Ok(answer) => return Ok(answer),
                Err(Stop::Need(needs)) => self.load(&needs)?,
                Err(Stop::Refuse(refusal)) => return Err(Lost::Refused(*refusal)),
            }
        }
        Err(too_much())
    }

    /// Asks the same about many things; what all of them need is loaded together.
    pub(crate) fn ask_all<I, T>(
        &mut self,
        things: &[I],
        question: impl Fn(&View, &I) -> Result<T, Stop>,
    ) -> Result<Vec<T>, Lost> {
        let mut answers: Vec<Option<T>> = things.iter().map(|_| None).collect();
        for _ in 0..ROUNDS_MAX {
            let mut needs = Vec::new();
            for (thing, answer) in things.iter().zip(&mut answers) {
                if answer.is_some() {
                    continue;
                }
                match question(&self.view, thing) {
                    Ok(found) => *answer = Some(found),
                    Err(Stop::Need(more)) => needs.extend(more),
                    Err(Stop::Refuse(refusal)) => return Err(Lost::Refused(*refusal)),
                }
            }
            if needs.is_empty() {
                return Ok(answers.into_iter().flatten().collect());
            }
            needs.sort_unstable();
            needs.dedup();
            self.load(&needs)?;
        }
        Err(too_much())
    }

    /// Loads what is known to be needed, in one go.
    pub(crate) fn load(&mut self, needs: &[Need]) -> Result<(), StoreError> {
        self.reader.look(needs, &mut self.view, false)
    }

    /// The item at an address, if the caller may see it.
    pub(crate) fn item_at(&mut self, caller: &Caller, at: &ItemAddress) -> Result<Item, Lost> {
        let unknown = || {
            let why = format!("there is no item {at}");
            Refusal::new(Code::NoSuchItem, why).hint("put it first, or check kind and key")
        };
        if !caller.may(&at.collection) {
            return Err(unknown().into());
        }
        let found = self.ask(|view| match find_item(view, at)? {
            Some(id) => Ok(view.items.get(&id)?.cloned()),
            None => Ok(None),
        })?;
        found.ok_or_else(|| unknown().into())
    }

    /// The number of a task, if the caller may see it.
    pub(crate) fn task_at(&mut self, caller: &Caller, task: &TaskRef) -> Result<TaskId, Lost> {
        match task {
            TaskRef::Number(number) => {
                self.visible_task(caller, TaskId(*number))?;
                Ok(TaskId(*number))
            }
            TaskRef::Address(at) => {
                let unknown = || no_task(&at.to_string());
                if !caller.may(&at.item.collection) {
                    return Err(unknown().into());
                }
                let found = self.ask(|view| find_task(view, at))?;
                found.ok_or_else(|| unknown().into())
            }
        }
    }

    /// Refuses a task that does not exist or is not in the caller's collections, alike.
    pub(crate) fn visible_task(&mut self, caller: &Caller, task: TaskId) -> Result<(), Lost> {
        let home = self.ask(|view| match view.bodies.get(&task)? {
            Some(body) => home_of(view, body.queue),
            None => Ok(None),
        })?;
        match home {
            Some(name) if caller.may(&name) => Ok(()),
            Some(_) | None => Err(no_task(&task.to_string()).into()),
        }
    }

    /// Refuses a batch that does not exist or is not in the caller's collections, alike.
    pub(crate) fn visible_batch(&mut self, caller: &Caller, batch: BatchId) -> Result<(), Lost> {
        let home = self.ask(|view| match view.batches.get(&batch)? {
            Some(row) => Ok(view.collections.get(&row.collection)?.map(|c| c.name.clone())),
            None => Ok(None),
        })?;
        match home {
            Some(name) if caller.may(&name) => Ok(()),
            Some(_) | None => {
                let why = format!("there is no batch {batch}");
                Err(Refusal::new(Code::NoSuchBatch, why).hint("open it first").into())
            }
        }
    }

    /// Loads what the addresses of tasks need.
    pub(crate) fn load_items_of(&mut self, tasks: &[(Body, Task)]) -> Result<(), StoreError> {
        let mut needs: Vec<Need> = tasks.iter().map(|(body, _)| Need::Item(body.item)).collect();
        let leases = tasks.iter().filter_map(|(_, task)| task.lease);
        needs.extend(leases.map(Need::Lease));
        needs.sort();
        needs.dedup();
        self.load(&needs)
    }
}

fn no_task(task: &str) -> Refusal {
    Refusal::new(Code::NoSuchTask, format!("there is no task {task}"))
        .hint("`armarius task list` shows those there are")
}

/// The collection of a queue.
pub(crate) fn home_of(view: &View, queue: QueueId) -> Result<Option<Name>, Stop> {
    let Some(queue) = view.queues.get(&queue)? else { return Ok(None) };
    Ok(view.collections.get(&queue.collection)?.map(|c| c.name.clone()))
}

pub(crate) fn find_item(view: &View, at: &ItemAddress) -> Result<Option<ItemId>, Stop> {
    let Some(collection) = view.collection_names.get(&at.collection)?.copied() else {
        return Ok(None);
    };
    let key = ItemKey { collection, kind: at.kind.clone(), key: at.key.clone() };
    Ok(view.item_keys.get(&key)?.copied())
}

fn find_task(view: &View, at: &TaskAddress) -> Result<Option<TaskId>, Stop> {
    let Some(collection) = view.collection_names.get(&at.item.collection)?.copied() else {
        return Ok(None);
    };
    let Some(flow) = view.flow_names.get(&(collection, at.flow.clone()))?.copied() else {
        return Ok(None);
    };
    let Some(queue) = view.queue_names.get(&(flow, at.step.clone()))?.copied() else {
        return Ok(None);
    };
    let Some(item) = find_item(view, &at.item)? else { return Ok(None) };
    let key = TaskKey { item, queue, part: at.part.clone(), round: at.round };
    Ok(view.task_keys.get(&key)?.copied())
}

/// How people write an item.
pub(crate) fn item_address(view: &View, id: ItemId) -> Result<String, Stop> {
    Ok(address_of(view, id)?.map_or_else(|| format!("item {id}"), |at| at.to_string()))
}

/// How people write a task.
pub(crate) fn task_address(view: &View, body: &Body) -> Result<String, Stop> {
    let parts =
        (view.flows.get(&body.flow)?, view.queues.get(&body.queue)?, address_of(view, body.item)?);
    let (Some(flow), Some(queue), Some(item)) = parts else {
        return Ok(format!("task {}", body.id));
    };
    let (flow, step) = (flow.name.clone(), queue.step.clone());
    Ok(TaskAddress { flow, step, item, part: body.part.clone(), round: body.round }.to_string())
}

pub(crate) fn address_of(view: &View, id: ItemId) -> Result<Option<ItemAddress>, Stop> {
    let Some(item) = view.items.get(&id)? else { return Ok(None) };
    let home = view.collections.get(&item.collection)?;
    Ok(home.map(|c| ItemAddress {
        collection: c.name.clone(),
        kind: item.kind.clone(),
        key: item.key.clone(),
    }))
}
