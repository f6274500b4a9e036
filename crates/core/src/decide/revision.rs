//! Revisions: noticed in any order, planned one after another.
//!
//! A notice records a revision and its `COMMIT`, which waits for the revision to be planned. The
//! plan of a revision comes with the definitions at that revision, and only when every earlier one
//! is planned. `COMMIT` is done once the revision is planned, the COMMIT before it is done and the
//! exclusive tasks of that revision are settled; every other task waits for its COMMIT.

use std::sync::Arc;

use serde_json::{Value, json};

use super::desk::{
    Desk, Fact, REVISION_INVALID, REVISION_PLANNED, REVISION_RUNAWAY, REVISION_SEEN,
    REVISION_SKIPPED, REVISION_UNTRUSTED, Rule, check_object,
};
use super::flow::{adopt, keep, refuse_wrong, withdraw};
use super::plan::Opening;
use crate::address::{ItemAddress, push_item};
use crate::command::{About, Complaint, Definitions, PlanRevision, StartFlow};
use crate::event::Outcome;
use crate::flow::codec::COMMIT;
use crate::flow::filter::{Change, refuses};
use crate::flow::{Flow, On, When, check as rules};
use crate::ids::{FlowId, ItemId, TaskId, Time, VersionId};
use crate::limits::{
    CHANGED_PATHS_MAX, COMPLAINTS_MAX, KEY_BYTES_MAX, MESSAGE_BYTES_MAX, NOTICE_AHEAD_MAX,
    PAYLOAD_BYTES_MAX, PLACE_BYTES_MAX, REASON_BYTES_MAX,
};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Archive, ArchiveState, Body, Counter, Item, Made, RoundKey, Target, TaskKey};
use crate::text::{Name, Text, check};

/// The kind of the items that stand for revisions.
pub const KIND: &str = "revision";

/// What is said of a revision whose tasks do not run.
enum Verdict<'p> {
    Runs(Vec<&'p Flow>),
    Invalid(Vec<Complaint>),
    Runaway { depth: u32, max: u32 },
    Untrusted(&'p [Flow]),
    Skipped(&'p str),
}

pub(super) fn notice(desk: &mut Desk<'_>, archive: &Name, revision: i64) -> Rule<Reply> {
    let mut row = watched(desk, archive)?.clone();
    if revision < row.first {
        return Ok(Reply::Ok);
    }
    if revision > row.planned.saturating_add(NOTICE_AHEAD_MAX) {
        return Err(Refusal::new(
            Code::OutOfRange,
            format!("revision {revision} is far beyond {}, the last planned one", row.planned),
        )
        .hint("the repository is read anyway; check the number")
        .into());
    }
    if let Some(item) = desk.find_item(&address(archive, revision))? {
        return Ok(Reply::Item { item, fresh: false });
    }
    let item = see(desk, archive, &row, revision)?;
    desk.heard_of(&mut row, |row| row.noticed = row.noticed.max(revision));
    desk.view.archives.put(row.collection, row);
    Ok(Reply::Item { item, fresh: true })
}

pub(super) fn plan(desk: &mut Desk<'_>, plan: &PlanRevision) -> Rule<Reply> {
    check_about(&plan.about)?;
    let row = watched(desk, &plan.archive)?.clone();
    if plan.revision <= row.planned {
        // Whoever else watches the archive was quicker.
        return Ok(match desk.find_item(&address(&plan.archive, plan.revision))? {
            Some(item) => Reply::Item { item, fresh: false },
            None => Reply::Ok,
        });
    }
    refuse_gap(&row, plan.revision)?;
    let depth = plan.about.cause.as_ref().map_or(0, |cause| cause.depth.saturating_add(1));
    let verdict = judge(&row, &plan.definitions, depth);
    let row = super::archive::reached(desk, &row)?;
    let next = Next { archive: &plan.archive, revision: plan.revision, about: &plan.about, depth };
    settle(desk, row, &next, &verdict)
}

pub(super) fn skip(
    desk: &mut Desk<'_>,
    archive: &Name,
    revision: i64,
    reason: &Text,
) -> Rule<Reply> {
    check("reason", reason, 1, REASON_BYTES_MAX)?;
    let row = watched(desk, archive)?.clone();
    refuse_gap(&row, revision)?;
    refuse_unawaited(&row, revision)?;
    let about = About::default();
    let next = Next { archive, revision, about: &about, depth: 0 };
    settle(desk, row, &next, &Verdict::Skipped(reason))
}

/// Starts a flow at a revision, as it is defined there.
pub(super) fn start(desk: &mut Desk<'_>, start: &StartFlow) -> Rule<Reply> {
    check_object("payload", &start.payload, PAYLOAD_BYTES_MAX)?;
    let StartFlow { archive, revision, flow, payload } = start;
    let row = desk.archive(archive)?.clone();
    if !row.trusted {
        return Err(Refusal::new(
            Code::WrongState,
            format!("archive {archive} is not trusted, so nothing of its definitions runs"),
        )
        .hint("read them, then add the archive again with --trust")
        .into());
    }
    let mut def = flow.clone();
    rules::normalise(&mut def);
    refuse_wrong(&def)?;
    refuse_unstartable(&def)?;
    let request = format!("start {archive} {revision} {} {payload:?}", def.name);
    if let Some(Made::Round(key, task)) = desk.made_before(archive, &request)? {
        let RoundKey { item, flow, round } = key;
        return Ok(Reply::Round { item, flow, round, task, repeated: true });
    }
    let item = match desk.find_item(&address(archive, *revision))? {
        Some(item) if *revision <= row.planned => item,
        Some(_) | None => return Err(not_planned(archive, *revision, &row).into()),
    };
    let (flow, version) = keep(desk, row.collection, &def)?;
    let opening = opening(desk, item, (flow, version), payload.clone(), 0)?;
    let (round, task) = desk.open_round(opening)?;
    desk.remember(archive, &request, Made::Round(RoundKey { item, flow, round }, task))?;
    Ok(Reply::Round { item, flow, round, task, repeated: false })
}

/// The revision that is settled now.
struct Next<'p> {
    archive: &'p Name,
    revision: i64,
    about: &'p About,
    depth: u32,
}

/// Plans a revision, whatever came of its definitions.
fn settle(
    desk: &mut Desk<'_>,
    mut row: Archive,
    next: &Next<'_>,
    verdict: &Verdict<'_>,
) -> Rule<Reply> {
    let item = match desk.find_item(&address(next.archive, next.revision))? {
        Some(item) => item,
        None => see(desk, next.archive, &row, next.revision)?,
    };
    describe(desk, item, &row, next)?;
    let mut layout = Layout::default();
    if let Verdict::Runs(flows) = verdict {
        layout = lay_out(desk, &mut row, item, next, flows)?;
    }
    tell(desk, item, verdict, &layout)?;
    let commit = commit_of(desk, &row, item)?;
    for (opening, def, bodies) in &layout.rounds {
        for body in bodies {
            desk.plan_task(opening, def, body)?;
        }
    }
    pass_commit(desk, &row, commit, verdict)?;
    for body in layout.rounds.iter().flat_map(|(_, _, bodies)| bodies) {
        desk.note_newest(body)?;
    }
    desk.heard_of(&mut row, |row| {
        row.planned = next.revision;
        row.youngest = row.youngest.max(next.revision);
    });
    row.planned_id = next.about.id.clone();
    row.barrier = layout.exclusive();
    desk.view.archives.put(row.collection, row);
    desk.wake_robots(item, "", next.depth)?;
    Ok(Reply::Item { item, fresh: true })
}

/// Records a revision and its COMMIT, which waits for the plan.
fn see(desk: &mut Desk<'_>, archive: &Name, row: &Archive, revision: i64) -> Rule<ItemId> {
    let item = desk.new_item(&address(archive, revision), 0)?;
    let fact = Fact { name: Some(REVISION_SEEN.clone()), ..Fact::default() };
    let n = desk.append(item, fact)?;
    let row_of = desk.item(item)?.clone();
    desk.view.items.put(item, Item { ordinal: Some(revision), changed_seq: n, ..row_of });
    let flow = desk.commit_flow(row)?;
    let version = desk.flow(flow)?.version;
    let opening = Opening {
        item,
        flow,
        version,
        payload: Text::from(""),
        priority: 0,
        not_before: Time::ZERO,
        parts: vec![Text::from("")],
        batch: None,
        fingerprint: Text::from(""),
        depth: 0,
        depends: Vec::new(),
        commit: None,
    };
    let (def, bodies) = desk.lay_out(&opening)?;
    for body in &bodies {
        let step = desk.step_in(&def, body)?;
        let mut task = desk.new_task(&opening, &def, body, step)?;
        let target = Target::Absent(awaited_plan(desk, item)?);
        desk.depend_on(&mut task, target, When::Done, false)?;
        desk.plan(task, body)?;
    }
    Ok(item)
}

/// What COMMIT waits for until its revision is planned. No task can have this address.
fn awaited_plan(desk: &Desk<'_>, item: ItemId) -> Rule<Text> {
    let row = desk.item(item)?;
    let mut text = String::from(PLAN_OF);
    push_item(&mut text, &desk.collection(row.collection)?.name, &row.kind, &row.key);
    Ok(text.into())
}

/// How the address of a plan that is awaited begins.
pub(crate) const PLAN_OF: &str = "the plan of ";

/// COMMIT waits for the COMMIT before it, for what the definitions add, and for the exclusive tasks
/// of the revision before; it no longer waits for the plan.
fn pass_commit(
    desk: &mut Desk<'_>,
    row: &Archive,
    commit: TaskId,
    verdict: &Verdict<'_>,
) -> Rule<()> {
    let body = desk.body(commit)?.clone();
    let mut task = desk.task(commit)?.clone();
    let before = crate::flow::Depend { on: crate::flow::Reference::Prev, when: When::Done };
    desk.depend_on_reference(&mut task, &body, &before)?;
    for exclusive in &row.barrier {
        desk.depend_on(&mut task, Target::Task(*exclusive), When::Done, false)?;
    }
    if let Verdict::Runs(flows) = verdict {
        let added = flows.iter().flat_map(|flow| &flow.tasks);
        for depend in added.filter(|s| s.name.as_str() == COMMIT).flat_map(|s| &s.depends) {
            desk.depend_on_reference(&mut task, &body, depend)?;
        }
    }
    desk.view.tasks.put(commit, task);
    desk.note_newest(&body)?;
    let plan = Target::Absent(awaited_plan(desk, body.item)?);
    let left = desk.count(Counter::Absent)?.saturating_sub(1);
    desk.view.counters.put(Counter::Absent, left);
    desk.satisfy(&plan, commit)
}

/// The rounds of a revision, with what its filters left out.
#[derive(Default)]
struct Layout {
    rounds: Vec<(Opening, Arc<Flow>, Vec<Body>)>,
    left_out: Vec<(Name, &'static str)>,
}

impl Layout {
    fn exclusive(&self) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        for (_, def, bodies) in &self.rounds {
            let steps = def.tasks.iter().filter(|step| super::plan::is_planned(step));
            let both = steps.zip(bodies);
            tasks.extend(both.filter(|(step, _)| step.exclusive).map(|(_, body)| body.id));
        }
        tasks
    }
}

/// Makes the definitions current and the bodies of the flows that want this revision.
fn lay_out(
    desk: &mut Desk<'_>,
    row: &mut Archive,
    item: ItemId,
    next: &Next<'_>,
    flows: &[&Flow],
) -> Rule<Layout> {
    let mut adopted: Vec<(FlowId, VersionId)> = Vec::with_capacity(flows.len());
    for def in flows {
        let (flow, version, _, _) = adopt(desk, row.collection, def)?;
        adopted.push((flow, version));
    }
    let gone: Vec<FlowId> =
        row.flows.iter().filter(|old| adopted.iter().all(|(f, _)| f != *old)).copied().collect();
    for flow in gone {
        withdraw(desk, flow)?;
    }
    row.flows = adopted.iter().map(|(flow, _)| *flow).collect();
    let commit = commit_of(desk, row, item)?;
    let view = &desk.view;
    desk.require(adopted.iter().filter_map(|(f, _)| view.latest_rounds.missing(&(item, *f))))?;
    let about = next.about;
    let change = Change { author: &about.author, paths: &about.paths, more: about.paths_more > 0 };
    let mut layout = Layout::default();
    for (def, ids) in flows.iter().zip(adopted) {
        match (&def.on, refuses(&def.on, change)) {
            (On::Commit { .. }, None) => {
                let mut opening = opening(desk, item, ids, Text::from(""), next.depth)?;
                opening.commit = Some(commit);
                let (def, bodies) = desk.lay_out(&opening)?;
                layout.rounds.push((opening, def, bodies));
            }
            (On::Commit { .. }, Some(why)) => layout.left_out.push((def.name.clone(), why)),
            (
                On::Items(_)
                | On::Lot
                | On::Submission
                | On::Pairs { .. }
                | On::Schedule(_)
                | On::Manual,
                _,
            ) => {}
        }
    }
    Ok(layout)
}

fn opening(
    desk: &Desk<'_>,
    item: ItemId,
    (flow, version): (FlowId, VersionId),
    payload: Text,
    depth: u32,
) -> Rule<Opening> {
    Ok(Opening {
        item,
        flow,
        version,
        payload,
        priority: desk.item(item)?.priority,
        not_before: Time::ZERO,
        parts: vec![Text::from("")],
        batch: None,
        fingerprint: Text::from(""),
        depth,
        depends: Vec::new(),
        commit: None,
    })
}

/// Whether the tasks of a revision run, and if not, why.
fn judge<'p>(row: &Archive, definitions: &'p Definitions, depth: u32) -> Verdict<'p> {
    let flows = match definitions {
        Definitions::Invalid(complaints) => return Verdict::Invalid(complaints.clone()),
        Definitions::Flows(flows) => flows,
    };
    let complaints = wrong(flows);
    if !complaints.is_empty() {
        return Verdict::Invalid(complaints);
    }
    if depth > row.depth_max {
        return Verdict::Runaway { depth, max: row.depth_max };
    }
    if !row.trusted && !flows.is_empty() {
        return Verdict::Untrusted(flows);
    }
    Verdict::Runs(flows.iter().collect())
}

/// What the rules find wrong with definitions that could be read.
fn wrong(flows: &[Flow]) -> Vec<Complaint> {
    let mut found = Vec::new();
    let mut add = |flow: &Flow, reason: String| {
        found.push(Complaint { file: flow.name.as_str().into(), line: 0, reason: reason.into() });
    };
    for flow in flows {
        if flow.name.as_str() == COMMIT {
            add(flow, "COMMIT is the name of the flow that every archive has".to_owned());
        }
        if let Err(refusal) = refuse_wrong(flow) {
            add(flow, refusal.to_string());
        }
    }
    for (index, problem) in rules::check_together(flows) {
        if let Some(flow) = flows.get(index) {
            add(flow, problem.to_string());
        }
    }
    found.truncate(COMPLAINTS_MAX);
    found
}

/// Says what came of a revision's definitions.
fn tell(desk: &mut Desk<'_>, item: ItemId, verdict: &Verdict<'_>, layout: &Layout) -> Rule<()> {
    let (name, outcome, detail): (&Name, Outcome, Value) = match verdict {
        Verdict::Runs(flows) => {
            let rounds = layout.rounds.iter();
            let tasks: usize = rounds.map(|(_, _, bodies)| bodies.len()).sum();
            let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
            let mut detail = json!({ "flows": names, "tasks": tasks });
            if !layout.left_out.is_empty() {
                let out = layout.left_out.iter();
                detail["left_out"] =
                    out.map(|(flow, why)| json!({ "flow": flow.as_str(), "why": why })).collect();
            }
            (&REVISION_PLANNED, Outcome::Success, detail)
        }
        Verdict::Invalid(complaints) => {
            let shown = complaints
                .iter()
                .take(COMPLAINTS_MAX)
                .map(|c| json!({ "file": &*c.file, "line": c.line, "reason": &*c.reason }));
            (&REVISION_INVALID, Outcome::Failure, json!({ "problems": shown.collect::<Value>() }))
        }
        Verdict::Runaway { depth, max } => {
            let detail = json!({ "depth": depth, "max": max });
            (&REVISION_RUNAWAY, Outcome::Failure, detail)
        }
        Verdict::Untrusted(flows) => {
            let shown = flows.iter().map(|flow| {
                let tasks: Vec<&str> = flow.tasks.iter().map(|s| s.name.as_str()).collect();
                json!({ "flow": flow.name.as_str(), "tasks": tasks })
            });
            (&REVISION_UNTRUSTED, Outcome::Failure, json!({ "flows": shown.collect::<Value>() }))
        }
        Verdict::Skipped(reason) => {
            (&REVISION_SKIPPED, Outcome::Failure, json!({ "reason": reason }))
        }
    };
    let basis = desk.item(item)?.changed_seq;
    let fact = Fact {
        name: Some(name.clone()),
        outcome: Some(outcome),
        detail: Some(detail.to_string().into()),
        ..Fact::default()
    };
    let n = desk.append(item, fact)?;
    desk.mark(item, name, n, outcome, basis);
    match verdict {
        Verdict::Invalid(_) | Verdict::Runaway { .. } => {
            let row = desk.item(item)?;
            let (home, mut more) = (row.collection, detail);
            more["revision"] = row.ordinal.into();
            desk.alarm(home, name, &more)
        }
        Verdict::Runs(_) | Verdict::Untrusted(_) | Verdict::Skipped(_) => Ok(()),
    }
}

/// Keeps what the repository says about a revision as the item's attributes.
fn describe(desk: &mut Desk<'_>, item: ItemId, row: &Archive, next: &Next<'_>) -> Rule<()> {
    let about = next.about;
    let told = u64::try_from(about.paths.len()).unwrap_or(u64::MAX);
    let mut said = json!({
        "author": &*about.author,
        "message": &*about.message,
        "paths": told.saturating_add(about.paths_more),
    });
    for (key, value) in [("id", &about.id), ("previous_id", &row.planned_id)] {
        if !value.is_empty() {
            said[key] = json!(&**value);
        }
    }
    if let Some(at) = about.at {
        said["at_us"] = at.0.into();
    }
    if let Some(cause) = &about.cause {
        said["cause"] = json!({ "task": &*cause.task, "depth": next.depth });
    }
    let row = desk.item(item)?.clone();
    desk.view.items.put(item, Item { attributes: said.to_string().into(), ..row });
    Ok(())
}

fn check_about(about: &About) -> Result<(), Refusal> {
    check("id of the revision", &about.id, 0, PLACE_BYTES_MAX)?;
    check("author", &about.author, 0, KEY_BYTES_MAX)?;
    check("message", &about.message, 0, MESSAGE_BYTES_MAX)?;
    if let Some(cause) = &about.cause {
        check("cause", &cause.task, 0, KEY_BYTES_MAX)?;
    }
    if about.paths.len() > CHANGED_PATHS_MAX {
        return Err(Refusal::new(
            Code::TooLarge,
            format!("{} changed paths, more than {CHANGED_PATHS_MAX}", about.paths.len()),
        )
        .hint("pass on the first ones and how many there are more"));
    }
    Ok(())
}

/// An archive whose revisions may be planned.
fn watched<'d>(desk: &'d Desk<'_>, archive: &Name) -> Rule<&'d Archive> {
    let row = desk.archive(archive)?;
    match row.state {
        ArchiveState::Watched | ArchiveState::Unreachable => Ok(row),
        ArchiveState::Stopped | ArchiveState::Removed => Err(Refusal::new(
            Code::WrongState,
            format!("archive {archive} is stopped: {}", row.reason),
        )
        .hint("see to the repository, then `armarius archive resume`, or take it with --accept")
        .into()),
    }
}

fn refuse_gap(row: &Archive, revision: i64) -> Result<(), Refusal> {
    let wanted = row.planned.saturating_add(1);
    if revision == wanted {
        return Ok(());
    }
    Err(Refusal::new(Code::WrongState, format!("revision {wanted} is next, not {revision}"))
        .hint("revisions are planned in their order, and one that is planned stays planned"))
}

/// What nobody has heard of cannot be skipped: an archive with more planned revisions than its
/// repository has would look like one whose repository lost some.
fn refuse_unawaited(row: &Archive, revision: i64) -> Result<(), Refusal> {
    if row.awaited().is_some() {
        return Ok(());
    }
    Err(Refusal::new(Code::WrongState, format!("revision {revision} is not awaited"))
        .hint("all revisions there are are planned; a task of one is skipped with `task skip`"))
}

fn refuse_unstartable(def: &Flow) -> Result<(), Refusal> {
    match def.on {
        On::Commit { .. } | On::Manual | On::Schedule(_) => Ok(()),
        On::Items(_) | On::Lot | On::Submission | On::Pairs { .. } => Err(Refusal::new(
            Code::WrongState,
            format!("flow {} works on other things than revisions", def.name),
        )
        .hint("start a flow that is woken by commits, a schedule or by hand")),
    }
}

fn not_planned(archive: &Name, revision: i64, row: &Archive) -> Refusal {
    let why = format!("revision {revision} of archive {archive} is not planned");
    let hint = format!("choose a revision from {} to {}", row.first, row.planned);
    Refusal::new(Code::NoSuchItem, why).hint(hint)
}

/// The COMMIT of a revision.
fn commit_of(desk: &Desk<'_>, row: &Archive, item: ItemId) -> Rule<TaskId> {
    let flow = desk.commit_flow(row)?;
    let queue = desk.queue_of(flow, &Name::trusted(COMMIT))?;
    let key = TaskKey { item, queue, part: Text::from(""), round: 1 };
    desk.view.task_keys.get(&key)?.copied().ok_or_else(|| {
        Refusal::new(Code::WrongState, format!("revision item {item} has no COMMIT"))
            .hint("run `armarius doctor`")
            .into()
    })
}

impl Desk<'_> {
    /// The COMMIT of the revision that an item stands for; none for any other item.
    pub(super) fn commit_at(&self, item: ItemId) -> Rule<Option<TaskId>> {
        let of = self.item(item)?;
        // Somebody may have put an item of that kind before there was an archive.
        if of.kind.as_str() != KIND || of.ordinal.is_none() {
            return Ok(None);
        }
        match self.view.archives.get(&of.collection)? {
            Some(row) => commit_of(self, row, item).map(Some),
            None => Ok(None),
        }
    }
}

/// Where a revision lives.
#[must_use]
pub fn address(archive: &Name, revision: i64) -> ItemAddress {
    ItemAddress {
        collection: archive.clone(),
        kind: Name::trusted(KIND),
        key: revision.to_string().into(),
    }
}
