//! Manifests of attempts.

use armarius_core::ids::{TaskId, Token};
use armarius_core::rows::{Manifest, ManifestState};
use armarius_core::view::View;

use crate::codes::position;
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::Wishes;
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

pub(in crate::postgres) static MANIFEST: Table = Table::new(
    "manifest",
    2,
    0,
    &[
        ("task", Kind::I8),
        ("token", Kind::I8),
        ("state", Kind::I2),
        ("text", Kind::Text),
        ("at", Kind::I8),
    ],
);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    let key = |(task, token): &(TaskId, Token)| Ok([task.0.into(), token.0.into()]);
    pen.keep(&MANIFEST, &view.manifests, key, |(task, token), m| {
        let state = position(&ManifestState::ALL, &m.state);
        let (task, token, text) = (task.0, token.0, &*m.text);
        Ok([task.into(), token.into(), state.into(), text.into(), m.at.0.into()])
    })
}

pub(in crate::postgres) fn wish<'k>(
    keys: &'k [(TaskId, Token)],
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    wishes.find(
        (MANIFEST.find(), &MANIFEST, &[]),
        keys,
        |(task, token), grid| Ok(grid.push(&[task.0.into(), token.0.into()])?),
        MANIFEST.key_grid(),
        |v| &mut v.manifests,
        manifest_of,
    )
}

pub(in crate::postgres) fn manifest_of(cells: &Cells<'_>) -> Answer<((TaskId, Token), Manifest)> {
    let manifest = Manifest {
        state: cells.one_of(2, &ManifestState::ALL)?,
        text: cells.text(3)?,
        at: cells.time(4)?,
    };
    Ok(((TaskId(cells.int(0)?), Token(cells.int(1)?)), manifest))
}
