//! Which line a command waits in, and whether it needs room for new work.

use armarius_core::command::{Command, Definitions, PlanRevision};

/// A line of waiting commands. The order here is the order in which a group serves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Results, renewals, give-backs, deliveries: they end or keep work that is already running.
    Report,
    /// Duties and errands: they finish what an earlier commit began.
    Errand,
    /// Requests for work.
    Claim,
    /// What operators do, and definitions.
    Action,
    /// New work and news about items, often in bulk.
    Submission,
}

impl Urgency {
    /// All, the most urgent first.
    pub const ALL: [Self; 5] =
        [Self::Report, Self::Errand, Self::Claim, Self::Action, Self::Submission];

    /// Its place in [`Urgency::ALL`].
    pub(crate) fn place(self) -> usize {
        self as usize
    }

    /// Its name, for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Errand => "errand",
            Self::Claim => "claim",
            Self::Action => "action",
            Self::Submission => "submission",
        }
    }

    /// The line of a command.
    #[must_use]
    pub fn of(command: &Command) -> Self {
        match command {
            Command::Report(_)
            | Command::Heartbeat { .. }
            | Command::GiveBack { .. }
            | Command::Delivered { .. } => Self::Report,
            Command::Fire { .. }
            | Command::Expire
            | Command::Wake
            | Command::ExpireHolds
            | Command::Refresh
            | Command::LookedAt { .. }
            | Command::RunErrand { .. } => Self::Errand,
            Command::Claim(_) => Self::Claim,
            Command::PutCollection { .. }
            | Command::ApplyFlow { .. }
            | Command::RemoveFlow { .. }
            | Command::DeleteItem { .. }
            | Command::Retry { .. }
            | Command::Skip { .. }
            | Command::Cancel { .. }
            | Command::Prioritise { .. }
            | Command::PrioritiseItem { .. }
            | Command::Rewind { .. }
            | Command::Hold { .. }
            | Command::Release { .. }
            | Command::OpenBatch { .. }
            | Command::SealBatch { .. }
            | Command::CancelBatch { .. }
            | Command::RetryBatch { .. }
            | Command::ReportBatch { .. }
            | Command::DeleteBatch { .. }
            | Command::MakeKey(_)
            | Command::ChangeKey(_)
            | Command::PutArchive(_)
            | Command::RemoveArchive { .. }
            | Command::ResumeArchive { .. }
            | Command::AcceptHistory(_)
            | Command::SkipRevision { .. }
            | Command::RevokeKey { .. }
            | Command::OfferSession { .. }
            | Command::OpenSession { .. }
            | Command::NoteSession { .. }
            | Command::EndSession { .. }
            | Command::RaiseEpoch
            | Command::Recall => Self::Action,
            Command::PutItem(_)
            | Command::TouchItem { .. }
            | Command::AddEvent { .. }
            | Command::AddSaid(_)
            | Command::NoticeRevision { .. }
            | Command::PlanRevision(_)
            | Command::StartFlow(_)
            | Command::Submit(_)
            | Command::Post { .. } => Self::Submission,
        }
    }
}

/// Whether a command begins something that will need more room: refused when the store is short of
/// it, so that what is already running can end. A claim is one: what it grants must be reported.
pub(crate) fn needs_room(command: &Command) -> bool {
    match command {
        Command::PutCollection { .. }
        | Command::ApplyFlow { .. }
        | Command::PutItem(_)
        | Command::TouchItem { .. }
        | Command::AddEvent { .. }
        | Command::AddSaid(_)
        | Command::PutArchive(_)
        | Command::NoticeRevision { .. }
        | Command::PlanRevision(_)
        | Command::StartFlow(_)
        | Command::Submit(_)
        | Command::Claim(_)
        | Command::OpenBatch { .. }
        | Command::Post { .. }
        | Command::Fire { .. } => true,
        Command::RemoveFlow { .. }
        | Command::DeleteItem { .. }
        | Command::Heartbeat { .. }
        | Command::Report(_)
        | Command::GiveBack { .. }
        | Command::Retry { .. }
        | Command::Skip { .. }
        | Command::Cancel { .. }
        | Command::Prioritise { .. }
        | Command::PrioritiseItem { .. }
        | Command::Rewind { .. }
        | Command::Hold { .. }
        | Command::Release { .. }
        | Command::SealBatch { .. }
        | Command::CancelBatch { .. }
        | Command::RetryBatch { .. }
        | Command::ReportBatch { .. }
        | Command::DeleteBatch { .. }
        | Command::Delivered { .. }
        | Command::Expire
        | Command::Wake
        | Command::ExpireHolds
        | Command::Refresh
        | Command::RunErrand { .. }
        | Command::MakeKey(_)
        | Command::ChangeKey(_)
        | Command::RemoveArchive { .. }
        | Command::ResumeArchive { .. }
        | Command::AcceptHistory(_)
        | Command::LookedAt { .. }
        | Command::SkipRevision { .. }
        | Command::RevokeKey { .. }
        | Command::OfferSession { .. }
        | Command::OpenSession { .. }
        | Command::NoteSession { .. }
        | Command::EndSession { .. }
        | Command::RaiseEpoch
        | Command::Recall => false,
    }
}

/// About how many bytes of text a command carries; fixed parts are not counted.
pub(crate) fn text_bytes(command: &Command) -> usize {
    let optional = |text: &Option<armarius_core::text::Text>| text.as_ref().map_or(0, |t| t.len());
    match command {
        Command::PutItem(put) => optional(&put.attributes) + put.item.key.len(),
        Command::TouchItem { detail, .. } | Command::AddEvent { detail, .. } => optional(detail),
        Command::AddSaid(add) => optional(&add.detail) + optional(&add.said.id),
        Command::Submit(submit) => {
            let parts: usize = submit.parts.iter().map(|p| p.len()).sum();
            submit.payload.len() + parts + submit.item.key.len() + 64 * submit.depends.len()
        }
        Command::Report(report) => {
            optional(&report.detail) + report.manifest.as_ref().map_or(0, |(_, t)| t.len())
        }
        Command::Post { body, .. } => body.len(),
        Command::ApplyFlow { flow, .. } => 1_024 * flow.tasks.len(),
        Command::PlanRevision(plan) => plan_bytes(plan),
        Command::StartFlow(start) => 1_024 * start.flow.tasks.len() + start.payload.len(),
        Command::Heartbeat { progress, .. } => 8 * progress.len(),
        Command::Fire { slots, .. } => 8 * slots.len(),
        Command::PutCollection { .. }
        | Command::RemoveFlow { .. }
        | Command::DeleteItem { .. }
        | Command::Claim(_)
        | Command::GiveBack { .. }
        | Command::Retry { .. }
        | Command::Skip { .. }
        | Command::Cancel { .. }
        | Command::Prioritise { .. }
        | Command::PrioritiseItem { .. }
        | Command::Rewind { .. }
        | Command::Hold { .. }
        | Command::Release { .. }
        | Command::OpenBatch { .. }
        | Command::SealBatch { .. }
        | Command::CancelBatch { .. }
        | Command::RetryBatch { .. }
        | Command::ReportBatch { .. }
        | Command::DeleteBatch { .. }
        | Command::Delivered { .. }
        | Command::Expire
        | Command::Wake
        | Command::ExpireHolds
        | Command::Refresh
        | Command::RunErrand { .. }
        | Command::MakeKey(_)
        | Command::ChangeKey(_)
        | Command::PutArchive(_)
        | Command::RemoveArchive { .. }
        | Command::ResumeArchive { .. }
        | Command::AcceptHistory(_)
        | Command::LookedAt { .. }
        | Command::NoticeRevision { .. }
        | Command::SkipRevision { .. }
        | Command::RevokeKey { .. }
        | Command::OfferSession { .. }
        | Command::OpenSession { .. }
        | Command::NoteSession { .. }
        | Command::EndSession { .. }
        | Command::RaiseEpoch
        | Command::Recall => 0,
    }
}

fn plan_bytes(plan: &PlanRevision) -> usize {
    let paths: usize = plan.about.paths.iter().map(|p| p.len()).sum();
    let definitions: usize = match &plan.definitions {
        Definitions::Flows(flows) => flows.iter().map(|f| 1_024 * f.tasks.len()).sum(),
        Definitions::Invalid(complaints) => complaints.iter().map(|c| c.reason.len()).sum(),
    };
    paths + definitions
}
