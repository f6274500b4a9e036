//! `armarius task log`: what a task writes, also while it runs.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use armarius_wire::client::{Client, Error};
use armarius_wire::v1::output::{Piece, Wanted};
use armarius_wire::v1::task::Task;

use crate::connect::Connection;
use crate::exit::Failure;
use crate::paper::clean;

/// Rest before a stream that broke is opened again.
const REST: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(super) struct Log {
    /// Number or address
    task: String,
    /// Of which attempt; the newest if absent
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// From which byte
    #[arg(long, value_name = "BYTE", default_value_t = 0)]
    from: u64,
    /// Go on until the attempt is over
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    connection: Connection,
}

pub(super) fn run(log: &Log) -> anyhow::Result<()> {
    let client = log.connection.client()?;
    let task = super::number(&client, &log.task)?;
    let wanted = Wanted { attempt: log.attempt, from: log.from, follow: log.follow };
    let paper = Paper { json: log.connection.json, is_terminal: io::stdout().is_terminal() };
    if log.follow {
        follow(&client, task, wanted, paper)
    } else {
        read(&client, task, wanted, paper)
    }
}

/// An attempt that wrote nothing is not one that never was.
fn refuse_missing(client: &Client, task: i64, attempt: u32) -> anyhow::Result<()> {
    let shown: Task = client.get(&format!("tasks/{task}"), &[])?;
    if (1..=i64::from(shown.attempts)).contains(&i64::from(attempt)) {
        return Ok(());
    }
    let why = format!("{} has no attempt {attempt}", shown.address);
    Err(Failure::new(why, format!("attempts so far: {}", shown.attempts)).into())
}

/// What is there now.
fn read(client: &Client, task: i64, mut wanted: Wanted, paper: Paper) -> anyhow::Result<()> {
    let asked = wanted.attempt;
    let mut is_first = true;
    loop {
        let read = client.read_output(task, &wanted)?;
        if read.bytes.is_empty() {
            return match asked.filter(|_| is_first) {
                Some(attempt) => refuse_missing(client, task, attempt),
                None => Ok(()),
            };
        }
        is_first = false;
        (wanted.from, wanted.attempt) = (read.piece.next, Some(read.piece.attempt));
        paper.write(&read.piece, &read.bytes)?;
    }
}

/// What is there and what comes, until the attempt is over. A stream that breaks is opened again
/// where it ended.
fn follow(client: &Client, task: i64, mut wanted: Wanted, paper: Paper) -> anyhow::Result<()> {
    loop {
        let mut written = Ok(());
        let at = wanted.clone();
        let followed = client.follow_output(task, &at, |piece| {
            (wanted.from, wanted.attempt) = (piece.next, Some(piece.attempt));
            if written.is_ok() {
                written = paper.write(&piece, piece.text.as_bytes());
            }
        });
        written?;
        match followed {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error @ Error::Refused(_)) => return Err(error.into()),
            Err(error) => eprintln!("{}; trying again", clean(&error.to_string())),
        }
        std::thread::sleep(REST);
    }
}

/// Where it is written.
#[derive(Clone, Copy)]
struct Paper {
    json: bool,
    is_terminal: bool,
}

impl Paper {
    /// Bytes as they are; on a terminal as text that cannot steer it.
    fn write(self, piece: &Piece, bytes: &[u8]) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        if self.json {
            let text = String::from_utf8_lossy(bytes).into_owned();
            writeln!(out, "{}", serde_json::to_string(&Piece { text, ..piece.clone() })?)?;
            return Ok(());
        }
        if piece.left_out > 0 {
            writeln!(out, "\n[… {} bytes left out …]", piece.left_out)?;
        }
        match self.is_terminal {
            true => out.write_all(clean(&String::from_utf8_lossy(bytes)).as_bytes())?,
            false => out.write_all(bytes)?,
        }
        Ok(out.flush()?)
    }
}
