//! What the store itself knows of a shard, as of the newest commit: enough to write only what
//! changes. Another server's commit makes it load this anew.

use std::collections::{BTreeSet, HashMap};

use armarius_core::ids::{CollectionId, QueueId, in_shard};
use armarius_core::rows::{Collection, Queue, Rank};
use armarius_core::view::{CommitHead, View};

use super::cells::Cells;
use super::desk::Desk;
use super::fault::Answer;
use super::rows::tally::{self, RANK_MIN};
use super::rows::{collection, flow};
use super::table::Table;
use super::wire::Kind;

/// What is known, and as of which commit.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) head: Option<CommitHead>,
    pub(super) collections: HashMap<CollectionId, Collection>,
    pub(super) queues: HashMap<QueueId, (Queue, Rank)>,
    pub(super) items: Highest,
    pub(super) bodies: Highest,
    pub(super) tasks: Highest,
}

/// The highest number this shard has made in a table: a higher one is new.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Highest {
    highest: i64,
    end: i64,
}

impl Highest {
    /// Whether a number of this shard is above all that are there.
    pub(super) fn is_below(self, id: i64) -> bool {
        id > self.highest && id < self.end
    }

    fn note(&mut self, id: i64) {
        if self.is_below(id) {
            self.highest = id;
        }
    }
}

// The numbers this shard makes lie between $2 and $3; a row moved here from elsewhere may have
// another.
const HIGHEST: &str = "select
    (select max(id) from item where shard = ($1::smallint[])[1] and id >= $2 and id < $3),
    (select max(id) from body where shard = ($1::smallint[])[1] and id >= $2 and id < $3),
    (select max(id) from task where shard = ($1::smallint[])[1] and id >= $2 and id < $3)";
static HIGHEST_TABLE: Table =
    Table::new("item, body, task", 0, 0, &[("id", Kind::I8), ("id", Kind::I8), ("id", Kind::I8)]);

impl Known {
    /// Everything, as of the open transaction.
    pub(super) fn load(desk: &mut Desk, shard: u16, head: CommitHead) -> Answer<Self> {
        let (from, end) = (in_shard(shard, 0), in_shard(shard + 1, 0));
        let mut script = desk.ask_shards()?;
        script.ask(collection::ALL)?;
        let shards = desk.shards.iter().map(|s| i64::from(*s));
        script.with_list(Kind::I2, shards.clone())?.ask(flow::QUEUES)?;
        script.with_list(Kind::I2, shards)?.with(Kind::I8, from)?.with(Kind::I8, end)?;
        script.ask(HIGHEST)?;
        let replies = desk.run(script)?;
        let mut known = Self { head: Some(head), ..Self::default() };
        let mut replies = replies.into_iter();
        for row in replies.next().unwrap_or_default().rows {
            let cells = Cells::new(&desk.words, &collection::COLLECTION, &row);
            let collection = collection::collection_of(&cells)?;
            known.collections.insert(collection.id, collection);
        }
        for row in replies.next().unwrap_or_default().rows {
            let cells = Cells::new(&desk.words, &flow::QUEUE, &row);
            let queue = flow::queue_of(&cells)?;
            known.queues.insert(queue.id, (queue, tally::queue_of(&cells, 6)?.1));
        }
        for row in replies.next().unwrap_or_default().rows {
            let cells = Cells::new(&desk.words, &HIGHEST_TABLE, &row);
            let highest = |i| -> Answer<Highest> {
                Ok(Highest { highest: cells.maybe_int(i)?.unwrap_or(from - 1), end })
            };
            (known.items, known.bodies, known.tasks) = (highest(0)?, highest(1)?, highest(2)?);
        }
        Ok(known)
    }

    /// A place in a queue that no ready task stands before.
    pub(super) fn front(&self, queue: QueueId) -> Rank {
        self.queues.get(&queue).map_or(RANK_MIN, |(_, front)| *front)
    }

    /// Queues whose numbers or fronts a view changes.
    pub(super) fn moved(&self, view: &View) -> BTreeSet<QueueId> {
        let queues = view.queues.changes().filter(|c| c.1.is_some()).map(|c| *c.0);
        queues.chain(view.ready.changes().map(|c| *c.0)).collect()
    }

    /// Takes over what a view has changed, once it is committed.
    pub(super) fn committed(&mut self, view: &View, head: CommitHead) {
        let moved = self.moved(view);
        let fronts: Vec<(QueueId, Rank)> =
            moved.into_iter().map(|q| (q, tally::front(view, q, self.front(q)))).collect();
        for (id, collection) in view.collections.changes() {
            match collection {
                Some(c) => self.collections.insert(*id, c.clone()),
                None => self.collections.remove(id),
            };
        }
        for (id, queue) in view.queues.changes() {
            match queue {
                Some(q) => self.queues.insert(*id, (q.clone(), self.front(*id))),
                None => self.queues.remove(id),
            };
        }
        for (id, front) in fronts {
            if let Some(known) = self.queues.get_mut(&id) {
                known.1 = front;
            }
        }
        view.items.changes().filter(|c| c.1.is_some()).for_each(|c| self.items.note(c.0.0));
        view.bodies.changes().filter(|c| c.1.is_some()).for_each(|c| self.bodies.note(c.0.0));
        view.tasks.changes().filter(|c| c.1.is_some()).for_each(|c| self.tasks.note(c.0.0));
        self.head = Some(head);
    }
}
