//! A commit under way on a thread of its own, while the lane decides the next group.
//!
//! The store itself travels: it leaves with the parcel of what was decided and comes back when that
//! is durable, or when it could not be. Meanwhile the lane loads through a reader, and the view
//! corrects what is loaded by what the parcel holds. One flight at a time; whoever was decided on
//! top of a flight that fails is run again together with its passengers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, Scope};
use std::time::Duration;

use armarius_core::event::seal;
use armarius_core::ids::Time;
use armarius_core::view::{CommitHead, View};

use super::group::Entry;
use super::settle::{answer_all, begin_again};
use super::verdict::panic_text;
use crate::handle::Shared;
use crate::seam::{Reader, Store, StoreError};

/// What leaves.
pub(super) struct Flight {
    pub(super) store: Box<dyn Store>,
    /// Whether its transaction has begun.
    pub(super) begun: bool,
    pub(super) parcel: Box<View>,
    pub(super) now: Time,
    /// Who is answered once it is durable.
    pub(super) entries: Vec<Entry>,
}

/// What comes back.
pub(super) enum Landing {
    /// Durable, and answered.
    Safe(Box<dyn Store>, CommitHead),
    /// Nothing of it is there; nobody was answered.
    Failed(Box<dyn Store>, StoreError, Vec<Entry>),
    /// The store broke and is gone.
    Lost(String, Vec<Entry>),
}

/// The way out and back, with what the lane reads through while the store is away.
pub(super) struct Runway {
    flights: Sender<Flight>,
    landings: Receiver<Landing>,
    pub(super) reader: Box<dyn Reader>,
}

impl Runway {
    /// Starts the thread that writes, if the store can be away.
    pub(super) fn open<'scope>(
        store: &dyn Store,
        shared: &'scope Shared,
        scope: &'scope Scope<'scope, '_>,
    ) -> Option<Self> {
        let reader = if store.may_fly() { store.reader().ok()? } else { return None };
        let (flights, arriving) = mpsc::channel();
        let (leaving, landings) = mpsc::channel();
        Builder::new()
            .name("armarius-flight".to_owned())
            .spawn_scoped(scope, move || write_all(&arriving, &leaving, shared))
            .ok()?;
        Some(Self { flights, landings, reader })
    }

    /// Sends a flight off. It comes back when nobody is there to take it.
    pub(super) fn send(&self, flight: Flight) -> Result<(), Flight> {
        self.flights.send(flight).map_err(|unsent| unsent.0)
    }

    /// Waits for the landing.
    pub(super) fn await_landing(&self) -> Landing {
        let lost = || Landing::Lost("the writing thread is gone".to_owned(), Vec::new());
        self.landings.recv().unwrap_or_else(|_| lost())
    }
}

fn write_all(flights: &Receiver<Flight>, landings: &Sender<Landing>, shared: &Shared) {
    for flight in flights {
        let began = shared.clock.now();
        let rows = flight.parcel.dirty_len();
        let (landing, entries) = write(flight);
        if !entries.is_empty() {
            note(shared, rows, began);
        }
        // The lane goes on first; then the callers, who would only bring it more to do.
        let sent = landings.send(landing);
        shared.queue.land();
        answer_all(shared, entries);
        if sent.is_err() {
            return;
        }
    }
}

fn note(shared: &Shared, rows: usize, began: Duration) {
    let took = shared.clock.now().saturating_sub(began);
    shared.tally().committed(rows, took);
}

/// Makes a parcel durable; gives back who may be answered.
fn write(flight: Flight) -> (Landing, Vec<Entry>) {
    let Flight { mut store, begun, mut parcel, now, entries } = flight;
    let written = catch_unwind(AssertUnwindSafe(|| commit(&mut *store, begun, &mut parcel, now)));
    match written {
        Ok(Ok(head)) => (Landing::Safe(store, head), entries),
        Ok(Err(error)) => (Landing::Failed(store, error, entries), Vec::new()),
        Err(panic) => (Landing::Lost(panic_text(&*panic), entries), Vec::new()),
    }
}

fn commit(
    store: &mut dyn Store,
    begun: bool,
    parcel: &mut View,
    now: Time,
) -> Result<CommitHead, StoreError> {
    let head = parcel.head;
    if !begun {
        begin_again(store, parcel)?;
    }
    let commit = seal(head.n + 1, now, head.seal, &parcel.events);
    store.commit(parcel, &commit)?;
    Ok(CommitHead { n: commit.n, seal: commit.seal })
}
