//! Lengths of time as people write them: `90s`, `5m`, `2h`, `150ms`.

use crate::ids::Span;

/// Units, longest first, with their length in microseconds.
const UNITS: [(&str, u64); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

/// The one canonical text of a length: a whole number of the longest unit that fits exactly.
///
/// ```
/// use armarius_core::flow::codec::length_text;
/// use armarius_core::ids::Span;
/// assert_eq!(length_text(Span::seconds(90)), "90s");
/// assert_eq!(length_text(Span::seconds(7_200)), "2h");
/// ```
#[must_use]
pub fn length_text(span: Span) -> String {
    let micros = span.0.unsigned_abs();
    let sign = if span.0 < 0 { "-" } else { "" };
    if micros == 0 {
        return "0s".to_owned();
    }
    for (unit, size) in UNITS {
        if micros.is_multiple_of(size) {
            return format!("{sign}{}{unit}", micros / size);
        }
    }
    format!("{sign}{micros}us")
}

/// Reads a length: one or more whole numbers with their units, longest unit first (`1h30m`).
///
/// The units are `d`, `h`, `m`, `s`, `ms` and `us`. A number without a unit is no length.
#[must_use]
pub fn parse_length(text: &str) -> Option<Span> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut micros: u64 = 0;
    let mut size_before = u64::MAX;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after.bytes().take_while(u8::is_ascii_lowercase).count();
        let (unit, after) = after.split_at_checked(letters)?;
        let size = UNITS.iter().find(|(name, _)| *name == unit)?.1;
        if size >= size_before {
            return None;
        }
        size_before = size;
        micros = micros.checked_add(number.parse::<u64>().ok()?.checked_mul(size)?)?;
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    if negative {
        // The most negative length has no positive counterpart, so the sign is set while reading.
        return 0_i64.checked_sub_unsigned(micros).map(Span);
    }
    i64::try_from(micros).ok().map(Span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_exact_unit_is_chosen() {
        for (micros, text) in [
            (0, "0s"),
            (1, "1us"),
            (1_500, "1500us"),
            (150_000, "150ms"),
            (90_000_000, "90s"),
            (300_000_000, "5m"),
            (7_200_000_000, "2h"),
            (5_400_000_000, "90m"),
            (604_800_000_000, "7d"),
            (-10_000_000, "-10s"),
        ] {
            assert_eq!(length_text(Span(micros)), text);
        }
    }

    #[test]
    fn every_length_reads_back() {
        for micros in [0, 1, -1, 999, 1_000, 61_000_000, i64::MAX, i64::MIN] {
            assert_eq!(parse_length(&length_text(Span(micros))), Some(Span(micros)), "{micros}");
        }
    }

    #[test]
    fn units_may_be_combined_from_long_to_short() {
        assert_eq!(parse_length("1h30m"), Some(Span::seconds(5_400)));
        assert_eq!(parse_length("1d1us"), Some(Span(86_400_000_001)));
    }

    #[test]
    fn what_is_not_a_length_is_refused() {
        for text in [
            "",
            "-",
            "5",
            "s",
            "5 s",
            "5x",
            "1.5h",
            "30m1h",
            "5s5s",
            "+5s",
            "5S",
            "１s",
            "--5s",
            "99999999999999999999s",
            "9223372036854775808us",
            "5s ",
            "5s-5ms",
        ] {
            assert_eq!(parse_length(text), None, "{text:?}");
        }
    }
}
