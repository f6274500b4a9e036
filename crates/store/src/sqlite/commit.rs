//! Writes everything a view has changed.

use armarius_core::event::Commit;
use armarius_core::view::View;

use super::desk::Desk;
use super::fault::Answer;
use super::rows::{
    archive, batch, collection, counter, edge, errand, event, flow, hold, idem, item, key, lease,
    letter, line, manifest, round, schedule, task,
};

/// Writes the rows, the events and the commit that seals them. Tables marked as derived follow
/// from these by the indexes of the schema.
pub(super) fn write(desk: &Desk, view: &View, commit: &Commit) -> Answer<()> {
    write_rows(desk, view)?;
    event::write(desk, view, commit)
}

/// Writes the rows alone.
pub(super) fn write_rows(desk: &Desk, view: &View) -> Answer<()> {
    counter::write(desk, view)?;
    collection::write(desk, view)?;
    flow::write(desk, view)?;
    hold::write(desk, view)?;
    schedule::write(desk, view)?;
    archive::write(desk, view)?;
    key::write(desk, view)?;
    item::write(desk, view)?;
    task::write(desk, view)?;
    round::write(desk, view)?;
    line::write(desk, view)?;
    edge::write(desk, view)?;
    lease::write(desk, view)?;
    batch::write(desk, view)?;
    errand::write(desk, view)?;
    letter::write(desk, view)?;
    idem::write(desk, view)?;
    manifest::write(desk, view)
}
