//! Items and their marks.

use armarius_core::ids::{CollectionId, ItemId};
use armarius_core::rows::{Item, ItemKey, Mark};
use armarius_core::text::Name;
use armarius_core::view::View;

use crate::codes::list_text;
use crate::codes::outcome_code;
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::known::Highest;
use crate::postgres::load::{Stretches, Wishes};
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::{Grid, Kind};
use crate::postgres::words::Words;

pub(in crate::postgres) static ITEM: Table = Table::new(
    "item",
    1,
    4,
    &[
        ("id", Kind::I8),
        ("collection", Kind::I8),
        ("kind", Kind::I4),
        ("key", Kind::Text),
        ("first_seen_at", Kind::I8),
        ("priority", Kind::I4),
        ("ordinal", Kind::I8),
        ("types", Kind::Text),
        ("attributes", Kind::Text),
        ("changed_seq", Kind::I8),
        ("deleted", Kind::Flag),
    ],
);
/// Where an item's row names words.
pub(in crate::postgres) const ITEM_WORDS: &[usize] = &[2];

pub(in crate::postgres) static MARK: Table = Table::new(
    "mark",
    2,
    0,
    &[
        ("item", Kind::I8),
        ("name", Kind::I4),
        ("n", Kind::I8),
        ("outcome", Kind::I2),
        ("based_on", Kind::I8),
        ("at", Kind::I8),
        ("hidden", Kind::Flag),
        ("imported", Kind::Flag),
    ],
);
/// What [`MARKED_AFTER`] returns.
pub(in crate::postgres) static MARKED: Table = Table::new("mark", 1, 0, &[("item", Kind::I8)]);
/// Where a mark's row names words.
pub(in crate::postgres) const MARK_WORDS: &[usize] = &[1];

// The collection is of one shard, so the words are too: no shard is needed to find the item.
const BY_KEY: &str = "select t.id, k.collection, k.kind, k.key
    from unnest($2::bigint[], $3::integer[], $4::text[]) as k(collection, kind, key)
    cross join lateral (select t.id, t.shard from item as t where t.collection = k.collection
                        and t.kind = k.kind and t.key = k.key limit 1) as t
    where t.shard = any($1::smallint[])";

// Names are ordered as text, not by their numbers. The few marks of an item come first: the other
// way round all words would be walked in their order until enough of them marked it.
const MARK_NAMES_AFTER: &str = "select t.item, t.text, k.nth
    from unnest($2::bigint[], $3::text[], $4::bigint[])
        with ordinality as k(item, name, lim, nth)
    cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (
        select m.item, w.text from mark as m
        cross join lateral (select w.text from word as w
                            where w.shard = m.shard and w.id = m.name limit 1) as w
        where m.shard = s.shard and m.item = k.item and w.text > k.name
        order by w.text limit k.lim) as t";

/// Items by outcome of their marks: names, outcome, item and how many. The number of a name belongs
/// to one shard.
pub(in crate::postgres) const MARKED_AFTER: &str = "select t.item
    from unnest($1::integer[]) as k(name)
    cross join lateral (
        select m.item from mark as m where m.name = k.name
        and m.outcome = $2 and m.item > $3 order by m.item limit $4) as t
    order by t.item limit $4";

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View, highest: Highest) -> Answer<()> {
    let words = pen.words;
    pen.keep_large(
        &ITEM,
        &view.items,
        |k| highest.is_below(k.0),
        |k| Ok([k.0.into()]),
        |_, i| {
            Ok([
                i.id.0.into(),
                i.collection.0.into(),
                words.id(&i.kind)?.into(),
                (&*i.key).into(),
                i.first_seen_at.0.into(),
                i.priority.into(),
                i.ordinal.into(),
                list_text(&i.types)?.into(),
                (&*i.attributes).into(),
                i.changed_seq.into(),
                i.deleted.into(),
            ])
        },
    )?;
    let key = |(item, name): &(ItemId, Name)| Ok([item.0.into(), words.id(name)?.into()]);
    pen.keep(&MARK, &view.marks, key, |(item, name), m| {
        Ok([
            item.0.into(),
            words.id(name)?.into(),
            m.n.into(),
            outcome_code(m.outcome).into(),
            m.based_on.into(),
            m.at.0.into(),
            m.hidden.into(),
            m.imported.into(),
        ])
    })
}

pub(in crate::postgres) fn wish<'k>(keys: &'k [ItemId], wishes: &mut Wishes<'k>) -> Answer<()> {
    wishes.find(
        (ITEM.find(), &ITEM, ITEM_WORDS),
        keys,
        |k, grid| Ok(grid.push(&[k.0.into()])?),
        ITEM.key_grid(),
        |v| &mut v.items,
        |cells| item_of(cells).map(|item| (item.id, item)),
    )
}

pub(in crate::postgres) fn wish_keys<'k>(
    keys: &'k [ItemKey],
    words: &Words,
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    static FOUND: Table = Table::new(
        "item",
        1,
        0,
        &[("id", Kind::I8), ("collection", Kind::I8), ("kind", Kind::I4), ("key", Kind::Text)],
    );
    wishes.find(
        (BY_KEY, &FOUND, &[2]),
        keys,
        |k, grid| {
            // A kind that no row ever had has no number, and no items.
            for kind in words.ids(&k.kind) {
                grid.push(&[k.collection.0.into(), (*kind).into(), (&*k.key).into()])?;
            }
            Ok(())
        },
        Grid::new([Kind::I8, Kind::I4, Kind::Text]),
        |v| &mut v.item_keys,
        |cells| {
            let (collection, kind) = (CollectionId(cells.int(1)?), cells.word(2)?);
            Ok((ItemKey { collection, kind, key: cells.text(3)? }, ItemId(cells.int(0)?)))
        },
    )
}

pub(in crate::postgres) fn wish_marks<'k>(
    keys: &'k [(ItemId, Name)],
    words: &Words,
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    wishes.find(
        (MARK.find(), &MARK, MARK_WORDS),
        keys,
        |(item, name), grid| {
            for name in words.ids(name) {
                grid.push(&[item.0.into(), (*name).into()])?;
            }
            Ok(())
        },
        MARK.key_grid(),
        |v| &mut v.marks,
        mark_of,
    )
}

pub(in crate::postgres) fn wish_of_collection<'k>(
    keys: Stretches<CollectionId, ItemId>,
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    static ORDER: Table = Table::new("item", 1, 0, &[("collection", Kind::I8), ("id", Kind::I8)]);
    wishes.stretch(
        (&ORDER.stretch(&["collection"], &["id"]), &ORDER, &[]),
        keys,
        |owner, after| vec![owner.0.into(), after.map_or(i64::MIN, |i| i.0).into()],
        &ORDER.kinds(&["collection", "id"]),
        |v| &mut v.collection_items,
        |cells| Ok((ItemId(cells.int(1)?), ())),
    )
}

pub(in crate::postgres) fn wish_mark_names<'k>(
    keys: Stretches<ItemId, Name>,
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    static NAMES: Table = Table::new("mark", 2, 0, &[("item", Kind::I8), ("name", Kind::Text)]);
    wishes.stretch(
        (MARK_NAMES_AFTER, &NAMES, &[]),
        keys,
        |owner, after| vec![owner.0.into(), after.map_or("", |name| name.as_str()).into()],
        &NAMES.kinds(&["item", "name"]),
        |v| &mut v.item_marks,
        |cells| Ok((cells.name(1)?, ())),
    )
}

pub(in crate::postgres) fn item_of(cells: &Cells<'_>) -> Answer<Item> {
    Ok(Item {
        id: ItemId(cells.int(0)?),
        collection: CollectionId(cells.int(1)?),
        kind: cells.word(2)?,
        key: cells.text(3)?,
        first_seen_at: cells.time(4)?,
        priority: cells.small(5)?,
        ordinal: cells.maybe_int(6)?,
        types: cells.names(7)?,
        attributes: cells.text(8)?,
        changed_seq: cells.int(9)?,
        deleted: cells.flag(10)?,
    })
}

pub(in crate::postgres) fn mark_of(cells: &Cells<'_>) -> Answer<((ItemId, Name), Mark)> {
    let mark = Mark {
        n: cells.int(2)?,
        outcome: cells.outcome(3)?,
        based_on: cells.int(4)?,
        at: cells.time(5)?,
        hidden: cells.flag(6)?,
        imported: cells.flag(7)?,
    };
    Ok(((ItemId(cells.int(0)?), cells.word(1)?), mark))
}
