//! Moves a whole archive from one store into another.
//!
//! Everything keeps its number: a number names the shard that made it, so numbers of several shards
//! never meet. Where a row lives is its collection's place in the target. Each shard of the target
//! gets a chain of its own that seals the events it holds; the chains they come from are kept
//! beside it. Then everything is read back and compared, and the epoch of tokens is raised, because
//! workers may still hold grants of the source.
//!
//! The source must not be written meanwhile. It is held in memory: a few kilobytes per task. What
//! was written is noted in the target page by page; a copy that was interrupted goes on there, and
//! until it is done the target cannot be used for anything else.

mod route;

use std::path::PathBuf;

use armarius_core::command::{Call, Command};
use armarius_core::decide;
use armarius_core::event::{Commit, seal};
use armarius_core::rows::Counter;
use armarius_core::text::Name;
use armarius_core::view::{CommitHead, Stop, View};
use armarius_engine::seam::{Database as _, Store, StoreError};

use self::route::Plan;
use crate::postgres::{self, Database, default_place};
use crate::sqlite::{self, Sqlite};
use crate::world::World;

/// Rows of one page.
const PAGE_ROWS: usize = 5_000;
/// Rounds of loading before the last commit.
const LOADS_MAX: usize = 100;
/// Who raises the epoch.
const ACTOR: &str = "armarius";

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
    pub done: usize,
    /// Pages there are.
    pub pages: usize,
}

/// What a finished copy has moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Collections.
    pub collections: usize,
    /// Tasks.
    pub tasks: usize,
    /// Events, each with its hash.
    pub events: usize,
    /// Shards of the target that hold something.
    pub shards: usize,
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
    progress(&Progress { what: "reading and verifying the source", done: 0, pages: 1 });
    let (name, worlds) = read(from)?;
    let mut target = Target::open(to)?;
    let plan = route::plan(worlds, target.shards(), |collection| target.place(collection))?;
    let pages: Vec<(u16, View)> = plan
        .worlds
        .iter()
        .zip(0..)
        .flat_map(|(world, shard)| {
            world.to_pages(shard, page_rows).into_iter().map(move |page| (shard, page))
        })
        .collect();
    let first = target.begin(&name)?;
    for (n, (shard, page)) in pages.iter().enumerate().skip(first) {
        progress(&Progress { what: "writing", done: n, pages: pages.len() });
        target.write(*shard, page, &name, n + 1)?;
    }
    progress(&Progress { what: "writing", done: pages.len(), pages: pages.len() });
    target.chain(&plan)?;
    progress(&Progress { what: "verifying", done: pages.len(), pages: pages.len() });
    compare(&target, &plan)?;
    target.finish(&plan)?;
    let sum = |count: fn(&World) -> usize| plan.worlds.iter().map(count).sum();
    Ok(Copied {
        collections: sum(|w| w.collections.len()),
        tasks: sum(|w| w.tasks.len()),
        events: sum(|w| w.events.len()),
        shards: plan.worlds.iter().filter(|w| !w.events.is_empty()).count(),
    })
}

/// The name of an archive and its shards, each verified.
fn read(from: &Place) -> Result<(String, Vec<World>), StoreError> {
    match from {
        Place::Sqlite(path) => {
            let store = Sqlite::open(path, sqlite::Options::default())?;
            store.verify_everything()?;
            Ok((store.incarnation()?, vec![store.dump()?]))
        }
        Place::Postgres(url) => {
            let database = Database::open(url, postgres::Options::default())?;
            let mut worlds = Vec::new();
            for shard in 0..database.shards() {
                let store = database.shard(shard)?;
                store.verify_everything()?;
                worlds.push(store.dump()?);
            }
            Ok((database.incarnation().to_owned(), worlds))
        }
    }
}

/// What is copied into.
enum Target {
    Sqlite(Box<Sqlite>),
    Postgres(Database),
}

impl Target {
    fn open(to: &Place) -> Result<Self, StoreError> {
        Ok(match to {
            Place::Sqlite(path) => {
                let options = sqlite::Options { unfinished: true, ..sqlite::Options::default() };
                Self::Sqlite(Box::new(Sqlite::open(path, options)?))
            }
            Place::Postgres(url) => {
                let options = postgres::Options { unfinished: true, ..Default::default() };
                Self::Postgres(Database::open(url, options)?)
            }
        })
    }

    fn shards(&self) -> u16 {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(database) => database.shards(),
        }
    }

    fn place(&self, collection: &str) -> u16 {
        default_place(collection, self.shards())
    }

    /// Begins, or goes on: says how many pages are there.
    fn begin(&self, source: &str) -> Result<usize, StoreError> {
        let (note, empty) = match self {
            Self::Sqlite(store) => store.copy_note()?,
            Self::Postgres(database) => database.copy_note()?,
        };
        match note {
            Some(note) => {
                let done = note.strip_prefix(source).and_then(|n| n.trim().parse().ok());
                done.ok_or_else(|| {
                    StoreError::Unusable(
                        "a copy of another archive into this store was begun and not finished"
                            .to_owned(),
                    )
                })
            }
            None if empty => Ok(0),
            None => Err(StoreError::Unusable("the target already holds something".to_owned())),
        }
    }

    fn write(&self, shard: u16, page: &View, source: &str, n: usize) -> Result<(), StoreError> {
        let note = format!("{source} {n}");
        match self {
            Self::Sqlite(store) => store.import(page, &note),
            Self::Postgres(database) => database.import(shard, page, &note),
        }
    }

    /// Writes the commits, which seal what is there.
    fn chain(&self, plan: &Plan) -> Result<(), StoreError> {
        for (shard, world) in (0..).zip(&plan.worlds) {
            let commits: Vec<&Commit> = world.commits.values().collect();
            match self {
                Self::Sqlite(store) => store.import_commits(&commits, &plan.past)?,
                Self::Postgres(database) => {
                    // The chains of the source are kept once, with the first shard.
                    let past = if shard == 0 { &plan.past[..] } else { &[] };
                    database.import_commits(shard, &commits, &world.counters, past)?;
                }
            }
        }
        Ok(())
    }

    /// Raises the epoch in every shard that holds something, and lets the store be used.
    fn finish(&mut self, plan: &Plan) -> Result<(), StoreError> {
        for shard in (0..).take(plan.worlds.len()) {
            match self {
                Self::Sqlite(store) => {
                    store.reread_head()?;
                    raise_epoch(store.as_mut(), shard)?;
                }
                Self::Postgres(database) => raise_epoch(&mut database.shard(shard)?, shard)?,
            }
        }
        match self {
            Self::Sqlite(store) => store.copy_done(),
            Self::Postgres(database) => database.copy_done(),
        }
    }
}

/// Reads everything back: rows and chains are as planned, and verify.
fn compare(target: &Target, plan: &Plan) -> Result<(), StoreError> {
    for (shard, wanted) in (0..).zip(&plan.worlds) {
        let found = match target {
            Target::Sqlite(store) => {
                store.verify_everything()?;
                store.dump()?
            }
            Target::Postgres(database) => {
                let store = database.shard(shard)?;
                store.verify_everything()?;
                store.dump()?
            }
        };
        let differences = wanted.differences(&found);
        if let Some(first) = differences.first() {
            let count = differences.len();
            return Err(StoreError::Corrupt(format!(
                "the copy of shard {shard} differs in {count} rows, the first: {first}"
            )));
        }
    }
    Ok(())
}

fn raise_epoch(store: &mut dyn Store, shard: u16) -> Result<(), StoreError> {
    let mut view = View::new(shard);
    let now = store.begin(&mut view)?;
    let actor = Name::trusted(ACTOR);
    let call = Call { now, actor, chance: 0, idem: None, command: Command::RaiseEpoch };
    for _ in 0..LOADS_MAX {
        match decide(&mut view, &call) {
            Ok(_) => {
                view.counters.put(Counter::Clock, now.0);
                view.keep();
                let CommitHead { n, seal: prev } = view.head;
                return store.commit(&view, &seal(n + 1, now, prev, &view.events));
            }
            Err(Stop::Need(needs)) => store.load(&needs, &mut view)?,
            Err(Stop::Refuse(refusal)) => return Err(StoreError::Corrupt(refusal.to_string())),
        }
    }
    Err(StoreError::Corrupt("the epoch cannot be raised".to_owned()))
}
