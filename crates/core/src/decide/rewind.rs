//! Rewinding: an item goes back on the assembly line.
//!
//! The marks from one event on become invisible to triggers, so that the robots behind them are
//! woken anew. Nothing is erased: the events stay, and one more says who rewound, and why.

use super::desk::{Desk, Fact, ITEM_REWOUND, Rule};
use super::item::living;
use crate::address::ItemAddress;
use crate::command::RewindFrom;
use crate::event::Outcome;
use crate::ids::ItemId;
use crate::limits::{MARKS_MAX, REASON_BYTES_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Follow, Mark};
use crate::text::{Name, Text, check};

/// A mark's place in the order of events: what was imported stands below what happened here.
type Place = (bool, i64);

pub(super) fn rewind(
    desk: &mut Desk<'_>,
    at: &ItemAddress,
    from: &RewindFrom,
    reason: &Text,
) -> Rule<Reply> {
    check("reason", reason, 0, REASON_BYTES_MAX)?;
    let item = living(desk, at)?.id;
    let visible = visible_marks(desk, item)?;
    let from = place_of(desk, item, from, &visible)?;
    let mut marks = Vec::new();
    for (name, mark) in visible.into_iter().filter(|(_, mark)| place(mark) >= from) {
        desk.put_mark(item, &name, Mark { hidden: true, ..mark });
        marks.push(name);
    }
    if marks.is_empty() {
        return Err(nothing(format!("no event of {at} from number {} on is visible", from.1)));
    }
    let hides: Vec<&str> = marks.iter().map(Name::as_str).collect();
    let mut detail = serde_json::json!({ "from": from.1, "hides": hides });
    if !reason.is_empty() {
        detail["reason"] = (&**reason).into();
    }
    let (name, detail) = (Some(ITEM_REWOUND.clone()), Some(detail.to_string().into()));
    let n = desk.append(item, Fact { name, detail, ..Fact::default() })?;
    desk.follows.push_back(Follow::Rewound(item));
    Ok(Reply::Rewound { n, marks })
}

fn place(mark: &Mark) -> Place {
    (!mark.imported, mark.n)
}

/// The marks that triggers see.
fn visible_marks(desk: &Desk<'_>, item: ItemId) -> Rule<Vec<(Name, Mark)>> {
    let names: Vec<Name> = {
        let list = desk.view.item_marks.first(&item, MARKS_MAX)?;
        list.take(MARKS_MAX).map(|(name, ())| name.clone()).collect()
    };
    let keys = names.iter().map(|name| (item, name.clone()));
    desk.require(keys.filter_map(|key| desk.view.marks.missing(&key)))?;
    let mut marks = Vec::with_capacity(names.len());
    for name in names {
        let mark = desk.view.marks.get(&(item, name.clone()))?.filter(|mark| !mark.hidden);
        marks.extend(mark.cloned().map(|mark| (name, mark)));
    }
    Ok(marks)
}

fn place_of(
    desk: &Desk<'_>,
    item: ItemId,
    from: &RewindFrom,
    visible: &[(Name, Mark)],
) -> Rule<Place> {
    let found = |wanted: &dyn Fn(&Name, &Mark) -> bool| {
        visible.iter().filter(|(name, mark)| wanted(name, mark)).map(|(_, m)| place(m)).min()
    };
    match from {
        RewindFrom::Event(name) => found(&|n, _| n == name)
            .ok_or_else(|| nothing(format!("the item has no event {name} that triggers see"))),
        RewindFrom::FirstFailure => found(&|_, mark| mark.outcome == Outcome::Failure)
            .ok_or_else(|| nothing("none of the item's events stands as a failure".to_owned())),
        RewindFrom::Number(n) => {
            let newest = desk.view.heads.get(&item)?.map_or(0, |head| head.n);
            if !(1..=newest).contains(n) {
                return Err(Refusal::new(Code::OutOfRange, format!("there is no event {n}"))
                    .hint(format!("its events have the numbers 1 to {newest}"))
                    .into());
            }
            Ok(found(&|_, mark| mark.n == *n).unwrap_or((true, *n)))
        }
    }
}

fn nothing(why: String) -> crate::view::Stop {
    Refusal::new(Code::WrongState, why).hint("`armarius item show` shows what there is").into()
}
