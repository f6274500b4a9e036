//! Events with what their teller says about them, and events out of a history kept elsewhere.
//!
//! What is said is information. An imported event is appended like any other, but orders below
//! everything that happened here: it never covers a mark of this place, and it is based on the
//! content the item had when it was first seen.

use super::desk::{Desk, Fact, Rule};
use super::item::{check_event, living};
use crate::command::AddSaid;
use crate::event::{self, Said};
use crate::ids::ItemId;
use crate::limits::{DETAIL_BYTES_MAX, IDEM_BYTES_MAX, KEY_BYTES_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Idem, Made, Mark};
use crate::text::{Text, check};

/// The content an imported event is based on: what came with the item's first event.
const FIRST_CONTENT: i64 = 1;

pub(super) fn add(desk: &mut Desk<'_>, add: &AddSaid) -> Rule<Reply> {
    check_event(&add.name, add.detail.as_ref())?;
    check_said(&add.said)?;
    let detail = add.said.around(add.detail.as_deref());
    check("detail with what is said about it", &detail, 0, DETAIL_BYTES_MAX)?;
    let outcome = add.outcome.as_str();
    let request = format!("said {} {} {outcome} {detail}", add.item, add.name);
    if let Some(Made::Event(item, n)) = desk.made_before(&add.item.collection, &request)? {
        return Ok(Reply::Event { item, n, repeated: true });
    }
    let (item, basis) = {
        let row = living(desk, &add.item)?;
        (row.id, row.changed_seq)
    };
    let known = imported_key(item, &add.said);
    if let Some(Made::Event(item, n)) = imported_before(desk, known.as_ref(), &request)? {
        return Ok(Reply::Event { item, n, repeated: true });
    }
    let fact = Fact {
        name: Some(add.name.clone()),
        outcome: Some(add.outcome),
        detail: Some(detail),
        ..Fact::default()
    };
    let n = desk.append(item, fact)?;
    if add.said.imported {
        mark_below(desk, item, add, n)?;
    } else {
        desk.mark(item, &add.name, n, add.outcome, basis);
    }
    let made = Made::Event(item, n);
    desk.remember(&add.item.collection, &request, made)?;
    if let Some(key) = known {
        desk.view.idems.put(key, Idem { digest: event::digest(&request), made });
    }
    desk.wake_robots(item, &add.name, 0)?;
    Ok(Reply::Event { item, n, repeated: false })
}

fn check_said(said: &Said) -> Result<(), Refusal> {
    let text = |text: &Option<Text>| text.as_ref().map_or(Text::from(""), Clone::clone);
    check("time", &text(&said.at), 0, IDEM_BYTES_MAX)?;
    check("agent", &text(&said.agent), 0, KEY_BYTES_MAX)?;
    check("id", &text(&said.id), 0, KEY_BYTES_MAX)?;
    if said.imported && said.id.is_none() {
        return Err(Refusal::new(Code::BadName, "an imported event has no id")
            .hint("give the id it has where it comes from; without it a repeat is not noticed"));
    }
    Ok(())
}

/// An imported event is known by its item and the id it brought, whoever imports it.
fn imported_key(item: ItemId, said: &Said) -> Option<Text> {
    let id = said.id.as_ref().filter(|_| said.imported)?;
    Some(format!("imported/{item}/{id}").into())
}

fn imported_before(desk: &Desk<'_>, key: Option<&Text>, request: &str) -> Rule<Option<Made>> {
    let Some(key) = key else { return Ok(None) };
    match desk.view.idems.get(key)? {
        None => Ok(None),
        Some(idem) if idem.digest == event::digest(request) => Ok(Some(idem.made)),
        Some(_) => Err(Refusal::new(
            Code::KeyReused,
            "an event with this id was imported before, and said something else",
        )
        .hint("history never changes; add what is new under an id of its own")
        .into()),
    }
}

/// The newest imported event is the mark, as long as nothing of that name happened here.
fn mark_below(desk: &mut Desk<'_>, item: ItemId, add: &AddSaid, n: i64) -> Rule<()> {
    let old = desk.view.marks.get(&(item, add.name.clone()))?;
    if old.is_some_and(|mark| !mark.imported) {
        return Ok(());
    }
    let (outcome, at) = (add.outcome, desk.now());
    let mark = Mark { n, outcome, based_on: FIRST_CONTENT, at, hidden: false, imported: true };
    desk.put_mark(item, &add.name, mark);
    Ok(())
}
