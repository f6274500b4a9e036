//! Where time enters.
//!
//! Two kinds of time are kept apart by type. [`Time`] is the store's: it stands in rows, and a
//! transaction gets it from its store, never from here. [`Duration`] since a clock's beginning is
//! the lane's: it only says how long to wait, and never goes back.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use armarius_core::ids::Time;

/// Something to call when a clock is moved by hand.
pub type OnMove = Box<dyn Fn() + Send + Sync>;

/// A clock to wait by.
pub trait Clock: Send + Sync {
    /// Time since this clock's beginning; never goes back.
    fn now(&self) -> Duration;

    /// The time of day, for a store that has no clock of its own. May go back.
    fn wall(&self) -> Time;

    /// How long a thread sleeps until this clock shows `until`; `None`: until somebody moves it.
    fn nap(&self, until: Duration) -> Option<Duration>;

    /// Asks to be told when the clock is moved by hand.
    fn when_moved(&self, call: OnMove);
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    began: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { began: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn wall(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn nap(&self, until: Duration) -> Option<Duration> {
        Some(until.saturating_sub(self.now()))
    }

    fn when_moved(&self, _: OnMove) {}
}

/// A clock that stands still until it is moved, for tests and simulations.
pub struct HandClock {
    began: Time,
    passed: Mutex<Duration>,
    listeners: Mutex<Vec<OnMove>>,
}

impl HandClock {
    /// A clock that shows `wall`.
    #[must_use]
    pub fn at(wall: Time) -> Self {
        Self { began: wall, passed: Mutex::new(Duration::ZERO), listeners: Mutex::new(Vec::new()) }
    }

    /// Moves the clock and wakes everyone who waits by it.
    pub fn advance(&self, by: Duration) {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) += by;
        for listener in &*self.listeners.lock().unwrap_or_else(PoisonError::into_inner) {
            listener();
        }
    }
}

impl Clock for HandClock {
    fn now(&self) -> Duration {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wall(&self) -> Time {
        let passed = i64::try_from(self.now().as_micros()).unwrap_or(i64::MAX);
        Time(self.began.0.saturating_add(passed))
    }

    fn nap(&self, _: Duration) -> Option<Duration> {
        None
    }

    fn when_moved(&self, call: OnMove) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

impl fmt::Debug for HandClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HandClock({:?})", self.now())
    }
}
