//! One group: the commands it has decided, and how full it is.

use std::time::Duration;

use armarius_core::command::Call;
use armarius_core::ids::Time;
use armarius_core::refusal::Code;
use armarius_core::reply::Reply;

use crate::error::{EngineError, Outcome};
use crate::options::{GROUP_BYTES_MAX, GROUP_DECIDE_MAX};
use crate::order::{Answer, Order, Park, Request, Tour};
use crate::queue::LINES;
use crate::urgency::Urgency;

/// A full group, in thousandths.
pub(super) const FULL: usize = 1_000;

/// How far a line may fill a group while others may be waiting, in thousandths: reports may take
/// half of it; each line after them has at least what lies between its mark and the one before.
pub(super) fn mark(urgency: Urgency) -> usize {
    match urgency {
        Urgency::Report => 500,
        Urgency::Errand => 650,
        Urgency::Claim => 800,
        Urgency::Action => 900,
        Urgency::Submission => FULL,
    }
}

/// A command of a group and what came of it. It is answered only after the commit.
pub(super) struct Entry {
    pub(super) call: Call,
    pub(super) answer: Answer,
    pub(super) park: Option<Park>,
    pub(super) tour: Option<Box<Tour>>,
    pub(super) bytes: usize,
    pub(super) outcome: Outcome,
}

impl Entry {
    /// Whether it is a claim that found nothing here and goes on looking or waiting.
    pub(super) fn waits(&self) -> bool {
        match &self.outcome {
            Ok(Reply::Claimed(None)) => self.park.is_some() || self.tour.is_some(),
            Err(EngineError::Refused(refusal)) => {
                refusal.code == Code::RobotBusy && self.tour.is_some()
            }
            Ok(_) | Err(_) => false,
        }
    }

    /// The order again, for a claim that goes on waiting.
    pub(super) fn into_order(self) -> Order {
        let Call { actor, idem, command, .. } = self.call;
        let request = Request { actor, idem, command };
        let Self { answer, park, tour, bytes, .. } = self;
        Order { request, answer, park, tour, bytes }
    }
}

/// A group being formed.
pub(super) struct Group {
    pub(super) entries: Vec<Entry>,
    /// The transaction's time.
    pub(super) now: Time,
    /// New work is not taken.
    pub(super) short: bool,
    /// Whether it is written while the next one is decided.
    pub(super) flies: bool,
    began: Duration,
    rows_max: usize,
    commands_max: usize,
    bytes: usize,
    served: [bool; LINES],
}

impl Group {
    pub(super) fn new(now: Time, short: bool, began: Duration, rows_max: usize) -> Self {
        Self {
            entries: Vec::new(),
            now,
            short,
            flies: false,
            began,
            rows_max,
            commands_max: usize::MAX,
            bytes: 0,
            served: [false; LINES],
        }
    }

    /// Takes no more than so many commands, and is written while the next one is decided.
    pub(super) fn fly(&mut self, commands_max: usize) {
        self.flies = true;
        self.commands_max = commands_max.max(1);
    }

    /// Whether anything more may enter, with so many rows written at this moment.
    pub(super) fn has_room(&self, rows: usize, at: Duration) -> bool {
        self.fill(rows, at) < FULL
    }

    /// When it is full, whatever is in it.
    pub(super) fn ends(&self) -> Duration {
        self.began + GROUP_DECIDE_MAX
    }

    /// Whether a line may bring one more command, with so many rows written at this moment.
    pub(super) fn admits(&self, urgency: Urgency, mark: usize, rows: usize, at: Duration) -> bool {
        !self.served[urgency.place()] || self.fill(rows, at) < mark
    }

    /// Notes that a line brought something.
    pub(super) fn serve(&mut self, urgency: Urgency, bytes: usize) {
        self.served[urgency.place()] = true;
        self.bytes += bytes;
    }

    /// How full the group is, in thousandths: by rows, time, text or commands, whichever is most.
    fn fill(&self, rows: usize, at: Duration) -> usize {
        let spent = at.saturating_sub(self.began).as_micros();
        let time = spent * FULL as u128 / GROUP_DECIDE_MAX.as_micros();
        let time = usize::try_from(time).unwrap_or(usize::MAX);
        let commands = self.entries.len().saturating_mul(FULL) / self.commands_max;
        let text = self.bytes * FULL / GROUP_BYTES_MAX;
        (rows * FULL / self.rows_max).max(text).max(commands).max(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_share() {
        let marks = Urgency::ALL.map(mark);
        assert!(marks.is_sorted_by(|a, b| a < b));
        assert_eq!(marks.last(), Some(&FULL));
    }

    #[test]
    fn rows_time_and_text_fill_a_group() {
        let began = Duration::from_secs(5);
        let mut group = Group::new(Time::ZERO, false, began, 100);
        let report = Urgency::Report;
        group.serve(report, 0);
        for (rows, ms, admitted) in [(49, 9, true), (50, 0, false), (0, 10, false)] {
            let at = began + Duration::from_millis(ms);
            assert_eq!(group.admits(report, 500, rows, at), admitted, "{rows} {ms}");
        }
        assert!(group.admits(Urgency::Claim, 500, 1_000, began), "the first always");
        group.serve(report, GROUP_BYTES_MAX);
        assert!(!group.admits(report, FULL, 0, began));
    }
}
