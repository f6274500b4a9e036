//! Everything that happens, as `armarius watch` tells it when nothing is named.

use std::thread::sleep;
use std::time::{Duration, Instant};

use armarius_wire::client::{Client, Error, News};
use armarius_wire::v1::feed::Entry;
use serde::Serialize;

use crate::paper::{self, Ink};

/// How long a server that was there may be away.
const AWAY_MAX: Duration = Duration::from_secs(600);

/// A line for programs: whoever stops can go on behind it.
#[derive(Serialize)]
struct Line<'e> {
    cursor: &'e str,
    #[serde(flatten)]
    entry: &'e Entry,
}

/// Tells every event behind a cursor, or from now on, over restarts of the server, until it is
/// stopped.
pub(super) fn follow(
    client: &Client,
    after: Option<String>,
    every: Duration,
    json: bool,
) -> anyhow::Result<()> {
    let (mut cursor, mut seen) = (after, None::<Instant>);
    loop {
        let (mut wrong, from) = (None, cursor.clone());
        let ended = client.follow_feed(from.as_deref(), |news| {
            let told = tell(&news, json);
            (cursor, seen) = (Some(news.cursor), Some(Instant::now()));
            wrong = told.err();
            wrong.is_none()
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        match (ended, seen) {
            (Ok(()), _) => {}
            (Err(Error::Unreachable { .. }), Some(at)) if at.elapsed() < AWAY_MAX => {}
            (Err(error), _) => return Err(error.into()),
        }
        sleep(every);
    }
}

fn tell(news: &News, json: bool) -> anyhow::Result<()> {
    let Some(entry) = &news.entry else { return Ok(()) };
    if json {
        return paper::line(&serde_json::to_string(&Line { cursor: &news.cursor, entry })?);
    }
    let Entry { item, at, name, actor, .. } = entry;
    let end = entry.outcome.as_ref().or(entry.to.as_ref());
    let end = end.map_or_else(String::new, |end| format!("  {}", Ink::of_stdout().state(end)));
    let [item, name, actor] = [item, name, actor].map(|text| paper::clean(text));
    paper::line(&format!("{}  {item}  {name}{end}  {actor}", paper::when(at)))
}
