//! Following what happens.

use std::io::{BufRead as _, BufReader, Read as _};

use super::{Answer, Client, Error, segment};
use crate::v1::feed::Entry;

/// Longest line of the feed.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What the feed says.
#[derive(Clone, Debug)]
pub struct News {
    /// Where the feed goes on behind this.
    pub cursor: String,
    /// What happened; none where the feed only says where it is.
    pub entry: Option<Entry>,
}

impl Client {
    /// Follows the feed behind a cursor, or from now on, until the stream breaks or `each` says
    /// that it is enough. Whoever comes back with the last cursor misses nothing.
    pub fn follow_feed(
        &self,
        after: Option<&str>,
        mut each: impl FnMut(News) -> bool,
    ) -> Answer<()> {
        let from = after.map_or_else(String::new, |after| format!("?after={}", segment(after)));
        let mut lines = BufReader::new(self.open(&format!("feed{from}"))?);
        let (mut cursor, mut is_event) = (String::new(), false);
        loop {
            let mut line = String::new();
            let read = lines.by_ref().take(LINE_BYTES_MAX).read_line(&mut line);
            if matches!(read, Ok(0) | Err(_)) {
                return Ok(());
            }
            let line = line.trim_end();
            if let Some(id) = line.strip_prefix("id: ") {
                id.clone_into(&mut cursor);
            } else if let Some(kind) = line.strip_prefix("event: ") {
                is_event = kind == "event";
            } else if let Some(data) = line.strip_prefix("data: ") {
                let garbled = |e: serde_json::Error| Error::Garbled {
                    url: self.url.clone(),
                    why: e.to_string(),
                };
                let entry = is_event.then(|| serde_json::from_str(data)).transpose();
                let news = News { cursor: cursor.clone(), entry: entry.map_err(garbled)? };
                if !each(news) {
                    return Ok(());
                }
            }
        }
    }
}
