//! Letters to the outside: kept in the commit that causes them, delivered one by one and in order
//! per destination, tried again until they arrive.

use super::desk::{Desk, Rule};
use crate::ids::{Time, in_shard};
use crate::limits::{DETAIL_BYTES_MAX, KEY_BYTES_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::Letter;
use crate::text::{Text, check};

pub(super) fn post(desk: &mut Desk<'_>, to: &Text, body: &Text) -> Rule<Reply> {
    let n = desk.post(to, body)?;
    Ok(Reply::Letter { n })
}

pub(super) fn delivered(
    desk: &mut Desk<'_>,
    to: &Text,
    n: i64,
    ok: bool,
    retry_at: Time,
) -> Rule<Reply> {
    let head = desk.view.letters.first(to, 2)?.next().map(|(n, _)| *n);
    if head != Some(n) {
        return Err(Refusal::new(
            Code::NoSuchEntry,
            format!("letter {n} is not the next one for {to}"),
        )
        .hint("letters of one destination are delivered in order, each until it arrives")
        .into());
    }
    let mut row = desk.view.destinations.get(to)?.cloned().unwrap_or_default();
    if let Some(due) = row.due_at {
        desk.view.due_letters.delete((), (due, to.clone()));
    }
    if ok {
        desk.view.letters.delete(to.clone(), n);
        row.tries = 0;
        let more = desk.view.letters.first(to, 1)?.next().is_some();
        row.due_at = more.then(|| desk.now());
    } else {
        row.tries = row.tries.saturating_add(1);
        row.due_at = Some(retry_at.max(desk.now()));
    }
    if let Some(due) = row.due_at {
        desk.view.due_letters.put((), (due, to.clone()), ());
    }
    desk.view.destinations.put(to.clone(), row);
    Ok(Reply::Ok)
}

impl Desk<'_> {
    /// Writes a letter behind those that its destination still waits for.
    pub(super) fn post(&mut self, to: &Text, body: &Text) -> Rule<i64> {
        check("destination", to, 1, KEY_BYTES_MAX)?;
        check("letter", body, 0, DETAIL_BYTES_MAX)?;
        let mut row = self.view.destinations.get(to)?.cloned().unwrap_or_default();
        row.next = row.next.saturating_add(1);
        let n = in_shard(self.view.shard, row.next);
        if row.due_at.is_none() {
            row.due_at = Some(self.now());
            self.view.due_letters.put((), (self.now(), to.clone()), ());
        }
        self.view.destinations.put(to.clone(), row);
        self.view.letters.put(to.clone(), n, Letter { body: body.clone(), at: self.now() });
        Ok(n)
    }
}
