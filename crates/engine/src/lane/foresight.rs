//! What the commands behind the present one will need, so that a far store is asked once for all.
//!
//! Each of a hundred submissions asks whether its item exists. Asked one by one, a hundred journeys
//! to the database; so when one command needs something, those behind it in the same line are asked
//! what they would need, and everything is loaded together. A line is looked at again only when a
//! command needs something nevertheless, and only so often: a line whose commands depend on each
//! other gains nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use armarius_core::command::Call;
use armarius_core::foresee;
use armarius_core::ids::Time;
use armarius_core::view::Need;

use super::Lane;
use super::verdict::{Trouble, panic_text};
use crate::options::{FORESEE_COMMANDS_MAX, FORESEE_ROUNDS_MAX, FORESEE_TIME_MAX};
use crate::urgency::Urgency;

/// Which line is being served, and how often it may still be looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Foresight {
    line: Option<Urgency>,
    rounds: usize,
}

impl Foresight {
    /// For the commands of a line that are about to be served one after another.
    pub(super) fn of(line: Urgency) -> Self {
        Self { line: Some(line), rounds: FORESEE_ROUNDS_MAX }
    }
}

impl Lane<'_> {
    /// What the commands still in line would ask for, while the present one asks for its own.
    pub(super) fn foresee(&mut self, own: &[Need], now: Time) -> Result<Vec<Need>, Trouble> {
        let Foresight { line: Some(line), rounds: 1.. } = self.foresight else {
            return Ok(Vec::new());
        };
        self.foresight.rounds -= 1;
        let mut needs = Vec::new();
        let view = &mut self.view;
        let until = self.clock.now() + FORESEE_TIME_MAX;
        for order in self.lines[line.place()].iter().take(FORESEE_COMMANDS_MAX) {
            if self.clock.now() > until {
                break;
            }
            let request = order.request.clone();
            let (actor, idem, command) = (request.actor, request.idem, request.command);
            let call = Call { now, actor, chance: 0, idem, command };
            let foreseen = catch_unwind(AssertUnwindSafe(|| foresee(view, &call)));
            needs.extend(foreseen.map_err(|panic| Trouble::Broken(panic_text(&*panic)))?);
        }
        // Nobody's stretch of a list is given up for another one of it.
        needs.retain(|need| !own.iter().any(|own| own.is_of_same_list(need)));
        Ok(needs)
    }
}
