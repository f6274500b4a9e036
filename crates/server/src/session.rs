//! People who signed in: what a browser carries, and whom it stands for.
//!
//! Links and sessions are kept in the store by commands like everything else, under the digest of
//! their secret alone, so that a sign-in is good at every server of a store and outlives them. What
//! stands here is only remembered for a moment, so that a page with its parts is one look. The key
//! of a session is looked up at every request: one that was revoked or narrowed counts at once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use armarius_core::command::{Command, Opener};
use armarius_core::decide::Session;
use armarius_core::event::{Hash, digest};
use armarius_core::ids::Time;
use armarius_core::text::Name;
use tokio::sync::Semaphore;

use crate::api::now;
use crate::app::App;
use crate::keys::{Caller, Error, random_hex};
use crate::problem::Fault;

/// How long a session is taken to be as it was, as long as keys are.
const TRUSTED: Duration = Duration::from_secs(1);
/// Sessions that are remembered at once; the one looked up longest ago makes room.
const KEPT_MAX: usize = 10_000;
/// Cookies nobody knows here that are looked up at once: whoever makes them up must not keep those
/// waiting who read.
const STRANGERS_MAX: usize = 4;
/// Bytes of a code's or cookie's random part.
const SECRET_BYTES: usize = 32;

/// The sessions this server saw.
#[derive(Debug)]
pub(crate) struct Sessions {
    seen: Mutex<HashMap<Hash, Seen>>,
    strangers: Semaphore,
}

#[derive(Debug)]
struct Seen {
    /// None when it was ended here, which no look from before may undo.
    session: Option<Session>,
    looked: Instant,
}

/// A secret that was just made, and the command that keeps its digest.
pub(crate) struct Pass {
    /// What the person gets.
    pub(crate) secret: String,
    /// What makes it good.
    pub(crate) command: Command,
}

impl Pass {
    /// A code that opens one session for the holder of a key.
    pub(crate) fn link(key: &Name) -> Result<Self, Error> {
        let secret = random_hex::<SECRET_BYTES>()?;
        let command = Command::OfferSession { key: key.clone(), code: digest(&secret) };
        Ok(Self { secret, command })
    }

    /// A session, by the key itself or by a code.
    pub(crate) fn session(by: Opener) -> Result<Self, Error> {
        let secret = random_hex::<SECRET_BYTES>()?;
        let command = Command::OpenSession { by, secret: digest(&secret) };
        Ok(Self { secret, command })
    }
}

impl App {
    /// Where whoever holds this key signs in, once.
    pub async fn sign_in_path(&self, key: &Name) -> Option<String> {
        let link = Pass::link(key).ok()?;
        self.know(key).await;
        self.ask(&self.keys().holder(key)?, link.command).await.ok()?;
        Some(format!("/login?code={}", link.secret))
    }
}

/// The session of a cookie, if it is open.
pub(crate) async fn find(app: &App, cookie: &str) -> Result<Option<Session>, Fault> {
    if cookie.len() != 2 * SECRET_BYTES || !cookie.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let (secret, sessions) = (digest(cookie), app.sessions());
    let stranger = match sessions.recall(&secret, Instant::now()) {
        Recalled::Sure(session) => return Ok(session.filter(|s| !s.is_over(now()))),
        Recalled::Once => None,
        Recalled::Never => sessions.strangers.acquire().await.ok(),
    };
    let looked = Instant::now();
    let found = app.look_in(0, move |look| look.ask(|view| Session::find(view, &secret))).await?;
    drop(stranger);
    let found = found.filter(|session| !session.is_over(now()));
    if let Some(session) = &found {
        app.know(&session.key).await;
    }
    Ok(sessions.remember(secret, found, looked))
}

/// Notes that somebody uses a session, from time to time. Nobody waits for it: what is not noted
/// now is noted with the next look.
pub(crate) fn note(app: &App, cookie: &str, session: &Session, caller: &Caller) {
    let now = now();
    if session.is_due(now) {
        let secret = digest(cookie);
        app.sessions().noted(&secret, now);
        app.tell(caller, Command::NoteSession { secret });
    }
}

/// Ends a session, here at once and elsewhere with the next look.
pub(crate) async fn end(app: &App, cookie: &str) -> Result<(), Fault> {
    let Some(session) = find(app, cookie).await? else { return Ok(()) };
    let Some(caller) = app.keys().holder(&session.key) else { return Ok(()) };
    let secret = digest(cookie);
    app.ask(&caller, Command::EndSession { secret }).await?;
    lock(&app.sessions().seen).insert(secret, Seen { session: None, looked: Instant::now() });
    Ok(())
}

/// What this server knows of a session.
enum Recalled {
    /// It was looked up just now, or ended here.
    Sure(Option<Session>),
    /// It was open some time ago.
    Once,
    /// Nothing.
    Never,
}

impl Sessions {
    /// How many sessions were used here and are not over, for the metrics.
    pub(crate) fn count(&self) -> usize {
        let (now, seen) = (now(), lock(&self.seen));
        seen.values().filter(|seen| seen.is_open(now)).count()
    }

    fn recall(&self, secret: &Hash, at: Instant) -> Recalled {
        match lock(&self.seen).get(secret) {
            Some(seen) if seen.session.is_none() => Recalled::Sure(None),
            Some(seen) if at.duration_since(seen.looked) < TRUSTED => {
                Recalled::Sure(seen.session.clone())
            }
            Some(_) => Recalled::Once,
            None => Recalled::Never,
        }
    }

    /// Keeps what a look found, unless the session was ended here meanwhile; what is true now.
    fn remember(&self, secret: Hash, found: Option<Session>, looked: Instant) -> Option<Session> {
        let mut seen = lock(&self.seen);
        if seen.get(&secret).is_some_and(|seen| seen.session.is_none()) {
            return None;
        }
        let Some(session) = found else {
            seen.remove(&secret);
            return None;
        };
        if seen.len() >= KEPT_MAX && !seen.contains_key(&secret) {
            make_room(&mut seen);
        }
        seen.insert(secret, Seen { session: Some(session.clone()), looked });
        Some(session)
    }

    fn noted(&self, secret: &Hash, now: Time) {
        if let Some(session) = lock(&self.seen).get_mut(secret).and_then(|s| s.session.as_mut()) {
            session.used_at = now;
        }
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self { seen: Mutex::default(), strangers: Semaphore::new(STRANGERS_MAX) }
    }
}

impl Seen {
    fn is_open(&self, now: Time) -> bool {
        self.session.as_ref().is_some_and(|session| !session.is_over(now))
    }
}

/// Forgets those that are over or ended a while ago, else the one looked up longest ago. Whatever
/// is forgotten can be looked up again.
fn make_room(seen: &mut HashMap<Hash, Seen>) {
    let now = now();
    seen.retain(|_, one| one.is_open(now) || one.looked.elapsed() < TRUSTED);
    if seen.len() < KEPT_MAX {
        return;
    }
    let oldest = seen.iter().min_by_key(|(_, one)| one.looked).map(|(secret, _)| *secret);
    if let Some(secret) = oldest {
        seen.remove(&secret);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Option<Session> {
        Some(Session { key: Name::trusted("k1"), opened_at: now(), used_at: now() })
    }

    fn known(sessions: &Sessions, secret: &str, at: Instant) -> &'static str {
        match sessions.recall(&digest(secret), at) {
            Recalled::Sure(Some(_)) => "open",
            Recalled::Sure(None) => "ended",
            Recalled::Once => "once",
            Recalled::Never => "never",
        }
    }

    #[test]
    fn what_was_found_is_believed_for_a_moment() {
        let (sessions, at) = (Sessions::default(), Instant::now());
        assert_eq!(known(&sessions, "s", at), "never");
        assert!(sessions.remember(digest("s"), session(), at).is_some());
        assert_eq!(known(&sessions, "s", at), "open");
        assert_eq!((known(&sessions, "s", at + TRUSTED), sessions.count()), ("once", 1));
        // Somebody signed out elsewhere.
        assert!(sessions.remember(digest("s"), None, at + TRUSTED).is_none());
        assert_eq!((known(&sessions, "s", at + TRUSTED), sessions.count()), ("never", 0));
    }

    #[test]
    fn a_look_from_before_the_end_brings_nothing_back() {
        let (sessions, at) = (Sessions::default(), Instant::now());
        lock(&sessions.seen).insert(digest("s"), Seen { session: None, looked: at });
        assert!(sessions.remember(digest("s"), session(), at).is_none());
        assert_eq!((known(&sessions, "s", at + 2 * TRUSTED), sessions.count()), ("ended", 0));
    }

    #[test]
    fn the_one_looked_up_longest_ago_makes_room() {
        let (sessions, at) = (Sessions::default(), Instant::now());
        for n in 0..=KEPT_MAX {
            let at = at + Duration::from_micros(u64::try_from(n).unwrap());
            sessions.remember(digest(&n.to_string()), session(), at);
        }
        assert_eq!(sessions.count(), KEPT_MAX);
        assert_eq!(known(&sessions, "0", at), "never");
        assert_eq!(known(&sessions, "1", at), "open");
    }
}
