//! Flows: registering, changing and removing definitions.

use std::sync::Arc;

use super::desk::{Desk, FLOW_APPLIED, FLOW_REMOVED, Fact, Rule, is_reserved};
use super::plan::is_planned;
use crate::address::ItemAddress;
use crate::flow::{Flow, On, Step, check, codec};
use crate::ids::{CollectionId, FlowId, QueueId, ScheduleId, VersionId};
use crate::limits::ROBOTS_MAX;
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Counter, FlowRow, Follow, Queue, Schedule, Version};
use crate::text::Name;

/// The kind of the items that scheduled rounds are on.
pub(super) const SCHEDULE_KIND: &str = "schedule";

pub(super) fn apply(desk: &mut Desk<'_>, collection: &Name, given: &Flow) -> Rule<Reply> {
    let mut def = given.clone();
    check::normalise(&mut def);
    refuse_wrong(&def)?;
    super::key::refuse_house(collection)?;
    let home = desk.collection_named(collection)?.id;
    let warnings = try_on_the_line(desk, home, &def)?;
    let (flow, version, fresh, changed) = adopt(desk, home, &def)?;
    let warnings = if changed { warnings } else { Vec::new() };
    Ok(Reply::Flow { flow, version, fresh, warnings })
}

/// Makes a checked definition the current version of its flow. Answers whether that version was
/// unknown, and whether anything changed.
pub(super) fn adopt(
    desk: &mut Desk<'_>,
    home: CollectionId,
    def: &Flow,
) -> Rule<(FlowId, VersionId, bool, bool)> {
    let (mut row, known) = flow_row(desk, home, &def.name)?;
    if known && !row.removed {
        let current = desk.view.versions.get(&row.version)?;
        if current.is_some_and(|version| *version.def == *def) {
            return Ok((row.id, row.version, false, false));
        }
    }
    let (version, digest, fresh) = version_of(desk, row.id, def)?;
    row.version = version;
    row.removed = false;
    let flow = row.id;
    desk.view.flows.put(flow, row);
    for step in def.tasks.iter().filter(|step| is_planned(step)) {
        put_queue(desk, home, flow, step)?;
    }
    put_schedule(desk, home, flow, def)?;
    put_robot(desk, home, flow, matches!(def.on, On::Items(_)))?;
    let detail = serde_json::json!({ "flow": def.name.as_str(), "digest": hex(&digest) });
    tell(desk, home, &FLOW_APPLIED, &detail)?;
    Ok((flow, version, fresh, true))
}

/// Refuses a robot that would run for ever among the others, and tells what is probably not meant.
fn try_on_the_line(desk: &Desk<'_>, home: CollectionId, def: &Flow) -> Rule<Vec<String>> {
    if !matches!(def.on, On::Items(_)) {
        return Ok(Vec::new());
    }
    let flows = desk.view.flows.iter().map(|(_, flow)| flow);
    let flows: Vec<&FlowRow> =
        flows.filter(|f| f.collection == home && !f.removed && f.name != def.name).collect();
    desk.require(flows.iter().filter_map(|f| desk.view.versions.missing(&f.version)))?;
    let mut others = Vec::with_capacity(flows.len());
    for flow in flows {
        others.extend(desk.view.versions.get(&flow.version)?.map(|v| &*v.def));
    }
    let verdict = check::check_line(def, &others);
    match verdict.endless {
        None => Ok(verdict.warnings),
        Some(circle) => Err(Refusal::new(
            Code::BadFlow,
            format!("robots would wake each other without end: {circle}"),
        )
        .hint("let one of them ask for its own event as `absent`, or change nothing (`touches`)")
        .into()),
    }
}

/// Keeps a checked definition as a version of its flow, without making it the current one.
pub(super) fn keep(
    desk: &mut Desk<'_>,
    home: CollectionId,
    def: &Flow,
) -> Rule<(FlowId, VersionId)> {
    let (mut row, known) = flow_row(desk, home, &def.name)?;
    let flow = row.id;
    let (version, _, _) = version_of(desk, flow, def)?;
    if !known {
        row.version = version;
        row.removed = true;
        desk.view.flows.put(flow, row);
    }
    for step in def.tasks.iter().filter(|step| is_planned(step)) {
        if desk.view.queue_names.get(&(flow, step.name.clone()))?.is_none() {
            put_queue(desk, home, flow, step)?;
        }
    }
    Ok((flow, version))
}

fn version_of(desk: &mut Desk<'_>, flow: FlowId, def: &Flow) -> Rule<(VersionId, [u8; 32], bool)> {
    let digest = codec::digest(def);
    Ok(match desk.view.version_digests.get(&(flow, digest))?.copied() {
        Some(version) => (version, digest, false),
        None => (new_version(desk, flow, digest, def)?, digest, true),
    })
}

pub(super) fn remove(desk: &mut Desk<'_>, collection: &Name, name: &Name) -> Rule<Reply> {
    let home = desk.collection_named(collection)?.clone();
    let flow = desk.flow_named(&home, name)?.id;
    withdraw(desk, flow)?;
    Ok(Reply::Ok)
}

/// A flow opens no new rounds; what is open goes on.
pub(super) fn withdraw(desk: &mut Desk<'_>, flow: FlowId) -> Rule<()> {
    let mut row = desk.flow(flow)?.clone();
    let (home, name) = (row.collection, row.name.clone());
    row.removed = true;
    desk.view.flows.put(flow, row);
    put_robot(desk, home, flow, false)?;
    end_schedule(desk, flow)?;
    tell(desk, home, &FLOW_REMOVED, &serde_json::json!({ "flow": name.as_str() }))
}

pub(super) fn refuse_wrong(def: &Flow) -> Result<(), Refusal> {
    if let Some(name) = def.records.as_ref().filter(|name| is_reserved(name)) {
        return Err(Refusal::new(Code::BadFlow, format!("event name {name} is reserved"))
            .hint("record a name that does not begin with task., item., revision. or archive."));
    }
    let problems = check::check(def);
    let Some(first) = problems.first() else { return Ok(()) };
    let more = match problems.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    Err(Refusal::new(Code::BadFlow, format!("flow {}: {}{more}", def.name, first.message))
        .hint(first.hint.clone()))
}

fn flow_row(desk: &mut Desk<'_>, home: CollectionId, name: &Name) -> Rule<(FlowRow, bool)> {
    let key = (home, name.clone());
    if let Some(id) = desk.view.flow_names.get(&key)?.copied() {
        return Ok((desk.flow(id)?.clone(), true));
    }
    let id = FlowId(desk.mint(Counter::Flow)?);
    desk.view.flow_names.put(key, id);
    let row = FlowRow {
        id,
        collection: home,
        name: name.clone(),
        version: VersionId::default(),
        removed: false,
        taken: None,
    };
    Ok((row, false))
}

fn new_version(desk: &mut Desk<'_>, flow: FlowId, digest: [u8; 32], def: &Flow) -> Rule<VersionId> {
    let id = VersionId(desk.mint(Counter::Version)?);
    let row = Version { id, flow, digest, def: Arc::new(def.clone()), at: desk.now() };
    desk.view.versions.put(id, row);
    desk.view.version_digests.put((flow, digest), id);
    Ok(id)
}

fn put_queue(desk: &mut Desk<'_>, collection: CollectionId, flow: FlowId, def: &Step) -> Rule<()> {
    let key = (flow, def.name.clone());
    let (labels, way) = (def.labels.clone(), def.way());
    let row = match desk.view.queue_names.get(&key)?.copied() {
        Some(id) => Queue { labels, way, ..desk.queue(id)?.clone() },
        None => {
            let id = QueueId(desk.mint(Counter::Queue)?);
            desk.view.queue_names.put(key, id);
            let step = def.name.clone();
            Queue { id, collection, flow, step, labels, way, counts: [0; 7] }
        }
    };
    desk.view.queues.put(row.id, row);
    Ok(())
}

/// A flow that a calendar wakes has one schedule row; any other flow has none that fires.
fn put_schedule(desk: &mut Desk<'_>, home: CollectionId, flow: FlowId, def: &Flow) -> Rule<()> {
    let On::Schedule(calendar) = &def.on else { return end_schedule(desk, flow) };
    let found = desk.view.schedules.iter().find(|(_, s)| s.flow == flow).map(|(_, s)| s.clone());
    let row = match found {
        // Slots that passed while it was removed, or under the old calendar, are not made up for.
        Some(old) => {
            Schedule { last_slot: desk.now(), calendar: calendar.clone(), removed: false, ..old }
        }
        None => {
            let at = ItemAddress {
                collection: desk.collection(home)?.name.clone(),
                kind: Name::trusted(SCHEDULE_KIND),
                key: def.name.as_str().into(),
            };
            let item = match desk.find_item(&at)? {
                Some(item) => item,
                None => desk.new_item(&at, 0)?,
            };
            let id = ScheduleId(desk.mint(Counter::Schedule)?);
            let calendar = calendar.clone();
            let last_slot = desk.now();
            Schedule { id, flow, item, calendar, last_slot, last_round: 0, removed: false }
        }
    };
    desk.view.schedules.put(row.id, row);
    Ok(())
}

fn end_schedule(desk: &mut Desk<'_>, flow: FlowId) -> Rule<()> {
    let found = desk.view.schedules.iter().find(|(_, s)| s.flow == flow && !s.removed);
    if let Some(row) = found.map(|(_, s)| s.clone()) {
        desk.view.schedules.put(row.id, Schedule { removed: true, ..row });
    }
    Ok(())
}

/// Keeps the collection's list of robots, and asks the robot about every item there is.
fn put_robot(desk: &mut Desk<'_>, home: CollectionId, flow: FlowId, robot: bool) -> Rule<()> {
    let mut row = desk.collection(home)?.clone();
    let was = row.robots.contains(&flow);
    if !was && !robot {
        return Ok(());
    }
    if robot && !was {
        if row.robots.len() >= ROBOTS_MAX {
            return Err(Refusal::new(Code::LimitReached, format!("there are {ROBOTS_MAX} robots"))
                .hint("remove one, or use another collection")
                .into());
        }
        row.robots.push(flow);
    }
    if !robot {
        row.robots.retain(|f| *f != flow);
    }
    desk.view.collections.put(home, row);
    let fresh = desk.has_nothing_open(flow);
    // Whoever asks nothing and has nothing to withdraw need not be asked.
    if robot || !fresh {
        desk.follows.push_back(Follow::Fill(flow, fresh));
    }
    Ok(())
}

fn tell(
    desk: &mut Desk<'_>,
    home: CollectionId,
    name: &Name,
    detail: &serde_json::Value,
) -> Rule<()> {
    let item = desk.collection(home)?.item;
    let fact = Fact {
        name: Some(name.clone()),
        detail: Some(detail.to_string().into()),
        ..Fact::default()
    };
    desk.append(item, fact).map(|_| ())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(64), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}
