//! The assembly line of a collection: its robots, and which of them an event concerns.
//!
//! A memo over collections, flows, versions and queues, so that an event asks the robots that
//! mention it and no others. It is made anew when a flow has changed, and changes no decision.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::flow::{Flow, Query};
use crate::ids::{CollectionId, FlowId, ItemId, QueueId, VersionId};
use crate::text::Name;

/// The lines that somebody asked for.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    edition: u64,
    lines: BTreeMap<CollectionId, Arc<Line>>,
}

/// The robots of a collection, in order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Line {
    robots: Vec<Arc<Robot>>,
    /// Places of the robots whose query mentions an event.
    by_name: BTreeMap<Name, Vec<usize>>,
}

/// A robot: a flow that items wake.
#[derive(Debug)]
pub(crate) struct Robot {
    pub(crate) flow: FlowId,
    pub(crate) version: VersionId,
    pub(crate) def: Arc<Flow>,
    /// What it asks of an item; nothing when it asks nothing any more.
    pub(crate) query: Option<Query>,
    /// The queues of all steps it has or had.
    pub(crate) queues: Vec<QueueId>,
}

/// Items that a robot was asked about and has nothing to do with.
#[derive(Debug)]
pub(crate) struct Glanced {
    pub(crate) flow: FlowId,
    pub(crate) items: Vec<ItemId>,
    /// The events that were looked at.
    pub(crate) names: Vec<Name>,
}

impl Memo {
    /// The line of a collection, if it was made from what `edition` stands for.
    pub(crate) fn line(&self, edition: u64, home: CollectionId) -> Option<Arc<Line>> {
        self.lines.get(&home).filter(|_| self.edition == edition).cloned()
    }

    /// Keeps a line.
    pub(crate) fn keep(&mut self, edition: u64, home: CollectionId, line: Arc<Line>) {
        if self.edition != edition {
            self.edition = edition;
            self.lines.clear();
        }
        self.lines.insert(home, line);
    }
}

impl Line {
    pub(crate) fn new(mut robots: Vec<Arc<Robot>>) -> Self {
        robots.sort_by_key(|robot| robot.flow);
        let mut by_name: BTreeMap<Name, Vec<usize>> = BTreeMap::new();
        for (place, robot) in robots.iter().enumerate() {
            for name in robot.query.iter().flat_map(Query::names) {
                let places = by_name.entry(name.clone()).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        Self { robots, by_name }
    }

    /// The robots that an event of this name concerns; all when it is empty.
    pub(crate) fn concerned(&self, name: &str) -> Vec<Arc<Robot>> {
        if name.is_empty() {
            return self.robots.clone();
        }
        let places = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|place| self.robots.get(*place)).cloned().collect()
    }
}
