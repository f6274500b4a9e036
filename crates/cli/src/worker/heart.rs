//! Signs of life, independent of the work, and the server's wish to stop a task.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use armarius_wire::client::{Client, Error};
use armarius_wire::v1::lease::{Heartbeat, Listen, Stop};

use super::process::{Run, Wish};

/// A lease is renewed after this part of its time.
const BEATS_PER_TTL: u32 = 3;
/// The longest the heart rests.
const REST_MAX: Duration = Duration::from_secs(10);
/// How long one call listens for stops, in seconds: a task that has just begun is heard of with the
/// next call.
const LISTEN_S: u32 = 2;
/// Leases one call may listen for; the others hear of it with their renewal.
const LISTEN_MAX: usize = 1_000;

/// Renews the leases of all running tasks.
pub(super) struct Heart {
    client: Client,
    leases: Mutex<BTreeMap<String, Pulse>>,
    came: Condvar,
}

/// One lease with its task.
pub(super) struct Pulse {
    task: i64,
    /// The token of this grant: a stop of an earlier one is none of this one's business.
    token: String,
    ttl: Duration,
    /// When the renewal that holds was asked for.
    renewed: Instant,
    run: Run,
    /// Bytes it had written at the last renewal.
    bytes: u64,
    /// Whether it was told to stop.
    told: bool,
}

impl Pulse {
    /// Stops the task if it is among these.
    fn heed(&mut self, stops: &[Stop]) {
        if stops.iter().any(|stop| stop.task == self.task && stop.token == self.token) {
            self.told = true;
            self.run.reins.wish(Wish::Stop);
        }
    }

    /// A lease that was asked for at a moment and lasts so long from there.
    pub(super) fn new((task, token): (i64, &str), ttl: Duration, asked: Instant, run: Run) -> Self {
        let token = token.to_owned();
        Self { task, token, ttl, renewed: asked, run, bytes: 0, told: false }
    }
}

impl Heart {
    pub(super) fn new(client: Client) -> Self {
        Self { client, leases: Mutex::default(), came: Condvar::new() }
    }

    /// Keeps a lease alive until what is returned is dropped.
    pub(super) fn keep(&self, lease: &str, mut pulse: Pulse) -> Kept<'_> {
        // The claim may have waited for longer than the lease lives: its age says nothing then, and
        // only a renewal tells.
        let asked = Instant::now();
        if pulse.renewed.elapsed() >= pulse.ttl / BEATS_PER_TTL
            && let Ok(renewed) = self.client.heartbeat(lease, &Heartbeat { progress: Vec::new() })
        {
            pulse.renewed = asked;
            pulse.ttl = Duration::from_secs(renewed.ttl_s);
            pulse.heed(&renewed.stop);
        }
        self.lock().insert(lease.to_owned(), pulse);
        self.came.notify_all();
        Kept { heart: self, lease: lease.to_owned() }
    }

    /// Every running task is to be given back.
    pub(super) fn stop_everything(&self) {
        for pulse in self.lock().values() {
            pulse.run.reins.wish(Wish::GiveBack);
        }
    }

    /// Beats for ever.
    pub(super) fn beat(&self) {
        loop {
            let (due, rest) = self.due();
            for (lease, progress) in due {
                self.renew(&lease, progress);
            }
            let leases = self.lock();
            drop(self.came.wait_timeout(leases, rest));
        }
    }

    /// Listens for ever for tasks to stop, so that they need not wait for the next renewal.
    pub(super) fn listen(&self) {
        loop {
            let running = self.lock();
            let open = running.iter().filter(|(_, pulse)| !pulse.told).take(LISTEN_MAX);
            let leases: Vec<String> = open.map(|(lease, _)| lease.clone()).collect();
            if leases.is_empty() {
                drop(self.came.wait_timeout(running, REST_MAX));
                continue;
            }
            drop(running);
            match self.client.stops(&Listen { leases, wait_s: LISTEN_S }) {
                Ok(stops) => self.lock().values_mut().for_each(|pulse| pulse.heed(&stops.stop)),
                // Renewals hear of it, too.
                Err(_) => std::thread::sleep(REST_MAX),
            }
        }
    }

    /// Looks at the clock for ever: whoever could not renew in time no longer has the task,
    /// whatever the server thinks, and also while a renewal hangs.
    pub(super) fn watch(&self) {
        loop {
            let mut leases = self.lock();
            let mut rest = REST_MAX;
            for pulse in leases.values_mut() {
                match pulse.ttl.checked_sub(pulse.renewed.elapsed()) {
                    Some(left) if !left.is_zero() => rest = rest.min(left),
                    Some(_) | None => pulse.run.reins.wish(Wish::Abandon),
                }
            }
            drop(self.came.wait_timeout(leases, rest.max(Duration::from_millis(20))));
        }
    }

    /// The leases to be renewed now, each with its task if that wrote something since, and how long
    /// until the next one is.
    fn due(&self) -> (Vec<(String, Vec<i64>)>, Duration) {
        let (mut due, mut rest) = (Vec::new(), REST_MAX);
        for (lease, pulse) in self.lock().iter_mut() {
            let step = pulse.ttl / BEATS_PER_TTL;
            let age = pulse.renewed.elapsed();
            if age >= step {
                let bytes = pulse.run.output.bytes();
                let wrote = bytes > std::mem::replace(&mut pulse.bytes, bytes);
                due.push((lease.clone(), wrote.then_some(pulse.task).into_iter().collect()));
                rest = rest.min(step / 2);
            } else {
                rest = rest.min(step - age);
            }
        }
        (due, rest.max(Duration::from_millis(20)))
    }

    fn renew(&self, lease: &str, progress: Vec<i64>) {
        let asked = Instant::now();
        let answer = self.client.heartbeat(lease, &Heartbeat { progress });
        let mut leases = self.lock();
        let Some(pulse) = leases.get_mut(lease) else { return };
        match answer {
            Ok(renewed) => {
                pulse.renewed = asked;
                pulse.ttl = Duration::from_secs(renewed.ttl_s);
                pulse.heed(&renewed.stop);
            }
            Err(Error::Refused(problem)) if is_over(&problem.code) => {
                pulse.run.reins.wish(Wish::Abandon);
            }
            // Another try comes in time, or else the watch ends it.
            Err(_) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Pulse>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_over(code: &str) -> bool {
    matches!(code, "lease-over" | "no-such-lease")
}

/// A lease that is being renewed.
pub(super) struct Kept<'h> {
    heart: &'h Heart,
    lease: String,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.heart.lock().remove(&self.lease);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_of_an_earlier_grant_stops_nothing() {
        let stop = |task: i64, token: &str| [Stop { task, token: token.to_owned() }];
        let ttl = Duration::from_secs(1);
        let mut pulse = Pulse::new((7, "2"), ttl, Instant::now(), Run::new(Vec::new()));
        pulse.heed(&stop(7, "1"));
        pulse.heed(&stop(8, "2"));
        assert!(!pulse.told);
        pulse.heed(&stop(7, "2"));
        assert!(pulse.told);
    }
}
