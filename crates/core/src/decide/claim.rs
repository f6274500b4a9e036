//! A claim: the best tasks a worker can do, as one lease.
//!
//! Order: priority, then the flow's order, then task number. Between queues of equal head priority
//! the collection that was served longest ago goes first.

use super::desk::{Desk, Rule};
use super::moves::Move;
use crate::command::Claim;
use crate::ids::{CollectionId, FlowId, HoldId, LeaseId, QueueId, Span, TaskId, Time};
use crate::limits::{CLAIM_TASKS_MAX, DUTY_ROWS_MAX, FRONT_SLACK, LABELS_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::{Granted, GrantedTask, Reply};
use crate::rows::{Body, Collection, Counter, FlowRow, Grip, Lease, Queue, Rank, Scope};
use crate::task::{State, Verb};

/// A queue a claim may draw from.
struct Candidate {
    queue: QueueId,
    flow: FlowId,
    collection: CollectionId,
    /// How many this claim may still take from the flow.
    room: usize,
}

pub(super) fn claim(desk: &mut Desk<'_>, claim: &Claim) -> Rule<Reply> {
    check_claim(claim)?;
    let candidates = candidates(desk, claim)?;
    let mut hand = Hand {
        lease: LeaseId(desk.call.chance),
        worker: claim.worker.as_str(),
        ttl: None,
        tasks: Vec::new(),
        grips: Vec::new(),
        held: 0,
    };
    take(desk, candidates, claim.max as usize, &mut hand)?;
    let Some(ttl) = hand.ttl else { return Ok(Reply::Claimed(None)) };
    let lease = Lease {
        id: hand.lease,
        worker: claim.worker.clone(),
        actor: desk.call.actor.clone(),
        ttl,
        granted_at: desk.now(),
        expires_at: desk.now().plus(ttl),
        grips: hand.grips,
    };
    desk.view.due_leases.put((), (lease.due_at(), lease.id), ());
    desk.view.leases.put(lease.id, lease);
    Ok(Reply::Claimed(Some(Granted { lease: hand.lease, ttl, tasks: hand.tasks })))
}

/// What a claim has taken so far.
struct Hand<'c> {
    lease: LeaseId,
    worker: &'c str,
    ttl: Option<Span>,
    tasks: Vec<GrantedTask>,
    grips: Vec<Grip>,
    /// Tasks that met a hold on the way.
    held: usize,
}

/// Refuses a claim that could never be granted anything, whatever there is.
pub fn check_claim(claim: &Claim) -> Result<(), Refusal> {
    if claim.max == 0 || claim.max > CLAIM_TASKS_MAX {
        return Err(Refusal::new(
            Code::OutOfRange,
            format!("a claim for {} tasks is out of range", claim.max),
        )
        .hint(format!("ask for 1 to {CLAIM_TASKS_MAX} tasks")));
    }
    if claim.labels.len() > LABELS_MAX {
        return Err(Refusal::new(Code::TooLarge, format!("more than {LABELS_MAX} labels"))
            .hint("give the worker fewer labels"));
    }
    Ok(())
}

/// The queues with ready tasks that this worker may draw from.
fn candidates(desk: &Desk<'_>, claim: &Claim) -> Rule<Vec<Candidate>> {
    let mut found = Vec::new();
    let mut busy = None;
    // Thousands of flows may have been forgotten: they are asked for together.
    let mut needs = Vec::new();
    for (_, queue) in desk.view.queues.iter() {
        if queue.counts[State::Ready.index()] == 0 || !can(claim, queue) {
            continue;
        }
        let flow = desk.flow(queue.flow)?;
        let home = desk.collection(queue.collection)?;
        if !wants(claim, flow, queue, home) || is_closed(desk, queue)? {
            continue;
        }
        if let Some(need) = desk.view.versions.missing(&flow.version) {
            needs.push(need);
            continue;
        }
        let Some(version) = desk.view.versions.get(&flow.version)? else { continue };
        if version.def.singleton && is_taken(desk, flow)? {
            busy = Some(flow.name.clone());
            continue;
        }
        let room = version.def.max_items as usize;
        found.push(Candidate { queue: queue.id, flow: flow.id, collection: home.id, room });
    }
    desk.require(needs.into_iter())?;
    match busy {
        Some(name) if found.is_empty() && !claim.steps.is_empty() => {
            Err(Refusal::new(Code::RobotBusy, format!("another instance of {name} is at work"))
                .hint("it goes on by itself; start a second instance only to take over")
                .into())
        }
        Some(_) | None => Ok(found),
    }
}

fn can(claim: &Claim, queue: &Queue) -> bool {
    (claim.ways.is_empty() || claim.ways.contains(&queue.way))
        && queue.labels.iter().all(|label| claim.labels.contains(label))
}

fn wants(claim: &Claim, flow: &FlowRow, queue: &Queue, home: &Collection) -> bool {
    let step = claim.steps.is_empty()
        || claim.steps.iter().any(|(f, s)| *f == flow.name && *s == queue.step);
    step && (claim.collections.is_empty() || claim.collections.contains(&home.name))
}

/// Whether a hold closes the whole queue.
fn is_closed(desk: &Desk<'_>, queue: &Queue) -> Rule<bool> {
    let scopes =
        [Scope::Collection(queue.collection), Scope::Flow(queue.flow), Scope::Step(queue.id)];
    for scope in scopes {
        if desk.view.hold_scopes.get(&scope)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a live lease holds a singleton flow.
fn is_taken(desk: &Desk<'_>, flow: &FlowRow) -> Rule<bool> {
    let Some(lease) = flow.taken else { return Ok(false) };
    Ok(desk.view.leases.get(&lease)?.is_some_and(|l| l.expires_at > desk.now()))
}

fn take(
    desk: &mut Desk<'_>,
    mut candidates: Vec<Candidate>,
    max: usize,
    hand: &mut Hand<'_>,
) -> Rule<()> {
    while hand.tasks.len() < max && hand.held < DUTY_ROWS_MAX {
        let want = max - hand.tasks.len();
        let Some(best) = best_head(desk, &mut candidates, want)? else { return Ok(()) };
        let Some(candidate) = candidates.get(best) else { return Ok(()) };
        let ranks = next_of(desk, candidate.queue, want.min(candidate.room))?;
        if preload(desk, &ranks).is_err() {
            preload(desk, &outlook(desk, &candidates, want)?)?;
            preload(desk, &ranks)?;
        }
        let Some(candidate) = candidates.get_mut(best) else { return Ok(()) };
        let before = hand.tasks.len();
        for rank in &ranks {
            grant(desk, rank.task, hand)?;
        }
        candidate.room = candidate.room.saturating_sub(hand.tasks.len() - before);
        if hand.tasks.len() > before {
            serve(desk, candidate.collection, candidate.flow, hand.lease)?;
        }
        if candidate.room == 0 {
            candidates.remove(best);
        }
    }
    Ok(())
}

/// The candidate whose head comes first; candidates without a head are dropped.
fn best_head(desk: &Desk<'_>, candidates: &mut Vec<Candidate>, want: usize) -> Rule<Option<usize>> {
    let mut needs = Vec::new();
    let mut best: Option<(usize, (i32, i64, Rank))> = None;
    let mut empty = Vec::new();
    for (i, candidate) in candidates.iter().enumerate() {
        let served = desk.collection(candidate.collection)?.served;
        match desk.view.ready.first(&candidate.queue, want.min(candidate.room)) {
            Ok(mut ranks) => match ranks.next() {
                Some((rank, ())) => {
                    let key = (rank.behind, served, *rank);
                    if best.is_none_or(|(_, b)| key < b) {
                        best = Some((i, key));
                    }
                }
                None => empty.push(candidate.queue),
            },
            Err(crate::view::Stop::Need(more)) => needs.extend(more.into_iter().map(enough)),
            Err(stop) => return Err(stop),
        }
    }
    if !needs.is_empty() {
        return Err(crate::view::Stop::Need(needs));
    }
    let chosen = best.and_then(|(i, _)| candidates.get(i)).map(|c| c.queue);
    candidates.retain(|c| !empty.contains(&c.queue));
    Ok(chosen.and_then(|queue| candidates.iter().position(|c| c.queue == queue)))
}

/// Loads more of a front than one claim needs, so that the next claims find theirs.
fn enough(need: crate::view::Need) -> crate::view::Need {
    match need {
        crate::view::Need::Ready(queue, after, n) => {
            crate::view::Need::Ready(queue, after, n + FRONT_SLACK)
        }
        other => other,
    }
}

/// The first ranks of a queue that share its head's priority.
fn next_of(desk: &Desk<'_>, queue: QueueId, n: usize) -> Rule<Vec<Rank>> {
    let mut ranks = Vec::with_capacity(n);
    for (rank, ()) in desk.view.ready.first(&queue, n)?.take(n) {
        match ranks.first() {
            Some(Rank { behind, .. }) if *behind != rank.behind => break,
            Some(_) | None => ranks.push(*rank),
        }
    }
    Ok(ranks)
}

/// What the claim will probably take, so that all of it is loaded at once: the fronts of all
/// queues by priority, run by run. It decides nothing; who goes first is said by [`best_head`].
fn outlook(desk: &Desk<'_>, candidates: &[Candidate], want: usize) -> Rule<Vec<Rank>> {
    let mut ahead = Vec::new();
    for candidate in candidates {
        let served = desk.collection(candidate.collection)?.served;
        let n = want.min(candidate.room);
        let mut run: Option<Rank> = None;
        for (rank, ()) in desk.view.ready.first(&candidate.queue, n)?.take(n) {
            let begin = run.filter(|begin| begin.behind == rank.behind).unwrap_or(*rank);
            run = Some(begin);
            ahead.push((rank.behind, served, begin, *rank));
        }
    }
    ahead.sort_unstable();
    Ok(ahead.into_iter().take(want).map(|(.., rank)| rank).collect())
}

/// Asks for everything the grants will read, wave by wave instead of row by row.
fn preload(desk: &Desk<'_>, ranks: &[Rank]) -> Rule<()> {
    let view = &desk.view;
    desk.require(ranks.iter().flat_map(|r| {
        [view.tasks.missing(&r.task), view.bodies.missing(&r.task)].into_iter().flatten()
    }))?;
    let mut bodies = Vec::with_capacity(ranks.len());
    for rank in ranks {
        bodies.push(desk.body(rank.task)?);
    }
    desk.require(bodies.iter().flat_map(|b| {
        let needs = [
            view.items.missing(&b.item),
            view.heads.missing(&b.item),
            view.versions.missing(&b.version),
        ];
        needs.into_iter().flatten()
    }))
}

/// Grants one task, unless it meets a hold.
fn grant(desk: &mut Desk<'_>, id: TaskId, hand: &mut Hand<'_>) -> Rule<()> {
    let body = desk.body(id)?.clone();
    if let Some(hold) = fine_hold(desk, &body)? {
        return meet(desk, &body, hold, hand);
    }
    let mut task = desk.task(id)?.clone();
    let version = desk.version(&body)?.clone();
    let step = desk.step(&body)?;
    let (ttl, timeout, silence) = (step.ttl, step.timeout, step.progress_timeout);
    let item = desk.item(body.item)?.clone();
    let epoch = desk.count(Counter::Epoch)?;
    let now = desk.now();

    task.token = task.token.next(epoch);
    task.attempts += 1;
    task.lease = Some(hand.lease);
    hand.ttl = Some(hand.ttl.map_or(ttl, |t| t.min(ttl)));
    hand.grips.push(Grip {
        task: id,
        token: task.token,
        stopping: false,
        basis: item.changed_seq,
        deadline: now.plus(timeout),
        silent_at: silence.map_or(Time::ZERO, |s| now.plus(s)),
    });
    hand.tasks.push(GrantedTask {
        task: id,
        token: task.token,
        attempt: task.attempts,
        collection: desk.collection(item.collection)?.name.clone(),
        step: desk.queue(body.queue)?.step.clone(),
        archive: desk.view.archives.get(&item.collection)?.cloned(),
        item,
        body: body.clone(),
        version,
    });
    // The worker is named where it is not the caller's own name.
    let worker = (hand.worker != &*desk.call.actor).then(|| hand.worker.into());
    let token = task.token;
    desk.shift(task, &body, Move::new(Verb::Grant, State::Leased).token(token).detail(worker))
}

/// A hold on the task itself, its item or its batch.
fn fine_hold(desk: &Desk<'_>, body: &Body) -> Rule<Option<HoldId>> {
    if desk.view.holds.iter().next().is_none() {
        return Ok(None);
    }
    let scopes =
        [Some(Scope::Task(body.id)), Some(Scope::Item(body.item)), body.batch.map(Scope::Batch)];
    for scope in scopes.into_iter().flatten() {
        if let Some(hold) = desk.view.hold_scopes.get(&scope)? {
            return Ok(Some(*hold));
        }
    }
    Ok(None)
}

/// The task moves aside until the hold is released.
fn meet(desk: &mut Desk<'_>, body: &Body, hold: HoldId, hand: &mut Hand<'_>) -> Rule<()> {
    hand.held += 1;
    let task = desk.task(body.id)?.clone();
    let detail = format!("hold {hold}");
    desk.shift(task, body, Move::new(Verb::Hold, State::Held).detail(Some(detail.into())))?;
    let mut task = desk.task(body.id)?.clone();
    task.hold = Some(hold);
    desk.view.tasks.put(task.id, task);
    desk.view.held.put(hold, body.id, ());
    Ok(())
}

/// Notes that a collection had its turn, and that a singleton is taken.
fn serve(desk: &mut Desk<'_>, collection: CollectionId, flow: FlowId, lease: LeaseId) -> Rule<()> {
    let mut home = desk.collection(collection)?.clone();
    home.served = desk.mint(Counter::Turn)?;
    desk.view.collections.put(collection, home);
    let row = desk.flow(flow)?.clone();
    let singleton = desk.view.versions.get(&row.version)?.is_some_and(|v| v.def.singleton);
    if singleton {
        desk.view.flows.put(flow, FlowRow { taken: Some(lease), ..row });
    }
    Ok(())
}
