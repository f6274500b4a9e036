//! How people write items and tasks, and the one escaping rule.
//!
//! An item is `collection/kind/key`, a task `flow.step@collection/kind/key#part~round`; `#part` is
//! left out when there is none, `~round` when it is the first.
//!
//! **The rule**: inside a name or key, each of the signs `% / . @ # ~`, white space and control
//! characters is written as `%` and two upper-case hexadecimal digits per byte. Because an item's
//! key comes last, `/`, `.` and `@` stay as they are inside keys and parts. Nothing else is
//! escaped, and the same form stands in URLs.

use std::fmt::Write as _;

use crate::refusal::{Code, Refusal};
use crate::text::{Name, Text};

/// Where an item is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemAddress {
    /// The collection.
    pub collection: Name,
    /// The kind.
    pub kind: Name,
    /// The key within the kind.
    pub key: Text,
}

/// Where a task is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskAddress {
    /// The flow.
    pub flow: Name,
    /// The step.
    pub step: Name,
    /// The item.
    pub item: ItemAddress,
    /// The part, empty when there is none.
    pub part: Text,
    /// The round, from 1.
    pub round: u32,
}

impl std::fmt::Display for ItemAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::with_capacity(64);
        push_item(&mut out, &self.collection, &self.kind, &self.key);
        f.write_str(&out)
    }
}

impl std::fmt::Display for TaskAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::with_capacity(96);
        escape_name(&mut out, &self.flow);
        out.push('.');
        escape_name(&mut out, &self.step);
        out.push('@');
        push_item(&mut out, &self.item.collection, &self.item.kind, &self.item.key);
        if !self.part.is_empty() {
            out.push('#');
            escape_key(&mut out, &self.part);
        }
        if self.round != 1 {
            let _ = write!(out, "~{}", self.round);
        }
        f.write_str(&out)
    }
}

/// Writes an item's address.
pub fn push_item(out: &mut String, collection: &str, kind: &str, key: &str) {
    escape_name(out, collection);
    out.push('/');
    escape_name(out, kind);
    out.push('/');
    escape_key(out, key);
}

impl ItemAddress {
    /// Reads `collection/kind/key`.
    ///
    /// ```
    /// use armarius_core::address::ItemAddress;
    /// let a = ItemAddress::parse("maps/page/vol 1/7%23a".replace(' ', "%20").as_str()).unwrap();
    /// assert_eq!(&*a.key, "vol 1/7#a");
    /// assert_eq!(a.to_string(), "maps/page/vol%201/7%23a");
    /// ```
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let mut parts = text.splitn(3, '/');
        let (Some(collection), Some(kind), Some(key)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(bad(text, "an item is written collection/kind/key"));
        };
        let key = unescape(key)?;
        crate::text::check("key", &key, 1, crate::limits::KEY_BYTES_MAX)?;
        Ok(Self {
            collection: Name::new(&unescape(collection)?)?,
            kind: Name::new(&unescape(kind)?)?,
            key: key.into(),
        })
    }
}

impl TaskAddress {
    /// Reads `flow.step@collection/kind/key#part~round`.
    ///
    /// ```
    /// use armarius_core::address::TaskAddress;
    /// let text = "ocr.scan@maps/page/7#left~2";
    /// assert_eq!(TaskAddress::parse(text).unwrap().to_string(), text);
    /// ```
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let form = "a task is written flow.step@collection/kind/key with optional #part and ~round";
        let (work, place) = text.split_once('@').ok_or_else(|| bad(text, form))?;
        let (flow, step) = work.split_once('.').ok_or_else(|| bad(text, form))?;
        let (place, round) = match place.rsplit_once('~') {
            Some((place, round)) => {
                let round = round.parse::<u32>().ok().filter(|r| *r > 0);
                (place, round.ok_or_else(|| bad(text, "a round is a whole number from 1"))?)
            }
            None => (place, 1),
        };
        let (place, part) = place.split_once('#').unwrap_or((place, ""));
        let part = unescape(part)?;
        crate::text::check("part", &part, 0, crate::limits::KEY_BYTES_MAX)?;
        Ok(Self {
            flow: Name::new(&unescape(flow)?)?,
            step: Name::new(&unescape(step)?)?,
            item: ItemAddress::parse(place)?,
            part: part.into(),
            round,
        })
    }
}

/// Writes a name with its reserved signs escaped.
pub fn escape_name(out: &mut String, text: &str) {
    escape(out, text, |c| matches!(c, '%' | '/' | '.' | '@' | '#' | '~'));
}

/// Writes a key or part with its reserved signs escaped.
pub fn escape_key(out: &mut String, text: &str) {
    escape(out, text, |c| matches!(c, '%' | '#' | '~'));
}

fn escape(out: &mut String, text: &str, reserved: impl Fn(char) -> bool) {
    // Most names and keys need no escaping at all.
    if text.bytes().all(|b| b.is_ascii_graphic() && !reserved(char::from(b))) {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        if reserved(c) || c.is_whitespace() || c.is_control() {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
}

/// Undoes the escaping.
pub fn unescape(text: &str) -> Result<String, Refusal> {
    if !text.contains('%') {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(bad(text, "a % is followed by two hexadecimal digits"));
        };
        bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
    }
    String::from_utf8(bytes).map_err(|_| bad(text, "the escaped bytes must be UTF-8"))
}

fn bad(text: &str, hint: &str) -> Refusal {
    Refusal::new(Code::BadAddress, format!("cannot read the address {text:?}")).hint(hint)
}
