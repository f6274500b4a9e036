//! Answers what a view needs: everything is asked for at once, set-wise, and noted in one go.

use std::hash::Hash;

use armarius_core::text::Name;
use armarius_core::view::{self, Need, Ranged, View};

use super::cells::Cells;
use super::desk::Desk;
use super::fault::Answer;
use super::rows::{
    archive, batch, collection, counter, edge, errand, event, flow, hold, idem, item, key, lease,
    letter, line, manifest, round, schedule, task,
};
use super::table::Table;
use super::wire::{Cell, Grid, Kind, Row, Script};
use super::words::Words;

/// Loads the whole tables, and the names that follow from them.
pub(super) fn whole(desk: &mut Desk, view: &mut View) -> Answer<()> {
    let mut wishes = Wishes::new(desk);
    counter::wish_whole(&mut wishes)?;
    collection::wish_whole(&mut wishes)?;
    flow::wish_whole(&mut wishes)?;
    hold::wish_whole(&mut wishes)?;
    schedule::wish_whole(&mut wishes)?;
    archive::wish_whole(&mut wishes)?;
    key::wish_whole(&mut wishes)?;
    wishes.grant(desk, view)
}

/// Answers every need.
pub(super) fn load(desk: &mut Desk, needs: &[Need], view: &mut View) -> Answer<()> {
    let names = needs.iter().filter_map(name_in).collect();
    desk.learn(names)?;
    let mut sorted: Vec<&Need> = needs.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut wanted = Wanted::default();
    sorted.into_iter().for_each(|need| wanted.note(need));
    let mut wishes = Wishes::new(desk);
    wanted.wish(&desk.words, &mut wishes)?;
    wishes.grant(desk, view)
}

/// The name a need is about, where rows hold only its number.
fn name_in(need: &Need) -> Option<&Name> {
    if let Need::ItemKey(ItemKey { kind: name, .. }) | Need::Mark((_, name)) = need {
        return Some(name);
    }
    None
}

/// Stretches of a list: whose, after which entry, how many.
pub(super) type Stretches<P, K> = Vec<(P, Option<K>, usize)>;

/// What was asked for: statements, and what is done with their answers.
pub(super) struct Wishes<'k> {
    script: Script,
    shards: Vec<u16>,
    takes: Vec<Take<'k>>,
}

type Note<'k> = Box<dyn FnOnce(&Words, &[Row], &mut View) -> Answer<()> + 'k>;

struct Take<'k> {
    /// Columns that hold numbers of words.
    words: &'static [usize],
    note: Note<'k>,
}

impl<'k> Wishes<'k> {
    pub(super) fn new(desk: &Desk) -> Self {
        Self { script: Script::default(), shards: desk.shards.clone(), takes: Vec::new() }
    }

    /// A statement of its own: `$1` is the list of shards, `keys` follow.
    pub(super) fn ask(
        &mut self,
        sql: &str,
        keys: Option<Grid>,
        words: &'static [usize],
        note: impl FnOnce(&Words, &[Row], &mut View) -> Answer<()> + 'k,
    ) -> Answer<()> {
        let shards = self.shards.iter().map(|s| i64::from(*s));
        self.script.with_list(Kind::I2, shards)?;
        if let Some(keys) = keys {
            self.script.with_grid(keys)?;
        }
        self.script.ask(sql)?;
        self.takes.push(Take { words, note: Box::new(note) });
        Ok(())
    }

    /// Every row of a small table.
    pub(super) fn all(
        &mut self,
        table: &'static Table,
        words: &'static [usize],
        take: impl Fn(&Cells<'_>, &mut View) -> Answer<()> + 'k,
    ) -> Answer<()> {
        self.ask(table.all(), None, words, move |known, rows, view| {
            rows.iter().try_for_each(|row| take(&Cells::new(known, table, row), view))
        })
    }

    /// Rows by key, or their absence.
    pub(super) fn find<K, R>(
        &mut self,
        (sql, table, words): (&str, &'static Table, &'static [usize]),
        keys: &'k [K],
        bind: impl Fn(&K, &mut Grid) -> Answer<()>,
        grid: Grid,
        reach: fn(&mut View) -> &mut view::Table<K, R>,
        read: impl Fn(&Cells<'_>) -> Answer<(K, R)> + 'k,
    ) -> Answer<()>
    where
        K: Ord + Hash + Clone,
        R: 'k,
    {
        if keys.is_empty() {
            return Ok(());
        }
        let mut grid = grid;
        keys.iter().try_for_each(|key| bind(key, &mut grid))?;
        self.ask(sql, Some(grid), words, move |known, rows, view| {
            let note = reach(view);
            for row in rows {
                let (key, row) = read(&Cells::new(known, table, row))?;
                note.load(key, Some(row));
            }
            // What was found is not overwritten.
            keys.iter().for_each(|key| note.load(key.clone(), None));
            Ok(())
        })
    }

    /// Stretches of lists: owners, where they begin, how many entries. The statement returns the
    /// number of the stretch, from 1, behind the table's columns.
    pub(super) fn stretch<P, K, R>(
        &mut self,
        (sql, table, words): (&str, &'static Table, &'static [usize]),
        keys: Stretches<P, K>,
        bind: impl for<'b> Fn(&'b P, Option<&'b K>) -> Vec<Cell<'b>>,
        kinds: &[Kind],
        reach: fn(&mut View) -> &mut Ranged<P, K, R>,
        read: impl Fn(&Cells<'_>) -> Answer<(K, R)> + 'k,
    ) -> Answer<()>
    where
        P: Ord + Clone + 'k,
        K: Ord + Clone + 'k,
        R: Clone + 'k,
    {
        if keys.is_empty() {
            return Ok(());
        }
        let mut grid = Grid::new(kinds.iter().copied().chain([Kind::I8]));
        for (owner, after, n) in &keys {
            let mut cells = bind(owner, after.as_ref());
            // One more than asked for tells whether there are more.
            cells.push(Cell::Int(i64::try_from(clamped(*n)).unwrap_or(i64::MAX) + 1));
            grid.push(&cells)?;
        }
        self.ask(sql, Some(grid), words, move |known, rows, view| {
            let mut found: Vec<Vec<(K, R)>> = keys.iter().map(|_| Vec::new()).collect();
            for row in rows {
                let cells = Cells::new(known, table, row);
                let at: usize = cells.small(table.columns.len())?;
                let list = found.get_mut(at.wrapping_sub(1));
                list.ok_or_else(|| cells.wrong(0, "belongs to no list"))?.push(read(&cells)?);
            }
            for ((owner, after, n), mut list) in keys.into_iter().zip(found) {
                // Lists of several shards come one behind the other.
                list.sort_by(|a, b| a.0.cmp(&b.0));
                let complete = list.len() <= clamped(n);
                list.truncate(clamped(n));
                reach(view).load(owner, after, list, complete);
            }
            Ok(())
        })
    }

    /// Asks, learns the words that came, and notes everything.
    pub(super) fn grant(self, desk: &mut Desk, view: &mut View) -> Answer<()> {
        if self.script.is_empty() {
            return Ok(());
        }
        let replies = desk.run(self.script)?;
        let mut strange = Vec::new();
        for (take, reply) in self.takes.iter().zip(&replies) {
            desk.strange(&reply.rows, take.words, &mut strange);
        }
        desk.look_up(strange)?;
        for (take, reply) in self.takes.into_iter().zip(replies) {
            (take.note)(&desk.words, &reply.rows, view)?;
        }
        Ok(())
    }
}

fn clamped(n: usize) -> usize {
    n.clamp(1, i32::MAX as usize)
}

/// Keys of rows and stretches of lists, by table.
macro_rules! wanted {
    (rows { $($need:ident => $field:ident: $key:ty;)* }
     lists { $($lneed:ident => $lfield:ident: $owner:ty, $lkey:ty;)* }) => {
        #[derive(Default)]
        struct Wanted {
            $($field: Vec<$key>,)*
            $($lfield: Stretches<$owner, $lkey>,)*
        }

        impl Wanted {
            fn note(&mut self, need: &Need) {
                match need {
                    // Whole tables are loaded when the transaction begins.
                    Need::Collection(_) | Need::CollectionName(_) | Need::Flow(_)
                    | Need::FlowName(_) | Need::Queue(_) | Need::QueueName(_) | Need::Hold(_)
                    | Need::HoldScope(_) | Need::Schedule(_) | Need::Archive(_) | Need::Counter(_)
                    | Need::Key(_) => {}
                    $(Need::$need(key) => self.$field.push(key.clone()),)*
                    $(Need::$lneed(owner, after, n) => {
                        self.$lfield.push((owner.clone(), after.clone(), *n));
                    })*
                }
            }
        }
    };
}

use armarius_core::event::Hash as Digest;
use armarius_core::ids::{
    BatchId, CollectionId, ErrandId, FlowId, HoldId, ItemId, LeaseId, QueueId, TaskId, Time, Token,
    VersionId,
};
use armarius_core::rows::{ItemKey, Rank, RoundKey, Target, TaskKey};
use armarius_core::text::Text;

wanted! {
    rows {
        Version => versions: VersionId;
        VersionDigest => digests: (FlowId, Digest);
        Item => items: ItemId;
        ItemKey => item_keys: ItemKey;
        Head => heads: ItemId;
        Mark => marks: (ItemId, Name);
        Body => bodies: TaskId;
        TaskKey => task_keys: TaskKey;
        Task => tasks: TaskId;
        LatestRound => latest_rounds: (ItemId, FlowId);
        Round => rounds: RoundKey;
        Newest => newest: QueueId;
        Slots => slots: Text;
        Lease => leases: LeaseId;
        Batch => batches: BatchId;
        Destination => destinations: Text;
        Idem => idems: Text;
        Manifest => manifests: (TaskId, Token);
    }
    lists {
        Ready => ready: QueueId, Rank;
        Line => lines: Text, Rank;
        Timer => timers: (), (Time, TaskId);
        DueLease => due_leases: (), (Time, LeaseId);
        Dependents => dependents: Target, TaskId;
        Blockers => blockers: TaskId, Target;
        Instances => instances: QueueId, (i64, TaskId);
        Held => held: HoldId, TaskId;
        Members => members: BatchId, i64;
        ItemTasks => item_tasks: ItemId, TaskId;
        ItemMarks => item_marks: ItemId, Name;
        CollectionItems => collection_items: CollectionId, ItemId;
        Errands => errands: (), ErrandId;
        Letters => letters: Text, i64;
        DueLetters => due_letters: (), (Time, Text);
    }
}

impl Wanted {
    fn wish<'k>(&'k mut self, words: &Words, wishes: &mut Wishes<'k>) -> Answer<()> {
        line::wish_ready(std::mem::take(&mut self.ready), wishes)?;
        line::wish_lines(std::mem::take(&mut self.lines), wishes)?;
        line::wish_timers(std::mem::take(&mut self.timers), wishes)?;
        line::wish_instances(std::mem::take(&mut self.instances), wishes)?;
        lease::wish_due(std::mem::take(&mut self.due_leases), wishes)?;
        edge::wish_dependents(std::mem::take(&mut self.dependents), wishes)?;
        edge::wish_blockers(std::mem::take(&mut self.blockers), wishes)?;
        hold::wish_held(std::mem::take(&mut self.held), wishes)?;
        batch::wish_members(std::mem::take(&mut self.members), wishes)?;
        task::wish_of_item(std::mem::take(&mut self.item_tasks), wishes)?;
        item::wish_mark_names(std::mem::take(&mut self.item_marks), wishes)?;
        item::wish_of_collection(std::mem::take(&mut self.collection_items), wishes)?;
        errand::wish(std::mem::take(&mut self.errands), wishes)?;
        letter::wish_letters(std::mem::take(&mut self.letters), wishes)?;
        letter::wish_due(std::mem::take(&mut self.due_letters), wishes)?;
        flow::wish_versions(&self.versions, wishes)?;
        flow::wish_digests(&self.digests, wishes)?;
        item::wish(&self.items, wishes)?;
        item::wish_keys(&self.item_keys, words, wishes)?;
        item::wish_marks(&self.marks, words, wishes)?;
        event::wish_heads(&self.heads, wishes)?;
        task::wish_bodies(&self.bodies, wishes)?;
        task::wish_keys(&self.task_keys, wishes)?;
        task::wish(&self.tasks, wishes)?;
        task::wish_latest_rounds(&self.latest_rounds, wishes)?;
        round::wish(&self.rounds, wishes)?;
        line::wish_newest(&self.newest, wishes)?;
        line::wish_slots(&self.slots, wishes)?;
        lease::wish(&self.leases, wishes)?;
        batch::wish(&self.batches, wishes)?;
        letter::wish_destinations(&self.destinations, wishes)?;
        idem::wish(&self.idems, wishes)?;
        manifest::wish(&self.manifests, wishes)
    }
}
