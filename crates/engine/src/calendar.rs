//! When schedules fire: cron expressions read in a time zone.
//!
//! A **slot** is a moment at which a calendar fires. The time zone database is part of the program,
//! so the same calendar has the same slots on every machine.
//!
//! What happens when clocks are changed depends on the hour field:
//!
//! - **Named hours** (`30 2 * * *`, `0 2,14 * * *`, `*/15 2 * * *`): each wall time fires once a
//!   day. A wall time that the spring change leaves out fires at the first moment after the gap;
//!   all of those, and that moment's own slot, are one slot. A wall time that the autumn change
//!   repeats fires the first time only.
//! - **Every hour** (the hour field begins with `*`, `@hourly`): the calendar follows the passing
//!   of time. Nothing stands in a gap, and a repeated hour fires twice, so hours are never longer
//!   than hours.
//!
//! Slots are strictly increasing, so no slot is ever met twice.

use armarius_core::flow::Calendar;
use armarius_core::ids::Time;
use croner::parser::CronParser;
use croner::{Cron, errors::CronError};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};

/// Why a calendar cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// The cron expression cannot be read.
    #[error("cron expression {cron:?} cannot be read: {why}")]
    Cron {
        /// The expression.
        cron: String,
        /// What is wrong with it.
        why: String,
    },
    /// The time zone is not known.
    #[error("time zone {0:?} is not known")]
    Zone(String),
    /// The expression never fires, for instance on a 30th of February.
    #[error("cron expression {0:?} never fires")]
    Never(String),
    /// A moment is outside the years that can be reckoned with.
    #[error("moment {0} µs is outside the years -9999 to 9999")]
    Moment(i64),
}

impl CalendarError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Cron { .. } => {
                "give five fields: minute hour day month weekday, for instance `30 2 * * 1-5`"
            }
            Self::Zone(_) => "give an IANA name such as `Europe/Copenhagen` or `UTC`",
            Self::Never(_) => "name a day that exists",
            Self::Moment(_) => "check the clock of the store",
        }
    }
}

/// Checks that a calendar can be read and has a slot.
pub fn check(calendar: &Calendar) -> Result<(), CalendarError> {
    let next = next(calendar, Time::ZERO)?;
    next.map(drop).ok_or_else(|| CalendarError::Never(calendar.cron.to_string()))
}

/// The first slot after a moment, if there is one.
pub fn next(calendar: &Calendar, after: Time) -> Result<Option<Time>, CalendarError> {
    Ok(slots(calendar, after, Time(i64::MAX), 1)?.pop())
}

/// The first `max` slots after `after` and not after `upto`, oldest first.
pub fn slots(
    calendar: &Calendar,
    after: Time,
    upto: Time,
    max: usize,
) -> Result<Vec<Time>, CalendarError> {
    let read = Read::new(calendar)?;
    let mut slots = Vec::new();
    let mut walk = read.walk(after)?;
    while slots.len() < max {
        match read.step(&mut walk, Way::Forward)? {
            Some(slot) if slot <= upto => {
                if slot > *slots.last().unwrap_or(&after) {
                    slots.push(slot);
                }
            }
            Some(_) | None => break,
        }
    }
    Ok(slots)
}

/// The last `max` slots after `after` and not after `upto`, oldest first.
pub fn newest(
    calendar: &Calendar,
    after: Time,
    upto: Time,
    max: usize,
) -> Result<Vec<Time>, CalendarError> {
    let read = Read::new(calendar)?;
    let mut slots: Vec<Time> = Vec::new();
    // One second more, because a walk begins beside its first slot.
    let mut walk = read.walk(Time(upto.0.saturating_add(1_000_000)))?;
    read.step_over_fold(&mut walk);
    while slots.len() < max {
        match read.step(&mut walk, Way::Backward)? {
            Some(slot) if slot > after => {
                if slot <= upto && slots.last().is_none_or(|last| slot < *last) {
                    slots.push(slot);
                }
            }
            Some(_) | None => break,
        }
    }
    slots.reverse();
    Ok(slots)
}

/// A calendar that was read.
struct Read {
    cron: Cron,
    tz: TimeZone,
    every_hour: bool,
}

/// Where a walk over slots stands.
enum Walk {
    /// On the time line.
    Moments(Zoned),
    /// On the wall clock, where every time stands once.
    Wall(DateTime),
}

#[derive(Clone, Copy)]
enum Way {
    Forward,
    Backward,
}

impl Read {
    fn new(calendar: &Calendar) -> Result<Self, CalendarError> {
        let bad = |why: String| CalendarError::Cron { cron: calendar.cron.to_string(), why };
        let cron = CronParser::new().parse(&calendar.cron).map_err(|e| bad(e.to_string()))?;
        let zones = TimeZoneDatabase::bundled();
        let tz =
            zones.get(&calendar.tz).map_err(|_| CalendarError::Zone(calendar.tz.to_string()))?;
        let every_hour = cron.pattern.hours.from_wildcard;
        Ok(Self { cron, tz, every_hour })
    }

    fn walk(&self, from: Time) -> Result<Walk, CalendarError> {
        let moment =
            Timestamp::from_microsecond(from.0).map_err(|_| CalendarError::Moment(from.0))?;
        let zoned = moment.to_zoned(self.tz.clone());
        Ok(if self.every_hour { Walk::Moments(zoned) } else { Walk::Wall(zoned.datetime()) })
    }

    /// In a repeated hour, wall times ahead have already been: a walk back begins behind them.
    fn step_over_fold(&self, walk: &mut Walk) {
        let Walk::Wall(at) = walk else { return };
        if let AmbiguousOffset::Fold { before, after } =
            self.tz.to_ambiguous_timestamp(*at).offset()
        {
            let repeated =
                jiff::SignedDuration::from_secs(i64::from(before.seconds() - after.seconds()));
            *at = at.saturating_add(repeated);
        }
    }

    /// The slot beside where the walk stands. On the wall clock the same moment may come again.
    fn step(&self, walk: &mut Walk, way: Way) -> Result<Option<Time>, CalendarError> {
        let never = |error: CronError| match error {
            CronError::TimeSearchLimitExceeded | CronError::InvalidDate => Ok(None),
            CronError::EmptyPattern
            | CronError::InvalidTime
            | CronError::InvalidPattern(_)
            | CronError::IllegalCharacters(_)
            | CronError::ComponentError(_) => Err(CalendarError::Cron {
                cron: self.cron.as_str().to_owned(),
                why: error.to_string(),
            }),
        };
        let slot = match walk {
            Walk::Moments(at) => match beside(&self.cron, at, way) {
                Ok(found) => {
                    *at = found;
                    at.timestamp()
                }
                Err(error) => return never(error),
            },
            Walk::Wall(at) => match beside(&self.cron, at, way) {
                Ok(found) => {
                    *at = found;
                    self.moment_of(found)?
                }
                Err(error) => return never(error),
            },
        };
        Ok(Some(Time(slot.as_microsecond())))
    }

    /// The moment a wall time stands for: the first of two, or the end of the gap it falls into.
    fn moment_of(&self, wall: DateTime) -> Result<Timestamp, CalendarError> {
        let outside = |_| CalendarError::Moment(i64::MAX);
        match self.tz.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(wall).map_err(outside),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(wall).map_err(outside),
            AmbiguousOffset::Gap { after, .. } => {
                // Read with the later offset, it is a moment before the change.
                let before = after.to_timestamp(wall).map_err(outside)?;
                let change = self.tz.following(before).next();
                Ok(change.map_or(before, |change| change.timestamp()))
            }
        }
    }
}

fn beside<T: croner::time::CronDateTime>(cron: &Cron, at: &T, way: Way) -> Result<T, CronError> {
    match way {
        Way::Forward => cron.find_next_occurrence(at, false),
        Way::Backward => cron.find_previous_occurrence(at, false),
    }
}

#[cfg(test)]
mod tests {
    use armarius_core::flow::{Missed, Overlap};

    use super::{Calendar, CalendarError, Time, Timestamp, check, newest, next, slots};

    const COPENHAGEN: &str = "Europe/Copenhagen";
    const NEW_YORK: &str = "America/New_York";

    fn calendar(cron: &str, tz: &str) -> Calendar {
        let (missed, overlap) = (Missed::default(), Overlap::default());
        Calendar { cron: cron.into(), tz: tz.into(), missed, overlap }
    }

    fn moment(text: &str) -> Time {
        Time(text.parse::<Timestamp>().unwrap().as_microsecond())
    }

    /// The slots of a stretch of time, forwards and backwards, as text.
    fn told(cron: &str, tz: &str, after: &str, upto: &str) -> String {
        let calendar = calendar(cron, tz);
        let (after, upto) = (moment(after), moment(upto));
        let found = slots(&calendar, after, upto, 1_000).unwrap();
        assert!(found.is_sorted_by(|a, b| a < b), "{cron}: not strictly increasing");
        assert_eq!(newest(&calendar, after, upto, 1_000).unwrap(), found, "{cron}: backwards");
        let text = |t: &Time| Timestamp::from_microsecond(t.0).unwrap().strftime("%dT%H:%M");
        found.iter().map(|t| text(t).to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_named_hour_in_a_spring_gap_fires_once_after_it() {
        // Copenhagen: 02:00 becomes 03:00 at 01:00 UTC. New York: at 07:00 UTC.
        for (cron, tz, after, upto, expected) in [
            (
                "30 2 * * *",
                COPENHAGEN,
                "2025-03-29T00:00Z",
                "2025-04-01T00:00Z",
                "29T01:30 30T01:00 31T00:30",
            ),
            (
                "0 2,14 * * *",
                COPENHAGEN,
                "2025-03-30T00:00Z",
                "2025-03-31T00:00Z",
                "30T01:00 30T12:00 31T00:00",
            ),
            (
                "*/15 2 * * *",
                COPENHAGEN,
                "2025-03-30T00:00Z",
                "2025-03-31T00:00Z",
                "30T01:00 31T00:00",
            ),
            (
                "0,30 2,3 * * *",
                COPENHAGEN,
                "2025-03-30T00:00Z",
                "2025-03-30T12:00Z",
                "30T01:00 30T01:30",
            ),
            (
                "30 2 * * *",
                NEW_YORK,
                "2025-03-08T00:00Z",
                "2025-03-11T00:00Z",
                "08T07:30 09T07:00 10T06:30",
            ),
            ("0 3 * * *", NEW_YORK, "2025-03-09T00:00Z", "2025-03-10T00:00Z", "09T07:00"),
        ] {
            assert_eq!(told(cron, tz, after, upto), expected, "{cron} {tz}");
        }
    }

    #[test]
    fn a_named_hour_in_an_autumn_fold_fires_the_first_time_only() {
        // Copenhagen: 03:00 becomes 02:00 at 01:00 UTC. New York: 02:00 becomes 01:00 at 06:00 UTC.
        for (cron, tz, after, upto, expected) in [
            (
                "30 2 * * *",
                COPENHAGEN,
                "2025-10-25T00:00Z",
                "2025-10-28T00:00Z",
                "25T00:30 26T00:30 27T01:30",
            ),
            (
                "*/30 2-3 * * *",
                COPENHAGEN,
                "2025-10-26T00:00Z",
                "2025-10-26T12:00Z",
                "26T00:30 26T02:00 26T02:30",
            ),
            (
                "30 1 * * *",
                NEW_YORK,
                "2025-11-01T00:00Z",
                "2025-11-04T00:00Z",
                "01T05:30 02T05:30 03T06:30",
            ),
        ] {
            assert_eq!(told(cron, tz, after, upto), expected, "{cron} {tz}");
        }
    }

    #[test]
    fn every_hour_follows_the_passing_of_time() {
        for (cron, tz, after, upto, expected) in [
            (
                "0 * * * *",
                COPENHAGEN,
                "2025-03-29T23:30Z",
                "2025-03-30T02:30Z",
                "30T00:00 30T01:00 30T02:00",
            ),
            (
                "0 * * * *",
                COPENHAGEN,
                "2025-10-25T23:30Z",
                "2025-10-26T02:30Z",
                "26T00:00 26T01:00 26T02:00",
            ),
            (
                "*/30 * * * *",
                NEW_YORK,
                "2025-11-02T04:45Z",
                "2025-11-02T07:15Z",
                "02T05:00 02T05:30 02T06:00 02T06:30 02T07:00",
            ),
            (
                "@hourly",
                NEW_YORK,
                "2025-03-09T05:30Z",
                "2025-03-09T08:30Z",
                "09T06:00 09T07:00 09T08:00",
            ),
        ] {
            assert_eq!(told(cron, tz, after, upto), expected, "{cron} {tz}");
        }
    }

    #[test]
    fn beginning_inside_the_second_half_of_a_fold_repeats_nothing() {
        let upto = "2025-10-27T12:00Z";
        for after in ["2025-10-26T00:30Z", "2025-10-26T00:45Z", "2025-10-26T01:10Z"] {
            assert_eq!(told("30 2 * * *", COPENHAGEN, after, upto), "27T01:30", "{after}");
        }
        let inside = told("30 2 * * *", COPENHAGEN, "2025-10-25T12:00Z", "2025-10-26T01:10Z");
        assert_eq!(inside, "26T00:30");
    }

    #[test]
    fn every_local_day_of_three_years_has_its_slot() {
        for tz in [COPENHAGEN, NEW_YORK, "Australia/Lord_Howe", "Pacific/Apia", "UTC"] {
            let calendar = calendar("30 2 * * *", tz);
            let (from, upto) = (moment("2023-01-01T18:00Z"), moment("2026-01-01T18:00Z"));
            let found = slots(&calendar, from, upto, 2_000).unwrap();
            assert_eq!(found.len(), 1_096, "{tz}");
            assert_eq!(newest(&calendar, from, upto, 2_000).unwrap(), found, "{tz}");
        }
    }

    #[test]
    fn walking_on_from_each_slot_meets_the_next() {
        let calendar = calendar("*/20 1-3 * * *", NEW_YORK);
        let (from, upto) = (moment("2025-11-01T00:00Z"), moment("2025-11-05T00:00Z"));
        let all = slots(&calendar, from, upto, 1_000).unwrap();
        let mut at = from;
        for slot in &all {
            at = next(&calendar, at).unwrap().unwrap();
            assert_eq!(at, *slot);
        }
    }

    #[test]
    fn bounds_are_kept() {
        let calendar = calendar("* * * * *", "UTC");
        let (from, upto) = (moment("2025-01-01T00:00Z"), moment("2025-01-01T01:00Z"));
        assert_eq!(
            slots(&calendar, from, upto, 3).unwrap().last(),
            Some(&moment("2025-01-01T00:03Z"))
        );
        let last = newest(&calendar, from, upto, 3).unwrap();
        assert_eq!((last.len(), last[0]), (3, moment("2025-01-01T00:58Z")));
        assert!(slots(&calendar, upto, from, 3).unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_used_is_said_with_a_hint() {
        for (cron, tz, ok) in [
            ("30 2 * * 1-5", COPENHAGEN, true),
            ("0 0 29 2 *", "UTC", true),
            ("30 2 * *", "UTC", false),
            ("61 * * * *", "UTC", false),
            ("", "UTC", false),
            ("0 0 30 2 *", "UTC", false),
            ("0 0 * * *", "Europe/Kobenhavn", false),
        ] {
            let result = check(&calendar(cron, tz));
            assert_eq!(result.is_ok(), ok, "{cron} {tz}: {result:?}");
        }
        assert_eq!(
            check(&calendar("0 0 30 2 *", "UTC")),
            Err(CalendarError::Never("0 0 30 2 *".to_owned()))
        );
    }
}
