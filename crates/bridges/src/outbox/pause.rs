//! When a letter that did not arrive is tried again.

use std::time::Duration;

/// Twice as long after each failure, up to a maximum, and up to a quarter less or more by chance,
/// so that destinations that failed together are not tried together for ever.
pub(super) fn after(tries: u32, min: Duration, max: Duration) -> Duration {
    let mut bits = [0_u8; 4];
    // Without chance the pause is as good, merely less scattered.
    getrandom::fill(&mut bits).ok();
    scattered(tries, min, max, u32::from_le_bytes(bits))
}

fn scattered(tries: u32, min: Duration, max: Duration, chance: u32) -> Duration {
    let pause = min.saturating_mul(1 << tries.min(20)).min(max);
    let scatter = 0.75 + 0.5 * f64::from(chance) / f64::from(u32::MAX);
    pause.mul_f64(scatter).min(max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_scatter_within_limits() {
        let (min, max) = (Duration::from_secs(1), Duration::from_secs(3_600));
        for (tries, chance, ms) in
            [(0, 0, 750), (0, u32::MAX, 1_250), (3, 0, 6_000), (40, u32::MAX, 3_600_000)]
        {
            let pause = scattered(tries, min, max, chance);
            assert_eq!(pause, Duration::from_millis(ms), "{tries} {chance}");
        }
    }
}
