//! After a start, every live lease gets a fresh term: its worker could not renew it meanwhile.
//! Interval: once. Limit: the rules' `DUTY_ROWS_MAX` leases at a time. Command: `Refresh`.

/// Whether it is still to be done.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Refresh {
    /// It is.
    #[default]
    Due,
    /// It was decided, and is not yet durable.
    Decided,
    /// It was done.
    Done,
}

impl Refresh {
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
