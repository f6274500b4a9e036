//! A "no": what was refused, why, and what to do next.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// What kind of "no" it is. The text form is stable and part of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code, in the order of this file.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The stable text form.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

codes! {
    /// The collection does not exist.
    NoSuchCollection = "no-such-collection",
    /// The archive does not exist.
    NoSuchArchive = "no-such-archive",
    /// The item does not exist.
    NoSuchItem = "no-such-item",
    /// The flow does not exist in that collection.
    NoSuchFlow = "no-such-flow",
    /// The task does not exist.
    NoSuchTask = "no-such-task",
    /// The lease does not exist, or is not the caller's.
    NoSuchLease = "no-such-lease",
    /// The batch does not exist.
    NoSuchBatch = "no-such-batch",
    /// The hold does not exist.
    NoSuchHold = "no-such-hold",
    /// The schedule does not exist.
    NoSuchSchedule = "no-such-schedule",
    /// The outbox entry does not exist.
    NoSuchEntry = "no-such-entry",
    /// The key does not exist, or was revoked.
    NoSuchKey = "no-such-key",
    /// The thing exists already.
    AlreadyExists = "already-exists",
    /// A name is empty, too long or has forbidden characters.
    BadName = "bad-name",
    /// An address cannot be read.
    BadAddress = "bad-address",
    /// A value is outside its limits.
    OutOfRange = "out-of-range",
    /// A text or list is larger than its limit.
    TooLarge = "too-large",
    /// A text that must be JSON is not.
    BadJson = "bad-json",
    /// The flow's definition contradicts itself.
    BadFlow = "bad-flow",
    /// The thing's present state does not allow this.
    WrongState = "wrong-state",
    /// The lease is over; it is never revived.
    LeaseOver = "lease-over",
    /// The same idempotency key was used for a different request.
    KeyReused = "key-reused",
    /// A dependency would close a circle.
    Cycle = "cycle",
    /// Something of another collection was named where collections are independent.
    AcrossCollections = "across-collections",
    /// The batch takes no more members.
    BatchSealed = "batch-sealed",
    /// Another instance of a singleton robot is at work.
    RobotBusy = "robot-busy",
    /// Too many of this kind exist.
    LimitReached = "limit-reached",
    /// The store is short of space; only reports of running work are taken.
    StoreFull = "store-full",
    /// Too many requests are waiting.
    Busy = "busy",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A typed "no". Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What kind.
    pub code: Code,
    /// What happened, as a lower-case fragment.
    pub sentence: String,
    /// What to do next.
    pub hint: String,
}

impl Refusal {
    /// A refusal without a hint yet.
    #[must_use]
    pub fn new(code: Code, sentence: impl Into<String>) -> Self {
        Self { code, sentence: sentence.into(), hint: String::new() }
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.sentence, self.code)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
