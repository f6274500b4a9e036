//! A map whose keys are known: each is taken once, what is left at the end is unknown.

use armarius_core::flow::check::did_you_mean;

use super::error::Findings;
use super::node::{Kind, Node, Place, shown};
use super::scalars;

pub(super) struct Fields<'n> {
    /// What the map is, for messages: "a task".
    what: &'static str,
    /// Where the map begins.
    pub(super) place: Place,
    entries: &'n [(Node, Node)],
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// Opens a map, or says that this is none.
    pub(super) fn open(found: &mut Findings, node: &'n Node, what: &'static str) -> Option<Self> {
        let Kind::Map(entries) = &node.kind else {
            scalars::wrong(found, node, &format!("{what}, written as a map of keys and values"));
            return None;
        };
        Some(Self { what, place: node.place, entries, known: Vec::new() })
    }

    /// The value under a key, if the key is there.
    pub(super) fn take(&mut self, key: &'static str) -> Option<&'n Node> {
        self.take_entry(key).map(|(_, value)| value)
    }

    /// A key with its value, if it is there.
    pub(super) fn take_entry(&mut self, key: &'static str) -> Option<(&'n Node, &'n Node)> {
        self.known.push(key);
        let entry = self.entries.iter().find(|(k, _)| k.spelling() == Some(key))?;
        Some((&entry.0, &entry.1))
    }

    /// The value under a key that must be there.
    pub(super) fn needed(
        &mut self,
        found: &mut Findings,
        key: &'static str,
        hint: &str,
    ) -> Option<&'n Node> {
        let value = self.take(key);
        if value.is_none() {
            found.add(self.place, format!("{} without `{key}`", self.what), hint);
        }
        value
    }

    /// Sets a field to what is read under its key; a field without key or readable value stays.
    pub(super) fn set<T>(
        &mut self,
        found: &mut Findings,
        key: &'static str,
        field: &mut T,
        read: impl FnOnce(&mut Findings, &'n Node) -> Option<T>,
    ) {
        if let Some(value) = self.take(key).and_then(|node| read(found, node)) {
            *field = value;
        }
    }

    /// Reports every key nobody took.
    pub(super) fn close(self, found: &mut Findings) {
        for (key, _) in self.entries {
            match key.spelling() {
                Some(name) if self.known.contains(&name) => {}
                Some(name) => found.add(
                    key.place,
                    format!("{} has no key `{}`", self.what, shown(name)),
                    self.hint_for(name),
                ),
                None => found.add(
                    key.place,
                    format!("expected a key, found {}", key.described()),
                    "a key is a text",
                ),
            }
        }
    }

    fn hint_for(&self, name: &str) -> String {
        // Tools that speak YAML 1.1 write the key `on` back as `true`.
        if name.eq_ignore_ascii_case("true") && self.known.contains(&"on") {
            return "did you mean `on`?".to_owned();
        }
        let known = format!("the keys are {}", self.known.join(", "));
        did_you_mean(name, self.known.iter().copied(), &known)
    }
}
