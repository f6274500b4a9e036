//! Keys.

use armarius_core::ids::{ItemId, Time};
use armarius_core::rows::{Key, Role};
use armarius_core::view::View;

use crate::codes::list_text;
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

pub(in crate::sqlite) const ALL: &str =
    "select id, item, name, role, collections, digest, made_at, changed_at, revoked_at from key";

const SQL: Sql = Sql {
    table: "key",
    put: "insert into key
          (id, item, name, role, collections, digest, made_at, changed_at, revoked_at)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
          on conflict (id) do update set
          item = ?2, name = ?3, role = ?4, collections = ?5, digest = ?6, made_at = ?7,
          changed_at = ?8, revoked_at = ?9",
    delete: "delete from key where id = ?1",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &SQL,
        &view.keys,
        |id| Ok((id.as_str(),)),
        |id, key| {
            let (collections, revoked) =
                (list_text(&key.collections)?, key.revoked_at.map(|t| t.0));
            Ok((
                id.as_str(),
                key.item.0,
                key.name.as_str(),
                role_code(key.role),
                collections,
                key.digest,
                key.made_at.0,
                key.changed_at.0,
                revoked,
            ))
        },
    )
}

pub(in crate::sqlite) fn load_whole(desk: &Desk, view: &mut View) -> Answer<()> {
    desk.each("key", ALL, (), |cells| {
        let key = key_of(cells)?;
        view.keys.load(key.id.clone(), Some(key));
        Ok(())
    })
}

pub(in crate::sqlite) fn key_of(cells: &Cells<'_>) -> Answer<Key> {
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

fn role_code(role: Role) -> i64 {
    match role {
        Role::Submitter => 0,
        Role::Worker => 1,
        Role::Operator => 2,
        Role::Admin => 3,
        Role::Auditor => 4,
        Role::Notifier => 5,
    }
}
