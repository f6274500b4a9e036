//! How many connections there may be, in all and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections at once.
const CONNECTIONS_MAX: usize = 10_000;
/// Connections from one address at once: one neighbour cannot take every seat.
const CONNECTIONS_PER_ADDRESS_MAX: usize = 4_000;

type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// All seats.
#[derive(Debug)]
pub(super) struct Seats {
    free: Arc<Semaphore>,
    taken: Counts,
}

impl Default for Seats {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(CONNECTIONS_MAX)), taken: Counts::default() }
    }
}

impl Seats {
    /// Waits until there is a seat.
    pub(super) async fn wait(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    /// Takes a seat for an address, unless it has too many.
    pub(super) fn take(&self, free: OwnedSemaphorePermit, from: IpAddr) -> Option<Seat> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(from).or_default();
        if *count >= CONNECTIONS_PER_ADDRESS_MAX {
            return None;
        }
        *count += 1;
        Some(Seat { from, taken: Arc::clone(&self.taken), _free: free })
    }
}

/// A seat; free again when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    from: IpAddr,
    taken: Counts,
    _free: OwnedSemaphorePermit,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_address_cannot_take_every_seat() {
        let seats = Seats::default();
        let (here, there) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS_PER_ADDRESS_MAX {
            let free = seats.wait().await.unwrap();
            held.push(seats.take(free, here).unwrap());
        }
        let free = seats.wait().await.unwrap();
        assert!(seats.take(free, here).is_none());
        let free = seats.wait().await.unwrap();
        assert!(seats.take(free, there).is_some());
        held.pop();
        let free = seats.wait().await.unwrap();
        assert!(seats.take(free, here).is_some());
        held.clear();
        assert!(seats.taken.lock().unwrap().is_empty());
    }
}
