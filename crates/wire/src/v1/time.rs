//! Moments as text.

use armarius_core::ids::Time;
use jiff::Timestamp;

/// A moment as RFC 3339 in UTC.
///
/// ```
/// use armarius_core::ids::Time;
/// use armarius_wire::v1::time;
/// assert_eq!(time::text(Time(1_500_000)), "1970-01-01T00:00:01.5Z");
/// assert_eq!(time::parse("1970-01-01T01:00:01.5+01:00"), Some(Time(1_500_000)));
/// ```
#[must_use]
pub fn text(time: Time) -> String {
    Timestamp::from_microsecond(time.0).map_or_else(|_| time.0.to_string(), |t| t.to_string())
}

/// Reads RFC 3339 with any offset.
#[must_use]
pub fn parse(text: &str) -> Option<Time> {
    text.parse::<Timestamp>().ok().map(|t| Time(t.as_microsecond()))
}
