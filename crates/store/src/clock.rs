//! The one place where the time of day enters a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use armarius_core::ids::Time;
use armarius_core::rows::Counter;
use armarius_core::view::View;

/// Where a store reads the time.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// A clock moved by hand, in microseconds: for tests and the simulator.
    Hand(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at a moment until it is moved.
    #[must_use]
    pub fn hand(at: Time) -> (Self, Arc<AtomicI64>) {
        let hand = Arc::new(AtomicI64::new(at.0));
        (Self::Hand(Arc::clone(&hand)), hand)
    }

    /// What the clock shows.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
            }
            Self::Hand(hand) => Time(hand.load(Ordering::SeqCst)),
        }
    }

    /// The time of a transaction: what the clock shows, but never behind the highest time a commit
    /// used, so that a clock that jumps back takes nothing with it.
    pub(crate) fn at_least(&self, view: &View) -> Time {
        self.now().max(Self::high_water(view))
    }

    /// The highest time a commit used.
    pub(crate) fn high_water(view: &View) -> Time {
        let high = view.counters.get(&Counter::Clock).ok().flatten().copied();
        Time(high.unwrap_or_default())
    }
}

/// A moment for measuring how long ago something was; never compared between processes.
pub(crate) fn tick() -> Instant {
    Instant::now()
}
