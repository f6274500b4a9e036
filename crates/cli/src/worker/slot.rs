//! One task at a time: claim it, see it through, report it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use armarius_wire::v1::claim::{self, Task, Way};
use armarius_wire::v1::output::Chunk;
use armarius_wire::v1::report::{Outcome, Report};

use super::Shift;
use super::heart::Pulse;
use super::order;
use super::output::{Output, UNSENT_BYTES_MAX};
use super::place::Place;
use super::post::{Letter, Lying, Sent};
use super::process::{self, End, Patience, Run, Wish};
use super::result::{self, Ending, How};
use super::stream::Stream;
use super::tree;
use crate::paper::clean;

/// How long a claim waits at the server.
const CLAIM_WAIT_S: u32 = 20;
/// Rest after the server could not be asked, doubled up to the longest.
const REST_MIN: Duration = Duration::from_millis(250);
/// The longest rest.
const REST_MAX: Duration = Duration::from_secs(5);

/// Works until the shift closes.
pub(super) fn work(shift: &Shift) {
    let (mut rest, mut told) = (REST_MIN, String::new());
    while !shift.is_closing() {
        let asked = Instant::now();
        match shift.options.client.claim(&request(shift)) {
            Ok(Some(granted)) => {
                rest = REST_MIN;
                let _busy = shift.busy();
                carry_out(shift, &granted, asked);
            }
            Ok(None) => rest = REST_MIN,
            Err(error) => {
                let why = error.to_string();
                if why != told && !shift.is_closing() {
                    eprintln!("cannot claim, trying again: {}", clean(&why));
                    told = why;
                }
                shift.rest(rest);
                rest = (rest * 2).min(REST_MAX);
            }
        }
    }
}

/// Delivers what was left lying before anything new is taken.
pub(super) fn deliver_old(shift: &Shift) {
    let lying = shift.post.lying();
    if !lying.is_empty() {
        eprintln!("delivering {} results of an earlier run", lying.len());
    }
    for letter in lying {
        deliver(shift, letter);
    }
}

fn request(shift: &Shift) -> claim::Request {
    let mut actions = vec![Way::Command, Way::Script];
    if shift.options.containers.is_some() {
        actions.push(Way::Image);
    }
    claim::Request {
        worker: shift.options.name.clone(),
        labels: shift.options.labels.clone(),
        actions,
        slots: u32::try_from(shift.options.slots).ok(),
        max: 1,
        wait_s: CLAIM_WAIT_S,
        ..claim::Request::default()
    }
}

fn carry_out(shift: &Shift, granted: &claim::Reply, asked: Instant) {
    for task in &granted.tasks {
        let run = Run::new(task.secrets.values().map(|value| value.reveal().to_owned()).collect());
        let ttl = Duration::from_secs(granted.ttl_s);
        let pulse = Pulse::new((task.task, &task.token), ttl, asked, run.clone());
        let kept = shift.heart.keep(&granted.lease, pulse);
        if shift.is_closing() {
            run.reins.wish(Wish::GiveBack);
        }
        match carry_out_one(shift, &granted.lease, task, &run) {
            Some(ending) => {
                let letter = letter(&granted.lease, task, ending, &run.output);
                deliver(shift, shift.post.put(letter));
            }
            None => {
                eprintln!("{}: the lease is lost, nothing is published", clean(&task.address));
            }
        }
        drop(kept);
    }
}

/// Runs a task to its end; `None` when it was stopped because its lease is lost.
fn carry_out_one(shift: &Shift, lease: &str, task: &Task, run: &Run) -> Option<Ending> {
    let options = &shift.options;
    let began = Instant::now();
    let path = shift.den.path().join(format!("{}-{}", task.task, task.token));
    let place = match Place::make(path, options.bounds.user) {
        Ok(place) => place,
        Err(error) => return Some(Ending::not_run(&error.into())),
    };
    let ending = match order::prepare(options, task, &place) {
        Ok(charge) => {
            let stream = Stream::start(&options.client, lease, chunk(task), &run.output);
            let end = process::run(&charge, patience(task), run).unwrap_or_else(|error| {
                let why = format!("cannot start a process: {error}");
                End::NotRun(super::keeper::Reason { why, permanent: false })
            });
            if end == End::Lost {
                clear_away(shift, &place);
            }
            stream.finish();
            Ending::of(end, task, &place)
        }
        Err(no) => Some(Ending::not_run(&no)),
    };
    // What it wants to keep it has put elsewhere; what is left here is scratch.
    place.remove();
    ending.map(|ending| ending.with(began.elapsed(), &run.output))
}

/// A keeper that was killed could not see to it that nothing is left.
fn clear_away(shift: &Shift, place: &Place) {
    tree::kill_marked(&format!("ARMARIUS_FOLDER={}", place.path().display()));
    if let Some(containers) = &shift.options.containers {
        containers.remove_left(place.path());
    }
}

fn patience(task: &Task) -> Patience {
    Patience {
        timeout: Duration::from_secs(task.timeout_s),
        silence: task.progress_timeout_s.map(Duration::from_secs),
    }
}

fn chunk(task: &Task) -> Chunk {
    Chunk { task: task.task, token: task.token.clone(), from: 0 }
}

fn letter(lease: &str, task: &Task, ending: Ending, output: &Arc<Output>) -> Letter {
    let (outcome, exit_code) = match ending.how {
        How::Class(class) => (Some(class), None),
        How::Exit(code) => (None, Some(code)),
    };
    let left = output.unsent(UNSENT_BYTES_MAX);
    Letter {
        address: task.address.clone(),
        report: Report {
            lease: lease.to_owned(),
            task: task.task,
            token: task.token.clone(),
            outcome,
            exit_code,
            result: result::text(&ending.result),
            manifest: ending.manifest,
            last: outcome == Some(Outcome::Stopped),
        },
        chunk: Chunk { from: left.from, ..chunk(task) },
        output: left.bytes,
    }
}

/// Offers a result until it is settled. It stays on disk when the worker has to end before.
fn deliver(shift: &Shift, mut letter: Lying) {
    let (mut rest, mut is_told) = (REST_MIN, false);
    while letter.send(&shift.options.client) == Sent::Later {
        if shift.is_leaving() {
            eprintln!("a result is kept for the next start of a worker with this --state");
            return;
        }
        if !std::mem::replace(&mut is_told, true) {
            eprintln!("the server does not take a result now; it is kept and offered again");
        }
        std::thread::sleep(rest);
        rest = (rest * 2).min(REST_MAX);
    }
}
