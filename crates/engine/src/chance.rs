//! Where randomness enters: names that must not be guessed are made of these bits.

use std::fmt;

/// A source of random bits.
pub trait Chance: Send {
    /// 128 fresh bits.
    fn draw(&mut self) -> Result<u128, Dry>;
}

/// The source gave nothing.
#[derive(Debug, thiserror::Error)]
#[error("no random bits: {0}")]
pub struct Dry(String);

impl Dry {
    pub(crate) fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// Bytes fetched from the operating system at a time, so that a draw is seldom a system call.
const POOL_BYTES: usize = 4_096;
/// Bytes of one draw.
const DRAW_BYTES: usize = 16;

/// The operating system's randomness.
pub struct OsChance {
    pool: [u8; POOL_BYTES],
    left: usize,
}

impl Default for OsChance {
    fn default() -> Self {
        Self { pool: [0; POOL_BYTES], left: 0 }
    }
}

impl Chance for OsChance {
    fn draw(&mut self) -> Result<u128, Dry> {
        if self.left == 0 {
            getrandom::fill(&mut self.pool).map_err(|e| Dry(e.to_string()))?;
            self.left = POOL_BYTES;
        }
        let from = self.left - DRAW_BYTES;
        let mut bytes = [0; DRAW_BYTES];
        bytes.copy_from_slice(&self.pool[from..self.left]);
        // What was given away is not kept.
        self.pool[from..self.left].fill(0);
        self.left = from;
        Ok(u128::from_ne_bytes(bytes))
    }
}

impl fmt::Debug for OsChance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OsChance")
    }
}

/// The same bits for the same seed, for tests and simulations. Guessable.
#[derive(Clone, Debug)]
pub struct SeededChance(u64);

impl SeededChance {
    /// A source that begins at a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64: short, and every state gives a different number.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Chance for SeededChance {
    fn draw(&mut self) -> Result<u128, Dry> {
        Ok((u128::from(self.next()) << 64) | u128::from(self.next()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_system_never_repeats_itself() {
        let mut chance = OsChance::default();
        let drawn: BTreeSet<u128> = (0..1_000).map(|_| chance.draw().unwrap()).collect();
        assert_eq!(drawn.len(), 1_000);
    }

    #[test]
    fn a_seed_always_gives_the_same() {
        let (mut a, mut b) = (SeededChance::new(7), SeededChance::new(7));
        assert_eq!(a.draw().unwrap(), b.draw().unwrap());
        assert_ne!(a.draw().unwrap(), SeededChance::new(8).draw().unwrap());
    }
}
