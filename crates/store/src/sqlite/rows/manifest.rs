//! Manifests of attempts.

use armarius_core::ids::{TaskId, Token};
use armarius_core::rows::{Manifest, ManifestState};
use armarius_core::view::View;

use crate::codes::position;
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

pub(in crate::sqlite) const ALL: &str = "select task, token, state, text, at from manifest";
const ONE: &str =
    "select task, token, state, text, at from manifest where task = ?1 and token = ?2";

const SQL: Sql = Sql {
    table: "manifest",
    put: "insert into manifest (task, token, state, text, at) values (?1, ?2, ?3, ?4, ?5)
          on conflict (task, token) do update set state = ?3, text = ?4, at = ?5",
    delete: "delete from manifest where task = ?1 and token = ?2",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    let key = |(task, token): &(TaskId, Token)| Ok((task.0, token.0));
    desk.keep(&SQL, &view.manifests, key, |(task, token), m| {
        let state = position(&ManifestState::ALL, &m.state);
        Ok((task.0, token.0, state, &*m.text, m.at.0))
    })
}

pub(in crate::sqlite) fn load(
    desk: &Desk,
    keys: &[(TaskId, Token)],
    view: &mut View,
) -> Answer<()> {
    let bind = |(task, token): &(TaskId, Token)| Ok(Some((task.0, token.0)));
    desk.find(("manifest", ONE), keys, &mut view.manifests, bind, |c| Ok(manifest_of(c)?.1))
}

pub(in crate::sqlite) fn manifest_of(cells: &Cells<'_>) -> Answer<((TaskId, Token), Manifest)> {
    let manifest = Manifest {
        state: cells.one_of(2, &ManifestState::ALL)?,
        text: cells.text(3)?,
        at: cells.time(4)?,
    };
    Ok(((TaskId(cells.int(0)?), Token(cells.int(1)?)), manifest))
}
