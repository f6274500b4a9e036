//! Which workers ask for work. Only in memory, for people: no rule depends on it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use armarius_core::text::Name;
use armarius_wire::v1::claim::{Request, Way};
use armarius_wire::v1::worker::Worker;

/// Who has not asked for so long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// Workers that are remembered.
const WORKERS_MAX: usize = 10_000;

/// Which workers ask for work.
#[derive(Debug, Default)]
pub(crate) struct Attendance(Mutex<BTreeMap<(Name, String), Seen>>);

#[derive(Debug)]
struct Seen {
    labels: Vec<String>,
    actions: Vec<Way>,
    slots: Option<u32>,
    waiting: u32,
    at: Instant,
}

/// A claim that waits; it has ended when this is dropped.
pub(crate) struct Waiting<'a> {
    attendance: &'a Attendance,
    key: (Name, String),
}

impl Attendance {
    /// A worker asks.
    pub(crate) fn asks(&self, actor: &Name, claim: &Request) -> Waiting<'_> {
        let key = (actor.clone(), claim.worker.clone());
        let mut all = self.lock();
        if all.len() >= WORKERS_MAX && !all.contains_key(&key) {
            let oldest = all.iter().min_by_key(|(_, seen)| seen.at).map(|(key, _)| key.clone());
            oldest.map(|key| all.remove(&key));
        }
        let waiting = all.get(&key).map_or(0, |seen| seen.waiting) + 1;
        let (labels, actions) = (claim.labels.clone(), claim.actions.clone());
        let seen = Seen { labels, actions, slots: claim.slots, waiting, at: Instant::now() };
        all.insert(key.clone(), seen);
        Waiting { attendance: self, key }
    }

    /// Everyone who asked lately.
    pub(crate) fn list(&self) -> Vec<Worker> {
        let mut all = self.lock();
        all.retain(|_, seen| seen.waiting > 0 || seen.at.elapsed() < FORGOTTEN_AFTER);
        let show = |((actor, worker), seen): (&(Name, String), &Seen)| Worker {
            worker: worker.clone(),
            actor: actor.to_string(),
            labels: seen.labels.clone(),
            actions: seen.actions.clone(),
            slots: seen.slots,
            waiting: seen.waiting,
            tasks: Vec::new(),
            asked_s: Some(seen.at.elapsed().as_secs()),
        };
        all.iter().map(show).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Name, String), Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(seen) = self.attendance.lock().get_mut(&self.key) {
            seen.waiting = seen.waiting.saturating_sub(1);
            seen.at = Instant::now();
        }
    }
}
