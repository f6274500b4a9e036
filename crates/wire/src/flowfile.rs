//! Flow files: YAML or JSON as people write them, read into [`Flow`].
//!
//! Three passes, each of which reports all it finds: the text becomes a tree in which every value
//! knows its line and column (`yaml`, `node`), the tree becomes a flow (`shape`, `trigger`,
//! `step`), and the flow is checked by the rules of core, whose findings are put back on their
//! lines (`locate`). A file is taken whole or refused whole, and no file makes this panic.

mod error;
mod fields;
mod locate;
mod node;
mod scalars;
mod shape;
mod step;
mod trigger;
mod words;
mod yaml;

use armarius_core::flow::Flow;
use armarius_core::flow::check::{self, PathPart};

use error::Findings;
use node::{Node, Place};

pub use error::{FlowFileError, Located};

/// Largest flow file.
pub const FILE_BYTES_MAX: usize = 256 * 1024;

/// A file to read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name, with or without folders. `.json` is read as JSON, everything else as YAML; the
    /// stem is the flow's name unless the file gives one.
    pub file_name: &'a str,
    /// Its content.
    pub text: &'a str,
}

/// Where a file lives, which decides what wakes a flow that does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In an archive's `_workflows`: `on: commit`.
    Archive,
    /// On the server: `on: manual`.
    Server,
}

impl<'a> Source<'a> {
    /// Takes the bytes of a file, which must be UTF-8.
    pub fn from_bytes(file_name: &'a str, bytes: &'a [u8]) -> Result<Self, FlowFileError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { file_name, text }),
            Err(error) => {
                let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let place = node::place_after(&String::from_utf8_lossy(good));
                let mut found = Findings::default();
                found.add(place, "this is not UTF-8", "save the file as UTF-8 text");
                Err(found.into_error(file_name))
            }
        }
    }
}

/// Reads one file.
///
/// In a flow `on: commit` the names of tasks that the file does not define are let through, since
/// another file of the revision may define them; [`read_together`] looks at all of them.
pub fn read(source: &Source<'_>, home: Home) -> Result<Flow, FlowFileError> {
    read_with_tree(Findings::default(), source, home).map(|(flow, _)| flow)
}

/// As [`read`], for a picture: tasks need not say what they run, and those that do not must never
/// be run.
pub fn sketch(source: &Source<'_>, home: Home) -> Result<Flow, FlowFileError> {
    read_with_tree(Findings::of_sketch(), source, home).map(|(flow, _)| flow)
}

/// Reads all flow files of one revision, or of one folder of the server, and checks them together.
pub fn read_together(sources: &[Source<'_>], home: Home) -> Result<Vec<Flow>, Vec<FlowFileError>> {
    together(sources, home, Findings::default)
}

/// As [`read_together`], for a picture: see [`sketch`].
pub fn sketch_together(
    sources: &[Source<'_>],
    home: Home,
) -> Result<Vec<Flow>, Vec<FlowFileError>> {
    together(sources, home, Findings::of_sketch)
}

fn together(
    sources: &[Source<'_>],
    home: Home,
    begin: fn() -> Findings,
) -> Result<Vec<Flow>, Vec<FlowFileError>> {
    let mut flows = Vec::with_capacity(sources.len());
    let mut trees = Vec::with_capacity(sources.len());
    let mut errors = Vec::new();
    for source in sources {
        match read_with_tree(begin(), source, home) {
            Ok((flow, tree)) => {
                flows.push(flow);
                trees.push((source, tree, Findings::default()));
            }
            Err(error) => errors.push(error),
        }
    }
    // A file that could not be read may define what the others name.
    if !errors.is_empty() {
        return Err(errors);
    }
    for (index, problem) in check::check_together(&flows) {
        if let Some((_, tree, found)) = trees.get_mut(index) {
            found.add(locate::place_of(tree, &problem.path), problem.message, problem.hint);
        }
    }
    for (source, _, found) in trees {
        if !found.is_empty() {
            errors.push(found.into_error(source.file_name));
        }
    }
    if errors.is_empty() { Ok(flows) } else { Err(errors) }
}

/// A complaint about a file that could be read, from somebody who knows what is not known here,
/// such as calendars. It stands where the path leads.
#[must_use]
pub fn complain(
    source: &Source<'_>,
    path: &[PathPart],
    message: impl Into<String>,
    hint: impl Into<String>,
) -> FlowFileError {
    let place = yaml::parse(source).map_or(Place::START, |tree| locate::place_of(&tree, path));
    let mut found = Findings::default();
    found.add(place, message, hint);
    found.into_error(source.file_name)
}

fn read_with_tree(
    mut found: Findings,
    source: &Source<'_>,
    home: Home,
) -> Result<(Flow, Node), FlowFileError> {
    match read_found(&mut found, source, home) {
        Some(read) if found.is_empty() => Ok(read),
        Some(_) | None => Err(found.into_error(source.file_name)),
    }
}

fn read_found(found: &mut Findings, source: &Source<'_>, home: Home) -> Option<(Flow, Node)> {
    let bytes = source.text.len();
    if bytes > FILE_BYTES_MAX {
        found.add(
            Place::START,
            format!("the file has {bytes} bytes, more than {FILE_BYTES_MAX}"),
            "move long scripts into the archive and call them",
        );
        return None;
    }
    let tree = match yaml::parse(source) {
        Ok(tree) => tree,
        Err(problem) => {
            found.push(problem);
            return None;
        }
    };
    let mut flow = shape::flow(found, &tree, source.file_name, home)?;
    // What could not be read is missing from the flow and would only be missed again.
    if found.is_whole() {
        check::normalise(&mut flow);
        for problem in check::check(&flow) {
            found.add(locate::place_of(&tree, &problem.path), problem.message, problem.hint);
        }
    }
    Some((flow, tree))
}

#[cfg(test)]
mod tests;
