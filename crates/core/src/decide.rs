//! The rules themselves: one file per kind of command, one dispatcher, one set of moves.
//!
//! Reading order: [`desk`] (what every rule may do) · [`moves`] (the only way a task changes state)
//! · [`lines`] (where a ready task waits for its turn) · [`follow`] (what a fact causes for others)
//! · then the commands.

mod alarm;
mod archive;
mod batch;
mod claim;
mod collection;
mod depend;
mod desk;
mod fill;
mod flow;
mod follow;
mod hold;
mod item;
mod key;
mod lease;
mod lines;
mod moves;
mod operator;
mod outbox;
mod plan;
mod report;
mod revision;
mod rewind;
mod said;
mod schedule;
mod session;
mod submit;
mod trigger;

pub use claim::check_claim;
pub use key::HOUSE;
pub use lines::limits_of;
pub(crate) use revision::PLAN_OF;
pub use revision::{KIND as REVISION_KIND, address as revision_address};
pub use session::Session;
pub use trigger::{Standing, fits as query_fits, holds as query_holds, standing};

use crate::command::{Call, Command};
use crate::reply::Reply;
use crate::view::{Need, Stop, View};
use desk::Desk;

/// Decides a command on a view: an answer, or what is still needed, or a refusal. On a stop the
/// view is as it was.
pub fn decide(view: &mut View, call: &Call) -> Result<Reply, Stop> {
    let mut desk = Desk::new(view, call);
    let result = answer(&mut desk).and_then(|reply| desk.follow_up().map(|()| reply));
    match result {
        Ok(reply) => {
            let glanced = desk.glanced.take();
            view.keep();
            if let Some(glanced) = glanced {
                view.drop_glanced(&glanced);
            }
            Ok(reply)
        }
        Err(stop) => {
            view.rollback();
            Err(stop)
        }
    }
}

/// What [`decide`] would ask for next, if this command were decided now; the view stays as it was.
/// Commands before it may change that: whoever loads it beforehand saves a question, and decides
/// nothing.
#[must_use]
pub fn foresee(view: &mut View, call: &Call) -> Vec<Need> {
    let mut desk = Desk::new(view, call);
    let result = answer(&mut desk).and_then(|_| desk.follow_up());
    view.rollback();
    match result {
        Err(Stop::Need(needs)) => needs,
        Ok(()) | Err(Stop::Refuse(_)) => Vec::new(),
    }
}

fn answer(desk: &mut Desk<'_>) -> Result<Reply, Stop> {
    let call = desk.call;
    match &call.command {
        Command::PutCollection { name, notify } => collection::put(desk, name, notify),
        Command::ApplyFlow { collection, flow } => flow::apply(desk, collection, flow),
        Command::RemoveFlow { collection, flow } => flow::remove(desk, collection, flow),
        Command::PutItem(put) => item::put(desk, put),
        Command::TouchItem { item, detail } => item::touch(desk, item, detail.as_ref()),
        Command::DeleteItem { item } => item::delete(desk, item),
        Command::AddEvent { item, name, outcome, detail } => {
            item::add_event(desk, item, name, *outcome, detail.as_ref())
        }
        Command::AddSaid(add) => said::add(desk, add),
        Command::Rewind { item, from, reason } => rewind::rewind(desk, item, from, reason),
        Command::Submit(submit) => submit::submit(desk, submit),
        Command::Claim(claim) => claim::claim(desk, claim),
        Command::Heartbeat { lease, progress } => lease::heartbeat(desk, *lease, progress),
        Command::Report(report) => report::report(desk, report),
        Command::GiveBack { lease } => lease::give_back(desk, *lease),
        Command::Retry { task } => operator::retry(desk, *task),
        Command::Skip { task, reason } => operator::skip(desk, *task, reason),
        Command::Cancel { task, reason } => operator::cancel(desk, *task, reason),
        Command::Prioritise { task, priority } => operator::prioritise(desk, *task, *priority),
        Command::PrioritiseItem { item, priority } => item::prioritise(desk, item, *priority),
        Command::Hold { on, reason, until } => hold::hold(desk, on, reason, *until),
        Command::Release { hold } => hold::release(desk, *hold),
        Command::OpenBatch { collection, key } => batch::open(desk, collection, key),
        Command::SealBatch { batch } => batch::seal(desk, *batch),
        Command::CancelBatch { batch } => batch::cancel(desk, *batch),
        Command::RetryBatch { batch } => batch::retry(desk, *batch),
        Command::ReportBatch { batch } => batch::report_again(desk, *batch),
        Command::DeleteBatch { batch } => batch::delete(desk, *batch),
        Command::PutArchive(put) => archive::put(desk, put),
        Command::RemoveArchive { archive } => archive::remove(desk, archive),
        Command::ResumeArchive { archive } => archive::resume(desk, archive),
        Command::AcceptHistory(accept) => archive::accept(desk, accept),
        Command::LookedAt { archive, sight } => archive::looked(desk, archive, sight),
        Command::NoticeRevision { archive, revision } => revision::notice(desk, archive, *revision),
        Command::PlanRevision(plan) => revision::plan(desk, plan),
        Command::SkipRevision { archive, revision, reason } => {
            revision::skip(desk, archive, *revision, reason)
        }
        Command::StartFlow(start) => revision::start(desk, start),
        Command::MakeKey(make) => key::make(desk, make),
        Command::ChangeKey(change) => key::change(desk, change),
        Command::RevokeKey { id } => key::revoke(desk, id),
        Command::OfferSession { key, code } => session::offer(desk, key, code),
        Command::OpenSession { by, secret } => session::open(desk, by, secret),
        Command::NoteSession { secret } => session::note(desk, secret),
        Command::EndSession { secret } => session::end(desk, secret),
        Command::Post { to, body } => outbox::post(desk, to, body),
        Command::Delivered { to, n, ok, retry_at } => {
            outbox::delivered(desk, to, *n, *ok, *retry_at)
        }
        Command::Fire { schedule, slots } => schedule::fire(desk, *schedule, slots),
        Command::Expire => lease::expire(desk),
        Command::Wake => lines::wake(desk),
        Command::ExpireHolds => hold::expire(desk),
        Command::Refresh => lease::refresh(desk),
        Command::RunErrand { errand } => follow::run_errand(desk, *errand),
        Command::RaiseEpoch => collection::raise_epoch(desk),
        Command::Recall => lease::recall(desk),
    }
}
