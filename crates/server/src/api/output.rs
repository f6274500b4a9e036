//! What tasks write: taken from workers while they run, given to whoever may read the task.

use std::time::Duration;

use armarius_core::ids::{LeaseId, TaskId, Token};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::rows;
use armarius_core::task::State as Stands;
use armarius_engine::output::{self, About, OutputKey};
use armarius_wire::v1::output::{ATTEMPT, Chunk, END, FROM, LEFT_OUT, NEXT, Piece, Taken, Wanted};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Response, StatusCode};
use http_body_util::channel::{Channel, Sender};

use crate::app::App;
use crate::body::{Bytes, Params, json, task_ref};
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::{Answer, Fault, Own};

/// Bytes of one answer.
const READ_BYTES_MAX: usize = 1024 * 1024;
/// Offset at which a chunk may begin; nobody writes that much.
const OFFSET_MAX: u64 = 1 << 50;
/// Bytes of one event of a stream.
const EVENT_BYTES_MAX: usize = 64 * 1024;
/// How long a stream waits for a bell before it looks by itself.
const LOOK: Duration = Duration::from_secs(1);
/// How many such waits without anything to say until it says that it is still there.
const QUIET_LOOKS_MAX: u32 = 15;

/// `POST /api/v1/leases/{lease}/output`
pub(crate) async fn take(
    State(app): State<App>,
    caller: Caller,
    Path(lease): Path<String>,
    Params(chunk): Params<Chunk>,
    Bytes(bytes): Bytes,
) -> Answer {
    let shelf = app.shelf()?;
    let lease = super::lease::parse(&lease)?;
    let token = chunk.token.parse().map(Token).map_err(|_| {
        Refusal::new(Code::OutOfRange, format!("{:?} is not a token", chunk.token))
            .hint("pass the token back as the claim gave it")
    })?;
    if chunk.from > OFFSET_MAX {
        let why = format!("an output does not begin at byte {}", chunk.from);
        return Err(Refusal::new(Code::OutOfRange, why).hint("count from 0").into());
    }
    let key = OutputKey { task: TaskId(chunk.task), token };
    let about = match shelf.with_outputs(move |outputs| outputs.about(key)).await? {
        // Who began it may go on, also when the lease is over: a late result has late output.
        Some(about) if about.lease == lease => about,
        Some(_) => return Err(over().into()),
        None => app.look(move |look| begin(look, &caller, lease, key)).await?,
    };
    let end = shelf.with_outputs(move |outputs| outputs.append(&about, chunk.from, &bytes)).await?;
    shelf.ring();
    Ok(json(StatusCode::OK, &Taken { end }))
}

/// Whoever holds the task may begin its output.
fn begin(
    look: &mut Look<'_>,
    caller: &Caller,
    lease: LeaseId,
    key: OutputKey,
) -> Result<About, Lost> {
    let row = look.ask(|view| Ok(view.leases.get(&lease)?.cloned()))?;
    let holds = |row: &rows::Lease| {
        let has = |grip: &rows::Grip| grip.task == key.task && grip.token == key.token;
        row.actor == caller.actor && row.grips.iter().any(has)
    };
    if !row.is_some_and(|row| holds(&row)) {
        return Err(over().into());
    }
    let attempt = look.ask(|view| Ok(view.tasks.get(&key.task)?.map(|task| task.attempts)))?;
    Ok(About { key, attempt: attempt.unwrap_or_default(), lease })
}

fn over() -> Refusal {
    Refusal::new(Code::LeaseOver, "the lease is over, or does not hold this task with this token")
        .hint("stop the work and claim anew")
}

/// `GET /api/v1/tasks/{task}/output`
pub(crate) async fn give(
    State(app): State<App>,
    caller: Caller,
    Path(task): Path<String>,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let at = task_ref(&task)?;
    let task = app.look(move |look| look.task_at(&caller, &at)).await?;
    let chosen = choose(&app, task, wanted.attempt).await?;
    if wanted.follow {
        return follow(app, task, chosen, &wanted);
    }
    let Some((key, attempt)) = chosen.output else {
        return answer(0, wanted.from, output::Piece { from: wanted.from, ..Default::default() });
    };
    let read = move |outputs: &dyn output::Outputs| outputs.read(key, wanted.from, READ_BYTES_MAX);
    answer(attempt, wanted.from, app.shelf()?.with_outputs(read).await?)
}

fn answer(attempt: u32, asked: u64, piece: output::Piece) -> Answer {
    let next = piece.from + piece.bytes.len() as u64;
    Response::builder()
        .header(CONTENT_TYPE, "text/plain; charset=utf-8")
        .header(ATTEMPT, attempt)
        .header(FROM, piece.from)
        .header(NEXT, next)
        .header(END, piece.end)
        .header(LEFT_OUT, if piece.bytes.is_empty() { 0 } else { piece.from - asked })
        .body(Body::from(piece.bytes))
        .map_err(|error| Fault::own(Own::Internal, error.to_string(), "report it"))
}

/// What is shown of a task.
struct Chosen {
    /// Which output, and which attempt it is of.
    output: Option<(OutputKey, u32)>,
    /// Nothing more will come.
    is_over: bool,
}

/// The output of an attempt; of the newest one when none is named.
async fn choose(app: &App, task: TaskId, attempt: Option<u32>) -> Result<Chosen, Fault> {
    let row = app.look(move |look| look.ask(|view| Ok(view.tasks.get(&task)?.cloned()))).await?;
    let is_wanted = move |n: u32| attempt.is_none_or(|wanted| wanted == n);
    let running = row.filter(|row| row.state == Stands::Leased && is_wanted(row.attempts));
    if let Some(row) = running {
        let key = OutputKey { task, token: row.token };
        return Ok(Chosen { output: Some((key, row.attempts)), is_over: false });
    }
    let kept = app.shelf()?.with_outputs(move |outputs| outputs.of(task)).await?;
    let newest = kept.into_iter().rfind(|about| is_wanted(about.attempt));
    Ok(Chosen { output: newest.map(|about| (about.key, about.attempt)), is_over: true })
}

/// A stream of events: `output` for each piece, `end` when nothing more will come.
fn follow(app: App, task: TaskId, chosen: Chosen, wanted: &Wanted) -> Answer {
    let (mut events, body) = Channel::<axum::body::Bytes>::new(1);
    let mut following = Following { app, task, attempt: wanted.attempt, from: wanted.from };
    tokio::spawn(async move {
        // A reader that has left needs no farewell.
        if following.stream(chosen, &mut events).await.is_ok() {
            drop(events.send_data("event: end\ndata: {}\n\n".into()).await);
        }
    });
    Response::builder()
        .header(CONTENT_TYPE, "text/event-stream")
        .body(Body::new(body))
        .map_err(|error| Fault::own(Own::Internal, error.to_string(), "report it"))
}

/// Somebody who reads along.
struct Following {
    app: App,
    task: TaskId,
    attempt: Option<u32>,
    from: u64,
}

/// The reader has left, or nothing can be read.
struct Gone;

impl From<Fault> for Gone {
    fn from(_: Fault) -> Self {
        Self
    }
}

type Events = Sender<axum::body::Bytes>;

impl Following {
    async fn stream(&mut self, mut chosen: Chosen, events: &mut Events) -> Result<(), Gone> {
        let mut bell = self.app.shelf()?.watch();
        let mut home = self.app.sent_home();
        let mut quiet = 0;
        loop {
            // What was chosen may have ended meanwhile, and something may have come before that.
            let is_over = chosen.is_over;
            if self.send_all(&chosen, events).await? {
                quiet = 0;
            } else if is_over || *home.borrow() {
                return Ok(());
            }
            tokio::select! {
                rung = tokio::time::timeout(LOOK, bell.changed()) => {
                    quiet += u32::from(rung.is_err());
                }
                _ = home.changed() => {}
            }
            if quiet >= QUIET_LOOKS_MAX {
                quiet = 0;
                events.send_data(": still here\n\n".into()).await.map_err(|_| Gone)?;
            }
            let now = choose(&self.app, self.task, self.attempt.or(chosen.attempt())).await?;
            chosen = if chosen.output.is_none() || now.output == chosen.output {
                now
            } else {
                // The same attempt was granted again: what was shown is over.
                Chosen { is_over: true, ..chosen }
            };
        }
    }

    /// Sends what is there; says whether there was anything.
    async fn send_all(&mut self, chosen: &Chosen, events: &mut Events) -> Result<bool, Gone> {
        let Some((key, attempt)) = chosen.output else { return Ok(false) };
        let mut sent = false;
        loop {
            let from = self.from;
            let read =
                move |outputs: &dyn output::Outputs| outputs.read(key, from, EVENT_BYTES_MAX);
            let mut piece = self.app.shelf()?.with_outputs(read).await?;
            if piece.bytes.len() > 3 || !chosen.is_over {
                piece.bytes.truncate(whole_characters(&piece.bytes));
            }
            if piece.bytes.is_empty() {
                return Ok(sent);
            }
            let next = piece.from + piece.bytes.len() as u64;
            let text = String::from_utf8_lossy(&piece.bytes).into_owned();
            let left_out = piece.from - self.from;
            let shown = Piece { attempt, from: piece.from, next, left_out, text };
            let data = serde_json::to_string(&shown).map_err(|_| Gone)?;
            let event = format!("id: {next}\nevent: output\ndata: {data}\n\n");
            events.send_data(event.into()).await.map_err(|_| Gone)?;
            (self.from, sent) = (next, true);
        }
    }
}

impl Chosen {
    fn attempt(&self) -> Option<u32> {
        self.output.map(|(_, attempt)| attempt)
    }
}

/// Length without a character that is not there in full yet.
fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let needed = match bytes.get(at) {
            Some(0xC0..=0xDF) => 2,
            Some(0xE0..=0xEF) => 3,
            Some(0xF0..=0xF7) => 4,
            Some(0x80..=0xBF) => continue,
            _ => 1,
        };
        return if needed > back { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_not_cut() {
        let text = "aé€😀".as_bytes();
        let ends = [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10];
        for (length, expected) in ends.into_iter().enumerate() {
            assert_eq!(whole_characters(&text[..length]), expected, "of {length}");
        }
        assert_eq!(whole_characters(&[0xFF, 0xFF]), 2);
        assert_eq!(whole_characters(&[0x80, 0x80, 0x80, 0x80]), 4);
    }
}
