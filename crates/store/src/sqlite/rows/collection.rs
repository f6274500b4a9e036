//! Collections.

use armarius_core::ids::{CollectionId, FlowId, ItemId};
use armarius_core::rows::Collection;
use armarius_core::view::View;

use crate::codes::{list_text, numbers_text};
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

pub(in crate::sqlite) const ALL: &str =
    "select id, name, item, served, notify, robots from collection";

const SQL: Sql = Sql {
    table: "collection",
    put: "insert into collection (id, name, item, served, notify, robots)
          values (?1, ?2, ?3, ?4, ?5, ?6)
          on conflict (id) do update set
          name = ?2, item = ?3, served = ?4, notify = ?5, robots = ?6",
    delete: "delete from collection where id = ?1",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &SQL,
        &view.collections,
        |k| Ok((k.0,)),
        |_, c| {
            let (notify, robots) =
                (list_text(&c.notify)?, numbers_text(c.robots.iter().map(|f| f.0)));
            Ok((c.id.0, &*c.name, c.item.0, c.served, notify, robots))
        },
    )
}

pub(in crate::sqlite) fn load_whole(desk: &Desk, view: &mut View) -> Answer<()> {
    desk.each("collection", ALL, (), |cells| {
        let collection = collection_of(cells)?;
        view.collection_names.load(collection.name.clone(), Some(collection.id));
        view.collections.load(collection.id, Some(collection));
        Ok(())
    })
}

pub(in crate::sqlite) fn collection_of(cells: &Cells<'_>) -> Answer<Collection> {
    Ok(Collection {
        id: CollectionId(cells.int(0)?),
        name: cells.name(1)?,
        item: ItemId(cells.int(2)?),
        served: cells.int(3)?,
        notify: cells.texts(4)?,
        robots: cells.numbers(5)?.into_iter().map(FlowId).collect(),
    })
}
