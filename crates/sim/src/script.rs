//! Whole lives, made up command by command.
//!
//! A script reacts: it reports what it was granted, renews the leases it holds, seals the batches
//! it opened. So it is a machine that is told each answer and gives the next step. Nothing in it
//! depends on anything but the seed and the answers.

mod archives;
mod deal;
mod deck;
mod flows;

use std::collections::{BTreeMap, VecDeque};

use armarius_core::command::Command;
use armarius_core::ids::{BatchId, HoldId, LeaseId, TaskId, Time, Token};
use armarius_core::refusal::Refusal;
use armarius_core::reply::{Granted, Reply};
use armarius_core::text::{Name, Text};

use crate::dice::Dice;
use deck::Deck;

pub use deck::Card;

/// When every script begins.
pub const BEGIN: Time = Time(1_700_000_000_000_000);

/// What came of a step.
pub type Outcome = Result<Reply, Refusal>;

/// One command with everything that comes from outside the rules, random bits excepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What the store's clock shows.
    pub at: Time,
    /// Who asks.
    pub actor: Name,
    /// The caller's key.
    pub idem: Option<Text>,
    /// What is asked.
    pub command: Command,
}

/// A lease the script was granted.
#[derive(Clone, Debug)]
struct Held {
    worker: Name,
    lease: LeaseId,
    tasks: Vec<(TaskId, Token)>,
}

/// A life being made up.
#[derive(Clone, Debug)]
pub struct Script {
    dice: Dice,
    deck: Deck,
    now: Time,
    left: usize,
    crowds_left: usize,
    /// What must come before anything else.
    opening: VecDeque<Command>,
    asked: Option<Step>,
    leases: Vec<Held>,
    /// Leases that may be over.
    past: Vec<Held>,
    tasks: Vec<TaskId>,
    batches: Vec<BatchId>,
    open_batch: Option<BatchId>,
    holds: Vec<HoldId>,
    /// The letter each destination waits for, as far as the script knows.
    letters: BTreeMap<&'static str, i64>,
    /// The oldest errand that may exist, and whether a piece of it was done.
    errand: (i64, bool),
    revision: i64,
    /// The newest planned revision of the archive.
    planned: i64,
    keys: usize,
    /// The newest submissions that had a key.
    keyed: Vec<Step>,
}

impl Script {
    /// A script of so many random steps after its opening.
    #[must_use]
    pub fn new(seed: u64, steps: usize) -> Self {
        Self {
            dice: Dice::new(seed),
            deck: Deck::default(),
            now: BEGIN,
            left: steps,
            crowds_left: 1 + steps / 400,
            opening: deal::opening(),
            asked: None,
            leases: Vec::new(),
            past: Vec::new(),
            tasks: Vec::new(),
            batches: Vec::new(),
            open_batch: None,
            holds: Vec::new(),
            letters: BTreeMap::new(),
            errand: (1, false),
            revision: 0,
            planned: 0,
            keys: 0,
            keyed: Vec::new(),
        }
    }

    /// Learns what came of the last step and gives the next one; nothing when the life is over.
    pub fn next(&mut self, last: Option<&Outcome>) -> Option<Step> {
        if let (Some(asked), Some(outcome)) = (self.asked.take(), last) {
            self.learn(&asked, outcome);
        }
        let step = match self.opening.pop_front() {
            Some(command) => self.operator(command),
            None => {
                self.left = self.left.checked_sub(1)?;
                self.deal()
            }
        };
        if step.idem.is_some() {
            self.keyed.push(step.clone());
        }
        self.asked = Some(step.clone());
        Some(step)
    }

    fn deal(&mut self) -> Step {
        // A card that cannot be played now is put aside; there is always one that can.
        loop {
            let card = self.deck.draw(&mut self.dice);
            if let Some(step) = self.play(card) {
                return step;
            }
        }
    }

    fn learn(&mut self, asked: &Step, outcome: &Outcome) {
        self.learn_errand(asked, outcome);
        let Ok(reply) = outcome else { return };
        self.learn_revision(&asked.command, reply);
        match reply {
            Reply::Round { task, .. } => self.tasks.push(*task),
            Reply::Claimed(Some(granted)) => self.learn_grant(asked, granted),
            Reply::Reported(_) => self.learn_report(asked),
            Reply::Batch(batch) => {
                if !self.batches.contains(batch) {
                    self.batches.push(*batch);
                }
                self.open_batch = Some(*batch);
            }
            Reply::Hold(hold) => self.holds.push(*hold),
            Reply::Ok => self.learn_done(&asked.command),
            Reply::Collection(_)
            | Reply::Flow { .. }
            | Reply::Item { .. }
            | Reply::Event { .. }
            | Reply::Rewound { .. }
            | Reply::Claimed(None)
            | Reply::Renewed { .. }
            | Reply::Duty { .. }
            | Reply::Letter { .. } => {}
        }
    }

    fn learn_grant(&mut self, asked: &Step, granted: &Granted) {
        let tasks: Vec<(TaskId, Token)> = granted.tasks.iter().map(|t| (t.task, t.token)).collect();
        for (task, _) in &tasks {
            if !self.tasks.contains(task) {
                self.tasks.push(*task);
            }
        }
        self.leases.push(Held { worker: asked.actor.clone(), lease: granted.lease, tasks });
    }

    fn learn_report(&mut self, asked: &Step) {
        let Command::Report(report) = &asked.command else { return };
        let Some(place) = self.leases.iter().position(|h| h.lease == report.lease) else { return };
        let Some(held) = self.leases.get_mut(place) else { return };
        let before = held.clone();
        held.tasks.retain(|(task, _)| *task != report.task);
        if held.tasks.is_empty() || report.last {
            self.leases.remove(place);
        }
        self.past.push(before);
    }

    fn learn_done(&mut self, command: &Command) {
        if let Command::SealBatch { batch }
        | Command::CancelBatch { batch }
        | Command::DeleteBatch { batch } = command
        {
            self.open_batch = self.open_batch.filter(|b| b != batch);
        }
        if let Command::GiveBack { lease } = command {
            self.leases.retain(|h| h.lease != *lease);
        }
        if let Command::Release { hold } = command {
            self.holds.retain(|h| h != hold);
        }
        if let Command::Delivered { to, ok: true, .. } = command
            && let Some((_, n)) = self.letters.iter_mut().find(|(name, _)| ***name == **to)
        {
            *n += 1;
        }
    }

    /// Errands are numbered; one that answers "nothing done" after a piece was done is over.
    fn learn_errand(&mut self, asked: &Step, outcome: &Outcome) {
        let Command::RunErrand { .. } = asked.command else { return };
        let did = matches!(outcome, Ok(Reply::Duty { did: 1.., .. }));
        self.errand = match (did, self.errand) {
            (true, (n, _)) => (n, true),
            (false, (n, true)) => (n + 1, false),
            (false, same) => same,
        };
    }
}
