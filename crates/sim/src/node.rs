//! A server of the chaos run, as small as it can be: an engine behind a socket that takes one line
//! and gives one line. Both sides of the line stand here.
//!
//! | ask | answer |
//! |---|---|
//! | `make COLLECTION` | `ok` |
//! | `submit COLLECTION KEY` | `ok TASK`; the key is also the idempotency key |
//! | `claim WORKER MILLIS` | `granted LEASE TASK TOKEN`, or `nothing` |
//! | `beat LEASE` | `ok` |
//! | `report LEASE TASK TOKEN` | `applied`, `stale`, `late` or `stopped` |
//! | `retry TASK` | `ok` |
//!
//! Or `no CODE` when it was refused, `away` when nothing was changed and it may be asked again,
//! `unknown` when nobody knows whether it was done.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use armarius_core::address::ItemAddress;
use armarius_core::command::{Command, Ending, Report, Submit};
use armarius_core::flow::{Class, Flow, Step};
use armarius_core::ids::{LeaseId, Span, TaskId, Token};
use armarius_core::reply::{Reply, Reported};
use armarius_core::text::{Name, Text};
use armarius_engine::{EngineError, Handle, Outcome};

use crate::fan;

/// How long a lease lives without a sign of life.
pub const TTL: Span = Span::seconds(3);
/// How long somebody waits for an answer before the line counts as cut.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// The worker's caller, whoever the worker is.
const ACTOR: &str = "chaos";

/// Serves until the process is ended.
pub fn serve(socket: &Path, handle: &Handle) -> io::Result<()> {
    let listener = UnixListener::bind(socket)?;
    for stream in listener.incoming() {
        let (stream, handle) = (stream?, handle.clone());
        std::thread::spawn(move || talk(stream, &handle));
    }
    Ok(())
}

fn talk(stream: UnixStream, handle: &Handle) -> io::Result<()> {
    let mut out = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let answer = answer(&words, handle).unwrap_or_else(|| "no bad-line".to_owned());
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn answer(words: &[&str], handle: &Handle) -> Option<String> {
    let actor = Name::trusted(ACTOR);
    let outcome = match words {
        ["make", collection] => make(&Name::trusted(collection), handle),
        ["submit", collection, key] => {
            let command = submission(Name::trusted(collection), key);
            handle.call(actor, Some(Text::from(*key)), command)
        }
        ["claim", worker, millis] => {
            let wait = Duration::from_millis(millis.parse().ok()?);
            let Command::Claim(mut claim) = fan::claim(1).command else { return None };
            claim.worker = Name::trusted(worker);
            handle.claim_waiting(actor, claim, wait).map(Reply::Claimed)
        }
        ["beat", lease] => {
            let lease = LeaseId::parse(lease)?;
            handle.call(actor, None, Command::Heartbeat { lease, progress: Vec::new() })
        }
        ["report", lease, task, token] => {
            let report = Report {
                lease: LeaseId::parse(lease)?,
                task: TaskId(task.parse().ok()?),
                token: Token(token.parse().ok()?),
                outcome: Ending::Class(Class::Success),
                detail: None,
                manifest: None,
                last: false,
            };
            handle.call(actor, None, Command::Report(report))
        }
        ["retry", task] => {
            handle.call(actor, None, Command::Retry { task: TaskId(task.parse().ok()?) })
        }
        _ => return None,
    };
    Some(said(outcome))
}

fn make(collection: &Name, handle: &Handle) -> Outcome {
    let put = Command::PutCollection { name: collection.clone(), notify: Vec::new() };
    handle.call(Name::trusted(ACTOR), None, put)?;
    let mut step = Step::outside(Name::trusted("s"));
    step.ttl = TTL;
    let flow = Flow { tasks: vec![step], ..Flow::manual(Name::trusted("f")) };
    let apply = Command::ApplyFlow { collection: collection.clone(), flow: Box::new(flow) };
    handle.call(Name::trusted(ACTOR), None, apply)
}

fn submission(collection: Name, key: &str) -> Command {
    Command::Submit(Submit {
        item: ItemAddress { collection, kind: Name::trusted("page"), key: key.into() },
        flow: Name::trusted("f"),
        payload: Text::from(""),
        priority: None,
        not_before: None,
        parts: Vec::new(),
        depends: Vec::new(),
        batch: None,
    })
}

fn said(outcome: Outcome) -> String {
    match outcome {
        Ok(Reply::Round { task, .. }) => format!("ok {task}"),
        Ok(Reply::Claimed(None)) => "nothing".to_owned(),
        Ok(Reply::Claimed(Some(granted))) => match granted.tasks.first() {
            Some(task) => format!("granted {} {} {}", granted.lease, task.task, task.token),
            None => "nothing".to_owned(),
        },
        Ok(Reply::Reported(Reported::Applied)) => "applied".to_owned(),
        Ok(Reply::Reported(Reported::RecordedStale)) => "stale".to_owned(),
        Ok(Reply::Reported(Reported::AcceptedLate)) => "late".to_owned(),
        Ok(Reply::Reported(Reported::Stopped)) => "stopped".to_owned(),
        Ok(_) => "ok".to_owned(),
        Err(EngineError::Refused(refusal)) => format!("no {}", refusal.code),
        Err(EngineError::Unavailable(_) | EngineError::Full(_)) => "away".to_owned(),
        Err(EngineError::OutcomeUnknown(_) | EngineError::Stopped) => "unknown".to_owned(),
        Err(EngineError::Internal(why)) => {
            eprintln!("internal error: {why}");
            "no internal".to_owned()
        }
    }
}

/// The other side of the line.
#[derive(Debug)]
pub struct Line(BufReader<UnixStream>);

impl Line {
    /// Connects to a node.
    pub fn open(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(ANSWER_WAIT))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Asks, and waits for the answer. After an error nobody knows whether it was done.
    pub fn ask(&mut self, line: &str) -> io::Result<Vec<String>> {
        writeln!(self.0.get_mut(), "{line}")?;
        let mut answer = String::new();
        if self.0.read_line(&mut answer)? == 0 || !answer.ends_with('\n') {
            return Err(io::Error::other("the line was cut"));
        }
        Ok(answer.trim_end().split(' ').map(str::to_owned).collect())
    }
}
