//! Who submits and who works, through whichever server answers.

use std::time::{Duration, Instant};

use armarius_core::ids::TaskId;
use armarius_sim::Dice;
use armarius_sim::node::Line;

use super::Day;
use super::ledger::{Ledger, Told};
use super::nodes::Node;

/// How long somebody waits before the next try after trouble.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a claim waits for work.
const CLAIM_MILLIS: u64 = 500;
/// How often something is tried before the harness itself counts as broken.
const TRIES_MAX: usize = 10_000;

/// What an answer means to whoever asked.
enum Answer {
    /// It was answered.
    Words(Vec<String>),
    /// Nothing was changed, or nobody was there to ask.
    Away,
    /// Nobody knows.
    Unknown,
}

/// A line to one of the servers, which changes when it is cut.
struct Phone<'n> {
    nodes: &'n [Node],
    line: Option<Line>,
    dice: Dice,
}

impl<'n> Phone<'n> {
    fn new(nodes: &'n [Node], seed: u64) -> Self {
        Self { nodes, line: None, dice: Dice::new(seed) }
    }

    fn ask(&mut self, text: &str) -> Answer {
        if self.line.is_none() || self.dice.once_in(20) {
            self.line = self.nodes[self.dice.below(self.nodes.len())].line();
        }
        let Some(line) = &mut self.line else {
            std::thread::sleep(PAUSE);
            return Answer::Away;
        };
        match line.ask(text) {
            Ok(words) => match words.first().map(String::as_str) {
                Some("away") => {
                    std::thread::sleep(PAUSE);
                    Answer::Away
                }
                Some("unknown") => Answer::Unknown,
                Some(_) | None => Answer::Words(words),
            },
            Err(_) => {
                self.line = None;
                Answer::Unknown
            }
        }
    }
}

/// Makes the collections everything is in.
pub(crate) fn make_collections(nodes: &[Node], count: usize) {
    let mut phone = Phone::new(nodes, 0);
    for n in 0..count {
        let made = (0..TRIES_MAX).any(|_| match phone.ask(&format!("make c{n}")) {
            Answer::Words(words) => words == ["ok"],
            Answer::Away | Answer::Unknown => false,
        });
        assert!(made, "collection c{n} cannot be made");
    }
}

/// Submits one thing after another until told to stop; each until it is acknowledged.
pub(crate) fn submit(
    who: usize,
    seed: u64,
    nodes: &[Node],
    collections: usize,
    ledger: &Ledger,
    day: &Day,
) {
    let mut phone = Phone::new(nodes, seed ^ (100 + who as u64));
    for n in 0..TRIES_MAX {
        if !day.takes_submissions() {
            return;
        }
        let (collection, key) = (n % collections, format!("{who}-{n}"));
        ledger.asked(&key);
        let acknowledged = (0..TRIES_MAX).take_while(|_| !day.is_over()).find_map(|_| match phone
            .ask(&format!("submit c{collection} {key}"))
        {
            Answer::Words(words) => Some(words),
            Answer::Away | Answer::Unknown => None,
        });
        match acknowledged.as_deref() {
            Some([ok, task]) if ok == "ok" => ledger.submitted(&key, number(task)),
            None if day.is_over() => return,
            other => panic!("{key} was answered with {other:?}"),
        }
        // Now and then it is said twice, and must not be done twice.
        if phone.dice.once_in(10)
            && let Answer::Words(words) = phone.ask(&format!("submit c{collection} {key}"))
        {
            ledger.submitted(&key, number(&words[1]));
        }
        std::thread::sleep(Duration::from_millis(phone.dice.between(0, 10).unsigned_abs()));
    }
}

/// Claims and reports until there is nothing more to do. Some work outlives its lease.
pub(crate) fn work(who: usize, seed: u64, nodes: &[Node], ledger: &Ledger, day: &Day) {
    let mut phone = Phone::new(nodes, seed ^ (1_000 + who as u64));
    while !day.is_over() {
        let Answer::Words(words) = phone.ask(&format!("claim w{who} {CLAIM_MILLIS}")) else {
            continue;
        };
        let [granted, lease, task, token] = words.as_slice() else { continue };
        assert_eq!(granted, "granted");
        ledger.granted(who, number(task), number(token));
        toil(&mut phone, lease);
        let report = format!("report {lease} {task} {token}");
        let told =
            (0..TRIES_MAX).take_while(|_| !day.is_over()).find_map(|_| match phone.ask(&report) {
                Answer::Words(words) => words.first().cloned(),
                Answer::Unknown => {
                    ledger.reported(number(task), number(token), Told::Unknown);
                    None
                }
                Answer::Away => None,
            });
        let told = match told.as_deref() {
            Some("applied") => Told::Applied,
            Some("stale" | "stopped") => Told::Stale,
            None if day.is_over() => return,
            other => panic!("a report was answered with {other:?}"),
        };
        ledger.reported(number(task), number(token), told);
    }
}

/// Works for a moment; sometimes for longer than a lease lives, with signs of life or without.
fn toil(phone: &mut Phone<'_>, lease: &str) {
    let (millis, beats) = match phone.dice.below(40) {
        0 => (4_000, true),
        1 => (4_000, false),
        _ => (phone.dice.between(0, 30).unsigned_abs(), false),
    };
    let until = Instant::now() + Duration::from_millis(millis);
    while Instant::now() < until {
        let left = until.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(Duration::from_millis(700)));
        if beats {
            drop(phone.ask(&format!("beat {lease}")));
        }
    }
}

/// Gives a task another chance, if anybody listens.
pub(crate) fn retry(nodes: &[Node], task: TaskId) {
    drop(Phone::new(nodes, 7).ask(&format!("retry {task}")));
}

fn number(word: &str) -> i64 {
    word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
}
