//! Numbers that look random and are the same for the same seed.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that begin at a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 bits.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, or 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        usize::try_from(self.roll() % end).unwrap_or_default()
    }

    /// A whole number from `from` up to, not including, `end`.
    pub fn between(&mut self, from: i64, end: i64) -> i64 {
        let wide = end.saturating_sub(from).max(1).unsigned_abs();
        from.saturating_add_unsigned(self.roll() % wide)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let place = self.below(from.len());
        from.get(place)
    }

    /// Brings them into another order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for end in (1..all.len()).rev() {
            let other = self.below(end + 1);
            all.swap(end, other);
        }
    }
}

/// The random bits of a seed's `n`-th command, whoever plays it and wherever it begins.
#[must_use]
pub fn chance(seed: u64, n: u64) -> u128 {
    let mut dice = Dice::new(seed ^ n.wrapping_mul(0xd134_2543_de82_ef95));
    (u128::from(dice.roll()) << 64) | u128::from(dice.roll())
}
