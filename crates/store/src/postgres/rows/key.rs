//! Keys.

use armarius_core::ids::{ItemId, Time};
use armarius_core::rows::{Key, Role};
use armarius_core::view::View;

use crate::codes::{list_text, position};
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::Wishes;
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

pub(in crate::postgres) static KEY: Table = Table::new(
    "key",
    1,
    0,
    &[
        ("id", Kind::Text),
        ("item", Kind::I8),
        ("name", Kind::Text),
        ("role", Kind::I2),
        ("collections", Kind::Text),
        ("digest", Kind::Bytes),
        ("made_at", Kind::I8),
        ("changed_at", Kind::I8),
        ("revoked_at", Kind::I8),
    ],
);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    pen.keep(
        &KEY,
        &view.keys,
        |id| Ok([id.as_str().into()]),
        |id, key| {
            Ok([
                id.as_str().into(),
                key.item.0.into(),
                key.name.as_str().into(),
                position(&Role::ALL, &key.role).into(),
                list_text(&key.collections)?.into(),
                (&key.digest).into(),
                key.made_at.0.into(),
                key.changed_at.0.into(),
                key.revoked_at.map(|t| t.0).into(),
            ])
        },
    )
}

pub(in crate::postgres) fn wish_whole(wishes: &mut Wishes<'_>) -> Answer<()> {
    wishes.all(&KEY, &[], |cells, view| {
        let key = key_of(cells)?;
        view.keys.load(key.id.clone(), Some(key));
        Ok(())
    })
}

pub(in crate::postgres) fn key_of(cells: &Cells<'_>) -> Answer<Key> {
    Ok(Key {
        id: cells.name(0)?,
        item: ItemId(cells.int(1)?),
        name: cells.name(2)?,
        role: cells.one_of(3, &Role::ALL)?,
        collections: cells.names(4)?,
        digest: cells.hash(5)?,
        made_at: cells.time(6)?,
        changed_at: cells.time(7)?,
        revoked_at: cells.maybe_int(8)?.map(Time),
    })
}
