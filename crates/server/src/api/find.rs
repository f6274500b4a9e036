//! Looking for items with the query language of triggers.
//!
//! A page looks at a bounded number of items, so that it is quick over any archive: it may be short
//! and still have a next one. Where the query asks for events that must be there, only the items
//! that have them are looked at, by the same index of marks.

use armarius_core::decide::{query_fits, query_holds, standing};
use armarius_core::event::Outcome;
use armarius_core::flow;
use armarius_core::ids::{CollectionId, ItemId};
use armarius_core::limits::KEY_BYTES_MAX;
use armarius_core::refusal::Refusal;
use armarius_core::rows::{Item, ItemKey};
use armarius_core::text::{Name, Text, check};
use armarius_core::view::Need;
use armarius_wire::v1::Page;
use armarius_wire::v1::item::Find;
use armarius_wire::v1::robot::Query;
use axum::extract::State;
use axum::http::StatusCode;

use super::item::shown;
use crate::app::App;
use crate::body::{Json, json, names, number};
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::Answer;

/// Items one page looks at.
const LOOKED_MAX: usize = 1_000;
/// Keys a query may name.
const KEYS_MAX: usize = 10_000;

/// `POST /api/v1/items/find`
pub(crate) async fn find(State(app): State<App>, caller: Caller, Json(find): Json<Find>) -> Answer {
    let name = Name::new(&find.collection)?;
    let query = read(&find.query)?;
    let max = super::page(find.max);
    let after = match &find.cursor {
        Some(text) => ItemId(number("item", text)?),
        None => ItemId::default(),
    };
    let look = move |look: &mut Look<'_>| {
        let found = look.ask(|view| Ok(view.collection_names.get(&name)?.copied()))?;
        let Some(home) = found.filter(|_| caller.may(&name)) else {
            return Err(super::collection::unknown(&name).into());
        };
        let search = Search { home, query: &query, after, max };
        let (items, next) = search.page(look)?;
        let entries = items.iter().map(|item| shown(&name, item)).collect();
        Ok(Page { entries, next: next.map(|id| id.to_string()) })
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

fn read(query: &Query) -> Result<flow::Query, Refusal> {
    check("list of keys", &"k".repeat(query.items.len().min(KEYS_MAX + 1)), 0, KEYS_MAX)?;
    for key in &query.items {
        check("key", key, 1, KEY_BYTES_MAX)?;
    }
    Ok(flow::Query {
        kinds: names(&query.kinds)?,
        types: names(&query.types)?,
        success: names(&query.success)?,
        failed: names(&query.failed)?,
        absent: names(&query.absent)?,
        stale: names(&query.stale)?,
        items: query.items.iter().map(|key| Text::from(key.as_str())).collect(),
    })
}

/// Items to look at, in order, and whether there are no more after them.
struct Candidates {
    ids: Vec<ItemId>,
    complete: bool,
}

struct Search<'q> {
    home: CollectionId,
    query: &'q flow::Query,
    after: ItemId,
    max: usize,
}

impl Search<'_> {
    /// The next items that satisfy the query, and where to go on.
    fn page(&self, look: &mut Look<'_>) -> Result<(Vec<Item>, Option<ItemId>), Lost> {
        let candidates = self.candidates(look)?;
        let mut found = Vec::new();
        let fitting = self.fitting(look, &candidates.ids)?;
        for item in fitting {
            if self.holds(look, &item)? {
                found.push(item);
                if found.len() == self.max {
                    break;
                }
            }
        }
        let last = candidates.ids.last().copied().filter(|_| !candidates.complete);
        let full = found.len() == self.max;
        let next = if full { found.last().map(|item| item.id) } else { last };
        Ok((found, next))
    }

    fn candidates(&self, look: &mut Look<'_>) -> Result<Candidates, Lost> {
        let flow::Query { kinds, items, .. } = self.query;
        if !kinds.is_empty() && !items.is_empty() && kinds.len() * items.len() <= KEYS_MAX {
            return self.by_key(look);
        }
        match self.by_mark(look)? {
            Some(candidates) => Ok(candidates),
            None => {
                let items = look.reader.items(self.home, self.after, LOOKED_MAX)?;
                let complete = items.len() < LOOKED_MAX;
                let ids = items.iter().map(|item| item.id).collect();
                for item in items {
                    look.view.items.load(item.id, Some(item));
                }
                Ok(Candidates { ids, complete })
            }
        }
    }

    /// Items that are named.
    fn by_key(&self, look: &mut Look<'_>) -> Result<Candidates, Lost> {
        let keys = self.query.kinds.iter().flat_map(|kind| {
            let key = |key: &Text| ItemKey {
                collection: self.home,
                kind: kind.clone(),
                key: key.clone(),
            };
            self.query.items.iter().map(key)
        });
        let keys: Vec<ItemKey> = keys.collect();
        look.load(&keys.iter().cloned().map(Need::ItemKey).collect::<Vec<_>>())?;
        let mut ids = Vec::new();
        for key in &keys {
            ids.extend(look.ask(|view| Ok(view.item_keys.get(key)?.copied()))?);
        }
        ids.retain(|id| *id > self.after);
        ids.sort_unstable();
        Ok(Candidates { ids, complete: true })
    }

    /// Items that have an event that must be there: of the rarest one that is seen to be rare.
    fn by_mark(&self, look: &mut Look<'_>) -> Result<Option<Candidates>, Lost> {
        let failed = self.query.failed.iter().map(|name| (name, Outcome::Failure));
        // What comes late on the line has happened to fewer items.
        let success = self.query.success.iter().rev().map(|name| (name, Outcome::Success));
        let mut best: Option<Candidates> = None;
        for mark in failed.chain(success) {
            let found = look.reader.marked(mark, self.after, LOOKED_MAX + 1)?;
            let Some(mut ids) = found else { return Ok(None) };
            let complete = ids.len() <= LOOKED_MAX;
            ids.truncate(LOOKED_MAX);
            let better = best.as_ref().is_none_or(|b| complete && ids.len() < b.ids.len());
            if better {
                best = Some(Candidates { ids, complete });
            }
        }
        Ok(best)
    }

    /// Those of the right collection, kind, types and key, with everything else loaded.
    fn fitting(&self, look: &mut Look<'_>, ids: &[ItemId]) -> Result<Vec<Item>, Lost> {
        let needs = ids.iter().filter_map(|id| look.view.items.missing(id)).collect::<Vec<_>>();
        look.load(&needs)?;
        let mut fitting = Vec::new();
        for id in ids {
            let item = look.view.items.get(id).ok().flatten();
            let item = item.filter(|i| i.collection == self.home && query_fits(self.query, i));
            fitting.extend(item.cloned());
        }
        let names: Vec<&Name> = self.query.names().collect();
        let marks = fitting
            .iter()
            .flat_map(|item| names.iter().map(|name| Need::Mark((item.id, (*name).clone()))));
        let marks: Vec<Need> = marks.collect();
        look.load(&marks)?;
        Ok(fitting)
    }

    fn holds(&self, look: &mut Look<'_>, item: &Item) -> Result<bool, Lost> {
        look.ask(|view| {
            for name in self.query.names() {
                view.marks.get(&(item.id, name.clone()))?;
            }
            let mark = |name: &Name| view.marks.get(&(item.id, name.clone())).ok().flatten();
            Ok(query_holds(self.query, item, |name| mark(name).and_then(|m| standing(m, item))))
        })
    }
}
