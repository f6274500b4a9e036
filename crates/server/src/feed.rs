//! What happens, as it happens: server-sent events that miss nothing.
//!
//! Commits are numbered without gaps, so that a cursor is a place in the log and resuming is
//! reading on from there. Nothing is broadcast: each client reads the store from its own cursor,
//! woken by a pulse, as fast as it takes what it is sent. A client that takes nothing for too long
//! is cut off, and resumes where it was.

mod cursor;
mod pipe;
mod pulse;
mod read;

pub(crate) use pulse::Pulse;

use std::sync::Arc;
use std::time::Duration;

use armarius_core::text::Name;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use tokio::sync::mpsc::Sender;

use crate::app::App;
use crate::body::Params;
use crate::identity::within;
use crate::keys::Caller;
use crate::look::Look;
use crate::problem::{Answer, Fault, Own};
use cursor::{Cursor, Place};
use read::{Read, Wanted};

/// How long a client may take nothing before it is cut off.
const SLOW_MAX: Duration = Duration::from_secs(30);
/// How often a quiet feed says that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Pieces of at most [`read::CHUNK_BYTES`] that wait for one client.
const PIECES_MAX: usize = 4;
/// Pulses for one page come no faster than this.
const PULSE_REST: Duration = Duration::from_millis(400);

/// From where on, and of what.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// Only this collection.
    collection: Option<String>,
    /// A cursor; the newest commit when nothing is said. The header `Last-Event-ID` goes before.
    after: Option<String>,
    /// Only that something happened, not what.
    #[serde(default)]
    pulse: bool,
}

/// `GET /api/v1/feed`
pub(crate) async fn feed(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Params(ask): Params<Ask>,
) -> Answer {
    let collection = ask.collection.as_deref().map(Name::new).transpose()?;
    if let Some(name) = &collection {
        within(&caller, name)?;
    }
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok());
    let after = last.filter(|id| !id.is_empty()).or(ask.after.as_deref());
    let wanted = Arc::new(Wanted { caller, collection });
    let seat = app.pulse().seat().ok_or_else(|| {
        let why = "too many clients follow the feed already";
        Fault::own(Own::TooMany, why, "close some, or try again later")
    })?;
    let start = match after.map(Cursor::parse) {
        Some(Some(cursor)) => Some(cursor),
        Some(None) => {
            let why = "the cursor of the feed cannot be read";
            return Err(Fault::own(Own::BadRequest, why, "send one the feed gave, or none"));
        }
        None => None,
    };
    let (tx, body) = pipe::pipe(PIECES_MAX);
    let follower = Follower { app, wanted, tx };
    let pulses = ask.pulse;
    tokio::spawn(async move {
        let _seat = seat;
        // Whatever ends it, the client comes back with its cursor.
        if pulses {
            follower.pulses().await
        } else {
            follower.follow(start).await
        };
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (X_ACCEL_BUFFERING, "no")];
    let response: Response = (headers, Body::new(body)).into_response();
    Ok(response)
}

/// Tells proxies that know it to pass on what comes, at once.
const X_ACCEL_BUFFERING: axum::http::HeaderName =
    axum::http::HeaderName::from_static("x-accel-buffering");

struct Follower {
    app: App,
    wanted: Arc<Wanted>,
    tx: Sender<Bytes>,
}

impl Follower {
    /// Tells everything from a cursor on. `None` ends it: client or server is gone.
    async fn follow(&self, start: Option<Cursor>) -> Option<()> {
        let mut pulse = self.app.pulse().watch(&self.app);
        let head = self.head().await?;
        let mut cursor = match start {
            // The past differs from what the client saw: an older backup is being served.
            Some(cursor) if cursor.is_beyond(&head) => {
                self.send(format!("event: reset\nid: {head}\ndata: {{}}\n\n").into()).await?;
                head
            }
            Some(cursor) => cursor,
            None => head,
        };
        self.send(format!("retry: 1000\nid: {cursor}\nevent: hello\ndata: {{}}\n\n").into())
            .await?;
        loop {
            pulse.mark_unchanged();
            let mut is_done = true;
            for shard in 0..self.app.handle().shards() {
                let Read { text, next, more } = self.read(&cursor, shard).await?;
                cursor = next;
                is_done &= !more;
                if !text.is_empty() {
                    self.send(text.into()).await?;
                }
            }
            if is_done {
                self.rest(&mut pulse).await?;
            }
        }
    }

    /// Tells that something happened, again and again.
    async fn pulses(&self) -> Option<()> {
        let mut pulse = self.app.pulse().watch(&self.app);
        self.send("retry: 1000\nevent: hello\ndata: {}\n\n".into()).await?;
        loop {
            if self.rest(&mut pulse).await? {
                self.send("event: pulse\ndata: {}\n\n".into()).await?;
                tokio::time::sleep(PULSE_REST).await;
            }
        }
    }

    /// Waits for news, and says meanwhile that the feed is still there.
    async fn rest(&self, pulse: &mut tokio::sync::watch::Receiver<u64>) -> Option<bool> {
        tokio::select! {
            changed = pulse.changed() => {
                changed.ok()?;
                if self.app.pulse().is_closed() { None } else { Some(true) }
            }
            () = tokio::time::sleep(HEARTBEAT) => {
                self.send(": still here\n\n".into()).await?;
                Some(false)
            }
            () = self.tx.closed() => None,
        }
    }

    async fn send(&self, text: Bytes) -> Option<()> {
        self.tx.send_timeout(text, SLOW_MAX).await.ok()
    }

    async fn head(&self) -> Option<Cursor> {
        let mut places = Vec::new();
        for shard in 0..self.app.handle().shards() {
            let head = self.app.look_in(shard, |look| Ok(look.reader.head()?.n)).await.ok()?;
            places.push(Place::at(head));
        }
        Some(Cursor(places))
    }

    async fn read(&self, cursor: &Cursor, shard: u16) -> Option<Read> {
        let (wanted, cursor) = (Arc::clone(&self.wanted), cursor.clone());
        let read = move |look: &mut Look<'_>| read::read(look, &wanted, &cursor, shard);
        self.app.look_in(shard, read).await.ok()
    }
}
