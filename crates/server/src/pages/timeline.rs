//! How fast it goes: tasks done over the last hour, as this server saw it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use armarius_core::ids::FlowId;
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

/// Tasks done, note by note; the newest is last.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<Notes>);

#[derive(Debug, Default)]
struct Notes {
    /// The counters of the last note, by flow; none before the first.
    last: Option<BTreeMap<FlowId, i64>>,
    /// What was done from one note to the next, of flows that did something.
    steps: VecDeque<Vec<(FlowId, i64)>>,
}

impl Pace {
    /// Notes how many tasks are done in each flow.
    pub(crate) fn note(&self, done: BTreeMap<FlowId, i64>) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = notes.last.replace(done.clone()) {
            let since = |(flow, n): (FlowId, i64)| {
                let more = n - last.get(&flow).copied().unwrap_or(0);
                (more > 0).then_some((flow, more))
            };
            notes.steps.push_back(done.into_iter().filter_map(since).collect());
        }
        if notes.steps.len() > NOTES_MAX {
            notes.steps.pop_front();
        }
    }

    /// Tasks done between one note and the next, of all flows.
    fn steps(&self) -> Vec<i64> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.steps.iter().map(|step| step.iter().map(|(_, n)| n).sum()).collect()
    }

    /// Tasks of a flow done in the last minute and the last hour.
    pub(crate) fn of(&self, flow: FlowId) -> (i64, i64) {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut minute, mut hour) = (0, 0);
        for (age, step) in notes.steps.iter().rev().enumerate() {
            let at = step.binary_search_by_key(&flow, |(flow, _)| *flow);
            let n = at.map_or(0, |at| step[at].1);
            hour += n;
            minute += if age < NOTES_PER_MINUTE { n } else { 0 };
        }
        (minute, hour)
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
        let at = |a: i64, b: i64| BTreeMap::from([(FlowId(1), a), (FlowId(2), b)]);
        for (a, b) in [(5, 0), (9, 0), (9, 0), (7, 0), (8, 3)] {
            pace.note(at(a, b));
        }
        assert_eq!(pace.steps(), [4, 0, 0, 4]);
        assert_eq!((pace.of(FlowId(1)), pace.of(FlowId(2))), ((5, 5), (3, 3)));
        assert_eq!(pace.of(FlowId(3)), (0, 0));
        (0..1_000).for_each(|n| pace.note(at(n, 0)));
        assert_eq!(pace.steps().len(), NOTES_MAX);
        assert_eq!(pace.of(FlowId(1)), (4, 240));
    }
}
