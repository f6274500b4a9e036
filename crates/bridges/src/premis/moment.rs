//! Moments as PREMIS records write them.

use std::str::FromStr as _;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

/// Microseconds since 1970 of a moment, for putting events in order: also of the legacy form with
/// an offset like `+0100`. Without an offset it is taken as UTC. Nothing where it is no moment at
/// all.
#[must_use]
pub fn micros(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(moment) = Timestamp::from_str(text) {
        return Some(moment.as_microsecond());
    }
    let civil = DateTime::from_str(text).ok();
    let civil = civil.or_else(|| Date::from_str(text).ok().map(DateTime::from))?;
    Offset::UTC.to_timestamp(civil).ok().map(Timestamp::as_microsecond)
}

/// A moment in the form both schemas take: UTC. Nothing where it is no moment with an offset.
#[must_use]
pub fn normal(text: &str) -> Option<String> {
    Timestamp::from_str(text.trim()).ok().map(|moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_every_form_that_occurs() {
        for (text, wanted) in [
            ("1970-01-02T01:00:00.000+01:00", Some(86_400_000_000)),
            ("2014-01-07T13:53:41.440+0100", Some(1_389_099_221_440_000)),
            ("2014-01-07T12:53:41.440Z", Some(1_389_099_221_440_000)),
            ("1970-01-01T00:00:01", Some(1_000_000)),
            ("1970-01-02", Some(86_400_000_000)),
            ("around 1924", None),
            ("", None),
        ] {
            assert_eq!(micros(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_legacy_offset_is_written_as_the_schema_wants_it() {
        let legacy = "2014-01-07T13:53:41.440+0100";
        assert_eq!(normal(legacy).as_deref(), Some("2014-01-07T12:53:41.44Z"));
        assert_eq!(normal("1924"), None);
    }
}
