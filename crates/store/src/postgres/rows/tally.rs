//! Numbers that change with nearly every commit: see the comment on the table.

use armarius_core::ids::QueueId;
use armarius_core::ids::TaskId;
use armarius_core::rows::{Batch, BatchState, Rank};
use armarius_core::view::View;

use crate::codes::position;
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::pen::Pen;
use crate::postgres::wire::{Grid, Kind};

/// What a tally is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Of {
    Queue = 0,
    Collection = 1,
    Batch = 2,
}

/// Numbers of a queue: tasks per state, and its front.
const QUEUE_WIDTH: usize = 10;
const BATCH_WIDTH: usize = 7;

/// Before every rank.
pub(in crate::postgres) const RANK_MIN: Rank =
    Rank { behind: i32::MIN, ord: i64::MIN, task: TaskId(i64::MIN) };
/// Behind every rank: nothing is ready.
const RANK_MAX: Rank = Rank { behind: i32::MAX, ord: i64::MAX, task: TaskId(i64::MAX) };

// The newest row of each is found at the end of its key's range, and removed by its whole key.
// Lists of lists do not exist, so the numbers come as one list and are cut by their width.
const PUT: &str = "with i as (select k.id, k.nth from unnest($3::bigint[]) with ordinality
                              as k(id, nth)),
    gone as (delete from tally as t using
             (select i.id, (select max(x.rev) from tally as x where x.shard = $1 and x.kind = $2
                            and x.id = i.id) as rev from i) as o
             where t.shard = $1 and t.kind = $2 and t.id = o.id and t.rev = o.rev)
    insert into tally (shard, kind, id, rev, vals)
    select $1, $2, i.id, $4, ($6::bigint[])[(i.nth - 1) * $5 + 1 : i.nth * $5] from i";
const DELETE: &str = "delete from tally where shard = $1 and kind = $2 and id = any($3::bigint[])";

/// New numbers of some things of one kind.
pub(in crate::postgres) struct Sheet {
    of: Of,
    width: usize,
    ids: Vec<i64>,
    values: Vec<i64>,
}

impl Sheet {
    pub(in crate::postgres) fn new(of: Of) -> Self {
        let width = match of {
            Of::Queue => QUEUE_WIDTH,
            Of::Collection => 1,
            Of::Batch => BATCH_WIDTH,
        };
        Self { of, width, ids: Vec::new(), values: Vec::new() }
    }

    pub(in crate::postgres) fn push(&mut self, id: i64, values: &[i64]) {
        self.ids.push(id);
        self.values.extend_from_slice(values);
    }

    pub(in crate::postgres) fn write(self, pen: &mut Pen<'_>, rev: i64) -> Answer<()> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let width = i64::try_from(self.width).unwrap_or_default();
        pen.script
            .with(Kind::I2, i64::from(pen.shard))?
            .with(Kind::I2, self.of as i64)?
            .with_list(Kind::I8, self.ids)?
            .with(Kind::I8, rev)?
            .with(Kind::I8, width)?
            .with_list(Kind::I8, self.values)?
            .ask(PUT)?;
        Ok(())
    }
}

/// Removes the numbers of things that are gone.
pub(in crate::postgres) fn delete(pen: &mut Pen<'_>, of: Of, ids: &[i64]) -> Answer<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut gone = Grid::new([Kind::I8]);
    ids.iter().try_for_each(|id| gone.push(&[(*id).into()]))?;
    pen.script
        .with(Kind::I2, i64::from(pen.shard))?
        .with(Kind::I2, of as i64)?
        .with_grid(gone)?
        .ask(DELETE)?;
    Ok(())
}

/// The counts of a queue and its front.
pub(in crate::postgres) fn queue_of(cells: &Cells<'_>, i: usize) -> Answer<([i64; 7], Rank)> {
    let values = numbers(cells, i, QUEUE_WIDTH)?;
    let wrong = |_| cells.wrong(i, "does not have the numbers of a queue");
    let counts: [i64; 7] = values.get(..7).unwrap_or_default().try_into().map_err(wrong)?;
    let front: [i64; 3] = values.get(7..).unwrap_or_default().try_into().map_err(wrong)?;
    let behind = i32::try_from(front[0]).map_err(|_| cells.wrong(i, "has a front out of range"))?;
    Ok((counts, Rank { behind, ord: front[1], task: TaskId(front[2]) }))
}

/// The numbers of a batch, put into it.
pub(in crate::postgres) fn fill_batch(
    cells: &Cells<'_>,
    i: usize,
    batch: &mut Batch,
) -> Answer<()> {
    let values = numbers(cells, i, BATCH_WIDTH)?;
    let wrong = || cells.wrong(i, "does not have the numbers of a batch");
    let [state, total, open, done, failed, cancelled, generation] =
        <[i64; 7]>::try_from(values).map_err(|_| wrong())?;
    let state = usize::try_from(state).ok().and_then(|at| BatchState::ALL.get(at).copied());
    batch.state = state.ok_or_else(wrong)?;
    batch.generation = u32::try_from(generation).map_err(|_| wrong())?;
    (batch.total, batch.open, batch.done) = (total, open, done);
    (batch.failed, batch.cancelled) = (failed, cancelled);
    Ok(())
}

pub(in crate::postgres) fn batch_values(b: &Batch) -> [i64; BATCH_WIDTH] {
    let state = position(&BatchState::ALL, &b.state);
    [state, b.total, b.open, b.done, b.failed, b.cancelled, i64::from(b.generation)]
}

/// The turn of a collection.
pub(in crate::postgres) fn served_of(cells: &Cells<'_>, i: usize) -> Answer<i64> {
    Ok(numbers(cells, i, 1)?.first().copied().unwrap_or_default())
}

fn numbers(cells: &Cells<'_>, i: usize, width: usize) -> Answer<Vec<i64>> {
    let values: Option<Vec<i64>> = cells.list(i)?.into_iter().collect();
    let values = values.filter(|v| v.len() == width);
    values.ok_or_else(|| cells.wrong(i, "has another number of numbers"))
}

/// Where the ready tasks of a queue begin once the view is committed: a place that none stands
/// before. `before` was such a place until now.
pub(in crate::postgres) fn front(view: &View, queue: QueueId, before: Rank) -> Rank {
    match view.ready.first(&queue, 1) {
        Ok(mut known) => known.next().map_or(RANK_MAX, |(rank, ())| just_before(*rank)),
        Err(_) => {
            let new = view.ready.changes().filter(|(q, _, row)| **q == queue && row.is_some());
            new.map(|(_, rank, _)| just_before(*rank)).fold(before, Rank::min)
        }
    }
}

/// A place that only `rank` and what follows stands behind.
fn just_before(rank: Rank) -> Rank {
    Rank { task: TaskId(rank.task.0.saturating_sub(1)), ..rank }
}
