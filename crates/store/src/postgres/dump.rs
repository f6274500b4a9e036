//! Everything in a shard, in pieces: read table by table, not by the ways `load` takes.

use armarius_core::ids::QueueId;

use super::cells::Cells;
use super::desk::{Desk, Mode};
use super::fault::Answer;
use super::rows::{
    archive, batch, collection, counter, edge, errand, event, flow, hold, idem, item, key, lease,
    letter, line, manifest, round, schedule, task,
};
use super::table::Table;
use super::wire::Script;
use crate::world::{Basket, Piece, World};

/// Rows the server sends at a time; each may have a few hundred kilobytes.
const FETCH_ROWS_MAX: usize = 500;

// Whoever takes a piece may take long with it.
const NO_HURRY: &str = "select set_config('idle_in_transaction_session_timeout', '0', true)";

/// Everything at once.
pub(super) fn dump(desk: &mut Desk) -> Answer<World> {
    let mut world = World::default();
    {
        let mut take = |whole| {
            world = whole;
            Ok(())
        };
        everything(desk, &mut Basket::new(Piece::WHOLE, &mut take))?;
    }
    Ok(world)
}

/// Everything, as of one moment.
pub(super) fn everything(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    begin(desk)?;
    all_rows(desk, basket)?;
    all_commits(desk, basket)?;
    desk.abandon();
    basket.hand_on()
}

/// Every row and every event, but no commit.
pub(super) fn rows(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    begin(desk)?;
    all_rows(desk, basket)?;
    desk.abandon();
    basket.hand_on()
}

/// Every commit, in order.
pub(super) fn commits(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    begin(desk)?;
    all_commits(desk, basket)?;
    desk.abandon();
    basket.hand_on()
}

/// What is small and defines the rest.
pub(super) fn definitions(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    begin(desk)?;
    all_definitions(desk, basket)?;
    desk.abandon();
    basket.hand_on()
}

/// One picture of the shard, for as long as it takes.
fn begin(desk: &mut Desk) -> Answer<()> {
    let first = |script: &mut Script| {
        script.ask(NO_HURRY)?;
        Ok(())
    };
    desk.begin(Mode::Read, first).map(drop)
}

fn all_rows(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    all_definitions(desk, basket)?;
    work(desk, basket)?;
    lists(desk, basket)?;
    outside(desk, basket)?;
    let events = Rows::of(&event::EVENT, event::EVENT_WORDS);
    each(desk, basket, events, event::event_of, |w, e| {
        w.events.insert((e.item, e.n), e);
    })
}

fn all_commits(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    fetch(desk, Rows::of(&event::COMMIT, &[]), &mut |cells| {
        let commit = event::commit_of(cells)?;
        basket.put((1 + commit.events.len(), cells.bytes_len()), |world| {
            world.commits.insert(commit.n, commit);
        })
    })
}

/// The rows of a table, and where they name words.
struct Rows {
    sql: &'static str,
    table: &'static Table,
    words: &'static [usize],
}

impl Rows {
    fn of(table: &'static Table, words: &'static [usize]) -> Self {
        Self { sql: table.walk(), table, words }
    }

    /// By a statement of its own.
    fn by(sql: &'static str, table: &'static Table) -> Self {
        Self { sql, table, words: &[] }
    }
}

/// Every row of a table.
fn each<R>(
    desk: &mut Desk,
    basket: &mut Basket<'_>,
    rows: Rows,
    read: impl Fn(&Cells<'_>) -> Answer<R>,
    put: impl Fn(&mut World, R),
) -> Answer<()> {
    fetch(desk, rows, &mut |cells| {
        let row = read(cells)?;
        basket.put((1, cells.bytes_len()), |world| put(world, row))
    })
}

/// Asks for some rows after the others: the server keeps the place.
fn fetch(
    desk: &mut Desk,
    Rows { sql, table, words }: Rows,
    take: &mut dyn FnMut(&Cells<'_>) -> Answer<()>,
) -> Answer<()> {
    let name = table.name;
    let mut script = desk.ask_shards()?;
    script.ask(&format!("declare \"all {name}\" no scroll cursor for {sql}"))?;
    desk.run(script)?;
    let next = format!("fetch {FETCH_ROWS_MAX} from \"all {name}\"");
    loop {
        let mut script = Script::default();
        script.ask(&next)?;
        let rows = desk.rows(script, words)?;
        rows.iter().try_for_each(|row| take(&Cells::new(&desk.words, table, row)))?;
        if rows.len() < FETCH_ROWS_MAX {
            break;
        }
    }
    let mut script = Script::default();
    script.ask(&format!("close \"all {name}\""))?;
    desk.run(script).map(drop)
}

fn all_definitions(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    let newest = |c: &Cells<'_>| counter::counters_of(c, 2);
    each(desk, basket, Rows::by(counter::NEWEST, &counter::HEAD), newest, |w, r| {
        w.counters.extend(r);
    })?;
    let rows = Rows::by(collection::ALL, &collection::COLLECTION);
    each(desk, basket, rows, collection::collection_of, |w, r| {
        w.collections.insert(r.id, r);
    })?;
    each(desk, basket, Rows::of(&flow::FLOW, &[]), flow::flow_of, |w, r| {
        w.flows.insert(r.id, r);
    })?;
    each(desk, basket, Rows::of(&flow::VERSION, &[]), flow::version_of, |w, r| {
        w.versions.insert(r.id, r);
    })?;
    each(desk, basket, Rows::by(flow::QUEUES, &flow::QUEUE), flow::queue_of, |w, r| {
        w.queues.insert(r.id, r);
    })?;
    each(desk, basket, Rows::of(&hold::HOLD, hold::HOLD_WORDS), hold::hold_of, |w, r| {
        w.holds.insert(r.id, r);
    })?;
    each(desk, basket, Rows::of(&archive::ARCHIVE, &[]), archive::archive_of, |w, r| {
        w.archives.insert(r.collection, r);
    })?;
    each(desk, basket, Rows::of(&schedule::SCHEDULE, &[]), schedule::schedule_of, |w, r| {
        w.schedules.insert(r.id, r);
    })?;
    each(desk, basket, Rows::of(&key::KEY, &[]), key::key_of, |w, r| {
        w.keys.insert(r.id.clone(), r);
    })?;
    Ok(())
}

fn work(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    each(desk, basket, Rows::of(&item::ITEM, item::ITEM_WORDS), item::item_of, |w, r| {
        w.items.insert(r.id, r);
    })?;
    each(desk, basket, Rows::of(&item::MARK, item::MARK_WORDS), item::mark_of, |w, r| {
        w.marks.extend([r]);
    })?;
    each(desk, basket, Rows::of(&task::BODY, &[]), task::body_of, |w, r| {
        w.bodies.insert(r.id, r);
    })?;
    each(desk, basket, Rows::of(&task::TASK, &[]), task::task_of, |w, r| {
        w.tasks.insert(r.id, r);
    })?;
    each(desk, basket, Rows::of(&round::ROUND, &[]), round::round_of, |w, r| {
        w.rounds.extend([r]);
    })?;
    each(desk, basket, Rows::of(&line::NEWEST, &[]), line::newest_of, |w, r| {
        w.newest.extend([r]);
    })?;
    each(desk, basket, Rows::of(&line::SLOTS, &[]), line::slots_of, |w, r| {
        w.slots.extend([r]);
    })?;
    each(desk, basket, Rows::of(&lease::LEASE, lease::LEASE_WORDS), lease::lease_of, |w, r| {
        w.leases.insert(r.id, r);
    })?;
    each(desk, basket, Rows::by(batch::ALL, &batch::BATCH), batch::batch_of, |w, r| {
        w.batches.insert(r.id, r);
    })?;
    Ok(())
}

fn lists(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    let rank = |c: &Cells<'_>| Ok((QueueId(c.int(0)?), line::rank_of(c)?));
    each(desk, basket, Rows::of(&line::READY, &[]), rank, |w, (queue, rank)| {
        w.ready.entry(queue).or_default().insert(rank, ());
    })?;
    let rank = |c: &Cells<'_>| Ok((c.text(0)?, line::rank_of(c)?));
    each(desk, basket, Rows::of(&line::LINE, &[]), rank, |w, (slots, rank)| {
        w.lines.entry(slots).or_default().insert(rank, ());
    })?;
    each(desk, basket, Rows::of(&line::TIMER, &[]), line::timer_of, |w, timer| {
        w.timers.entry(()).or_default().insert(timer, ());
    })?;
    let place = |c: &Cells<'_>| Ok((QueueId(c.int(0)?), line::instance_of(c)?));
    each(desk, basket, Rows::of(&line::INSTANCE, &[]), place, |w, (queue, at)| {
        w.instances.entry(queue).or_default().insert(at, ());
    })?;
    each(desk, basket, Rows::of(&hold::HELD, &[]), hold::held_of, |w, (hold, task)| {
        w.held.entry(hold).or_default().insert(task, ());
    })?;
    each(desk, basket, Rows::of(&edge::EDGE, &[]), edge::edge_of, |w, (target, task, edge)| {
        w.dependents.entry(target).or_default().insert(task, edge);
    })?;
    let members = Rows::of(&batch::MEMBER, &[]);
    each(desk, basket, members, batch::member_of, |w, (batch, n, member)| {
        w.members.entry(batch).or_default().insert(n, member);
    })?;
    let errands = Rows::of(&errand::ERRAND, errand::ERRAND_WORDS);
    each(desk, basket, errands, errand::errand_of, |w, errand| {
        w.errands.entry(()).or_default().insert(errand.id, errand);
    })
}

fn outside(desk: &mut Desk, basket: &mut Basket<'_>) -> Answer<()> {
    each(desk, basket, Rows::of(&letter::DESTINATION, &[]), letter::destination_of, |w, r| {
        w.destinations.extend([r]);
    })?;
    let letters = Rows::of(&letter::LETTER, &[]);
    each(desk, basket, letters, letter::letter_of, |w, (to, n, letter)| {
        w.letters.entry(to).or_default().insert(n, letter);
    })?;
    each(desk, basket, Rows::of(&idem::IDEM, &[]), idem::idem_of, |w, r| {
        w.idems.extend([r]);
    })?;
    each(desk, basket, Rows::of(&manifest::MANIFEST, &[]), manifest::manifest_of, |w, r| {
        w.manifests.extend([r]);
    })
}
