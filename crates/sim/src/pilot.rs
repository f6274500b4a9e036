//! Plays steps as the lane does when a commit is under way: each step is decided on top of one that
//! the store does not show yet, or shows before the view is told.

use armarius_core::command::Call;
use armarius_core::decide;
use armarius_core::event::seal;
use armarius_core::rows::Counter;
use armarius_core::view::{CommitHead, Stop, View};
use armarius_engine::seam::{Reader, Store, StoreError};

use crate::dice::{Dice, chance};
use crate::script::{Outcome, Step};

/// How often one step may ask for more rows.
const LOADS_MAX: usize = 1_000;

/// A store, a view that is one commit ahead of it, and the parcel between them.
pub struct Pilot<S> {
    /// The store.
    pub store: S,
    reader: Box<dyn Reader>,
    view: View,
    flight: Option<Flight>,
    dice: Dice,
    seed: u64,
    played: u64,
}

struct Flight {
    parcel: View,
    now: armarius_core::ids::Time,
    /// Set once it is in the store.
    head: Option<CommitHead>,
}

impl<S: Store> Pilot<S> {
    /// A pilot of a seed's steps on an empty store.
    pub fn new(store: S, seed: u64) -> Result<Self, StoreError> {
        let reader = store.reader()?;
        let (view, dice) = (View::new(0), Dice::new(seed));
        Ok(Self { store, reader, view, flight: None, dice, seed, played: 0 })
    }

    /// Decides a step on top of the one before, then lets that one land and sends this one off.
    pub fn play(&mut self, step: &Step) -> Result<Outcome, StoreError> {
        if self.dice.once_in(2) {
            self.write()?;
        }
        if self.dice.once_in(5) {
            self.view.forget();
        }
        let high = self.view.counters.get(&Counter::Clock).ok().flatten().copied().unwrap_or(0);
        let call = Call {
            now: step.at.max(armarius_core::ids::Time(high)),
            actor: step.actor.clone(),
            chance: chance(self.seed, self.played),
            idem: step.idem.clone(),
            command: step.command.clone(),
        };
        self.played += 1;
        let outcome = self.rule(&call)?;
        self.land()?;
        if self.view.dirty_len() > 0 || !self.view.events.is_empty() {
            if call.now.0 > high {
                self.view.counters.put(Counter::Clock, call.now.0);
                self.view.keep();
            }
            self.flight = Some(Flight { parcel: self.view.launch(), now: call.now, head: None });
        }
        Ok(outcome)
    }

    /// Lets what is under way land.
    pub fn land(&mut self) -> Result<(), StoreError> {
        self.write()?;
        if let Some(head) = self.flight.take().and_then(|f| f.head) {
            self.view.landed(head);
        }
        Ok(())
    }

    fn rule(&mut self, call: &Call) -> Result<Outcome, StoreError> {
        for _ in 0..LOADS_MAX {
            match decide(&mut self.view, call) {
                Ok(reply) => return Ok(Ok(reply)),
                Err(Stop::Refuse(refusal)) => return Ok(Err(*refusal)),
                Err(Stop::Need(needs)) => self.reader.look(&needs, &mut self.view, false)?,
            }
            // It may become durable between two looks.
            if self.dice.once_in(4) {
                self.write()?;
            }
        }
        Err(StoreError::Corrupt(format!("more than {LOADS_MAX} loads for {call:?}")))
    }

    /// Puts what is under way into the store; the view is told only when it lands.
    fn write(&mut self) -> Result<(), StoreError> {
        let Some(flight) = self.flight.as_mut().filter(|f| f.head.is_none()) else {
            return Ok(());
        };
        let head = flight.parcel.head;
        // An empty store would fill the view anew; its transaction begins with another one.
        let mut nothing = View::new(0);
        self.store.begin(if head.n == 0 { &mut nothing } else { &mut flight.parcel })?;
        let commit = seal(head.n + 1, flight.now, head.seal, &flight.parcel.events);
        self.store.commit(&flight.parcel, &commit)?;
        flight.head = Some(CommitHead { n: commit.n, seal: commit.seal });
        Ok(())
    }
}
