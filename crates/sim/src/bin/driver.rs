//! Plays a script on a file through a running engine, and says what was acknowledged.
//!
//! The crash tests start it, watch its output and end it at chosen moments. Each acknowledgement
//! is one line `ack N`, written at once. It ends with 0 when all was played, and with the engine's
//! code when the engine stopped.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use armarius_core::refusal::Code;
use armarius_core::reply::Reply;
use armarius_engine::exit::UNUSABLE;
use armarius_engine::seam::StoreError;
use armarius_engine::{EngineError, Options, Outcome, Stage};
use armarius_sim::bench::{open_file, open_file_with, without_duties};
use armarius_sim::{Bench, Script, Step, fan};

/// How long a step is tried again on a full store.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the next try waits.
const PAUSE: Duration = Duration::from_millis(20);
const USAGE: &str = "driver play|full PATH SEED STEPS, load PATH SEED THREADS, or fan PATH";
/// Room kept back when a full disk is played.
const BALLAST_BYTES: u64 = 1 << 16;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["play", path, seed, steps] => play(path, [seed, steps], 0),
        ["full", path, seed, steps] => play(path, [seed, steps], BALLAST_BYTES),
        ["load", path, seed, threads] => load(path, [seed, threads]),
        ["fan", path] => fan(path),
        _ => Err(anyhow::anyhow!("{USAGE}")),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        match error.downcast_ref::<StoreError>() {
            Some(StoreError::Unusable(_)) => ExitCode::from(UNUSABLE),
            Some(_) | None => ExitCode::FAILURE,
        }
    })
}

/// Plays a script to its end.
fn play(path: &str, numbers: [&str; 2], ballast_bytes: u64) -> anyhow::Result<ExitCode> {
    let [seed, steps] = numbers;
    let seed = seed.parse()?;
    let mut script = Script::new(seed, steps.parse()?);
    let (store, hand) = open_file_with(Path::new(path), ballast_bytes)?;
    let bench = Bench::start(Box::new(store), hand, seed, without_duties())?;
    let mut last = None;
    let mut n = 0;
    while let Some(step) = script.next(last.as_ref()) {
        last = Some(match patient(&bench, n, &step)? {
            Ok(reply) => Ok(reply),
            Err(EngineError::Refused(refusal)) => Err(refusal),
            Err(EngineError::Stopped) => return Ok(end_of(&bench)),
            Err(other) => bail!("step {n} {step:?}: {other}"),
        });
        n += 1;
        say(&format!("ack {n}"))?;
    }
    Ok(match bench.engine.stop() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fatal) => ExitCode::from(fatal.code),
    })
}

/// Asks again while the store is full.
fn patient(bench: &Bench, n: usize, step: &Step) -> anyhow::Result<Outcome> {
    let began = Instant::now();
    loop {
        let outcome = bench.play(n as u64, step);
        let full = match &outcome {
            Err(EngineError::Full(_)) => true,
            Err(EngineError::Refused(refusal)) => refusal.code == Code::StoreFull,
            Err(
                EngineError::Unavailable(_)
                | EngineError::OutcomeUnknown(_)
                | EngineError::Internal(_),
            ) => false,
            Ok(_) | Err(EngineError::Stopped) => false,
        };
        if !full || began.elapsed() > PATIENCE {
            return Ok(outcome);
        }
        say(&format!("full {}", n + 1))?;
        std::thread::sleep(PAUSE);
    }
}

/// Submits from several threads, each item under its own key, until it is ended.
fn load(path: &str, numbers: [&str; 2]) -> anyhow::Result<ExitCode> {
    let [seed, threads] = numbers;
    let (store, hand) = open_file(Path::new(path))?;
    // The smallest group is written while the next one is decided.
    let options = Options { readers: 1, fly_commands_min: 1, ..Options::default() };
    let bench = Bench::start(Box::new(store), hand, seed.parse()?, options)?;
    for (n, step) in fan::home().iter().enumerate() {
        if let Err(EngineError::Stopped) = bench.play(n as u64, step) {
            return Ok(end_of(&bench));
        }
    }
    let next = AtomicUsize::new(0);
    let threads: usize = threads.parse()?;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| submit_on(&bench, &next, seed));
        }
    });
    Ok(end_of(&bench))
}

fn submit_on(bench: &Bench, next: &AtomicUsize, seed: &str) -> anyhow::Result<()> {
    loop {
        let n = next.fetch_add(1, Ordering::SeqCst);
        let key = format!("{seed}-{n}");
        // Every other one waits for the one before it, which may not be there yet.
        let depends = match n % 2 {
            1 => vec![fan::task(&format!("{seed}-{}", n - 1))],
            _ => Vec::new(),
        };
        let step = fan::step(fan::submit(&key, depends, None));
        let idem = Some(key.as_str().into());
        match bench.handle().call(step.actor, idem, step.command) {
            Ok(Reply::Round { .. }) => say(&format!("ack {key}"))?,
            other => bail!("{other:?}"),
        }
    }
}

/// Ends the task that many wait for, and waits until nothing is left of what follows.
fn fan(path: &str) -> anyhow::Result<ExitCode> {
    let (store, hand) = open_file(Path::new(path))?;
    let bench = Bench::start(Box::new(store), hand, 1, fan::piecemeal())?;
    let handle = bench.handle();
    say("up")?;
    while fan::has_errand(&handle)? {
        std::thread::sleep(PAUSE);
    }
    let step = fan::claim(1);
    let granted = match bench.play(0, &step) {
        Ok(Reply::Claimed(Some(granted))) => granted,
        Err(EngineError::Stopped) => return Ok(end_of(&bench)),
        other => bail!("{other:?}"),
    };
    for report in fan::reports(&granted) {
        match bench.play(1, &report) {
            Ok(_) => say("ack report")?,
            Err(EngineError::Stopped) => return Ok(end_of(&bench)),
            other => bail!("{other:?}"),
        }
    }
    while fan::has_errand(&handle)? {
        std::thread::sleep(Duration::from_millis(1));
    }
    say("done")?;
    Ok(end_of(&bench))
}

fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// How the engine ended.
fn end_of(bench: &Bench) -> ExitCode {
    match bench.handle().stage() {
        Stage::Failed(fatal) => {
            eprintln!("{fatal}");
            ExitCode::from(fatal.code)
        }
        Stage::Running | Stage::Stopping | Stage::Stopped => ExitCode::SUCCESS,
    }
}
