//! How far long work is: one line on stderr that is written over, only on a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// How often the line is written at most.
const EVERY: Duration = Duration::from_millis(100);
/// Before that much time has passed nothing is said about the rest.
const GUESS_AFTER: Duration = Duration::from_secs(2);
/// Signs of the bar.
const BAR: usize = 20;
/// How quickly an older speed is forgotten.
const SMOOTHING: f64 = 0.1;

/// The line.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    /// Out of how many, where that is known.
    total: Option<u64>,
    began: Instant,
    shown: Option<Instant>,
    /// Amount and moment of the last look, and the speed since, smoothed.
    last: (u64, Instant),
    speed: f64,
    is_seen: bool,
}

impl Progress {
    /// Begins; `what` is done so many times, as in "sent".
    pub(crate) fn new(what: &'static str, total: Option<u64>) -> Self {
        let began = Instant::now();
        let (last, is_seen) = ((0, began), io::stderr().is_terminal());
        Self { what, total, began, shown: None, last, speed: 0.0, is_seen }
    }

    /// So much of the total is done; `label` says it in people's words.
    pub(crate) fn at(&mut self, done: u64, label: &str) {
        let now = Instant::now();
        if !self.is_seen || self.shown.is_some_and(|shown| now - shown < EVERY) {
            return;
        }
        self.shown = Some(now);
        self.measure(done, now);
        let line = line(self.what, done, self.total, label, self.rest(done, now));
        let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |s| s.ws_col);
        let line: String = line.chars().take(usize::from(columns).saturating_sub(1)).collect();
        // A terminal that is gone misses nothing.
        let mut err = io::stderr().lock();
        write!(err, "\r\u{1b}[2K{line}").and_then(|()| err.flush()).ok();
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        if self.shown.take().is_some() {
            eprint!("\r\u{1b}[2K");
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a speed for people")]
    fn measure(&mut self, done: u64, now: Instant) {
        let (before, then) = self.last;
        let speed = done.saturating_sub(before) as f64 / (now - then).as_secs_f64().max(1e-6);
        let is_first = self.speed == 0.0;
        self.speed = if is_first { speed } else { self.speed + SMOOTHING * (speed - self.speed) };
        self.last = (done, now);
    }

    /// How long it still takes at this speed, once that can be said.
    #[expect(clippy::cast_precision_loss, reason = "a guess for people")]
    fn rest(&self, done: u64, now: Instant) -> Option<Duration> {
        let left = self.total?.checked_sub(done)?;
        let said = now - self.began >= GUESS_AFTER && self.speed > 0.0;
        said.then(|| Duration::from_secs_f64((left as f64 / self.speed).min(1e8)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

fn line(what: &str, done: u64, total: Option<u64>, label: &str, rest: Option<Duration>) -> String {
    let mut text = match total.filter(|total| *total > 0) {
        Some(total) => {
            let done = done.min(total);
            let percent = usize::try_from(done.saturating_mul(100) / total).unwrap_or(100);
            let full = percent * BAR / 100;
            let bar = "█".repeat(full) + &"░".repeat(BAR - full);
            format!("{bar} {percent:>3} % {what}")
        }
        None => what.to_owned(),
    };
    if !label.is_empty() {
        text.push_str(&format!(" · {label}"));
    }
    if let Some(rest) = rest {
        text.push_str(&format!(" · about {} left", span(rest)));
    }
    text
}

/// A length of time in two words at most.
pub(crate) fn span(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min {} s", s / 60, s % 60),
        s @ 3_600..86_400 => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
        s => format!("{} d {} h", s / 86_400, s % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_and_how_long() {
        let rest = Some(Duration::from_secs(75));
        assert_eq!(
            line("sent", 50, Some(200), "7 items", rest),
            "█████░░░░░░░░░░░░░░░  25 % sent · 7 items · about 1 min 15 s left"
        );
        assert_eq!(line("read", 50, None, "", None), "read");
    }

    #[test]
    fn nothing_is_guessed_too_early() {
        let mut progress = Progress::new("sent", Some(100));
        progress.speed = 10.0;
        assert_eq!(progress.rest(50, progress.began + Duration::from_secs(1)), None);
        let rest = progress.rest(50, progress.began + Duration::from_secs(3));
        assert_eq!(rest, Some(Duration::from_secs(5)));
    }
}
