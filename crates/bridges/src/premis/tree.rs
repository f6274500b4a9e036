//! A small tree of the elements of a PREMIS document, within limits.

use quick_xml::NsReader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;

use super::{DEPTH_MAX, DOCUMENT_BYTES_MAX, ELEMENTS_MAX, PremisError};

/// An element: its name without prefix, its text, and what is in it.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) name: String,
    /// Its namespace.
    pub(super) space: String,
    pub(super) text: String,
    pub(super) children: Vec<Self>,
}

impl Node {
    /// The children of a name.
    pub(super) fn all<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first child of a name.
    pub(super) fn one(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first child of a name, trimmed; nothing where it says nothing.
    pub(super) fn text_of(&self, name: &str) -> Option<String> {
        let text = self.one(name)?.text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// Reads a document into a tree.
pub(super) fn parse(text: &str) -> Result<Node, PremisError> {
    if text.len() > DOCUMENT_BYTES_MAX {
        let what = format!("{} bytes, more than {DOCUMENT_BYTES_MAX}", text.len());
        return Err(PremisError::TooLarge(what));
    }
    let mut reader = NsReader::from_str(text);
    let mut open: Vec<Node> = vec![Node::default()];
    let mut elements = 0;
    loop {
        let at = reader.buffer_position();
        let wrong = |what: String| PremisError::BadXml { at, what };
        let (space, event) = reader.read_resolved_event().map_err(|e| wrong(e.to_string()))?;
        match event {
            Event::Start(ref start) | Event::Empty(ref start) => {
                elements += 1;
                if elements > ELEMENTS_MAX || open.len() > DEPTH_MAX {
                    let what = format!("more than {ELEMENTS_MAX} elements or {DEPTH_MAX} levels");
                    return Err(PremisError::TooLarge(what));
                }
                let node = node(start, &space);
                match event {
                    Event::Start(_) => open.push(node),
                    _ => last(&mut open).children.push(node),
                }
            }
            Event::End(_) => {
                if let Some(done) = open.pop() {
                    last(&mut open).children.push(done);
                }
            }
            Event::Text(part) => last(&mut open).text.push_str(&part.xml10_content()),
            Event::CData(part) => last(&mut open).text.push_str(&part.xml10_content()),
            Event::GeneralRef(entity) => {
                let c = character(&entity).map_err(wrong)?;
                last(&mut open).text.push(c);
            }
            Event::DocType(_) => {
                let what = "a document type is not read: it could name entities and other files";
                return Err(wrong(what.to_owned()));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof if open.len() > 1 => {
                return Err(wrong("the document ends early".to_owned()));
            }
            Event::Eof => break,
        }
    }
    let mut root = open.pop().unwrap_or_default();
    root.children.pop().ok_or_else(|| PremisError::BadRecord("there is no element".to_owned()))
}

fn last(open: &mut Vec<Node>) -> &mut Node {
    if open.is_empty() {
        open.push(Node::default());
    }
    let place = open.len() - 1;
    &mut open[place]
}

fn node(start: &BytesStart<'_>, space: &ResolveResult<'_>) -> Node {
    let space = match space {
        ResolveResult::Bound(space) => text_of(space.as_ref()),
        ResolveResult::Unbound | ResolveResult::Unknown(_) => String::new(),
    };
    Node { name: text_of(start.local_name().as_ref()), space, ..Node::default() }
}

/// One of the five entities XML has by itself, or a character by number; never one of the document.
fn character(entity: &BytesRef<'_>) -> Result<char, String> {
    if let Some(c) = entity.resolve_char_ref().map_err(|e| e.to_string())? {
        return Ok(c);
    }
    match &*entity.xml10_content() {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "apos" => Ok('\''),
        "quot" => Ok('"'),
        other => Err(format!("the entity `{other}` is not read")),
    }
}

fn text_of(name: &(impl AsRef<str> + ?Sized)) -> String {
    name.as_ref().to_owned()
}
