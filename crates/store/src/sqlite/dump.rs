//! Everything in the file, in pieces: read table by table, not by the ways `load` takes.

use armarius_core::ids::QueueId;

use super::cells::Cells;
use super::desk::Desk;
use super::fault::Answer;
use super::rows::{
    archive, batch, collection, counter, edge, errand, event, flow, hold, idem, item, key, lease,
    letter, line, manifest, round, schedule, task,
};
use crate::world::{Basket, Piece, World};

/// Everything at once.
pub(super) fn dump(desk: &Desk) -> Answer<World> {
    let mut world = World::default();
    {
        let mut take = |whole| {
            world = whole;
            Ok(())
        };
        let mut basket = Basket::new(Piece::WHOLE, &mut take);
        rows(desk, &mut basket)?;
        commits(desk, &mut basket)?;
        basket.hand_on()?;
    }
    Ok(world)
}

/// Every row and every event, but no commit.
pub(super) fn rows(desk: &Desk, basket: &mut Basket<'_>) -> Answer<()> {
    definitions(desk, basket)?;
    work(desk, basket)?;
    lists(desk, basket)?;
    outside(desk, basket)?;
    each(desk, basket, ("event", event::EVENTS), event::event_of, |w, e| {
        w.events.insert((e.item, e.n), e);
    })
}

/// Every commit, in order.
pub(super) fn commits(desk: &Desk, basket: &mut Basket<'_>) -> Answer<()> {
    desk.each("commit", event::COMMITS_AFTER, (-1_i64, i64::MAX), |cells| {
        let commit = event::commit_of(cells)?;
        basket.put((1 + commit.events.len(), cells.bytes_len()), |world| {
            world.commits.insert(commit.n, commit);
        })
    })
}

/// Every row of a table.
fn each<R>(
    desk: &Desk,
    basket: &mut Basket<'_>,
    (table, sql): (&'static str, &'static str),
    read: impl Fn(&Cells<'_>) -> Answer<R>,
    put: impl Fn(&mut World, R),
) -> Answer<()> {
    desk.each(table, sql, (), |cells| {
        let row = read(cells)?;
        basket.put((1, cells.bytes_len()), |world| put(world, row))
    })
}

pub(super) fn definitions(desk: &Desk, basket: &mut Basket<'_>) -> Answer<()> {
    each(desk, basket, ("counter", counter::ALL), counter::counter_of, |w, r| {
        w.counters.extend([r]);
    })?;
    each(desk, basket, ("collection", collection::ALL), collection::collection_of, |w, r| {
        w.collections.insert(r.id, r);
    })?;
    each(desk, basket, ("flow", flow::FLOWS), flow::flow_of, |w, r| {
        w.flows.insert(r.id, r);
    })?;
    each(desk, basket, ("version", flow::VERSIONS), flow::version_of, |w, r| {
        w.versions.insert(r.id, r);
    })?;
    each(desk, basket, ("queue", flow::QUEUES), flow::queue_of, |w, r| {
        w.queues.insert(r.id, r);
    })?;
    each(desk, basket, ("hold", hold::ALL), hold::hold_of, |w, r| {
        w.holds.insert(r.id, r);
    })?;
    each(desk, basket, ("archive", archive::ALL), archive::archive_of, |w, r| {
        w.archives.insert(r.collection, r);
    })?;
    each(desk, basket, ("schedule", schedule::ALL), schedule::schedule_of, |w, r| {
        w.schedules.insert(r.id, r);
    })?;
    each(desk, basket, ("key", key::ALL), key::key_of, |w, r| {
        w.keys.insert(r.id.clone(), r);
    })?;
    Ok(())
}

fn work(desk: &Desk, basket: &mut Basket<'_>) -> Answer<()> {
    each(desk, basket, ("item", item::ITEMS), item::item_of, |w, r| {
        w.items.insert(r.id, r);
    })?;
    each(desk, basket, ("mark", item::MARKS), item::mark_of, |w, r| {
        w.marks.extend([r]);
    })?;
    each(desk, basket, ("body", task::BODIES), task::body_of, |w, r| {
        w.bodies.insert(r.id, r);
    })?;
    each(
        desk,
        basket,
        ("task", task::TASKS),
        |c| task::task_of(c, 0),
        |w, r| {
            w.tasks.insert(r.id, r);
        },
    )?;
    each(desk, basket, ("round", round::ALL), round::round_of, |w, r| {
        w.rounds.extend([r]);
    })?;
    each(desk, basket, ("newest", line::NEWEST), line::newest_of, |w, r| {
        w.newest.extend([r]);
    })?;
    each(
        desk,
        basket,
        ("slots", line::SLOTS),
        |c| Ok((c.text(0)?, line::slots_of(c)?)),
        |w, r| {
            w.slots.extend([r]);
        },
    )?;
    each(desk, basket, ("lease", lease::ALL), lease::lease_of, |w, r| {
        w.leases.insert(r.id, r);
    })?;
    each(desk, basket, ("batch", batch::ALL), batch::batch_of, |w, r| {
        w.batches.insert(r.id, r);
    })?;
    Ok(())
}

fn lists(desk: &Desk, basket: &mut Basket<'_>) -> Answer<()> {
    let rank = |c: &Cells<'_>| Ok((QueueId(c.int(0)?), line::rank_of(c)?));
    each(desk, basket, ("ready", line::READY), rank, |w, (queue, rank)| {
        w.ready.entry(queue).or_default().insert(rank, ());
    })?;
    let rank = |c: &Cells<'_>| Ok((c.text(0)?, line::rank_of(c)?));
    each(desk, basket, ("line", line::LINES), rank, |w, (slots, rank)| {
        w.lines.entry(slots).or_default().insert(rank, ());
    })?;
    each(desk, basket, ("timer", line::TIMERS), line::timer_of, |w, timer| {
        w.timers.entry(()).or_default().insert(timer, ());
    })?;
    let place = |c: &Cells<'_>| Ok((QueueId(c.int(0)?), line::instance_of(c)?));
    each(desk, basket, ("instance", line::INSTANCES), place, |w, (queue, at)| {
        w.instances.entry(queue).or_default().insert(at, ());
    })?;
    each(desk, basket, ("held", hold::HELD), hold::held_of, |w, (hold, task)| {
        w.held.entry(hold).or_default().insert(task, ());
    })?;
    each(desk, basket, ("edge", edge::ALL), edge::edge_of, |w, (target, task, edge)| {
        w.dependents.entry(target).or_default().insert(task, edge);
    })?;
    each(desk, basket, ("member", batch::MEMBERS), batch::member_of, |w, (batch, n, member)| {
        w.members.entry(batch).or_default().insert(n, member);
    })?;
    each(desk, basket, ("errand", errand::ALL), errand::errand_of, |w, errand| {
        w.errands.entry(()).or_default().insert(errand.id, errand);
    })
}

fn outside(desk: &Desk, basket: &mut Basket<'_>) -> Answer<()> {
    each(desk, basket, ("destination", letter::DESTINATIONS), letter::destination_of, |w, r| {
        w.destinations.extend([r]);
    })?;
    each(desk, basket, ("letter", letter::LETTERS), letter::letter_of, |w, (to, n, letter)| {
        w.letters.entry(to).or_default().insert(n, letter);
    })?;
    each(desk, basket, ("idem", idem::ALL), idem::idem_of, |w, r| {
        w.idems.extend([r]);
    })?;
    each(desk, basket, ("manifest", manifest::ALL), manifest::manifest_of, |w, r| {
        w.manifests.extend([r]);
    })
}
