//! Archives: collections whose revisions come from a repository.
//!
//! The repository itself is read by somebody else, who passes on what a look at it showed; here it
//! is decided what that means.

use super::desk::{
    ARCHIVE_ACCEPTED, ARCHIVE_PUT, ARCHIVE_REACHED, ARCHIVE_REMOVED, ARCHIVE_RESUMED,
    ARCHIVE_STOPPED, ARCHIVE_UNREACHABLE, Desk, Fact, Rule,
};
use super::flow;
use crate::command::{AcceptHistory, PutArchive, Sight};
use crate::flow::codec::COMMIT;
use crate::flow::{Action, Flow, On, RUN_MILESTONE, Step};
use crate::ids::{CollectionId, FlowId, Time};
use crate::limits::{
    ARCHIVES_MAX, CAUSAL_DEPTH, CAUSAL_DEPTH_MAX, PLACE_BYTES_MAX, REASON_BYTES_MAX,
};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Archive, ArchiveState};
use crate::text::{Name, Text, check};

pub(super) fn put(desk: &mut Desk<'_>, put: &PutArchive) -> Rule<Reply> {
    super::key::refuse_house(&put.archive)?;
    check("place of the repository", &put.place, 1, PLACE_BYTES_MAX)?;
    check("branch", &put.branch, 0, PLACE_BYTES_MAX)?;
    if put.first < 1 {
        return Err(Refusal::new(Code::OutOfRange, "the first revision is below 1")
            .hint("revisions count from 1")
            .into());
    }
    refuse_depth(put.depth_max)?;
    if desk.view.collection_names.get(&put.archive)?.is_none() {
        super::collection::put(desk, &put.archive, &[])?;
    }
    let home = desk.collection_named(&put.archive)?.id;
    let row = match desk.view.archives.get(&home)?.cloned() {
        Some(old) => changed(&old, put, desk.now())?,
        None => {
            refuse_slash(&put.archive)?;
            if desk.view.archives.iter().count() >= ARCHIVES_MAX {
                return Err(Refusal::new(
                    Code::LimitReached,
                    format!("there are {ARCHIVES_MAX} archives already"),
                )
                .hint("remove one first")
                .into());
            }
            flow::adopt(desk, home, &commit_flow())?;
            fresh(home, put, desk.now())
        }
    };
    if desk.view.archives.get(&home)? == Some(&row) {
        return Ok(Reply::Collection(home));
    }
    let detail = serde_json::json!({
        "kind": row.kind.as_str(), "place": &*row.place, "branch": &*row.branch,
        "first": row.first, "trusted": row.trusted, "depth_max": row.depth_max,
    });
    desk.tell_archive(&row, &ARCHIVE_PUT, Some(detail.to_string().into()))?;
    desk.view.archives.put(home, row);
    Ok(Reply::Collection(home))
}

/// People write `task@archive/revision`, in which the name ends at the slash.
fn refuse_slash(name: &Name) -> Result<(), Refusal> {
    if !name.contains('/') {
        return Ok(());
    }
    Err(Refusal::new(Code::BadName, format!("the name {name} of an archive contains a slash"))
        .hint("tasks are called task@archive/revision; write a dash instead"))
}

fn refuse_depth(depth_max: Option<u32>) -> Result<(), Refusal> {
    if depth_max.is_none_or(|depth| (1..=CAUSAL_DEPTH_MAX).contains(&depth)) {
        return Ok(());
    }
    let why = "as many revisions made by tasks cannot be allowed to stand behind one another";
    Err(Refusal::new(Code::OutOfRange, why).hint(format!("say 1 to {CAUSAL_DEPTH_MAX}")))
}

/// An archive of which nothing is known yet.
fn fresh(home: CollectionId, put: &PutArchive, now: Time) -> Archive {
    Archive {
        collection: home,
        kind: put.kind,
        place: put.place.clone(),
        branch: put.branch.clone(),
        first: put.first,
        trusted: put.trusted,
        identity: Text::from(""),
        youngest: put.first - 1,
        noticed: put.first - 1,
        planned: put.first - 1,
        planned_id: Text::from(""),
        awaiting_since: Time::ZERO,
        state: ArchiveState::Watched,
        reason: Text::from(""),
        since: now,
        barrier: Vec::new(),
        flows: Vec::new(),
        depth_max: put.depth_max.unwrap_or(CAUSAL_DEPTH),
    }
}

/// What an archive becomes when it is put again. What was planned stays planned; one of which no
/// revision was ever planned or noticed may become any other.
fn changed(old: &Archive, put: &PutArchive, now: Time) -> Result<Archive, Refusal> {
    let same = old.kind == put.kind && old.branch == put.branch && old.first == put.first;
    if !same && !old.has_planned() && old.noticed < old.first {
        let depth_max = put.depth_max.unwrap_or(old.depth_max);
        return Ok(Archive { depth_max, ..fresh(old.collection, put, now) });
    }
    if !same {
        return Err(Refusal::new(
            Code::AlreadyExists,
            format!(
                "there is an archive {}: {} from revision {}",
                put.archive,
                old.kind.as_str(),
                old.first
            ),
        )
        .hint("kind, branch and first revision stay as they are; use another name"));
    }
    let mut row = old.clone();
    row.place = put.place.clone();
    row.trusted = put.trusted;
    row.depth_max = put.depth_max.unwrap_or(row.depth_max);
    if row.state == ArchiveState::Removed {
        row.state = ArchiveState::Watched;
    }
    Ok(row)
}

/// The flow of every revision's own task.
fn commit_flow() -> Flow {
    let name = Name::trusted(COMMIT);
    let action = Action::Run(Name::trusted(RUN_MILESTONE));
    let step = Step { action, ..Step::outside(name.clone()) };
    let on = On::Commit { paths: Vec::new(), ignore_authors: Vec::new() };
    Flow { on, tasks: vec![step], ..Flow::manual(name) }
}

pub(super) fn remove(desk: &mut Desk<'_>, archive: &Name) -> Rule<Reply> {
    let mut row = desk.archive(archive)?.clone();
    for flow in std::mem::take(&mut row.flows) {
        flow::withdraw(desk, flow)?;
    }
    let row = Archive { state: ArchiveState::Removed, since: desk.now(), ..row };
    desk.tell_archive(&row, &ARCHIVE_REMOVED, None)?;
    desk.view.archives.put(row.collection, row);
    Ok(Reply::Ok)
}

/// The archive is looked at again. If its history is still another one, it stops again.
pub(super) fn resume(desk: &mut Desk<'_>, archive: &Name) -> Rule<Reply> {
    let row = Archive { state: ArchiveState::Watched, ..stopped(desk, archive)? };
    let row = Archive { reason: Text::from(""), since: desk.now(), ..row };
    desk.tell_archive(&row, &ARCHIVE_RESUMED, None)?;
    desk.view.archives.put(row.collection, row);
    Ok(Reply::Ok)
}

/// The history is taken as it is now. What was planned stays as it is recorded; planning goes on
/// behind it, with the first revision that has a higher number than the planned one.
pub(super) fn accept(desk: &mut Desk<'_>, accept: &AcceptHistory) -> Rule<Reply> {
    check("reason", &accept.reason, 1, REASON_BYTES_MAX)?;
    check("identity", &accept.identity, 0, PLACE_BYTES_MAX)?;
    check("id of the revision", &accept.id, 0, PLACE_BYTES_MAX)?;
    let old = stopped(desk, &accept.archive)?;
    if accept.planned != old.planned {
        let why = format!("revision {} was planned meanwhile", old.planned);
        return Err(Refusal::new(Code::WrongState, why).hint("look at it again first").into());
    }
    let mut row = Archive {
        identity: accept.identity.clone(),
        planned_id: accept.id.clone(),
        state: ArchiveState::Watched,
        reason: Text::from(""),
        since: desk.now(),
        ..old.clone()
    };
    desk.heard_of(&mut row, |row| row.youngest = accept.youngest);
    let detail = serde_json::json!({
        "reason": &*accept.reason, "stopped_because": &*old.reason,
        "planned": row.planned, "youngest": row.youngest,
        "id": { "was": &*old.planned_id, "is": &*row.planned_id },
        "identity": { "was": &*old.identity, "is": &*row.identity },
    });
    desk.tell_archive(&row, &ARCHIVE_ACCEPTED, Some(detail.to_string().into()))?;
    desk.view.archives.put(row.collection, row);
    Ok(Reply::Ok)
}

/// An archive that somebody has to decide about.
fn stopped(desk: &Desk<'_>, archive: &Name) -> Rule<Archive> {
    let row = desk.archive(archive)?;
    match row.state {
        ArchiveState::Stopped => Ok(row.clone()),
        ArchiveState::Watched | ArchiveState::Unreachable | ArchiveState::Removed => {
            let why = format!("archive {archive} is not stopped, it is {}", row.state.as_str());
            let hint =
                "there is nothing to resume; `armarius archive show` tells what it waits for";
            Err(Refusal::new(Code::WrongState, why).hint(hint).into())
        }
    }
}

pub(super) fn looked(desk: &mut Desk<'_>, archive: &Name, sight: &Sight) -> Rule<Reply> {
    let old = desk.archive(archive)?.clone();
    if old.state == ArchiveState::Stopped {
        return Ok(Reply::Ok);
    }
    let row = match sight {
        Sight::Unreachable(reason) => set(desk, &old, ArchiveState::Unreachable, reason)?,
        Sight::Rewritten(reason) => set(desk, &old, ArchiveState::Stopped, reason)?,
        Sight::Youngest { revision, identity } => {
            check("identity", identity, 0, PLACE_BYTES_MAX)?;
            match strange(&old, *revision, identity) {
                Some(reason) => set(desk, &old, ArchiveState::Stopped, &reason.into())?,
                None => {
                    let mut row = Archive { identity: identity.clone(), ..old.clone() };
                    desk.heard_of(&mut row, |row| row.youngest = row.youngest.max(*revision));
                    // That there is a next revision does not mean that it can be read.
                    let is_over = row.awaited().is_none();
                    if is_over { reached(desk, &row)? } else { row }
                }
            }
        }
    };
    if row != old {
        desk.view.archives.put(row.collection, row);
    }
    Ok(Reply::Ok)
}

/// Why this cannot be the repository that was planned from.
fn strange(row: &Archive, youngest: i64, identity: &str) -> Option<String> {
    if !row.has_planned() {
        return None;
    }
    if !row.identity.is_empty() && *row.identity != *identity {
        return Some(format!(
            "another repository is at {}: it is {identity}, not {}",
            row.place, row.identity
        ));
    }
    row.is_cut_by(youngest).then(|| {
        let had = row.planned.min(row.youngest);
        let was = if had == row.planned { "is planned" } else { "was there" };
        format!("the repository has revisions up to {youngest}, but {had} {was}")
    })
}

/// What there is to read of an archive could be read.
pub(super) fn reached(desk: &mut Desk<'_>, row: &Archive) -> Rule<Archive> {
    set(desk, row, ArchiveState::Watched, &Text::from(""))
}

/// The row in another state, with the event that says so. While the state stays, only the newest
/// reason is kept: what is tried again and again makes no history.
fn set(desk: &mut Desk<'_>, old: &Archive, state: ArchiveState, why: &Text) -> Rule<Archive> {
    check("reason", why, 0, REASON_BYTES_MAX)?;
    if old.state == state {
        return Ok(Archive { reason: why.clone(), ..old.clone() });
    }
    let name = match state {
        ArchiveState::Watched => &ARCHIVE_REACHED,
        ArchiveState::Unreachable => &ARCHIVE_UNREACHABLE,
        ArchiveState::Stopped => &ARCHIVE_STOPPED,
        ArchiveState::Removed => &ARCHIVE_REMOVED,
    };
    let row = Archive { state, reason: why.clone(), since: desk.now(), ..old.clone() };
    desk.tell_archive(&row, name, (!why.is_empty()).then(|| why.clone()))?;
    if state == ArchiveState::Stopped {
        desk.alarm(row.collection, name, &serde_json::json!({ "reason": &**why }))?;
    }
    Ok(row)
}

impl Desk<'_> {
    /// An archive that is watched, or should be.
    pub(super) fn archive(&self, name: &Name) -> Rule<&Archive> {
        let home = self.view.collection_names.get(name)?.copied();
        let row = match home {
            Some(home) => self.view.archives.get(&home)?,
            None => None,
        };
        row.filter(|row| row.state != ArchiveState::Removed).ok_or_else(|| {
            Refusal::new(Code::NoSuchArchive, format!("there is no archive {name}"))
                .hint("add it with `armarius archive add`, or check the spelling")
                .into()
        })
    }

    /// Appends an event to the archive's own history.
    pub(super) fn tell_archive(
        &mut self,
        row: &Archive,
        name: &Name,
        detail: Option<Text>,
    ) -> Rule<()> {
        let item = self.collection(row.collection)?.item;
        let fact = Fact { name: Some(name.clone()), detail, ..Fact::default() };
        self.append(item, fact).map(|_| ())
    }

    /// News of later revisions: from now on the next one is awaited, if none was before.
    pub(super) fn heard_of(&self, row: &mut Archive, change: impl FnOnce(&mut Archive)) {
        let before = row.awaited().map(|(revision, _)| revision);
        change(row);
        let after = row.awaited().map(|(revision, _)| revision);
        if after != before {
            row.awaiting_since = if after.is_some() { self.now() } else { Time::ZERO };
        }
    }

    /// The flow of every revision's own task in a collection.
    pub(super) fn commit_flow(&self, row: &Archive) -> Rule<FlowId> {
        let home = self.collection(row.collection)?;
        Ok(self.flow_named(home, &Name::trusted(COMMIT))?.id)
    }
}
