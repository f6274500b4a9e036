//! People who signed in: one-time codes, and what a browser carries afterwards.
//!
//! A session acts with the key it was opened with: its role and collections are looked up again at
//! every request, so that a revoked or narrowed key counts at once. Sessions live in this process;
//! after a restart people sign in again. Only digests of codes and cookies are kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use armarius_core::event::{Hash, digest};
use armarius_core::text::Name;

use crate::keys::{Error, random_hex};

/// How long a code may be used, once.
pub const CODE_LIFE: Duration = Duration::from_secs(10 * 60);
/// A session that nobody uses ends after this time.
const IDLE_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// A session ends after this time, used or not.
const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Codes and sessions there may be at once; the oldest makes room.
const KEPT_MAX: usize = 10_000;
/// Bytes of a code's or cookie's random part.
const SECRET_BYTES: usize = 32;

/// All codes and sessions of this process.
#[derive(Debug, Default)]
pub struct Sessions {
    codes: Mutex<HashMap<Hash, Code>>,
    open: Mutex<HashMap<Hash, Session>>,
}

#[derive(Debug)]
struct Code {
    key: Name,
    made: Instant,
}

#[derive(Debug)]
struct Session {
    key: Name,
    opened: Instant,
    used: Instant,
}

impl Sessions {
    /// A fresh code that opens one session for the holder of a key.
    pub fn invite(&self, key: &Name) -> Result<String, Error> {
        self.invite_at(key, Instant::now())
    }

    fn invite_at(&self, key: &Name, now: Instant) -> Result<String, Error> {
        let code = random_hex::<SECRET_BYTES>()?;
        let mut codes = lock(&self.codes);
        codes.retain(|_, code| now.duration_since(code.made) < CODE_LIFE);
        make_room(&mut codes, |code| code.made);
        codes.insert(digest(&code), Code { key: key.clone(), made: now });
        Ok(code)
    }

    /// The key a code was made for, if it is still good. The code is used up.
    pub(crate) fn redeem(&self, code: &str) -> Option<Name> {
        self.redeem_at(code, Instant::now())
    }

    fn redeem_at(&self, code: &str, now: Instant) -> Option<Name> {
        let code = lock(&self.codes).remove(&digest(code))?;
        (now.duration_since(code.made) < CODE_LIFE).then_some(code.key)
    }

    /// Opens a session; what the browser is to carry.
    pub(crate) fn open(&self, key: &Name) -> Result<String, Error> {
        let now = Instant::now();
        let cookie = random_hex::<SECRET_BYTES>()?;
        let mut open = lock(&self.open);
        open.retain(|_, session| !session.is_over(now));
        make_room(&mut open, |session| session.used);
        open.insert(digest(&cookie), Session { key: key.clone(), opened: now, used: now });
        Ok(cookie)
    }

    /// The key behind a cookie, if its session is still open.
    pub(crate) fn key_of(&self, cookie: &str) -> Option<Name> {
        self.key_at(cookie, Instant::now())
    }

    fn key_at(&self, cookie: &str, now: Instant) -> Option<Name> {
        let (mut open, name) = (lock(&self.open), digest(cookie));
        let session = open.get_mut(&name)?;
        if session.is_over(now) {
            open.remove(&name);
            return None;
        }
        session.used = now;
        Some(session.key.clone())
    }

    /// Ends a session.
    pub(crate) fn close(&self, cookie: &str) {
        lock(&self.open).remove(&digest(cookie));
    }

    /// How many sessions are open, for the metrics.
    pub(crate) fn count(&self) -> usize {
        lock(&self.open).len()
    }
}

impl Session {
    fn is_over(&self, now: Instant) -> bool {
        now.duration_since(self.used) >= IDLE_MAX || now.duration_since(self.opened) >= AGE_MAX
    }
}

/// Removes the oldest of too many.
fn make_room<T>(kept: &mut HashMap<Hash, T>, age: impl Fn(&T) -> Instant) {
    if kept.len() < KEPT_MAX {
        return;
    }
    let oldest = kept.iter().min_by_key(|(_, one)| age(one)).map(|(name, _)| *name);
    if let Some(name) = oldest {
        kept.remove(&name);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Name {
        Name::trusted("k1")
    }

    #[test]
    fn a_code_works_once_and_not_for_long() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let code = sessions.invite_at(&key(), now).unwrap();
        assert_eq!(sessions.redeem_at("another", now), None);
        assert_eq!(sessions.redeem_at(&code, now), Some(key()));
        assert_eq!(sessions.redeem_at(&code, now), None);
        let code = sessions.invite_at(&key(), now).unwrap();
        assert_eq!(sessions.redeem_at(&code, now + CODE_LIFE), None);
    }

    #[test]
    fn a_session_ends_by_itself() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let cookie = sessions.open(&key()).unwrap();
        let nearly = IDLE_MAX - Duration::from_secs(60);
        assert_eq!(sessions.key_at(&cookie, now + nearly), Some(key()));
        // Used again and again it goes on, but not for ever.
        let mut at = now + nearly;
        while at + nearly < now + AGE_MAX {
            at += nearly;
            assert_eq!(sessions.key_at(&cookie, at), Some(key()));
        }
        assert_eq!(sessions.key_at(&cookie, now + AGE_MAX + Duration::from_secs(1)), None);
        let cookie = sessions.open(&key()).unwrap();
        assert_eq!(sessions.key_at(&cookie, now + IDLE_MAX + Duration::from_secs(1)), None);
        assert_eq!(sessions.count(), 0);
    }

    #[test]
    fn a_closed_session_opens_nothing() {
        let sessions = Sessions::default();
        let cookie = sessions.open(&key()).unwrap();
        sessions.close(&cookie);
        assert_eq!(sessions.key_of(&cookie), None);
    }

    #[test]
    fn the_oldest_makes_room() {
        let sessions = Sessions::default();
        let first = sessions.open(&key()).unwrap();
        for _ in 0..KEPT_MAX {
            sessions.open(&key()).unwrap();
        }
        assert_eq!(sessions.count(), KEPT_MAX);
        assert_eq!(sessions.key_of(&first), None);
    }
}
