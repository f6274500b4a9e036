//! One command: decide, load what is missing, decide again.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use armarius_core::command::Call;
use armarius_core::refusal::Refusal;
use armarius_core::reply::Reply;
use armarius_core::view::{Need, Stop};

use super::{Lane, Place};
use crate::error::EngineError;
use crate::exit::Fatal;
use crate::options::LOAD_ROUNDS_MAX;
use crate::seam::StoreError;

/// Why a transaction cannot go on. The view is not to be trusted afterwards.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The store could not.
    Store(StoreError),
    /// The rules or the store broke a promise.
    Broken(String),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Trouble {
    /// The end it means, if the lane cannot go on.
    pub(super) fn fatal(&self) -> Option<Fatal> {
        match self {
            Self::Store(error) => Fatal::of(error),
            Self::Broken(_) => None,
        }
    }

    /// Whether what was decided may have been made durable.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::Store(StoreError::Unknown(_)))
    }

    /// What the caller of the command that met it is told.
    pub(super) fn for_caller(&self) -> EngineError {
        match self {
            Self::Store(StoreError::Full(why)) => EngineError::Full(why.clone()),
            Self::Store(StoreError::Unavailable(why)) => EngineError::Unavailable(why.clone()),
            Self::Store(StoreError::Unknown(why)) => EngineError::OutcomeUnknown(why.clone()),
            Self::Store(StoreError::Unusable(_) | StoreError::Corrupt(_) | StoreError::Disk(_)) => {
                EngineError::Stopped
            }
            Self::Broken(why) => EngineError::Internal(why.clone()),
        }
    }
}

impl Lane<'_> {
    /// Decides a command on the view, loading what it needs.
    pub(super) fn rule(&mut self, call: &Call) -> Result<Result<Reply, Refusal>, Trouble> {
        let mut last: Vec<Need> = Vec::new();
        for _ in 0..LOAD_ROUNDS_MAX {
            // A panic of the rules must end one command, not the lane.
            let decided = catch_unwind(AssertUnwindSafe(|| (self.decide)(&mut self.view, call)))
                .map_err(|panic| Trouble::Broken(panic_text(&*panic)))?;
            let needs = match decided {
                Ok(reply) => return Ok(Ok(reply)),
                Err(Stop::Refuse(refusal)) => return Ok(Err(*refusal)),
                Err(Stop::Need(needs)) => needs,
            };
            if needs == last {
                return Err(Trouble::Broken(format!("the store left {needs:?} unanswered")));
            }
            match self.foresee(&needs, call.now)? {
                others if others.is_empty() => self.load(&needs)?,
                others => self.load(&[&needs[..], &others].concat())?,
            }
            last = needs;
        }
        Err(Trouble::Broken(format!("more than {LOAD_ROUNDS_MAX} rounds of loading, {last:?}")))
    }

    /// Asks the view something the lane itself wants to know, loading what it needs.
    pub(super) fn look<T>(
        &mut self,
        mut ask: impl FnMut(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Trouble> {
        for _ in 0..LOAD_ROUNDS_MAX {
            let mut needs = match ask(self) {
                Ok(answer) => return Ok(answer),
                Err(Stop::Need(needs)) => needs,
                Err(Stop::Refuse(refusal)) => return Err(Trouble::Broken(refusal.to_string())),
            };
            crate::duties::widen(&mut needs);
            self.load(&needs)?;
        }
        Err(Trouble::Broken("the store does not say what is due".to_owned()))
    }

    fn load(&mut self, needs: &[Need]) -> Result<(), Trouble> {
        self.touched += needs.len();
        match (&mut self.place, &mut self.runway) {
            (Place::Home { store, .. }, _) => Ok(store.load(needs, &mut self.view)?),
            (Place::Away { .. }, Some(runway)) => {
                Ok(runway.reader.look(needs, &mut self.view, false)?)
            }
            (Place::Away { .. }, None) => Err(Trouble::Broken("nothing to load from".to_owned())),
        }
    }
}

/// What a panic said.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "the rules panicked".to_owned())
}
