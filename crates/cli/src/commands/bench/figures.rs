//! Latencies and what the process used.

use std::time::Duration;

/// Latencies of one kind of command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies(Vec<u32>);

impl Latencies {
    pub(crate) fn note(&mut self, took: Duration) {
        self.0.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The latency in microseconds that `percent` of all stay below.
    pub(crate) fn percentile(&mut self, percent: f64) -> u32 {
        if self.0.is_empty() {
            return 0;
        }
        self.0.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index within the list"
        )]
        let place = ((self.0.len() - 1) as f64 * percent / 100.0).round() as usize;
        self.0[place]
    }
}

/// The most memory this process ever had resident, in bytes.
pub(crate) fn peak_rss_bytes() -> u64 {
    status_kib("VmHWM:") * 1_024
}

/// The memory this process has resident now, in bytes.
pub(crate) fn rss_bytes() -> u64 {
    status_kib("VmRSS:") * 1_024
}

/// The memory another process has resident now, in bytes.
pub(crate) fn rss_bytes_of(pid: u32) -> u64 {
    status_kib_of(&pid.to_string(), "VmRSS:") * 1_024
}

/// The processor time another process has used, in seconds.
pub(crate) fn cpu_seconds_of(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program, in brackets, may hold anything; fields are counted behind it.
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|f| f.parse::<u32>().ok()).unwrap_or(0);
    f64::from(ticks(11) + ticks(12)) / 100.0
}

fn status_kib(field: &str) -> u64 {
    status_kib_of("self", field)
}

fn status_kib_of(process: &str, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix(field));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// A number with thousands separated, for people.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_from_the_sorted_list() {
        let mut latencies = Latencies::default();
        for ms in [5, 1, 4, 2, 3] {
            latencies.note(Duration::from_millis(ms));
        }
        assert_eq!(latencies.percentile(50.0), 3_000);
        assert_eq!(latencies.percentile(100.0), 5_000);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(1), "1");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
