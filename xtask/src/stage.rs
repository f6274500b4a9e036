//! Stages: named pieces of work that run one after another until one of them fails.

use crate::repo;
use std::time::{Duration, Instant};

/// One piece of work.
pub(crate) struct Stage {
    /// A word people can say: "clippy is red".
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) work: Work,
}

/// What a stage does.
pub(crate) enum Work {
    /// Runs cargo with these words.
    Cargo(&'static [&'static str]),
    /// Runs the verb of this program.
    Verb(&'static str, fn() -> anyhow::Result<()>),
}

impl Work {
    /// The line that repeats this stage alone.
    fn command(&self) -> String {
        match self {
            Self::Cargo(words) => format!("cargo {}", words.join(" ")),
            Self::Verb(verb, _) => format!("cargo xtask {verb}"),
        }
    }

    fn run(&self) -> anyhow::Result<()> {
        match self {
            Self::Cargo(words) => {
                let status = repo::cargo().args(*words).status()?;
                anyhow::ensure!(status.success(), "it ended with {status}");
                Ok(())
            }
            Self::Verb(_, verb) => verb(),
        }
    }
}

/// Runs the stages in order, says how long each took, and stops at the first that fails.
pub(crate) fn run_all(stages: &[Stage]) -> anyhow::Result<()> {
    let mut taken = Vec::new();
    for (index, stage) in stages.iter().enumerate() {
        let name = stage.name;
        let label = format!("[{}/{}] {name}", index + 1, stages.len());
        let command = stage.work.command();
        println!("{label}: {command}");
        let start = Instant::now();
        let outcome = stage.work.run();
        let time = start.elapsed();
        if let Err(error) = outcome {
            println!("{label}: FAILED after {}", show(time));
            anyhow::bail!("{name} failed: {error:#}\nrepeat it alone with: {command}");
        }
        println!("{label}: ok in {}", show(time));
        taken.push((name, time));
    }
    println!("{}", summary(&taken));
    Ok(())
}

fn summary(taken: &[(&str, Duration)]) -> String {
    let whole: Duration = taken.iter().map(|(_, time)| *time).sum();
    let each: Vec<String> =
        taken.iter().map(|(name, time)| format!("{name} {}", show(*time))).collect();
    format!("all well: {} stages in {} ({})", taken.len(), show(whole), each.join(", "))
}

fn show(time: Duration) -> String {
    if time < Duration::from_secs(60) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_names_every_stage_and_the_whole() {
        let taken = [("fmt", Duration::from_millis(900)), ("test", Duration::from_secs(83))];
        assert_eq!(
            summary(&taken),
            "all well: 2 stages in 1 min 23 s (fmt 0.9 s, test 1 min 23 s)"
        );
    }

    #[test]
    fn first_failure_stops_and_tells_how_to_repeat() {
        fn fails() -> anyhow::Result<()> {
            anyhow::bail!("two findings")
        }
        fn never() -> anyhow::Result<()> {
            panic!("a stage ran after a failed one")
        }
        let stages = [
            Stage { name: "tidy", work: Work::Verb("tidy", fails) },
            Stage { name: "later", work: Work::Verb("later", never) },
        ];
        let error = run_all(&stages).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "tidy failed: two findings\nrepeat it alone with: cargo xtask tidy"
        );
    }
}
