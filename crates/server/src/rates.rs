//! How often one may ask: a bucket of requests for every key, one of mistakes for every address.
//!
//! A bucket fills up steadily and each request takes one out. Buckets that are full again are
//! forgotten, so that the memory follows those who ask now.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use armarius_core::text::Name;

/// Buckets there may be at once; when that many are in use, those who have none must wait.
const BUCKETS_MAX: usize = 50_000;

/// How many requests there may be.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// In one second, on average.
    pub per_second: f64,
    /// At once, after a pause.
    pub burst: f64,
}

/// What a key may ask for. A worker with bulk requests needs a few a second.
pub(crate) const PER_KEY: Rate = Rate { per_second: 10_000.0, burst: 20_000.0 };
/// How many requests without a good key, and tries to sign in, an address may make.
pub(crate) const MISTAKES: Rate = Rate { per_second: 5.0, burst: 50.0 };

/// The buckets.
#[derive(Debug)]
pub(crate) struct Rates {
    keys: Buckets<Name>,
    mistakes: Buckets<IpAddr>,
}

impl Rates {
    pub(crate) fn new(per_key: Rate, mistakes: Rate) -> Self {
        Self { keys: Buckets::new(per_key), mistakes: Buckets::new(mistakes) }
    }

    /// Whether a key may ask now.
    pub(crate) fn may_ask(&self, key: &Name) -> bool {
        self.keys.take(key, Instant::now())
    }

    /// Whether an address may make another mistake now; this one is counted.
    pub(crate) fn may_err(&self, from: IpAddr) -> bool {
        self.mistakes.take(&network(from), Instant::now())
    }
}

/// A household has many IPv6 addresses and is one neighbour.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

#[derive(Debug)]
struct Buckets<K> {
    rate: Rate,
    levels: Mutex<HashMap<K, (f64, Instant)>>,
}

impl<K: Eq + Hash + Clone> Buckets<K> {
    fn new(rate: Rate) -> Self {
        Self { rate, levels: Mutex::default() }
    }

    fn take(&self, who: &K, now: Instant) -> bool {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if levels.len() >= BUCKETS_MAX && !levels.contains_key(who) {
            levels.retain(|_, level| self.rate.after(*level, now) < self.rate.burst);
            if levels.len() >= BUCKETS_MAX {
                return false;
            }
        }
        let level = levels.entry(who.clone()).or_insert((self.rate.burst, now));
        let left = self.rate.after(*level, now) - 1.0;
        if left < 0.0 {
            return false;
        }
        *level = (left, now);
        true
    }
}

impl Rate {
    fn after(&self, (level, at): (f64, Instant), now: Instant) -> f64 {
        let gained = now.saturating_duration_since(at).as_secs_f64() * self.per_second;
        (level + gained).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let buckets = Buckets::new(Rate { per_second: 2.0, burst: 3.0 });
        let now = Instant::now();
        let taken = (0..5).map(|_| buckets.take(&1, now)).collect::<Vec<_>>();
        assert_eq!(taken, [true, true, true, false, false]);
        assert!(buckets.take(&2, now), "another one has its own");
        let later = now + Duration::from_secs(1);
        let taken = (0..3).map(|_| buckets.take(&1, later)).collect::<Vec<_>>();
        assert_eq!(taken, [true, true, false]);
    }

    #[test]
    fn one_household_is_one_neighbour() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::7"), of("2001:db8:1:2:ffff::1"));
        assert_ne!(of("2001:db8:1:2::7"), of("2001:db8:1:3::7"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
