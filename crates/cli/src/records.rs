//! Lists that are too long to be typed: read as lines, JSON lines or CSV, sent in bulk, with
//! progress, and safe to send again.
//!
//! A record is what one element of the bulk call is: an object in JSON lines, a row in CSV whose
//! head names the fields, or the address alone on a line. It is turned into JSON text and read as
//! the call's own type, so that all three forms know the same fields.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use armarius_wire::client::{self, Client};
use armarius_wire::v1::Problem;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::exit::Failure;
use crate::paper::clean;
use crate::progress::Progress;

/// Records sent at a time.
const BULK_MAX: usize = 500;
/// Bytes of text sent at a time, about.
const BULK_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest line.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Refusals told one by one; more are counted.
const TOLD_MAX: usize = 20;
/// How long a server that does not answer is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Fields that hold numbers, lists and JSON; all others are texts.
const NUMBERS: &[&str] = &["priority", "ordinal", "batch"];
const LISTS: &[&str] = &["types", "parts", "depends"];
const JSONS: &[&str] = &["payload", "attributes", "detail"];

/// Where records come from.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Source {
    /// Read them from a file, `-` for standard input: addresses, JSON lines or CSV
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// How they are written; the first line tells if absent
    #[arg(long, value_enum, requires = "from")]
    format: Option<Format>,
}

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One address per line.
    Lines,
    /// One JSON object per line.
    Jsonl,
    /// A head with the names of fields, then rows.
    Csv,
}

/// What came of all of them.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    /// Sent, the refused ones included.
    pub(crate) sent: u64,
    /// The server knew them already.
    pub(crate) known: u64,
    /// Refused.
    pub(crate) refused: u64,
    /// The id to send the same records with once more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
}

/// What came of one.
pub(crate) enum One {
    Taken,
    Known,
    Refused(Problem),
}

impl Source {
    /// Whether records are to be read.
    pub(crate) fn is_given(&self) -> bool {
        self.from.is_some()
    }

    /// Reads every record, lets `prepare` complete it, and sends them in bulk.
    pub(crate) fn send<T, R>(
        &self,
        client: &Client,
        path: &str,
        mut prepare: impl FnMut(&mut T),
        judge: impl Fn(&R) -> One,
    ) -> anyhow::Result<Summary>
    where
        T: DeserializeOwned + Serialize,
        R: DeserializeOwned,
    {
        let (mut records, total) = self.open()?;
        let mut progress = Progress::new("sent", total);
        let mut summary = Summary::default();
        let began = Instant::now();
        loop {
            let mut bulk: Vec<(u64, T)> = Vec::new();
            let before = records.read;
            while bulk.len() < BULK_MAX && records.read - before < BULK_BYTES_MAX as u64 {
                let Some((line, text)) = records.next()? else { break };
                let mut element: T =
                    serde_json::from_str(&text).map_err(|e| unreadable(line, &e))?;
                prepare(&mut element);
                bulk.push((line, element));
            }
            if bulk.is_empty() {
                return Ok(summary);
            }
            let elements: Vec<&T> = bulk.iter().map(|(_, element)| element).collect();
            let done: Vec<R> = post(client, path, &elements)?;
            summary.sent += bulk.len() as u64;
            for ((line, _), one) in bulk.iter().zip(&done) {
                count(&mut summary, &mut progress, *line, judge(one));
            }
            let rate = summary.sent * 1_000 / u64::try_from(began.elapsed().as_millis())?.max(1);
            progress.at(records.read, &format!("{} records, {rate}/s", summary.sent));
        }
    }

    fn open(&self) -> anyhow::Result<(Records, Option<u64>)> {
        let path = self.from.as_deref().unwrap_or(Path::new("-"));
        if path == Path::new("-") {
            let input = Box::new(BufReader::new(io::stdin()));
            return Ok((Records::new(input, self.format), None));
        }
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let total = file.metadata().ok().map(|m| m.len());
        Ok((Records::new(Box::new(BufReader::new(file)), self.format), total))
    }
}

fn count(summary: &mut Summary, progress: &mut Progress, line: u64, one: One) {
    match one {
        One::Taken => {}
        One::Known => summary.known += 1,
        One::Refused(problem) => {
            summary.refused += 1;
            if summary.refused <= TOLD_MAX as u64 {
                progress.end();
                eprintln!("line {line}: {} ({})", clean(&problem.detail), problem.code);
            }
        }
    }
}

fn unreadable(line: u64, error: &serde_json::Error) -> anyhow::Error {
    let why = format!("line {line}: {error}");
    let hint = "those before it may be sent; correct it and send all again with the same --id";
    Failure::new(why, hint).into()
}

/// Sends a bulk; a server that does not answer or has no room is waited for.
fn post<T: Serialize, R: DeserializeOwned>(
    client: &Client,
    path: &str,
    elements: &[&T],
) -> anyhow::Result<Vec<R>> {
    let until = Instant::now() + PATIENCE;
    let mut rest = Duration::from_millis(250);
    loop {
        let error = match client.post(path, &elements) {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let may_pass = match &error {
            client::Error::Unreachable { .. } => true,
            client::Error::Refused(problem) => matches!(problem.status, 429 | 503 | 507),
            client::Error::Garbled { .. } => false,
        };
        if !may_pass || Instant::now() + rest > until {
            return Err(error.into());
        }
        std::thread::sleep(rest);
        rest = (rest * 2).min(Duration::from_secs(10));
    }
}

/// Records one after another, each as JSON text.
struct Records {
    input: Box<dyn BufRead>,
    format: Option<Format>,
    head: Vec<String>,
    line: u64,
    /// Bytes read so far.
    read: u64,
}

impl Records {
    fn new(input: Box<dyn BufRead>, format: Option<Format>) -> Self {
        Self { input, format, head: Vec::new(), line: 0, read: 0 }
    }

    /// The next record and its line.
    fn next(&mut self) -> anyhow::Result<Option<(u64, String)>> {
        loop {
            let Some(text) = self.row()? else { return Ok(None) };
            if text.trim().is_empty() {
                continue;
            }
            let format = *self.format.get_or_insert_with(|| guess(&text));
            let record = match format {
                Format::Lines => serde_json::json!({ "item": text.trim() }).to_string(),
                Format::Jsonl => text.trim().to_owned(),
                Format::Csv if self.head.is_empty() => {
                    self.head = cells(&text, self.line)?;
                    continue;
                }
                Format::Csv => object(&self.head, &cells(&text, self.line)?, self.line)?,
            };
            return Ok(Some((self.line, record)));
        }
    }

    /// The next line; in CSV as many as one row takes, since a quoted cell may hold line ends.
    fn row(&mut self) -> anyhow::Result<Option<String>> {
        let mut text = String::new();
        loop {
            let mut piece = Vec::new();
            let mut limited = (&mut self.input).take(LINE_BYTES_MAX as u64 + 1);
            let bytes = limited.read_until(b'\n', &mut piece).context("cannot read the records")?;
            if bytes == 0 {
                return Ok((!text.is_empty()).then_some(text));
            }
            self.line += u64::from(text.is_empty());
            self.read += bytes as u64;
            if text.len() + bytes > LINE_BYTES_MAX {
                let why = format!("line {}: more than {LINE_BYTES_MAX} bytes", self.line);
                return Err(Failure::new(why, "keep large content elsewhere").into());
            }
            let piece = String::from_utf8(piece).map_err(|_| {
                Failure::new(format!("line {}: not UTF-8", self.line), "save it as UTF-8")
            })?;
            text.push_str(piece.strip_prefix('\u{feff}').unwrap_or(&piece));
            let open = text.matches('"').count() % 2 == 1;
            if !(open && self.format == Some(Format::Csv)) {
                return Ok(Some(text));
            }
        }
    }
}

/// JSON begins with a brace; a head of CSV names the field `item` among others.
fn guess(first: &str) -> Format {
    let text = first.trim();
    let names: Vec<&str> = text.split(',').map(|name| name.trim().trim_matches('"')).collect();
    if text.starts_with('{') {
        Format::Jsonl
    } else if names.contains(&"item") {
        Format::Csv
    } else {
        Format::Lines
    }
}

fn cells(text: &str, line: u64) -> anyhow::Result<Vec<String>> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let row = reader.records().next();
    let row = row.transpose().with_context(|| format!("line {line}"))?.unwrap_or_default();
    Ok(row.iter().map(|cell| cell.trim().to_owned()).collect())
}

/// A row as a JSON object. `payload.dpi` is the field `dpi` of the object `payload`; an empty cell
/// says nothing.
fn object(head: &[String], row: &[String], line: u64) -> anyhow::Result<String> {
    if row.len() > head.len() {
        let why = format!("line {line}: {} cells under {} names", row.len(), head.len());
        return Err(Failure::new(why, "put cells with commas in quotation marks").into());
    }
    let mut fields: BTreeMap<&str, Box<RawValue>> = BTreeMap::new();
    let mut inner: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for (name, cell) in head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
        if let Some((outer, key)) = name.split_once('.') {
            inner.entry(outer).or_default().insert(key, cell);
            continue;
        }
        let text = if NUMBERS.contains(&&**name) || JSONS.contains(&&**name) {
            cell.clone()
        } else if LISTS.contains(&&**name) {
            serde_json::to_string(&cell.split(';').map(str::trim).collect::<Vec<_>>())?
        } else {
            serde_json::to_string(cell)?
        };
        let value = RawValue::from_string(text).map_err(|_| {
            Failure::new(format!("line {line}: {name} is not JSON"), "check the cell")
        })?;
        fields.insert(name, value);
    }
    for (outer, object) in inner {
        let text = serde_json::to_string(&object)?;
        fields.insert(outer, RawValue::from_string(text)?);
    }
    Ok(serde_json::to_string(&fields)?)
}

/// An id for records that were given none: the same within one run, so that a request that is sent
/// again takes nothing twice.
pub(crate) fn fresh_id() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let micros = now.map_or(0, |since| since.as_micros());
    format!("cli-{micros:x}-{:x}", std::process::id())
}

/// What to do after a list broke off.
pub(crate) fn again(id: &str) -> Failure {
    let hint =
        format!("send the whole list again with --id {id}; what was taken is not taken twice");
    Failure::new("the list broke off", hint)
}

/// Tells how it went.
pub(crate) fn tell(json: bool, summary: &Summary) -> anyhow::Result<()> {
    crate::paper::show(json, summary, |s| {
        let known =
            if s.known > 0 { format!(", {} known already", s.known) } else { String::new() };
        format!("{} sent{known}, {} refused", s.sent, s.refused)
    })?;
    if summary.refused > 0 {
        let why = format!("{} of {} were refused", summary.refused, summary.sent);
        return Err(
            Failure::new(why, "the others are taken; correct these and send them again").into()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut records = Records::new(Box::new(io::Cursor::new(text.to_owned())), None);
        let mut all = Vec::new();
        while let Some((line, record)) = records.next().unwrap() {
            all.push(format!("{line} {record}"));
        }
        all
    }

    #[test]
    fn three_forms_say_the_same() {
        assert_eq!(
            all("maps/page/1\n\n maps/page/2 \n"),
            [r#"1 {"item":"maps/page/1"}"#, r#"3 {"item":"maps/page/2"}"#]
        );
        assert_eq!(
            all("{\"item\":\"a/b/c\",\"payload\":{\"n\":1.50}}\n"),
            [r#"1 {"item":"a/b/c","payload":{"n":1.50}}"#]
        );
        let text = "\u{feff}item,priority,types,payload.dpi,payload\n\
                    \"a/b/c,d\",5,a; b,300,\na/b/e,,,,\"{\"\"x\"\":\n1}\"\n";
        assert_eq!(
            all(text),
            [
                r#"2 {"item":"a/b/c,d","payload":{"dpi":"300"},"priority":5,"types":["a","b"]}"#,
                "3 {\"item\":\"a/b/e\",\"payload\":{\"x\":\n1}}"
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_named_by_line() {
        for (text, wanted) in [
            ("item,priority\na/b/c,high\n", "line 2: priority is not JSON"),
            ("item\na/b/c,d\n", "line 2: 2 cells under 1 names"),
        ] {
            let mut records = Records::new(Box::new(io::Cursor::new(text.to_owned())), None);
            assert_eq!(records.next().unwrap_err().to_string(), wanted);
        }
    }
}
