//! Items and their marks.

use std::collections::BTreeMap;

use armarius_core::event::Outcome;
use armarius_core::ids::{CollectionId, ItemId};
use armarius_core::rows::{Item, ItemKey, Mark};
use armarius_core::text::Name;
use armarius_core::view::View;

use crate::codes::list_text;
use crate::codes::outcome_code;
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql, near};
use crate::sqlite::fault::Answer;

macro_rules! item_columns {
    () => {
        "select id, collection, kind, key, priority, first_seen_at, ordinal, types, attributes,
         changed_seq, deleted from item"
    };
}

macro_rules! mark_columns {
    () => {
        "select item, name, n, outcome, based_on, at, hidden, imported from mark"
    };
}

pub(in crate::sqlite) const ITEMS: &str = item_columns!();
pub(in crate::sqlite) const MARKS: &str = mark_columns!();
pub(in crate::sqlite) const MARKS_OF_ITEMS: &str =
    concat!(mark_columns!(), " where item >= ?1 and item <= ?2");
pub(in crate::sqlite) const ITEMS_AFTER: &str =
    concat!(item_columns!(), " where collection = ?1 and id > ?2 order by id limit ?3");
const ITEM: &str = concat!(item_columns!(), " where id = ?1");
const ITEMS_BETWEEN: &str = concat!(item_columns!(), " where id >= ?1 and id <= ?2");
const ITEM_BY_KEY: &str = "select id from item where collection = ?1 and kind = ?2 and key = ?3";
const IDS_AFTER: &str =
    "select id from item where collection = ?1 and id > ?2 order by id limit ?3";
const MARK_NAMES_AFTER: &str = "select word.text from mark join word on word.id = mark.name
     where mark.item = ?1 and word.text > ?2 order by word.text limit ?3";
/// Items by name and outcome of their marks.
const MARKED_AFTER: &str = "select item from mark
     where name = ?1 and outcome = ?2 and item > ?3 order by item limit ?4";
const MARK: &str = concat!(mark_columns!(), " where item = ?1 and name = ?2");
/// Marks of one name and outcome: no other marks of the items between are touched.
const MARKS_BETWEEN: &str = concat!(
    mark_columns!(),
    " indexed by mark_name where name = ?1 and outcome = ?2 and item >= ?3 and item <= ?4"
);

// An item's natural key and first sight never change, so the index over them is not touched.
const ITEM_SQL: Sql = Sql {
    table: "item",
    put: "insert into item (id, collection, kind, key, priority, first_seen_at, ordinal, types,
                            attributes, changed_seq, deleted)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
          on conflict (id) do update set
          priority = ?5, ordinal = ?7, types = ?8, attributes = ?9, changed_seq = ?10, deleted = ?11
          where collection = ?2 and kind = ?3 and key = ?4 and first_seen_at = ?6",
    delete: "delete from item where id = ?1",
};

const MARK_SQL: Sql = Sql {
    table: "mark",
    put: "insert into mark (item, name, n, outcome, based_on, at, hidden, imported)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
          on conflict (item, name) do update set
          n = ?3, outcome = ?4, based_on = ?5, at = ?6, hidden = ?7, imported = ?8",
    delete: "delete from mark where item = ?1 and name = ?2",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &ITEM_SQL,
        &view.items,
        |k| Ok((k.0,)),
        |_, i| {
            let (collection, kind, key) = (i.collection.0, desk.word(&i.kind)?, &*i.key);
            let (types, attributes) = (list_text(&i.types)?, &*i.attributes);
            let (priority, seen, ordinal) = (i.priority, i.first_seen_at.0, i.ordinal);
            let (changed, deleted) = (i.changed_seq, i.deleted);
            Ok((
                i.id.0, collection, kind, key, priority, seen, ordinal, types, attributes, changed,
                deleted,
            ))
        },
    )?;
    let key = |(item, name): &(ItemId, Name)| Ok((item.0, desk.word(name)?));
    desk.keep(&MARK_SQL, &view.marks, key, |(item, name), m| {
        let outcome = outcome_code(m.outcome);
        let (name, at) = (desk.word(name)?, m.at.0);
        Ok((item.0, name, m.n, outcome, m.based_on, at, m.hidden, m.imported))
    })
}

pub(in crate::sqlite) fn load(desk: &Desk, keys: &[ItemId], view: &mut View) -> Answer<()> {
    desk.find_near(
        ("item", ITEM, ITEMS_BETWEEN),
        keys,
        &mut view.items,
        |k| k.0,
        |cells| item_of(cells).map(|item| (item.id, item)),
    )
}

pub(in crate::sqlite) fn load_keys(desk: &Desk, keys: &[ItemKey], view: &mut View) -> Answer<()> {
    // A kind that no row ever had has no items.
    desk.find(
        ("item", ITEM_BY_KEY),
        keys,
        &mut view.item_keys,
        |k| Ok(desk.known_word(&k.kind)?.map(|kind| (k.collection.0, kind, &*k.key))),
        |cells| cells.int(0).map(ItemId),
    )
}

pub(in crate::sqlite) fn load_marks(
    desk: &Desk,
    keys: &[(ItemId, Name)],
    view: &mut View,
) -> Answer<()> {
    load_near_marks(desk, keys, view)?;
    let left: Vec<(ItemId, Name)> =
        keys.iter().filter(|key| !view.marks.knows(key)).cloned().collect();
    let bind =
        |(item, name): &(ItemId, Name)| Ok(desk.known_word(name)?.map(|name| (item.0, name)));
    desk.find(("mark", MARK), &left, &mut view.marks, bind, |cells| Ok(mark_of(cells)?.1))
}

/// Marks of one name that many neighbouring items may have: one after another in their index.
fn load_near_marks(desk: &Desk, keys: &[(ItemId, Name)], view: &mut View) -> Answer<()> {
    let mut by_name: BTreeMap<&Name, Vec<i64>> = BTreeMap::new();
    for (item, name) in keys {
        by_name.entry(name).or_default().push(item.0);
    }
    for (name, items) in by_name {
        let (Some((first, last)), Some(word)) = (near(&items), desk.known_word(name)?) else {
            continue;
        };
        for outcome in [Outcome::Success, Outcome::Failure].map(outcome_code) {
            desk.each("mark", MARKS_BETWEEN, (word, outcome, first, last), |cells| {
                if items.binary_search(&cells.int(0)?).is_ok() {
                    let (key, mark) = mark_of(cells)?;
                    view.marks.load(key, Some(mark));
                }
                Ok(())
            })?;
        }
        // What was found is not overwritten.
        items.iter().for_each(|item| view.marks.load((ItemId(*item), name.clone()), None));
    }
    Ok(())
}

pub(in crate::sqlite) fn load_of_collection(
    desk: &Desk,
    (collection, after, n): (CollectionId, Option<ItemId>, usize),
    view: &mut View,
) -> Answer<()> {
    let from = after.map_or(i64::MIN, |i| i.0);
    let (rows, all) = desk.stretch(
        ("item", IDS_AFTER),
        n,
        |limit| (collection.0, from, limit),
        |cells| Ok((ItemId(cells.int(0)?), ())),
    )?;
    view.collection_items.load(collection, after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn load_mark_names(
    desk: &Desk,
    (item, after, n): (ItemId, Option<&Name>, usize),
    view: &mut View,
) -> Answer<()> {
    let from = after.map_or("", |name| name.as_str());
    let (rows, all) = desk.stretch(
        ("mark", MARK_NAMES_AFTER),
        n,
        |limit| (item.0, from, limit),
        |cells| Ok((cells.name(0)?, ())),
    )?;
    view.item_marks.load(item, after.cloned(), rows, all);
    Ok(())
}

/// Items whose mark of a name has an outcome, hidden or not, after a number.
pub(in crate::sqlite) fn marked(
    desk: &Desk,
    (name, outcome): (&Name, Outcome),
    after: ItemId,
    limit: i64,
) -> Answer<Vec<ItemId>> {
    // A name that no row ever had marks nothing.
    let Some(name) = desk.known_word(name)? else { return Ok(Vec::new()) };
    let params = (name, outcome_code(outcome), after.0, limit);
    desk.all("mark", MARKED_AFTER, params, |cells| cells.int(0).map(ItemId))
}

pub(in crate::sqlite) fn item_of(cells: &Cells<'_>) -> Answer<Item> {
    Ok(Item {
        id: ItemId(cells.int(0)?),
        collection: CollectionId(cells.int(1)?),
        kind: cells.word(2)?,
        key: cells.text(3)?,
        priority: cells.small(4)?,
        first_seen_at: cells.time(5)?,
        ordinal: cells.maybe_int(6)?,
        types: cells.names(7)?,
        attributes: cells.text(8)?,
        changed_seq: cells.int(9)?,
        deleted: cells.flag(10)?,
    })
}

pub(in crate::sqlite) fn mark_of(cells: &Cells<'_>) -> Answer<((ItemId, Name), Mark)> {
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
