//! Everything in a shard, as a [`World`]: read table by table, not by the ways `load` takes.

use armarius_core::ids::QueueId;

use super::cells::Cells;
use super::desk::{Desk, Mode};
use super::fault::Answer;
use super::rows::{
    archive, batch, collection, counter, edge, errand, event, flow, hold, idem, item, key, lease,
    letter, line, manifest, round, schedule, task,
};
use super::table::Table;
use crate::world::World;

pub(super) fn dump(desk: &mut Desk) -> Answer<World> {
    desk.begin(Mode::Read, |_| Ok(()))?;
    let mut world = World::default();
    definitions(desk, &mut world)?;
    work(desk, &mut world)?;
    lists(desk, &mut world)?;
    outside(desk, &mut world)?;
    history(desk, &mut world)?;
    desk.abandon();
    Ok(world)
}

/// Every row of a table.
pub(super) fn all<R>(
    desk: &mut Desk,
    table: &'static Table,
    words: &[usize],
    read: impl Fn(&Cells<'_>) -> Answer<R>,
) -> Answer<Vec<R>> {
    all_by(desk, table.all(), table, words, read)
}

fn all_by<R>(
    desk: &mut Desk,
    sql: &str,
    table: &'static Table,
    words: &[usize],
    read: impl Fn(&Cells<'_>) -> Answer<R>,
) -> Answer<Vec<R>> {
    let mut script = desk.ask_shards()?;
    script.ask(sql)?;
    let rows = desk.rows(script, words)?;
    rows.iter().map(|row| read(&Cells::new(&desk.words, table, row))).collect()
}

fn definitions(desk: &mut Desk, world: &mut World) -> Answer<()> {
    let newest =
        all_by(desk, counter::NEWEST, &counter::HEAD, &[], |c| counter::counters_of(c, 2))?;
    world.counters.extend(newest.into_iter().flatten());
    let table = &collection::COLLECTION;
    let rows = all_by(desk, collection::ALL, table, &[], collection::collection_of)?;
    world.collections.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all(desk, &flow::FLOW, &[], flow::flow_of)?;
    world.flows.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all(desk, &flow::VERSION, &[], flow::version_of)?;
    world.versions.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all_by(desk, flow::QUEUES, &flow::QUEUE, &[], flow::queue_of)?;
    world.queues.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all(desk, &hold::HOLD, hold::HOLD_WORDS, hold::hold_of)?;
    world.holds.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all(desk, &archive::ARCHIVE, &[], archive::archive_of)?;
    world.archives.extend(rows.into_iter().map(|r| (r.collection, r)));
    let rows = all(desk, &schedule::SCHEDULE, &[], schedule::schedule_of)?;
    world.schedules.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all(desk, &key::KEY, &[], key::key_of)?;
    world.keys.extend(rows.into_iter().map(|r| (r.id.clone(), r)));
    Ok(())
}

fn work(desk: &mut Desk, world: &mut World) -> Answer<()> {
    let rows = all(desk, &item::ITEM, item::ITEM_WORDS, item::item_of)?;
    world.items.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all(desk, &item::MARK, item::MARK_WORDS, item::mark_of)?;
    world.marks.extend(rows);
    let rows = all(desk, &task::BODY, &[], task::body_of)?;
    world.bodies.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all(desk, &task::TASK, &[], task::task_of)?;
    world.tasks.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all(desk, &round::ROUND, &[], round::round_of)?;
    world.rounds.extend(rows);
    let rows = all(desk, &line::NEWEST, &[], line::newest_of)?;
    world.newest.extend(rows);
    let rows = all(desk, &line::SLOTS, &[], line::slots_of)?;
    world.slots.extend(rows);
    let rows = all(desk, &lease::LEASE, lease::LEASE_WORDS, lease::lease_of)?;
    world.leases.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = all_by(desk, batch::ALL, &batch::BATCH, &[], batch::batch_of)?;
    world.batches.extend(rows.into_iter().map(|r| (r.id, r)));
    Ok(())
}

fn lists(desk: &mut Desk, world: &mut World) -> Answer<()> {
    let rows = all(desk, &line::READY, &[], |c| Ok((QueueId(c.int(0)?), line::rank_of(c)?)))?;
    for (queue, rank) in rows {
        world.ready.entry(queue).or_default().insert(rank, ());
    }
    for (slots, rank) in all(desk, &line::LINE, &[], |c| Ok((c.text(0)?, line::rank_of(c)?)))? {
        world.lines.entry(slots).or_default().insert(rank, ());
    }
    for timer in all(desk, &line::TIMER, &[], line::timer_of)? {
        world.timers.entry(()).or_default().insert(timer, ());
    }
    let place = |c: &Cells<'_>| Ok((QueueId(c.int(0)?), line::instance_of(c)?));
    for (queue, at) in all(desk, &line::INSTANCE, &[], place)? {
        world.instances.entry(queue).or_default().insert(at, ());
    }
    for (hold, task) in all(desk, &hold::HELD, &[], hold::held_of)? {
        world.held.entry(hold).or_default().insert(task, ());
    }
    for (target, task, edge) in all(desk, &edge::EDGE, &[], edge::edge_of)? {
        world.dependents.entry(target).or_default().insert(task, edge);
    }
    for (batch, n, member) in all(desk, &batch::MEMBER, &[], batch::member_of)? {
        world.members.entry(batch).or_default().insert(n, member);
    }
    for errand in all(desk, &errand::ERRAND, errand::ERRAND_WORDS, errand::errand_of)? {
        world.errands.entry(()).or_default().insert(errand.id, errand);
    }
    Ok(())
}

fn outside(desk: &mut Desk, world: &mut World) -> Answer<()> {
    let rows = all(desk, &letter::DESTINATION, &[], letter::destination_of)?;
    world.destinations.extend(rows);
    for (destination, n, letter) in all(desk, &letter::LETTER, &[], letter::letter_of)? {
        world.letters.entry(destination).or_default().insert(n, letter);
    }
    world.idems.extend(all(desk, &idem::IDEM, &[], idem::idem_of)?);
    world.manifests.extend(all(desk, &manifest::MANIFEST, &[], manifest::manifest_of)?);
    Ok(())
}

fn history(desk: &mut Desk, world: &mut World) -> Answer<()> {
    let rows = all(desk, &event::EVENT, event::EVENT_WORDS, event::event_of)?;
    world.events.extend(rows.into_iter().map(|e| ((e.item, e.n), e)));
    let rows = all(desk, &event::COMMIT, &[], event::commit_of)?;
    world.commits.extend(rows.into_iter().map(|c| (c.n, c)));
    Ok(())
}
