//! Archives: repositories whose revisions run their own workflows.

use armarius_core::command::{AcceptHistory, Command, Definitions, PutArchive, StartFlow};
use armarius_core::decide::revision_address;
use armarius_core::flow::codec::COMMIT;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::Reply;
use armarius_core::rows::{self, ArchiveKind, ArchiveState};
use armarius_core::task::State::{self as TaskState, Failed};
use armarius_core::text::{Name, Text};
use armarius_core::view::View;
use armarius_core::why::{Node, why_task};
use armarius_wire::v1::Page;
use armarius_wire::v1::archive::{
    Accept, Accepted, Archive, Awaiting, Notice, Put, Skip, Start, Started,
};
use armarius_wire::v1::time;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::behind;
use crate::app::App;
use crate::body::{Json, json};
use crate::identity::within;
use crate::keys::Caller;
use crate::look::{Look, Lost, find_item};
use crate::problem::{Answer, Fault, Own};
use crate::repositories::{Past, Repositories, Wish};

/// Archives of one list that are asked what holds them back.
const HELD_BACK_MAX: usize = 50;

/// `GET /api/v1/archives`
pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Answer {
    let entries = app.look(move |look| all(look, &caller)).await?;
    Ok(json(StatusCode::OK, &Page { entries, next: None }))
}

/// `GET /api/v1/archives/{archive}`
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer {
    let look = move |look: &mut Look<'_>| {
        let row = archive(look, &caller, &name)?;
        let held_back = held_back(look, &row)?.map(|why| why.to_string()).unwrap_or_default();
        let behind = behind::of_archive(look, &row)?;
        let shown = shown(&look.view, &row).ok_or_else(|| unknown(&name))?;
        Ok(Archive { held_back, behind, ..shown })
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

/// `PUT /api/v1/archives/{archive}`
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(put): Json<Put>,
) -> Answer {
    let archive = Name::new(&name)?;
    within(&caller, &archive)?;
    let kind = put.kind.as_deref().map(kind).transpose()?;
    let wish = Wish { repo: put.repo, kind, branch: put.branch };
    let found = app.beside(move |repositories| repositories.find(&wish)).await?;
    let command = Command::PutArchive(PutArchive {
        archive: archive.clone(),
        kind: found.kind,
        place: found.place.into(),
        branch: found.branch.into(),
        first: put.from.unwrap_or(1),
        trusted: put.trust,
        depth_max: put.depth_max,
    });
    app.ask(&caller, command).await?;
    app.repositories().news(&archive, None, &caller.actor);
    Ok(super::done())
}

/// `DELETE /api/v1/archives/{archive}`
pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer {
    let archive = Name::new(&name)?;
    within(&caller, &archive)?;
    app.ask(&caller, Command::RemoveArchive { archive }).await?;
    Ok(super::done())
}

/// `POST /api/v1/archives/{archive}/resume`
pub(crate) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer {
    let archive = Name::new(&name)?;
    within(&caller, &archive)?;
    app.ask(&caller, Command::ResumeArchive { archive: archive.clone() }).await?;
    app.repositories().news(&archive, None, &caller.actor);
    Ok(super::done())
}

/// `POST /api/v1/archives/{archive}/accept`
pub(crate) async fn accept(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(accept): Json<Accept>,
) -> Answer {
    Ok(json(StatusCode::OK, &accept_as_it_is(&app, &caller, name, accept.reason).await?))
}

/// Takes the history of a stopped archive as it is now.
pub(crate) async fn accept_as_it_is(
    app: &App,
    caller: &Caller,
    name: String,
    reason: String,
) -> Result<Accepted, Fault> {
    let archive_name = Name::new(&name)?;
    within(caller, &archive_name)?;
    let seen = caller.clone();
    let row = app.look(move |look| archive(look, &seen, &name)).await?;
    let (planned, before) = (row.planned, row.clone());
    let past = app.beside(move |repositories| repositories.past(&row)).await?;
    let Past { youngest, identity, id } = past;
    let told = Accepted {
        planned,
        youngest,
        was: either(&before.planned_id, &before.identity),
        is: either(&id, &identity),
    };
    let command = Command::AcceptHistory(AcceptHistory {
        archive: archive_name.clone(),
        reason: reason.into(),
        planned,
        youngest,
        identity: identity.into(),
        id: id.into(),
    });
    app.ask(caller, command).await?;
    app.repositories().news(&archive_name, None, &caller.actor);
    Ok(told)
}

/// What a repository calls its revision, or where it counts them, what it calls itself.
fn either(id: &str, identity: &str) -> String {
    if id.is_empty() { identity } else { id }.to_owned()
}

/// `POST /api/v1/archives/{archive}/notices`: answered at once; the repository is read afterwards,
/// and would be read without a notice too.
pub(crate) async fn notice(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(notice): Json<Notice>,
) -> Answer {
    let archive_name = Name::new(&name)?;
    within(&caller, &archive_name)?;
    let seen = caller.clone();
    app.look(move |look| archive(look, &seen, &name).map(drop)).await?;
    app.repositories().news(&archive_name, notice.revision, &caller.actor);
    Ok(super::done())
}

/// `POST /api/v1/archives/{archive}/skip`
pub(crate) async fn skip(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(skip): Json<Skip>,
) -> Answer {
    let archive = Name::new(&name)?;
    within(&caller, &archive)?;
    let (revision, reason) = (skip.revision, skip.reason.into());
    let command = Command::SkipRevision { archive: archive.clone(), revision, reason };
    app.ask(&caller, command).await?;
    app.repositories().news(&archive, None, &caller.actor);
    Ok(super::done())
}

/// `POST /api/v1/archives/{archive}/start`
pub(crate) async fn start(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(start): Json<Start>,
) -> Answer {
    Ok(json(StatusCode::OK, &begin(&app, &caller, name, start).await?))
}

/// Starts a flow as it is defined at a revision.
pub(crate) async fn begin(
    app: &App,
    caller: &Caller,
    name: String,
    start: Start,
) -> Result<Started, Fault> {
    let archive_name = Name::new(&name)?;
    let (seen, wanted) = (caller.clone(), start.revision);
    let (row, revision, id) = app.look(move |look| revision_of(look, &seen, &name, wanted)).await?;
    let read = move |repositories: &dyn Repositories| repositories.definitions(&row, revision, &id);
    let flow = match app.beside(read).await? {
        Definitions::Flows(flows) => {
            let flow = flows.into_iter().find(|flow| flow.name.as_str() == start.flow);
            flow.ok_or_else(|| no_flow(&start.flow, revision))?
        }
        Definitions::Invalid(_) => {
            let why = format!("the definitions at revision {revision} cannot be read");
            let hint = format!(
                "`armarius revision show {archive_name} {revision}` says why; --rev names another"
            );
            return Err(Refusal::new(Code::BadFlow, why).hint(hint).into());
        }
    };
    let payload: Text = start.params.as_ref().map_or("", |p| p.get()).into();
    let command =
        Command::StartFlow(Box::new(StartFlow { archive: archive_name, revision, flow, payload }));
    match app.ask_once(caller, start.id.as_deref(), command).await? {
        Reply::Round { round, task, repeated, .. } => {
            Ok(Started { revision, round, task: task.0, repeated })
        }
        other => Err(super::strange(&other)),
    }
}

fn no_flow(flow: &str, revision: i64) -> Refusal {
    let why = format!("there is no flow {flow} at revision {revision}");
    Refusal::new(Code::NoSuchFlow, why).hint("flows are named like their files in _workflows")
}

/// All archives the caller may see, by name; those that stand still say which task stops them.
pub(crate) fn all(look: &mut Look<'_>, caller: &Caller) -> Result<Vec<Archive>, Lost> {
    let rows = look.view.archives.iter().map(|(_, row)| row);
    let kept = rows.filter(|row| row.state != ArchiveState::Removed).cloned();
    let mut all = Vec::new();
    let mut asked = 0;
    for row in kept.collect::<Vec<rows::Archive>>() {
        let Some(mut one) = shown(&look.view, &row).filter(|one| caller.may(&one.name)) else {
            continue;
        };
        if asked < HELD_BACK_MAX && any(&look.view, &row, Failed) {
            asked += 1;
            one.held_back = stopped_by(held_back(look, &row)?.as_ref());
            one.behind = behind::of_archive(look, &row)?;
        }
        all.push(one);
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Whether a task of the archive is in that state.
fn any(view: &View, row: &rows::Archive, state: TaskState) -> bool {
    let mut queues = view.queues.iter().map(|(_, queue)| queue);
    queues.any(|queue| queue.collection == row.collection && queue.counts[state.index()] > 0)
}

/// The task that somebody has to see to before the archive goes on.
pub(crate) fn stopped_by(why: Option<&Node>) -> String {
    fn find(node: &Node) -> Option<&Node> {
        let stops = node.clear.starts_with("armarius task retry");
        if stops { Some(node) } else { node.because.iter().find_map(find) }
    }
    why.and_then(find).map(|node| node.what.clone()).unwrap_or_default()
}

/// An archive, if the caller may see it.
pub(crate) fn archive(
    look: &mut Look<'_>,
    caller: &Caller,
    name: &str,
) -> Result<rows::Archive, Lost> {
    let wanted = Name::new(name)?;
    let found = look.ask(|view| match view.collection_names.get(&wanted)? {
        Some(id) => Ok(view.archives.get(id)?.cloned()),
        None => Ok(None),
    })?;
    let row = found.filter(|row| caller.may(name) && row.state != ArchiveState::Removed);
    row.ok_or_else(|| unknown(name).into())
}

/// An archive, one of its planned revisions, and what the repository calls that.
pub(super) fn revision_of(
    look: &mut Look<'_>,
    caller: &Caller,
    name: &str,
    wanted: Option<i64>,
) -> Result<(rows::Archive, i64, String), Lost> {
    let row = archive(look, caller, name)?;
    let revision = wanted.unwrap_or(row.planned);
    let at = revision_address(&Name::new(name)?, revision);
    let item = look.ask(|view| match find_item(view, &at)? {
        Some(id) => Ok(view.items.get(&id)?.cloned()),
        None => Ok(None),
    })?;
    let Some(item) = item.filter(|_| revision <= row.planned) else {
        let why = format!("revision {revision} of archive {name} is not planned");
        let hint = format!("choose a revision from {} to {}", row.first, row.planned);
        return Err(Refusal::new(Code::NoSuchItem, why).hint(hint).into());
    };
    let said: serde_json::Value = serde_json::from_str(&item.attributes).unwrap_or_default();
    Ok((row, revision, said["id"].as_str().unwrap_or_default().to_owned()))
}

pub(crate) fn unknown(name: &str) -> Refusal {
    Refusal::new(Code::NoSuchArchive, format!("there is no archive {name}"))
        .hint("add it with `armarius archive add`, or check the spelling")
}

fn kind(text: &str) -> Result<ArchiveKind, Fault> {
    let known = ArchiveKind::ALL.into_iter().find(|kind| kind.as_str() == text);
    known.ok_or_else(|| {
        Fault::own(Own::BadRequest, format!("{text} is no kind of archive"), "say svn or git")
    })
}

pub(crate) fn shown(view: &View, row: &rows::Archive) -> Option<Archive> {
    let home = view.collections.get(&row.collection).ok().flatten()?;
    let flows = row.flows.iter().filter_map(|id| view.flows.get(id).ok().flatten());
    Some(Archive {
        name: home.name.to_string(),
        kind: row.kind.as_str().to_owned(),
        repo: row.place.to_string(),
        branch: row.branch.to_string(),
        from: row.first,
        trusted: row.trusted,
        state: row.state.as_str().to_owned(),
        reason: row.reason.to_string(),
        since: time::text(row.since),
        youngest: row.youngest,
        planned: row.planned,
        awaiting: row
            .awaited()
            .map(|(revision, since)| Awaiting { revision, since: time::text(since) }),
        held_back: String::new(),
        behind: Vec::new(),
        flows: flows.map(|flow| flow.name.to_string()).collect(),
        depth_max: row.depth_max,
    })
}

/// What the oldest COMMIT that is not done waits for, if there is one.
pub(crate) fn held_back(look: &mut Look<'_>, row: &rows::Archive) -> Result<Option<Node>, Lost> {
    let now = super::now();
    look.ask(|view| {
        let key = (row.collection, Name::trusted(COMMIT));
        let Some(flow) = view.flow_names.get(&key)?.copied() else { return Ok(None) };
        let queue = view.queue_names.get(&(flow, Name::trusted(COMMIT)))?.copied();
        let Some(queue) = queue else { return Ok(None) };
        let first = view.instances.first(&queue, 1)?.next().map(|((_, task), ())| *task);
        first.map(|task| why_task(view, task, now)).transpose()
    })
}
