//! Everything in the file, as a [`World`]: read table by table, not by the ways `load` takes.

use armarius_core::ids::QueueId;

use super::desk::Desk;
use super::fault::Answer;
use super::rows::{
    archive, batch, collection, counter, edge, errand, event, flow, hold, idem, item, key, lease,
    letter, line, manifest, round, schedule, task,
};
use crate::world::World;

pub(super) fn dump(desk: &Desk) -> Answer<World> {
    let mut world = World::default();
    definitions(desk, &mut world)?;
    work(desk, &mut world)?;
    lists(desk, &mut world)?;
    outside(desk, &mut world)?;
    history(desk, &mut world)?;
    Ok(world)
}

fn definitions(desk: &Desk, world: &mut World) -> Answer<()> {
    let rows = desk.all("counter", counter::ALL, (), counter::counter_of)?;
    world.counters.extend(rows);
    let rows = desk.all("collection", collection::ALL, (), collection::collection_of)?;
    world.collections.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("flow", flow::FLOWS, (), flow::flow_of)?;
    world.flows.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("version", flow::VERSIONS, (), flow::version_of)?;
    world.versions.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("queue", flow::QUEUES, (), flow::queue_of)?;
    world.queues.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("hold", hold::ALL, (), hold::hold_of)?;
    world.holds.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("archive", archive::ALL, (), archive::archive_of)?;
    world.archives.extend(rows.into_iter().map(|r| (r.collection, r)));
    let rows = desk.all("schedule", schedule::ALL, (), schedule::schedule_of)?;
    world.schedules.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("key", key::ALL, (), key::key_of)?;
    world.keys.extend(rows.into_iter().map(|r| (r.id.clone(), r)));
    Ok(())
}

fn work(desk: &Desk, world: &mut World) -> Answer<()> {
    let rows = desk.all("item", item::ITEMS, (), item::item_of)?;
    world.items.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("mark", item::MARKS, (), item::mark_of)?;
    world.marks.extend(rows);
    let rows = desk.all("body", task::BODIES, (), task::body_of)?;
    world.bodies.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("task", task::TASKS, (), |cells| task::task_of(cells, 0))?;
    world.tasks.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("round", round::ALL, (), round::round_of)?;
    world.rounds.extend(rows);
    let rows = desk.all("newest", line::NEWEST, (), line::newest_of)?;
    world.newest.extend(rows);
    let rows = desk.all("slots", line::SLOTS, (), |c| Ok((c.text(0)?, line::slots_of(c)?)))?;
    world.slots.extend(rows);
    let rows = desk.all("lease", lease::ALL, (), lease::lease_of)?;
    world.leases.extend(rows.into_iter().map(|r| (r.id, r)));
    let rows = desk.all("batch", batch::ALL, (), batch::batch_of)?;
    world.batches.extend(rows.into_iter().map(|r| (r.id, r)));
    Ok(())
}

fn lists(desk: &Desk, world: &mut World) -> Answer<()> {
    desk.each("ready", line::READY, (), |cells| {
        let list = world.ready.entry(QueueId(cells.int(0)?)).or_default();
        list.insert(line::rank_of(cells)?, ());
        Ok(())
    })?;
    desk.each("line", line::LINES, (), |cells| {
        let list = world.lines.entry(cells.text(0)?).or_default();
        list.insert(line::rank_of(cells)?, ());
        Ok(())
    })?;
    desk.each("timer", line::TIMERS, (), |cells| {
        world.timers.entry(()).or_default().insert(line::timer_of(cells)?, ());
        Ok(())
    })?;
    desk.each("instance", line::INSTANCES, (), |cells| {
        let list = world.instances.entry(QueueId(cells.int(0)?)).or_default();
        list.insert(line::instance_of(cells)?, ());
        Ok(())
    })?;
    desk.each("held", hold::HELD, (), |cells| {
        let (hold, task) = hold::held_of(cells)?;
        world.held.entry(hold).or_default().insert(task, ());
        Ok(())
    })?;
    desk.each("edge", edge::ALL, (), |cells| {
        let (target, task, edge) = edge::edge_of(cells)?;
        world.dependents.entry(target).or_default().insert(task, edge);
        Ok(())
    })?;
    desk.each("member", batch::MEMBERS, (), |cells| {
        let (batch, n, member) = batch::member_of(cells)?;
        world.members.entry(batch).or_default().insert(n, member);
        Ok(())
    })?;
    desk.each("errand", errand::ALL, (), |cells| {
        let errand = errand::errand_of(cells)?;
        world.errands.entry(()).or_default().insert(errand.id, errand);
        Ok(())
    })
}

fn outside(desk: &Desk, world: &mut World) -> Answer<()> {
    let rows = desk.all("destination", letter::DESTINATIONS, (), letter::destination_of)?;
    world.destinations.extend(rows);
    desk.each("letter", letter::LETTERS, (), |cells| {
        let (destination, n, letter) = letter::letter_of(cells)?;
        world.letters.entry(destination).or_default().insert(n, letter);
        Ok(())
    })?;
    let rows = desk.all("idem", idem::ALL, (), idem::idem_of)?;
    world.idems.extend(rows);
    let rows = desk.all("manifest", manifest::ALL, (), manifest::manifest_of)?;
    world.manifests.extend(rows);
    Ok(())
}

fn history(desk: &Desk, world: &mut World) -> Answer<()> {
    let rows = desk.all("event", event::EVENTS, (), event::event_of)?;
    world.events.extend(rows.into_iter().map(|e| ((e.item, e.n), e)));
    let all = (-1_i64, i64::MAX);
    let rows = desk.all("commit", event::COMMITS_AFTER, all, event::commit_of)?;
    world.commits.extend(rows.into_iter().map(|c| (c.n, c)));
    Ok(())
}
