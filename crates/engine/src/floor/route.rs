//! Which shard a command belongs to, as far as the command itself says.

use armarius_core::command::{Command, HoldOn};
use armarius_core::ids::shard_of;
use armarius_core::text::Name;

use crate::seam::Thing;

/// Where a command belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts<'c> {
    /// To the shard of a collection.
    Collection(&'c Name),
    /// To where something is.
    Thing(Thing),
    /// To where the first of these is, else the second: a report outlives its lease.
    Either(Thing, Thing),
    /// To this shard.
    Shard(u16),
    /// To every shard.
    Everywhere,
    /// To wherever there is work.
    Work,
}

impl<'c> Whereabouts<'c> {
    /// Reads a command.
    pub(super) fn of(command: &'c Command) -> Self {
        match command {
            Command::PutCollection { name: collection, .. }
            | Command::ApplyFlow { collection, .. }
            | Command::RemoveFlow { collection, .. }
            | Command::RemoveArchive { archive: collection }
            | Command::ResumeArchive { archive: collection }
            | Command::LookedAt { archive: collection, .. }
            | Command::NoticeRevision { archive: collection, .. }
            | Command::SkipRevision { archive: collection, .. }
            | Command::OpenBatch { collection, .. } => Self::Collection(collection),
            Command::AcceptHistory(accept) => Self::Collection(&accept.archive),
            Command::PutArchive(put) => Self::Collection(&put.archive),
            Command::PlanRevision(plan) => Self::Collection(&plan.archive),
            Command::StartFlow(start) => Self::Collection(&start.archive),
            Command::PutItem(put) => Self::Collection(&put.item.collection),
            Command::Submit(submit) => Self::Collection(&submit.item.collection),
            Command::AddSaid(add) => Self::Collection(&add.item.collection),
            Command::TouchItem { item, .. }
            | Command::Rewind { item, .. }
            | Command::DeleteItem { item }
            | Command::AddEvent { item, .. }
            | Command::PrioritiseItem { item, .. } => Self::Collection(&item.collection),
            Command::Hold { on, .. } => Self::of_hold(on),
            Command::Heartbeat { lease, .. } | Command::GiveBack { lease } => {
                Self::Thing(Thing::Lease(*lease))
            }
            Command::Report(report) => {
                Self::Either(Thing::Lease(report.lease), Thing::Task(report.task))
            }
            Command::Retry { task }
            | Command::Skip { task, .. }
            | Command::Cancel { task, .. }
            | Command::Prioritise { task, .. } => Self::Thing(Thing::Task(*task)),
            Command::SealBatch { batch }
            | Command::CancelBatch { batch }
            | Command::RetryBatch { batch }
            | Command::ReportBatch { batch }
            | Command::DeleteBatch { batch } => Self::Thing(Thing::Batch(*batch)),
            Command::Release { hold } => Self::Thing(Thing::Hold(*hold)),
            Command::Fire { schedule, .. } => Self::Thing(Thing::Schedule(*schedule)),
            Command::RunErrand { errand } => Self::Thing(Thing::Errand(*errand)),
            // A letter stays in the shard that wrote it.
            Command::Delivered { n, .. } => Self::Shard(shard_of(*n)),
            // Keys and sessions are the house's own; every server must find them without asking.
            Command::Post { .. }
            | Command::MakeKey(_)
            | Command::ChangeKey(_)
            | Command::RevokeKey { .. }
            | Command::OfferSession { .. }
            | Command::OpenSession { .. }
            | Command::NoteSession { .. }
            | Command::EndSession { .. } => Self::Shard(0),
            Command::Expire
            | Command::Wake
            | Command::ExpireHolds
            | Command::Refresh
            | Command::Recall
            | Command::RaiseEpoch => Self::Everywhere,
            Command::Claim(_) => Self::Work,
        }
    }

    fn of_hold(on: &'c HoldOn) -> Self {
        match on {
            HoldOn::Collection(name) | HoldOn::Flow(name, _) | HoldOn::Step(name, _, _) => {
                Self::Collection(name)
            }
            HoldOn::Item(item) => Self::Collection(&item.collection),
            HoldOn::Batch(batch) => Self::Thing(Thing::Batch(*batch)),
            HoldOn::Task(task) => Self::Thing(Thing::Task(*task)),
        }
    }
}
