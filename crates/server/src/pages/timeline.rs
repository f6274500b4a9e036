//! How fast it goes: tasks done over the last hour, as this server saw it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use maud::{Markup, html};

use super::parts::count;
use crate::app::App;

/// How often the counters are noted.
pub(crate) const NOTE_EVERY: Duration = Duration::from_secs(15);
/// Notes kept: an hour.
const NOTES_MAX: usize = 240;
/// Notes of one minute.
const NOTES_PER_MINUTE: usize = 4;
/// Width of the drawing, one unit for each note.
const WIDTH: usize = NOTES_MAX;
/// Height of the drawing.
const HEIGHT: i64 = 40;

/// Tasks done in all, note by note; the newest is last.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<VecDeque<i64>>);

impl Pace {
    /// Notes how many tasks are done.
    pub(crate) fn note(&self, done: i64) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push_back(done);
        if notes.len() > NOTES_MAX + 1 {
            notes.pop_front();
        }
    }

    /// Tasks done between one note and the next.
    fn steps(&self) -> Vec<i64> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().zip(notes.iter().skip(1)).map(|(a, b)| (b - a).max(0)).collect()
    }
}

/// The last hour as a row of bars, and in words.
pub(super) fn pace(app: &App) -> Markup {
    let steps = app.pace().steps();
    let lately: i64 = steps.iter().rev().take(NOTES_PER_MINUTE).sum();
    let hour: i64 = steps.iter().sum();
    let top = steps.iter().copied().max().unwrap_or(0);
    html! { @if top > 0 {
        figure.pace {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label={ (count(hour)) " tasks done in the last hour" } {
                @for (place, done) in steps.iter().enumerate().filter(|(_, done)| **done > 0) {
                    @let tall = (done * HEIGHT / top).max(1);
                    rect x=(WIDTH - steps.len() + place) y=(HEIGHT - tall) width="1" height=(tall)
                        {}
                }
            }
            figcaption {
                b { (count(lately)) } " done in the last minute, " b { (count(hour)) }
                " in the last hour"
            }
        }
    } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_kept_and_nothing_goes_backwards() {
        let pace = Pace::default();
        for done in [5, 9, 9, 7, 8] {
            pace.note(done);
        }
        assert_eq!(pace.steps(), [4, 0, 0, 1]);
        (0..1_000).for_each(|n| pace.note(n));
        assert_eq!(pace.steps().len(), NOTES_MAX);
    }
}
