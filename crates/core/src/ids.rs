//! Numbers that name things. Each kind has its own type, so that they cannot be mixed up.
//!
//! A number carries the shard that made it in its upper bits, so that numbers of different shards
//! never meet; the embedded store has one shard, 0, and small numbers.

use std::fmt;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

numbers! {
    /// A collection.
    CollectionId,
    /// A flow, whatever its version.
    FlowId,
    /// One version of a flow, by content digest.
    VersionId,
    /// A queue: one step of one flow of one collection.
    QueueId,
    /// An item.
    ItemId,
    /// A task.
    TaskId,
    /// A batch.
    BatchId,
    /// A hold.
    HoldId,
    /// A schedule.
    ScheduleId,
    /// An errand.
    ErrandId,
}

/// Bits below the shard number.
const SHARD_SHIFT: u32 = 48;

/// The number `n` of shard `shard`.
#[must_use]
pub fn in_shard(shard: u16, n: i64) -> i64 {
    (i64::from(shard) << SHARD_SHIFT) | n
}

/// The shard that made a number.
#[must_use]
pub fn shard_of(number: i64) -> u16 {
    u16::try_from(number >> SHARD_SHIFT).unwrap_or(u16::MAX)
}

/// The name of a lease: random, unguessable, checked together with token and caller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u128);

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseId({self})")
    }
}

impl LeaseId {
    /// Reads the 32 hexadecimal digits that `Display` writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

/// The fencing number of one grant: grows with every grant of its task, also across a restored
/// backup, because the upper 16 bits hold the store's epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub i64);

impl Token {
    /// The next higher token in this epoch.
    #[must_use]
    pub fn next(self, epoch: i64) -> Self {
        Self(self.0.max(epoch << SHARD_SHIFT).saturating_add(1))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment: microseconds since 1970-01-01T00:00:00Z, as the store's clock tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// Before everything.
    pub const ZERO: Self = Self(0);

    /// This moment and `span` later.
    #[must_use]
    pub fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// A length of time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub i64);

impl Span {
    /// A span of whole seconds.
    #[must_use]
    pub const fn seconds(s: i64) -> Self {
        Self(s.saturating_mul(1_000_000))
    }

    /// A span of whole milliseconds.
    #[must_use]
    pub const fn millis(ms: i64) -> Self {
        Self(ms.saturating_mul(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_grows_within_and_across_epochs() {
        let first = Token::default().next(0);
        assert_eq!(first, Token(1));
        assert_eq!(first.next(0), Token(2));
        assert!(first.next(1) > Token(1 << 47));
        assert!(first.next(1).next(0) > first.next(1));
    }

    #[test]
    fn a_number_names_its_shard() {
        assert_eq!(shard_of(in_shard(15, 7)), 15);
        assert_eq!((shard_of(7), in_shard(0, 7)), (0, 7));
        assert_eq!(shard_of(-1), u16::MAX, "nobody's");
    }

    #[test]
    fn a_lease_id_reads_back() {
        let id = LeaseId(0xfeed);
        assert_eq!(LeaseId::parse(&id.to_string()), Some(id));
        assert_eq!(LeaseId::parse("feed"), None);
    }
}
