//! Running numbers.

use armarius_core::rows::Counter;
use armarius_core::view::View;

use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

pub(in crate::sqlite) const ALL: &str = "select name, value from counter";

const SQL: Sql = Sql {
    table: "counter",
    put: "insert or replace into counter (name, value) values (?1, ?2)",
    delete: "delete from counter where name = ?1",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(&SQL, &view.counters, |k| Ok((name_of(*k),)), |k, n| Ok((name_of(*k), *n)))
}

pub(in crate::sqlite) fn load_whole(desk: &Desk, view: &mut View) -> Answer<()> {
    desk.each("counter", ALL, (), |cells| {
        let (counter, value) = counter_of(cells)?;
        view.counters.load(counter, Some(value));
        Ok(())
    })
}

pub(in crate::sqlite) fn counter_of(cells: &Cells<'_>) -> Answer<(Counter, i64)> {
    let name = cells.str(0)?;
    let counter = Counter::ALL.into_iter().find(|c| name_of(*c) == name);
    let counter = counter.ok_or_else(|| cells.wrong(0, "is no counter"))?;
    Ok((counter, cells.int(1)?))
}

fn name_of(counter: Counter) -> &'static str {
    match counter {
        Counter::Collection => "collection",
        Counter::Flow => "flow",
        Counter::Version => "version",
        Counter::Queue => "queue",
        Counter::Item => "item",
        Counter::Task => "task",
        Counter::Batch => "batch",
        Counter::Hold => "hold",
        Counter::Schedule => "schedule",
        Counter::Errand => "errand",
        Counter::Turn => "turn",
        Counter::Absent => "absent",
        Counter::Epoch => "epoch",
        Counter::Clock => "clock",
    }
}
