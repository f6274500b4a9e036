//! How much is tried: a little with every change, more when asked to.

/// Whether the long versions are wanted: `cargo xtask soak` sets the variable.
pub(crate) fn is_wanted() -> bool {
    std::env::var_os("ARMARIUS_SOAK").is_some_and(|v| v == "1")
}

/// Seeds to try: `few` with every change, many in a soak; `ARMARIUS_SEED` tries one alone.
pub(crate) fn seeds(few: u64) -> Vec<u64> {
    let one = std::env::var("ARMARIUS_SEED").ok().and_then(|s| s.parse().ok());
    match one {
        Some(seed) => vec![seed],
        None if is_wanted() => (1..=few * 100).collect(),
        None => (1..=few).collect(),
    }
}

/// A number for every change, or a larger one in a soak.
pub(crate) fn sized(few: usize, many: usize) -> usize {
    if is_wanted() { many } else { few }
}
