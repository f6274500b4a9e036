//! What the lane has done, for people and metrics.

use std::time::Duration;

use crate::urgency::Urgency;

/// How many commit times are kept for the percentiles.
const TIMES_KEPT: usize = 1_024;

/// A commit that takes longer keeps others waiting noticeably.
pub(crate) const SLOW_COMMIT: Duration = Duration::from_millis(100);
/// Upper bounds of the buckets of [`Stats::commit_times`], in microseconds.
pub const COMMIT_BOUNDS_US: [u64; 10] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000];

/// A snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Turns of the lane that decided something.
    pub groups: u64,
    /// Commits made durable.
    pub commits: u64,
    /// Commands answered.
    pub commands: u64,
    /// Commands refused.
    pub refused: u64,
    /// Commands that failed for another reason.
    pub failed: u64,
    /// Duties and pieces of errands done.
    pub duties: u64,
    /// Duties and errands that changed nothing although they were due.
    pub stalls: u64,
    /// Groups that had to be run one by one.
    pub fallbacks: u64,
    /// Rows written in all commits.
    pub rows: u64,
    /// Rows of the largest commit.
    pub rows_max: usize,
    /// Commands waiting in each line.
    pub waiting: Vec<(Urgency, usize)>,
    /// Claims that wait for work.
    pub parked: usize,
    /// Commits that took longer than 100 ms.
    pub commits_slow: u64,
    /// The longest commit of all.
    pub commit_max: Duration,
    /// Commits by how long they took: one count for each bound, and one for what is above.
    pub commit_times: [u64; COMMIT_BOUNDS_US.len() + 1],
    /// How long all commits took together.
    pub commit_sum: Duration,
    /// Half of the latest commits took no longer than this.
    pub commit_p50: Duration,
    /// All but one in a hundred of the latest commits took no longer than this.
    pub commit_p99: Duration,
}

impl Stats {
    fn add(&mut self, other: &Self) {
        self.groups += other.groups;
        self.commits += other.commits;
        self.commands += other.commands;
        self.refused += other.refused;
        self.failed += other.failed;
        self.duties += other.duties;
        self.stalls += other.stalls;
        self.fallbacks += other.fallbacks;
        self.rows += other.rows;
        self.rows_max = self.rows_max.max(other.rows_max);
        self.parked += other.parked;
        self.commits_slow += other.commits_slow;
        self.commit_max = self.commit_max.max(other.commit_max);
        self.commit_sum += other.commit_sum;
        for (count, more) in self.commit_times.iter_mut().zip(other.commit_times) {
            *count += more;
        }
    }
}

/// What the lane keeps while it runs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) stats: Stats,
    times: Vec<Duration>,
    next: usize,
}

impl Tally {
    /// Notes a commit.
    pub(crate) fn committed(&mut self, rows: usize, took: Duration) {
        self.stats.commits += 1;
        self.stats.rows += rows as u64;
        self.stats.rows_max = self.stats.rows_max.max(rows);
        self.stats.commits_slow += u64::from(took > SLOW_COMMIT);
        self.stats.commit_max = self.stats.commit_max.max(took);
        self.stats.commit_sum += took;
        let above = COMMIT_BOUNDS_US.iter().take_while(|us| u128::from(**us) < took.as_micros());
        self.stats.commit_times[above.count()] += 1;
        if self.times.len() < TIMES_KEPT {
            self.times.push(took);
        } else {
            self.times[self.next] = took;
            self.next = (self.next + 1) % TIMES_KEPT;
        }
    }

    /// The snapshot of several lanes together, percentiles included.
    pub(crate) fn sum<'t>(tallies: impl Iterator<Item = &'t Self>) -> Stats {
        let mut times = Vec::new();
        let mut sum = Stats::default();
        for tally in tallies {
            times.extend_from_slice(&tally.times);
            sum.add(&tally.stats);
        }
        times.sort_unstable();
        let at = |percent: usize| {
            let last = times.len().saturating_sub(1);
            times.get(last * percent / 100).copied().unwrap_or_default()
        };
        Stats { commit_p50: at(50), commit_p99: at(99), ..sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_latest_commits() {
        let mut tally = Tally::default();
        for ms in 0..3_000 {
            tally.committed(1, Duration::from_millis(ms));
        }
        let stats = Tally::sum(std::iter::once(&tally));
        assert_eq!((stats.commits, stats.rows, stats.rows_max), (3_000, 3_000, 1));
        assert_eq!((stats.commits_slow, stats.commit_max.as_millis()), (2_899, 2_999));
        assert_eq!(stats.commit_times, [1, 0, 0, 1, 1, 3, 5, 40, 200, 750, 1_999]);
        assert_eq!(stats.commit_p50, Duration::from_millis(2_487));
        assert_eq!(stats.commit_p99, Duration::from_millis(2_988));
    }
}
