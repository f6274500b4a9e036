//! Collections, and the shard each lives in.

use armarius_core::ids::{CollectionId, FlowId, ItemId};
use armarius_core::rows::Collection;
use armarius_core::view::View;

use super::tally::{self, Of, Sheet};
use crate::codes::{list_text, numbers_text};
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::known::Known;
use crate::postgres::load::Wishes;
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

/// The quiet part; the turn is a tally.
pub(in crate::postgres) static COLLECTION: Table = Table::new(
    "collection",
    1,
    0,
    &[
        ("id", Kind::I8),
        ("name", Kind::Text),
        ("item", Kind::I8),
        ("notify", Kind::Text),
        ("robots", Kind::Text),
    ],
);

// A collection of this name in another shard breaks the check of the column, and so the commit.
const PLACE: &str = "insert into place (name, shard) select k.name, $1
    from unnest($2::text[]) as k(name)
    on conflict (name) do update
    set shard = case when place.shard = excluded.shard then place.shard else -1 end";
const UNPLACE: &str = "delete from place using collection as t
    where t.shard = $1 and t.id = any($2::bigint[]) and place.name = t.name";

pub(in crate::postgres) const ALL: &str = "select t.id, t.name, t.item, t.notify, t.robots, v.vals
    from collection as t
    cross join lateral (select v.vals from tally as v where v.shard = t.shard and v.kind = 1
                        and v.id = t.id order by v.rev desc limit 1) as v
    where t.shard = any($1::smallint[]) order by t.id";

pub(in crate::postgres) fn write(
    pen: &mut Pen<'_>,
    view: &View,
    known: &Known,
    rev: i64,
) -> Answer<()> {
    let gone: Vec<i64> =
        view.collections.changes().filter(|c| c.1.is_none()).map(|c| c.0.0).collect();
    if !gone.is_empty() {
        let ids = gone.iter().copied();
        pen.script.with(Kind::I2, i64::from(pen.shard))?.with_list(Kind::I8, ids)?.ask(UNPLACE)?;
    }
    tally::delete(pen, Of::Collection, &gone)?;
    pen.delete(&COLLECTION, &view.collections, |k| Ok([k.0.into()]))?;
    let (mut rows, mut sheet) = (COLLECTION.grid(), Sheet::new(Of::Collection));
    let mut names: Vec<&str> = Vec::new();
    for (id, collection) in view.collections.changes() {
        let Some(c) = collection else { continue };
        sheet.push(id.0, &[c.served]);
        let before = known.collections.get(id);
        if before.is_some_and(|b| Collection { served: b.served, ..c.clone() } == *b) {
            continue;
        }
        if before.is_none_or(|b| b.name != c.name) {
            names.push(&c.name);
        }
        let robots = numbers_text(c.robots.iter().map(|f| f.0));
        let (name, notify) = (&*c.name, list_text(&c.notify)?);
        rows.push(&[id.0.into(), name.into(), c.item.0.into(), notify.into(), robots.into()])?;
    }
    COLLECTION.put(&mut pen.script, pen.shard, rows)?;
    if !names.is_empty() {
        names.sort_unstable();
        pen.script
            .with(Kind::I2, i64::from(pen.shard))?
            .with_list(Kind::Text, names)?
            .ask(PLACE)?;
    }
    sheet.write(pen, rev)
}

pub(in crate::postgres) fn wish_whole(wishes: &mut Wishes<'_>) -> Answer<()> {
    wishes.ask(ALL, None, &[], |words, rows, view| {
        for row in rows {
            let collection = collection_of(&Cells::new(words, &COLLECTION, row))?;
            view.collection_names.load(collection.name.clone(), Some(collection.id));
            view.collections.load(collection.id, Some(collection));
        }
        Ok(())
    })
}

pub(in crate::postgres) fn collection_of(cells: &Cells<'_>) -> Answer<Collection> {
    Ok(Collection {
        id: CollectionId(cells.int(0)?),
        name: cells.name(1)?,
        item: ItemId(cells.int(2)?),
        notify: cells.texts(3)?,
        robots: cells.numbers(4)?.into_iter().map(FlowId).collect(),
        served: tally::served_of(cells, 5)?,
    })
}
