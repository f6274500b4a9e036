//! Robots: the stations of the assembly line, and how they hang together.

use std::collections::BTreeMap;
use std::sync::Arc;

use armarius_core::flow::{self, On};
use armarius_core::ids::FlowId;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::rows::{Counter, Errand, FlowRow, Follow, Hold, Scope, Version};
use armarius_core::task::State as TaskState;
use armarius_core::text::Name;
use armarius_core::view::{Need, Stop, View};
use armarius_wire::v1::robot::{Edge, Filling, Line, Paused, Query, Robot};
use armarius_wire::v1::status::Counts;
use armarius_wire::v1::time;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::claim::hex;
use crate::app::App;
use crate::body::{Params, json};
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::{Answer, Fault};
use crate::verdicts::{Member, Verdicts, Warnings};

/// Errands looked at for robots that are being registered.
const ERRANDS_MAX: usize = 1_000;
/// Bits of a number below its shard.
const NUMBER: i64 = (1 << 48) - 1;

/// Which robots.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    collection: Option<String>,
}

/// `GET /api/v1/robots`
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let line = read(&app, &caller, wanted.collection).await?;
    Ok(json(StatusCode::OK, &line))
}

/// `GET /api/v1/robots/{collection}/{robot}`
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((collection, robot)): Path<(String, String)>,
) -> Answer {
    let line = read(&app, &caller, Some(collection.clone())).await?;
    let Some(found) = line.robots.into_iter().find(|r| r.name == robot) else {
        let why = format!("there is no robot {robot} in {collection}");
        let hint = "`armarius robot list` shows those there are";
        return Err(Refusal::new(Code::NoSuchFlow, why).hint(hint).into());
    };
    Ok(json(StatusCode::OK, &found))
}

/// The robots the caller may see, with how fast each has been lately.
pub(crate) async fn read(app: &App, caller: &Caller, only: Option<String>) -> Result<Line, Fault> {
    let (asking, own) = (caller.clone(), app.clone());
    app.look(move |look| line(look, &asking, only.as_deref(), &own)).await
}

/// A flow with its collection's name and its version.
struct Station {
    home: Name,
    flow: FlowRow,
    version: Version,
}

fn line(look: &mut Look<'_>, caller: &Caller, only: Option<&str>, app: &App) -> Result<Line, Lost> {
    let stations = stations(look, caller, only)?;
    let errands: Vec<Errand> = look.ask(|view| {
        let list = view.errands.first(&(), ERRANDS_MAX)?;
        Ok(list.take(ERRANDS_MAX).map(|(_, errand)| errand.clone()).collect())
    })?;
    let mut robots = Vec::new();
    let warnings = warnings(&stations, app.verdicts());
    for station in &stations {
        if let On::Items(query) = &station.version.def.on
            && !station.flow.removed
        {
            let robot = one(look, station, query, &errands)?;
            let (done_minute, done_hour) = app.pace().of(station.flow.id);
            let warnings = warnings.get(&station.flow.id).cloned().unwrap_or_default();
            robots.push(Robot { done_minute, done_hour, warnings, ..robot });
        }
    }
    let mut edges: Vec<Edge> = stations.iter().flat_map(|s| edges_to(&stations, s)).collect();
    edges.sort();
    edges.dedup();
    Ok(Line { robots, edges })
}

fn stations(
    look: &mut Look<'_>,
    caller: &Caller,
    only: Option<&str>,
) -> Result<Vec<Station>, Lost> {
    let mut rows: Vec<(Name, FlowRow)> = Vec::new();
    for (_, flow) in look.view.flows.iter().filter(|(_, flow)| !flow.removed) {
        let home = look.view.collections.get(&flow.collection).ok().flatten();
        let home = home.filter(|c| caller.may(&c.name) && only.is_none_or(|o| o == &*c.name));
        rows.extend(home.map(|c| (c.name.clone(), flow.clone())));
    }
    rows.sort_by(|a, b| (&a.0, &a.1.name).cmp(&(&b.0, &b.1.name)));
    look.load(&rows.iter().map(|(_, f)| Need::Version(f.version)).collect::<Vec<_>>())?;
    look.ask(|view| {
        let mut stations = Vec::with_capacity(rows.len());
        for (home, flow) in &rows {
            let version = view.versions.get(&flow.version)?.cloned();
            let (home, flow) = (home.clone(), flow.clone());
            stations.extend(version.map(|version| Station { home, flow, version }));
        }
        Ok(stations)
    })
}

/// What the check of each collection's line says.
fn warnings(stations: &[Station], verdicts: &Verdicts) -> Warnings {
    let mut homes: BTreeMap<&Name, Vec<Member>> = BTreeMap::new();
    for Station { home, flow, version } in stations {
        let member = (flow.id, version.id, Arc::clone(&version.def));
        homes.entry(home).or_default().push(member);
    }
    let is_robot = |(_, _, def): &Member| matches!(def.on, On::Items(_));
    homes.retain(|_, members| members.iter().any(is_robot));
    let mut all = Warnings::new();
    for (home, members) in homes {
        let found = verdicts.of(home, &members);
        all.extend(found.iter().map(|(flow, said)| (*flow, said.clone())));
    }
    all
}

fn one(
    look: &mut Look<'_>,
    station: &Station,
    query: &flow::Query,
    errands: &[Errand],
) -> Result<Robot, Lost> {
    let Station { home, flow, version } = station;
    let def = &version.def;
    look.ask(|view| {
        let mut tasks = Counts::default();
        let queues = view.queues.iter().filter(|(_, queue)| queue.flow == flow.id);
        queues.for_each(|(_, queue)| tasks.add(queue.counts));
        let holder = match flow.taken {
            Some(lease) => view.leases.get(&lease)?.map(|lease| lease.worker.to_string()),
            None => None,
        };
        Ok(Robot {
            collection: home.to_string(),
            name: flow.name.to_string(),
            version: hex(&version.digest),
            query: shown(query),
            records: def.records.as_ref().map(Name::to_string),
            touches: def.touches,
            singleton: def.singleton,
            max_items: def.max_items,
            concurrency: def.concurrency,
            tasks,
            done_minute: 0,
            done_hour: 0,
            waiting_since: waiting_since(view, flow.id)?,
            holder,
            paused: paused(view, flow)?,
            filling: filling(view, flow.id, errands),
            warnings: Vec::new(),
        })
    })
}

/// Since when the first in line has been waiting.
fn waiting_since(view: &View, flow: FlowId) -> Result<Option<String>, Stop> {
    let ready = TaskState::Ready.index();
    let queues = view.queues.iter().filter(|(_, q)| q.flow == flow && q.counts[ready] > 0);
    let mut oldest = None;
    for (id, _) in queues {
        let first = view.ready.first(id, 1)?.next().map(|(rank, ())| rank.task);
        let Some(task) = first else { continue };
        let since = view.tasks.get(&task)?.map(|task| task.since);
        oldest = oldest.into_iter().chain(since).min();
    }
    Ok(oldest.map(time::text))
}

fn paused(view: &View, flow: &FlowRow) -> Result<Option<Paused>, Stop> {
    let scopes = [Scope::Flow(flow.id), Scope::Collection(flow.collection)];
    for scope in scopes {
        let Some(id) = view.hold_scopes.get(&scope)? else { continue };
        let Some(Hold { id, reason, owner, since, .. }) = view.holds.get(id)? else { continue };
        return Ok(Some(Paused {
            hold: id.0,
            reason: reason.to_string(),
            owner: owner.to_string(),
            since: time::text(*since),
        }));
    }
    Ok(None)
}

fn filling(view: &View, flow: FlowId, errands: &[Errand]) -> Option<Filling> {
    let errand = errands.iter().find(|e| matches!(e.follow, Follow::Fill(of, _) if of == flow))?;
    let newest = view.counters.get(&Counter::Item).ok().flatten().copied().unwrap_or(1).max(1);
    let percent = ((errand.cursor & NUMBER).saturating_mul(100) / newest).clamp(0, 100);
    let percent = u8::try_from(percent).unwrap_or(100);
    Some(Filling { percent, since: time::text(errand.since) })
}

fn edges_to(stations: &[Station], to: &Station) -> Vec<Edge> {
    let On::Items(query) = &to.version.def.on else { return Vec::new() };
    let lists = [
        ("success", &query.success),
        ("failed", &query.failed),
        ("absent", &query.absent),
        ("stale", &query.stale),
    ];
    let named = lists.into_iter().flat_map(|(how, names)| names.iter().map(move |n| (how, n)));
    let edges = named.flat_map(|(how, event)| {
        let edge = |from: Option<&Station>| Edge {
            collection: to.home.to_string(),
            from: from.map(|s| s.flow.name.to_string()),
            event: event.to_string(),
            to: to.flow.name.to_string(),
            how: how.to_owned(),
        };
        let here = stations.iter().filter(|s| s.home == to.home);
        let by = here.filter(|s| s.version.def.records.as_ref() == Some(event));
        let known: Vec<Edge> = by.map(|s| edge(Some(s))).collect();
        if known.is_empty() { vec![edge(None)] } else { known }
    });
    edges.collect()
}

fn shown(query: &flow::Query) -> Query {
    let names = |list: &[Name]| list.iter().map(Name::to_string).collect();
    Query {
        kinds: names(&query.kinds),
        types: names(&query.types),
        success: names(&query.success),
        failed: names(&query.failed),
        absent: names(&query.absent),
        stale: names(&query.stale),
        items: query.items.iter().map(ToString::to_string).collect(),
    }
}
