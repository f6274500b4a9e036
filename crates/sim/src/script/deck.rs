//! Which kind of command comes next: cards are drawn from a deck without being put back, so that
//! every kind comes in every short script.

use crate::dice::Dice;

macro_rules! cards {
    ($($(#[$doc:meta])* $name:ident * $times:literal,)*) => {
        /// A kind of command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Card { $($(#[$doc])* $name,)* }

        impl Card {
            /// Every card and how often it is in a deck.
            pub const ALL: &[(Self, usize)] = &[$((Self::$name, $times),)*];
        }
    };
}

cards! {
    /// A submission by hand.
    Submit * 7,
    /// With several parts.
    Parts * 2,
    /// After other tasks, also such as do not exist yet.
    After * 3,
    /// Into the open batch.
    Member * 4,
    /// Not before some moment.
    Delayed * 2,
    /// The same once more, with the same key.
    Repeat * 2,
    /// The next revision.
    Revision * 4,
    /// So many parts that their consequences become errands.
    Crowd * 1,
    /// A request for work.
    Claim * 8,
    /// A request for some steps only.
    ClaimStep * 2,
    /// A result.
    Report * 14,
    /// A result of something the worker does not hold, or no longer.
    Stale * 2,
    /// The last result of a lease.
    Last * 2,
    /// A renewal.
    Beat * 3,
    /// Everything left in a lease is given back.
    GiveBack * 1,
    /// An event of an item.
    Event * 4,
    /// An event out of a history kept elsewhere.
    Import * 2,
    /// An item goes back on the line.
    Rewind * 2,
    /// An item's content changed.
    Touch * 2,
    /// What is said about an item.
    Put * 2,
    /// A deleted item.
    DeleteItem * 1,
    /// Another priority of an item.
    PrioritiseItem * 2,
    /// Another attempt.
    Retry * 3,
    /// Counted as unnecessary.
    Skip * 2,
    /// Ended by an operator.
    Cancel * 2,
    /// Another priority of a task.
    Prioritise * 2,
    /// A brake.
    Hold * 3,
    /// A brake less.
    Release * 3,
    /// A new batch.
    OpenBatch * 2,
    /// Complete in number.
    SealBatch * 2,
    /// Cancelled.
    CancelBatch * 1,
    /// Its failed members once more.
    RetryBatch * 1,
    /// Another report.
    ReportBatch * 1,
    /// Deleted.
    DeleteBatch * 1,
    /// A key made, changed or revoked.
    Key * 4,
    /// A letter.
    Post * 2,
    /// A delivery.
    Delivered * 3,
    /// Slots of a schedule.
    Fire * 2,
    /// Time passes.
    Tick * 6,
    /// Leases end.
    Expire * 3,
    /// Timers end.
    Wake * 3,
    /// Holds end.
    ExpireHolds * 2,
    /// Leases get a fresh term.
    Refresh * 1,
    /// A piece of an errand.
    Errand * 8,
    /// Tokens of a new epoch.
    Epoch * 1,
    /// All that is lent is called back.
    Recall * 1,
    /// A collection's destinations.
    Collection * 1,
    /// A flow's next version, or the first again.
    Apply * 1,
    /// A flow removed.
    Remove * 1,
    /// A revision of the archive is planned.
    Plan * 6,
    /// One is noticed.
    Notice * 2,
    /// Its repository was looked at.
    Look * 2,
    /// A revision is passed over.
    PassOver * 1,
    /// A flow of it is started by hand.
    StartFlow * 1,
    /// It is watched no more, again, or without trust.
    Watch * 1,
}

/// A deck.
#[derive(Clone, Debug, Default)]
pub(super) struct Deck(Vec<Card>);

impl Deck {
    /// The next card; a used-up deck is shuffled anew.
    pub(super) fn draw(&mut self, dice: &mut Dice) -> Card {
        if self.0.is_empty() {
            let cards =
                Card::ALL.iter().flat_map(|(card, times)| std::iter::repeat_n(*card, *times));
            self.0.extend(cards);
            dice.shuffle(&mut self.0);
        }
        self.0.pop().unwrap_or(Card::Tick)
    }
}
