//! Moves a whole archive from one store into another.
//!
//! Everything keeps its number: a number names the shard that made it, so numbers of several shards
//! never meet. Where a row lives is its collection's place in the target. Each shard of the target
//! gets a chain of its own that seals the events it holds; the chains they come from are kept
//! beside it. Then everything is read back and compared, and the epoch of tokens is raised, because
//! workers may still hold grants of the source.
//!
//! The source must not be written meanwhile. It is read in pieces, so neither store has to fit into
//! memory. A piece becomes pages, and what was written is noted in the target page by page; a copy
//! that was interrupted makes the same pages again and writes those that are missing. Until it is
//! done the target cannot be used for anything else.

mod chain;
mod numbers;
mod route;
mod source;
mod target;

use std::path::PathBuf;

use armarius_engine::seam::StoreError;

use self::chain::Written;
use self::numbers::Numbers;
use self::route::Map;
use self::source::Source;
use self::target::{Note, Target};
use crate::world::{PIECE_BYTES_MAX, PIECE_ROWS_MAX, Piece, Sums, World};

/// Rows of one page: what is written in one transaction.
const PAGE_ROWS: usize = 5_000;
/// Pages' worth of rows that are read before they are given to the shards.
const PIECE_PAGES: usize = 4;

/// Where an archive is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file of the embedded store.
    Sqlite(PathBuf),
    /// The address of a database.
    Postgres(String),
}

/// How far a copy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub what: &'static str,
    /// Pages written so far, those of an earlier try included.
    pub pages: usize,
    /// Rows read from the source so far.
    pub rows: usize,
}

/// What a finished copy has moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Collections.
    pub collections: u64,
    /// Tasks.
    pub tasks: u64,
    /// Events, each with its hash.
    pub events: u64,
    /// Shards of the target that hold something.
    pub shards: u64,
}

/// Copies an archive, or goes on with a copy that was interrupted.
pub fn run(
    from: &Place,
    to: &Place,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Copied, StoreError> {
    run_in_pages(from, to, PAGE_ROWS, progress)
}

/// As [`run`], with so many rows in each page.
pub fn run_in_pages(
    from: &Place,
    to: &Place,
    page_rows: usize,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Copied, StoreError> {
    if from == to {
        return Err(StoreError::Unusable("a store cannot be copied into itself".to_owned()));
    }
    let mut at = Progress { what: "verifying the source", pages: 0, rows: 0 };
    progress(&at);
    let source = Source::open(from)?;
    let mut committed = Vec::new();
    for shard in 0..source.shards() {
        if source.verify(shard)?.commits > 0 {
            committed.push(shard);
        }
    }
    let target = Target::open(to)?;
    let definitions: Vec<World> =
        (0..source.shards()).map(|shard| source.definitions(shard)).collect::<Result<_, _>>()?;
    let map = Map::of(&source, &definitions, target.shards(), |name| target.place(name))?;
    let numbers = Numbers::of(&definitions, target.shards());
    let note = Note { source: source.name()?, page_rows };
    let rows_max = PIECE_ROWS_MAX.min(PIECE_PAGES * page_rows);
    let piece = Piece { rows_max, bytes_max: PIECE_BYTES_MAX };
    let wanted = Sums::default();
    let mut copy = Copy { source, target, map, numbers, note, piece, wanted };

    at.what = "copied";
    copy.rows(&mut at, progress)?;
    at.what = "sealing";
    progress(&at);
    copy.commits(&committed)?;
    at.what = "reading back";
    progress(&at);
    copy.compare()?;
    copy.target.finish()?;
    Ok(copy.copied())
}

/// A copy under way.
struct Copy {
    source: Source,
    target: Target,
    map: Map,
    numbers: Numbers,
    note: Note,
    piece: Piece,
    /// What the target is to hold.
    wanted: Sums,
}

impl Copy {
    /// Writes every row and event that is not there yet. Those that are there are read all the
    /// same: what is to be found in the end is added up from all of them.
    fn rows(
        &mut self,
        at: &mut Progress,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), StoreError> {
        let there = self.target.begin(&self.note)?;
        at.pages = there;
        let mut n = 0;
        let Self { source, target, map, numbers, note, piece, wanted } = self;
        for from in 0..source.shards() {
            source.rows_in(from, *piece, &mut |rows| {
                for (shard, world) in (0..).zip(map.spread(source, from, rows)?) {
                    numbers.note(shard, &world);
                    world.sum_up(shard, wanted);
                    for page in world.to_pages(shard, note.page_rows) {
                        at.rows += page.dirty_len() + page.events.len();
                        n += 1;
                        if n > there {
                            progress(at);
                            target.write(shard, &page, &note.text(n))?;
                            at.pages = n;
                        }
                    }
                }
                Ok(())
            })?;
        }
        let counters = numbers.counters();
        if let Some(first) = counters.first() {
            target.count(first, &note.text(n))?;
        }
        for (shard, counters) in (0..).zip(counters) {
            World { counters, ..World::default() }.sum_up(shard, wanted);
        }
        Ok(())
    }

    /// Writes the commits, which seal what is there.
    fn commits(&mut self, committed: &[u16]) -> Result<(), StoreError> {
        let (counters, clock) = (self.numbers.counters(), self.numbers.clock());
        let written = Written { committed, counters: &counters, clock, piece: self.piece };
        let Self { source, target, map, wanted, .. } = self;
        chain::write(source, map, target, &written, wanted)
    }

    /// Reads everything back: rows and chains are what they should be, and verify.
    fn compare(&self) -> Result<(), StoreError> {
        let mut found = Sums::default();
        self.target.sum_up(self.piece, &mut found)?;
        let differences = self.wanted.differences(&found);
        match differences.first() {
            None => Ok(()),
            Some(first) => {
                let count = differences.len();
                let text = format!("the copy differs in {count} tables, the first: {first}");
                Err(StoreError::Corrupt(text))
            }
        }
    }

    fn copied(&self) -> Copied {
        let shards = 0..self.target.shards();
        let full = shards.filter(|shard| self.wanted.rows_in(*shard, "events") > 0).count();
        Copied {
            collections: self.wanted.rows("collections"),
            tasks: self.wanted.rows("tasks"),
            events: self.wanted.rows("events"),
            shards: full as u64,
        }
    }
}
