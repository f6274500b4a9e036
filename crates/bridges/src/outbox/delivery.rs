//! One destination's turn: its letters in order, until one does not arrive.

use std::time::Duration;

use armarius_core::command::Command;
use armarius_core::ids::{Span, Time};
use armarius_core::rows::Letter;
use armarius_core::text::{Name, Text};
use armarius_core::view::{Need, View};
use armarius_engine::{EngineError, Handle, Request};

use super::{Options, address, file, pause, round, webhook};

/// Who delivers, in events.
const ACTOR: &str = "armarius";
/// Letters one turn takes, so that a long line does not keep others waiting.
const LETTERS_MAX: usize = 100;
/// How long a record of a delivery waits for room in its line.
const RECORD_WAIT: Duration = Duration::from_secs(30);

/// Why a letter did not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missed {
    /// What happened.
    pub(super) why: String,
    /// Not before this time, if the other side said so.
    pub(super) after: Option<Duration>,
}

impl Missed {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), after: None }
    }
}

/// What delivers.
pub(super) struct Deliverer {
    handle: Handle,
    options: Options,
    hooks: webhook::Hooks,
}

impl Deliverer {
    pub(super) fn new(handle: Handle, options: Options) -> Self {
        let hooks = webhook::Hooks::new(&options);
        Self { handle, options, hooks }
    }

    /// Delivers what a destination waits for, as far as it arrives.
    pub(super) fn serve(&self, to: &Text, is_closed: impl Fn() -> bool) {
        for _ in 0..LETTERS_MAX {
            // What cannot be read or recorded now is looked at again in the next round.
            let Ok(Some((n, letter, tries))) = self.head(to) else { return };
            let missed = self.deliver(to, n, &letter).err();
            if is_closed() && missed.is_some() {
                return;
            }
            if let Some(missed) = &missed {
                let tries = tries + 1;
                let (to, why) = (address::shown(to), missed.why.escape_debug());
                (self.options.log)(&format!(
                    "letter {n} to {to} did not arrive, try {tries}: {why}"
                ));
            }
            let went_on = self.record(to, n, tries, missed.as_ref());
            if missed.is_some() || went_on.is_err() || is_closed() {
                return;
            }
        }
    }

    /// The letter that is next, and how often it was tried in vain.
    fn head(&self, to: &Text) -> Result<Option<(i64, Letter, u32)>, EngineError> {
        self.handle.question(|reader| {
            let mut view = View::new(0);
            let needs = [Need::Letters(to.clone(), None, 1), Need::Destination(to.clone())];
            reader.look(&needs, &mut view, false)?;
            let letters = view.letters.first(to, 1).ok();
            let head = letters.and_then(|mut all| all.next().map(|(n, l)| (*n, l.clone())));
            let tries = view.destinations.get(to).ok().flatten().map_or(0, |row| row.tries);
            Ok(head.map(|(n, letter)| (n, letter, tries)))
        })
    }

    fn deliver(&self, to: &str, n: i64, letter: &Letter) -> Result<(), Missed> {
        match to.split_once(':') {
            Some(("http" | "https", _)) => self.hooks.post(to, n, &letter.body),
            Some(("file", name)) => file::append(self.options.folder.as_deref(), name, n, letter),
            Some(_) | None => Err(Missed::new("a destination begins with https:, http: or file:")),
        }
    }

    fn record(
        &self,
        to: &Text,
        n: i64,
        tries: u32,
        missed: Option<&Missed>,
    ) -> Result<(), EngineError> {
        let retry_at = match missed {
            Some(missed) => self.later(tries, missed.after),
            None => Time::ZERO,
        };
        let ok = missed.is_none();
        let command = Command::Delivered { to: to.clone(), n, ok, retry_at };
        let request = Request { actor: Name::trusted(ACTOR), idem: None, command };
        self.handle.call_within(request, RECORD_WAIT).map(drop)
    }

    fn later(&self, tries: u32, after: Option<Duration>) -> Time {
        let Options { pause_min, pause_max, .. } = self.options;
        let pause = pause::after(tries, pause_min, pause_max).max(after.unwrap_or_default());
        let micros = i64::try_from(pause.min(pause_max).as_micros()).unwrap_or(i64::MAX);
        round::now().plus(Span(micros))
    }
}
