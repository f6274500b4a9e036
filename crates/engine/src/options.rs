//! What can be chosen when an engine is started, and every bound of the engine by name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use armarius_core::command::Call;
use armarius_core::reply::Reply;
use armarius_core::view::{Stop, View};

use crate::chance::{Chance, OsChance};
use crate::clock::{Clock, SystemClock};
use crate::exit::Fatal;

/// Rows one group may write.
pub const GROUP_ROWS_MAX: usize = 20_000;
/// Commands in line or under way from which on a group takes only half of them, so that one half is
/// decided while the other is being written. Below it two small commits cost more than one: with 64
/// single commands the smaller groups took a third of the throughput.
pub const FLY_COMMANDS_MIN: usize = 256;
/// Commands answered by one group from which on the next one waits a moment for as many.
pub const COMPANY_MIN: usize = 8;
/// How long a group waits for company: less than the price of a commit.
pub const COMPANY_WAIT: Duration = Duration::from_micros(100);
/// Bytes of text the commands of one group may carry.
pub const GROUP_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Time one group may spend deciding.
pub const GROUP_DECIDE_MAX: Duration = Duration::from_millis(20);
/// Commands that may wait in one line.
pub const LINE_COMMANDS_MAX: usize = 20_000;
/// Bytes of text that may wait in one line.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Commands one bulk may bring into a line at once.
pub const BULK_COMMANDS_MAX: usize = 10_000;
/// Claims that may wait for work at once.
pub const PARKED_CLAIMS_MAX: usize = 20_000;
/// Rows the view may keep between groups.
pub const CACHE_ROWS_MAX: usize = 200_000;
/// How often one command may ask for more rows before it counts as broken.
pub const LOAD_ROUNDS_MAX: usize = 1_000;
/// Commands of a line that are looked at together for what they will need from a far store.
pub const FORESEE_COMMANDS_MAX: usize = 500;
/// Time one such look may take: a part of what the group has.
pub const FORESEE_TIME_MAX: Duration = Duration::from_millis(4);
/// How often a line is looked at in this way while it fills a group.
pub const FORESEE_ROUNDS_MAX: usize = 8;
/// How long [`Handle::call`](crate::Handle::call) waits for room in its line.
pub const CALL_WAIT_MAX: Duration = Duration::from_secs(30);
/// The longest the lane rests before it looks at the store's time again.
pub const TICK: Duration = Duration::from_secs(1);
/// How often all shards are looked at while a claim waits for work.
pub const LOOK_WAITING: Duration = Duration::from_millis(250);
/// How often all shards are looked at otherwise.
pub const LOOK_IDLE: Duration = Duration::from_secs(1);
/// The shortest time between looks at all shards when the database tells of commits.
pub const HEAR_PAUSE: Duration = Duration::from_millis(25);
/// How long a lane of a shared store may not have seen a shard that others have changed.
pub const GLANCE: Duration = Duration::from_secs(30);
/// After being out of reach for so long, a shared store's live leases get a fresh term.
pub const AWAY_MIN: Duration = Duration::from_secs(5);
/// The longest rest of a lane that somebody else watches over.
pub const REST_MAX: Duration = Duration::from_secs(3_600);
/// Places of collections, leases and other things that are remembered.
pub const PLACES_MAX: usize = 200_000;
/// Read-only sides of the store that are kept open for questions.
pub const READERS: usize = 4;

/// The rule-book.
pub type Decide = fn(&mut View, &Call) -> Result<Reply, Stop>;

/// Told why the lane stopped for good.
pub type OnFatal = Box<dyn FnOnce(&Fatal) + Send>;

/// Told what an operator should know, in a sentence.
pub type OnWord = Arc<dyn Fn(&str) + Send + Sync>;

/// What can be chosen.
pub struct Options {
    /// The shard whose lane this is.
    pub shard: u16,
    /// What waiting is measured by.
    pub clock: Arc<dyn Clock>,
    /// What lease names are made of.
    pub chance: Box<dyn Chance>,
    /// The rule-book; only tests choose another.
    pub decide: Decide,
    /// Whether the lane does duties and errands by itself.
    pub with_duties: bool,
    /// Rows one group may write.
    pub group_rows_max: usize,
    /// Commands from which on one group is decided while another is being written.
    pub fly_commands_min: usize,
    /// Commands that may wait in one line.
    pub line_commands_max: usize,
    /// Rows the view may keep between groups.
    pub cache_rows_max: usize,
    /// Read-only sides of the store that are kept open for questions.
    pub readers: usize,
    /// Told what an operator should know: that a window is in doubt after a fail-over.
    pub on_word: OnWord,
    /// Told when the lane stops for good; the process should then exit with the code given.
    pub on_fatal: Option<OnFatal>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            shard: 0,
            clock: Arc::new(SystemClock::default()),
            chance: Box::new(OsChance::default()),
            decide: armarius_core::decide,
            with_duties: true,
            group_rows_max: GROUP_ROWS_MAX,
            fly_commands_min: FLY_COMMANDS_MIN,
            line_commands_max: LINE_COMMANDS_MAX,
            cache_rows_max: CACHE_ROWS_MAX,
            readers: READERS,
            on_word: Arc::new(|_| {}),
            on_fatal: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("shard", &self.shard).finish_non_exhaustive()
    }
}
