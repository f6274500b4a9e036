//! Running numbers: they stand in the newest commit.

use armarius_core::rows::Counter;
use armarius_core::view::View;

use crate::postgres::cells::Cells;
use crate::postgres::fault::{Answer, corrupt};
use crate::postgres::load::Wishes;
use crate::postgres::table::Table;
use crate::postgres::wire::{Cell, Kind};

/// The newest commit of each shard.
pub(in crate::postgres) const NEWEST: &str = "select c.n, c.seal, c.counters
    from unnest($1::smallint[]) as s(shard)
    cross join lateral (select c.n, c.seal, c.counters from \"commit\" as c
                        where c.shard = s.shard order by c.n desc limit 1) as c";

pub(in crate::postgres) static HEAD: Table =
    Table::new("commit", 1, 0, &[("n", Kind::I8), ("seal", Kind::Bytes), ("counters", Kind::I8)]);

/// All running numbers of a view, in the order of the column.
pub(in crate::postgres) fn values(view: &View) -> Answer<Vec<Cell<'static>>> {
    let value = |counter: &Counter| {
        let known = view.counters.get(counter);
        known.map(|n| n.copied().into()).map_err(|_| corrupt("a running number is not known"))
    };
    Counter::ALL.iter().map(value).collect()
}

pub(in crate::postgres) fn wish_whole(wishes: &mut Wishes<'_>) -> Answer<()> {
    wishes.ask(NEWEST, None, &[], |words, rows, view| {
        for row in rows {
            for (counter, value) in counters_of(&Cells::new(words, &HEAD, row), 2)? {
                // Of several shards the highest of each is shown.
                let known = view.counters.get(&counter).ok().flatten().copied();
                if known.is_none() {
                    view.counters.load(counter, Some(value));
                }
            }
        }
        Ok(())
    })
}

pub(in crate::postgres) fn counters_of(cells: &Cells<'_>, i: usize) -> Answer<Vec<(Counter, i64)>> {
    let values = cells.list(i)?;
    if values.len() != Counter::ALL.len() {
        return Err(cells.wrong(i, "does not name every counter"));
    }
    let pairs = Counter::ALL.into_iter().zip(values);
    Ok(pairs.filter_map(|(counter, value)| Some((counter, value?))).collect())
}
