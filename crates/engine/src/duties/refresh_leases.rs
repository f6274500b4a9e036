//! After a start, every live lease gets a fresh term: its worker could not renew it meanwhile.
//! A shared store's time goes on, and others renew leases meanwhile: there it is done only after
//! the store itself was out of reach.
//! Interval: once. Limit: the rules' `DUTY_ROWS_MAX` leases at a time. Command: `Refresh`.

/// Whether it is still to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refresh {
    /// It is.
    Due,
    /// It was decided, and is not yet durable.
    Decided,
    /// It was done.
    Done,
}

impl Refresh {
    pub(super) fn after_start(is_shared: bool) -> Self {
        if is_shared { Self::Done } else { Self::Due }
    }

    pub(super) fn again(&mut self) {
        *self = Self::Due;
    }

    pub(super) fn is_due(&self) -> bool {
        *self == Self::Due
    }

    pub(super) fn is_done(&self) -> bool {
        *self == Self::Done
    }

    pub(super) fn did(&mut self, more: bool) {
        *self = if more { Self::Due } else { Self::Decided };
    }

    pub(super) fn committed(&mut self) {
        if *self == Self::Decided {
            *self = Self::Done;
        }
    }

    pub(super) fn taken_back(&mut self) {
        if *self == Self::Decided {
            *self = Self::Due;
        }
    }
}
