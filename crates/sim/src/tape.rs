//! A script that was played once on the model, with every answer.

use armarius_store::{Clock, Memory, World};

use crate::player::Player;
use crate::script::{BEGIN, Outcome, Script, Step};

/// What was asked and answered, in order.
#[derive(Clone, Debug)]
pub struct Tape {
    /// The seed of script and random bits.
    pub seed: u64,
    /// What was asked.
    pub steps: Vec<Step>,
    /// What was answered.
    pub outcomes: Vec<Outcome>,
    /// What it left.
    pub world: World,
}

impl Tape {
    /// Plays a seed on the model.
    #[must_use]
    pub fn record(seed: u64, steps: usize) -> Self {
        Self::record_watched(seed, steps, |_, _| {})
    }

    /// As [`Tape::record`]; shows the model after every step, with the number of steps so far.
    pub fn record_watched(seed: u64, steps: usize, mut watch: impl FnMut(usize, &Memory)) -> Self {
        let (clock, hand) = Clock::hand(BEGIN);
        let mut player = Player::new(Memory::with_clock(clock), hand, seed, 0);
        let mut script = Script::new(seed, steps);
        let (mut asked, mut outcomes): (Vec<Step>, Vec<Outcome>) = (Vec::new(), Vec::new());
        while let Some(step) = script.next(outcomes.last()) {
            // The model is memory: it has no way to fail.
            let Ok(outcome) = player.play(&step) else { break };
            asked.push(step);
            outcomes.push(outcome);
            watch(asked.len(), &player.store);
        }
        Self { seed, steps: asked, outcomes, world: player.store.dump() }
    }

    /// The world after each number of steps, from none to all.
    #[must_use]
    pub fn worlds(seed: u64, steps: usize) -> Vec<World> {
        let mut worlds = vec![World::default()];
        Self::record_watched(seed, steps, |_, memory| worlds.push(memory.dump()));
        worlds
    }
}
