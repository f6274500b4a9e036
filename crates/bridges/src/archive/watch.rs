//! Who looks at which repository, and when: on a notice at once, and every now and then anyway.
//!
//! One thread knows when each archive is due; a few others visit them, each archive in one pair of
//! hands at a time, so that a repository that does not answer delays no other archive. A visit
//! looks, reads what is new and sends commands. Two servers that do the same plan nothing twice.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use armarius_core::command::{About, Command, Definitions, PlanRevision, Sight};
use armarius_core::limits::{CHANGED_PATHS_MAX, REASON_BYTES_MAX};
use armarius_core::rows::{Archive, ArchiveState};
use armarius_core::text::{Name, Text};
use armarius_core::view::View;
use armarius_engine::Handle;

use super::definitions::{self, FOLDER};
use super::repository::{Changes, Limits, Place, Point, Repository, Stamp, Trouble, open, shorten};

/// Archives that are visited at the same time.
const VISITORS: usize = 4;
/// Revisions one visit plans before others have their turn.
const REVISIONS_MAX: usize = 50;
/// How often the list of archives is read.
const LIST_EVERY: Duration = Duration::from_secs(5);
/// Looks that may end at the repository's stamp; the next one asks its programs again.
const CALM_MAX: u32 = 10;
/// Notices that are remembered for one archive until its next visit.
const NOTICES_MAX: usize = 1_000;
/// Who plans revisions, in the history.
const ACTOR: &str = "archive watcher";

/// How archives are watched.
#[derive(Clone, Debug)]
pub struct Options {
    /// How often a repository is looked at without a notice.
    pub poll: Duration,
    /// How long after the first failure it is tried again; twice as long after each further one.
    pub pause_min: Duration,
    /// At most.
    pub pause_max: Duration,
    /// How repositories are read.
    pub limits: Limits,
    /// Told about failures, for the log.
    pub log: fn(&str),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(30),
            pause_min: Duration::from_secs(2),
            pause_max: Duration::from_secs(300),
            limits: Limits::default(),
            log: |_| {},
        }
    }
}

/// The threads that watch.
#[derive(Debug)]
pub struct Watcher {
    ring: Ring,
    threads: Vec<JoinHandle<()>>,
}

/// Says that there is news of an archive; cheap to clone.
#[derive(Clone, Debug)]
pub struct Ring(Arc<Round>);

#[derive(Debug)]
struct Round {
    handle: Handle,
    options: Options,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    archives: BTreeMap<Name, Turn>,
    listed: Option<Instant>,
    closed: bool,
}

#[derive(Debug)]
struct Turn {
    due: Instant,
    busy: bool,
    failures: u32,
    /// Revisions that were noticed, and by whom.
    notices: BTreeMap<i64, Name>,
    /// The definitions at the planned revision.
    known: Option<Known>,
    /// Somebody said that there is news.
    rung: bool,
    /// Where it is, as of the last list.
    place: Option<Place>,
    /// What the repository looked like when there was nothing left to do, and how often it was
    /// found so since.
    calm: Option<(Stamp, u32)>,
}

impl Turn {
    fn new() -> Self {
        Self {
            due: Instant::now(),
            busy: false,
            failures: 0,
            notices: BTreeMap::new(),
            known: None,
            rung: true,
            place: None,
            calm: None,
        }
    }
}

impl Watcher {
    /// Begins to watch.
    pub fn start(handle: Handle, options: Options) -> io::Result<Self> {
        let state = Mutex::new(State::default());
        let round = Arc::new(Round { handle, options, state, changed: Condvar::new() });
        let mut threads = Vec::new();
        for n in 0..VISITORS {
            let round = Arc::clone(&round);
            let thread = thread::Builder::new().name(format!("archive-{n}"));
            threads.push(thread.spawn(move || round.serve())?);
        }
        Ok(Self { ring: Ring(round), threads })
    }

    /// The way to say that there is news.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring.clone()
    }

    /// Takes nothing new. A visit that is under way is not waited for: what it has not planned is
    /// planned after the next start.
    pub fn stop(self) {
        self.ring.0.state().closed = true;
        self.ring.0.changed.notify_all();
        let idle = self.threads.into_iter().filter(JoinHandle::is_finished);
        // A thread that broke has nothing more to say.
        idle.for_each(|thread| drop(thread.join()));
    }
}

impl Ring {
    /// There is news of an archive: a revision somebody noticed, or anything else.
    pub fn news(&self, archive: &Name, revision: Option<i64>, actor: &Name) {
        let mut state = self.0.state();
        let turn = state.archives.entry(archive.clone()).or_insert_with(Turn::new);
        turn.due = Instant::now();
        turn.rung = true;
        turn.failures = 0;
        if let Some(revision) = revision
            && turn.notices.len() < NOTICES_MAX
        {
            turn.notices.entry(revision).or_insert_with(|| actor.clone());
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

impl Round {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Visits archives that are due until it is over.
    fn serve(&self) {
        while let Some((name, turn)) = self.next() {
            let came = self.visit(&name, turn);
            let mut state = self.state();
            if let (Some(turn), Some(came)) = (state.archives.get_mut(&name), came) {
                let news = turn.due > came.began || !turn.notices.is_empty();
                turn.busy = false;
                turn.known = came.known;
                turn.calm = came.calm;
                turn.failures = if came.failed { turn.failures.saturating_add(1) } else { 0 };
                turn.due = match (came.failed, came.more || news) {
                    (true, _) => Instant::now() + self.pause(turn.failures),
                    (false, true) => Instant::now(),
                    (false, false) => Instant::now() + self.options.poll,
                };
            } else {
                state.archives.remove(&name);
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    fn pause(&self, failures: u32) -> Duration {
        let doubled =
            self.options.pause_min.saturating_mul(1 << failures.saturating_sub(1).min(20));
        doubled.min(self.options.pause_max)
    }

    /// Waits for an archive that is due; none when it is over.
    fn next(&self) -> Option<(Name, Visit)> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            let now = Instant::now();
            if state.listed.is_none_or(|at| at + LIST_EVERY <= now) {
                state.listed = Some(now);
                drop(state);
                let places = self.places();
                state = self.state();
                for (name, place) in places.into_iter().flatten() {
                    let turn = state.archives.entry(name).or_insert_with(Turn::new);
                    if turn.place.as_ref() != Some(&place) {
                        (turn.place, turn.rung) = (Some(place), true);
                    }
                }
                continue;
            }
            let free = state.archives.iter_mut().filter(|(_, turn)| !turn.busy);
            let first = free.min_by_key(|(_, turn)| turn.due);
            let wait = match first {
                Some((name, turn)) if turn.due <= now => {
                    turn.busy = true;
                    let notices = std::mem::take(&mut turn.notices);
                    let known = turn.known.take();
                    let calm = turn.calm.take().filter(|_| !turn.rung && notices.is_empty());
                    turn.rung = false;
                    let place = turn.place.clone();
                    return Some((name.clone(), Visit { began: now, notices, known, place, calm }));
                }
                Some((_, turn)) => (turn.due - now).min(LIST_EVERY),
                None => LIST_EVERY,
            };
            let waited = self.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The archives that are watched, and where they are.
    fn places(&self) -> Option<BTreeMap<Name, Place>> {
        let asked = self.handle.question(|reader| {
            let mut view = View::new(0);
            reader.look(&[], &mut view, true)?;
            let watched = view.archives.iter().filter(|(_, a)| is_watched(a));
            let places = watched.filter_map(|(id, row)| {
                let home = view.collections.get(id).ok().flatten()?;
                Some((home.name.clone(), place_of(row)))
            });
            Ok(places.collect())
        });
        asked.ok()
    }

    fn row(&self, name: &Name) -> Option<Archive> {
        let asked = self.handle.question(|reader| {
            let mut view = View::new(0);
            reader.look(&[], &mut view, true)?;
            let id = view.collection_names.get(name).ok().flatten().copied();
            Ok(id.and_then(|id| view.archives.get(&id).ok().flatten().cloned()))
        });
        asked.ok().flatten()
    }

    fn tell(&self, actor: &Name, command: Command) -> bool {
        match self.handle.call(actor.clone(), None, command) {
            Ok(_) => true,
            Err(error) => {
                (self.options.log)(&format!("archive: {error}"));
                false
            }
        }
    }

    /// Looks at one repository and plans what is new; nothing when it is watched no more.
    fn visit(&self, name: &Name, visit: Visit) -> Option<Came> {
        let (began, known) = (visit.began, visit.known);
        let mut came = Came { began, failed: false, more: false, known, calm: None };
        if let (Some((before, times)), Some(place)) = (visit.calm, &visit.place)
            && times < CALM_MAX
            && self.stamp(place).is_some_and(|stamp| stamp == before)
        {
            return Some(Came { calm: Some((before, times + 1)), ..came });
        }
        let row = self.row(name).filter(is_watched)?;
        let actor = Name::trusted(ACTOR);
        // Taken before anything is read: what comes meanwhile is seen by the next look.
        let stamp = self.stamp(&place_of(&row));
        let result = self.catch_up(name, &row, &visit.notices, &mut came);
        if result.is_ok() && !came.failed && !came.more {
            came.calm = stamp.map(|stamp| (stamp, 0));
        }
        if let Err(trouble) = result {
            came.failed = true;
            if row.state == ArchiveState::Watched {
                (self.options.log)(&format!("archive {name}: {trouble}"));
            }
            let sight = match trouble {
                Trouble::Unreachable(why) => Sight::Unreachable(reason(&why)),
                Trouble::Rewritten(why) => Sight::Rewritten(reason(&why)),
            };
            let command = Command::LookedAt { archive: name.clone(), sight };
            self.tell(&actor, command);
        }
        Some(came)
    }

    fn stamp(&self, place: &Place) -> Option<Stamp> {
        open(place, &self.options.limits).ok()?.stamp()
    }

    fn catch_up(
        &self,
        name: &Name,
        row: &Archive,
        notices: &BTreeMap<i64, Name>,
        came: &mut Came,
    ) -> Result<(), Trouble> {
        let actor = Name::trusted(ACTOR);
        let repository = open(&place_of(row), &self.options.limits)?;
        let known = Point { number: row.planned, id: row.planned_id.to_string() };
        let seen = repository.look(&known, REVISIONS_MAX)?;
        // Of another history nothing is known, though its revisions have the same numbers.
        let same = |k: &Known| k.at == known && k.identity == seen.identity;
        came.known = came.known.take().filter(|k| same(k) && seen.youngest >= row.planned);
        let identity: Text = seen.identity.as_str().into();
        let is_news = row.state != ArchiveState::Watched
            || row.youngest < seen.youngest
            || row.is_cut_by(seen.youngest)
            || row.identity != identity;
        if is_news {
            let sight = Sight::Youngest { revision: seen.youngest, identity };
            let command = Command::LookedAt { archive: name.clone(), sight };
            if !self.tell(&actor, command) {
                return Ok(());
            }
        }
        // A notice of what is not there, or no longer new, says nothing.
        let is_new = |revision: &i64| *revision > row.planned && *revision <= seen.youngest;
        for (revision, by) in notices.iter().filter(|(revision, _)| is_new(revision)) {
            let command = Command::NoticeRevision { archive: name.clone(), revision: *revision };
            self.tell(by, command);
        }
        for point in &seen.next {
            let plan = self.read(name, repository.as_ref(), point, &seen.identity, &mut came.known);
            let plan = plan.map_err(|trouble| at_revision(point, trouble))?;
            if !self.tell(&actor, Command::PlanRevision(Box::new(plan))) {
                // Stopped, full, or ending: the next visit sees what is left to do.
                came.failed = true;
                return Ok(());
            }
        }
        let last = seen.next.last().map_or(row.planned, |point| point.number);
        came.more = last < seen.youngest && !seen.next.is_empty();
        Ok(())
    }

    /// Reads everything a plan needs. Definitions that a revision did not touch are those of the
    /// revision before.
    fn read(
        &self,
        name: &Name,
        repository: &dyn Repository,
        point: &Point,
        identity: &str,
        known: &mut Option<Known>,
    ) -> Result<PlanRevision, Trouble> {
        let (about, changes) = repository.about(point)?;
        let is_next = |known: &Known| known.at.number + 1 == point.number;
        let definitions = match known.take().filter(|k| is_next(k) && !touches(&changes)) {
            Some(known) => known.definitions,
            None => Arc::new(definitions::read(&repository.files(point, FOLDER)?)),
        };
        let (identity, at) = (identity.to_owned(), point.clone());
        *known = Some(Known { identity, at, definitions: Arc::clone(&definitions) });
        Ok(PlanRevision {
            archive: name.clone(),
            revision: point.number,
            about: with_paths(about, &changes),
            definitions: Definitions::clone(&definitions),
        })
    }
}

/// The definitions at a revision of a repository.
#[derive(Debug)]
struct Known {
    identity: String,
    at: Point,
    definitions: Arc<Definitions>,
}

/// What a visit begins with.
struct Visit {
    began: Instant,
    notices: BTreeMap<i64, Name>,
    known: Option<Known>,
    place: Option<Place>,
    calm: Option<(Stamp, u32)>,
}

/// What came of a visit.
struct Came {
    began: Instant,
    failed: bool,
    more: bool,
    known: Option<Known>,
    calm: Option<(Stamp, u32)>,
}

fn is_watched(archive: &Archive) -> bool {
    match archive.state {
        ArchiveState::Watched | ArchiveState::Unreachable => true,
        ArchiveState::Stopped | ArchiveState::Removed => false,
    }
}

fn place_of(row: &Archive) -> Place {
    let (place, branch) = (row.place.to_string(), row.branch.to_string());
    Place { kind: row.kind, place, branch }
}

fn reason(why: &str) -> Text {
    shorten(why, REASON_BYTES_MAX).into()
}

fn at_revision(point: &Point, trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Unreachable(why) => {
            Trouble::Unreachable(format!("revision {}: {why}", point.number))
        }
        Trouble::Rewritten(why) => Trouble::Rewritten(why),
    }
}

/// Whether the definitions may have changed.
fn touches(changes: &Changes) -> bool {
    let below = |path: &str| {
        path.strip_prefix(FOLDER).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    changes.root || changes.paths.iter().any(|change| below(&change.path))
}

fn with_paths(about: About, changes: &Changes) -> About {
    let told = changes.paths.iter().take(CHANGED_PATHS_MAX);
    let paths = told.map(|change| Text::from(change.path.as_str())).collect();
    let more = changes.paths.len().saturating_sub(CHANGED_PATHS_MAX) + usize::from(changes.root);
    About { paths, paths_more: more as u64, ..about }
}
