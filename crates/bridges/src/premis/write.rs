//! Writes a record, in the order the schemas want.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use super::moment::normal;
use super::vocabulary::{AUTHORITY, code};
use super::{Agent, Event, Identifier, Record};

/// The namespace of version 2.
pub(super) const NAMESPACE_22: &str = "info:lc/xmlns/premis-v2";
/// The namespace of version 3.
pub(super) const NAMESPACE_30: &str = "http://www.loc.gov/premis/v3";

/// A version of PREMIS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 2.2
    V22,
    /// 3.0
    V30,
}

/// No version that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such version; give 3.0 or 2.2")]
pub struct BadVersion;

impl FromStr for Version {
    type Err = BadVersion;

    fn from_str(text: &str) -> Result<Self, BadVersion> {
        match text {
            "2.2" => Ok(Self::V22),
            "3.0" | "3" => Ok(Self::V30),
            _ => Err(BadVersion),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V22 => "2.2",
            Self::V30 => "3.0",
        })
    }
}

/// A record as a document.
#[must_use]
pub fn write(record: &Record, version: Version) -> String {
    let mut paper = Paper { text: String::new(), depth: 0, version };
    paper.text.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let space = match version {
        Version::V22 => NAMESPACE_22,
        Version::V30 => NAMESPACE_30,
    };
    let xsi = "http://www.w3.org/2001/XMLSchema-instance";
    let root = format!("premis xmlns=\"{space}\" xmlns:xsi=\"{xsi}\" version=\"{version}\"");
    paper.within(&root, |paper| {
        paper.within("object xsi:type=\"representation\"", |paper| {
            paper.identifier("object", &record.object, |_| {});
        });
        for event in &record.events {
            paper.event(event, &record.object);
        }
        for agent in agents(record) {
            paper.agent(agent);
        }
    });
    paper.text
}

/// Every agent once, by its identifier.
fn agents(record: &Record) -> impl Iterator<Item = &Agent> {
    let agents = record.events.iter().flat_map(|event| &event.agents);
    let by_id: BTreeMap<&Identifier, &Agent> = agents.map(|agent| (&agent.id, agent)).collect();
    by_id.into_values()
}

struct Paper {
    text: String,
    depth: usize,
    version: Version,
}

impl Paper {
    fn event(&mut self, event: &Event, object: &Identifier) {
        self.within("event", |paper| {
            paper.identifier("event", &event.id, |_| {});
            match code(&event.name).filter(|_| paper.version == Version::V30) {
                Some(code) => {
                    let attributes = format!(
                        "eventType authority=\"eventType\" authorityURI=\"{AUTHORITY}\" \
                         valueURI=\"{AUTHORITY}/{code}\""
                    );
                    paper.leaf(&attributes, &event.name);
                }
                None => paper.leaf("eventType", &event.name),
            }
            paper.leaf("eventDateTime", &normal(&event.at).unwrap_or_else(|| event.at.clone()));
            paper.within("eventOutcomeInformation", |paper| {
                paper.leaf("eventOutcome", if event.success { "success" } else { "failure" });
                if let Some(detail) = &event.detail {
                    paper.within("eventOutcomeDetail", |paper| {
                        paper.leaf("eventOutcomeDetailNote", detail);
                    });
                }
            });
            for agent in &event.agents {
                paper.identifier("linkingAgent", &agent.id, |paper| {
                    if !agent.role.is_empty() {
                        paper.leaf("linkingAgentRole", &agent.role);
                    }
                });
            }
            paper.identifier("linkingObject", object, |_| {});
        });
    }

    fn agent(&mut self, agent: &Agent) {
        self.within("agent", |paper| {
            paper.identifier("agent", &agent.id, |_| {});
            if !agent.name.is_empty() {
                paper.leaf("agentName", &agent.name);
            }
            if agent.software {
                paper.leaf("agentType", "software");
            }
            // Version 2.2 has the version in the identifier.
            if !agent.version.is_empty() && paper.version == Version::V30 {
                paper.leaf("agentVersion", &agent.version);
            }
        });
    }

    fn identifier(&mut self, prefix: &str, id: &Identifier, more: impl FnOnce(&mut Self)) {
        self.within(&format!("{prefix}Identifier"), |paper| {
            paper.leaf(&format!("{prefix}IdentifierType"), &id.kind);
            paper.leaf(&format!("{prefix}IdentifierValue"), &id.value);
            more(paper);
        });
    }

    fn within(&mut self, tag: &str, inner: impl FnOnce(&mut Self)) {
        self.indent();
        let _ = writeln!(self.text, "<{tag}>");
        self.depth += 1;
        inner(self);
        self.depth -= 1;
        self.indent();
        let _ = writeln!(self.text, "</{}>", name(tag));
    }

    fn leaf(&mut self, tag: &str, text: &str) {
        self.indent();
        let text: String = text.chars().filter(|c| is_xml(*c)).collect();
        let text = quick_xml::escape::escape(text.as_str());
        let _ = writeln!(self.text, "<{tag}>{text}</{}>", name(tag));
    }

    fn indent(&mut self) {
        let depth = self.depth * 2;
        let _ = write!(self.text, "{:depth$}", "");
    }
}

fn name(tag: &str) -> &str {
    tag.split(' ').next().unwrap_or(tag)
}

/// Whether XML 1.0 has this character at all.
fn is_xml(c: char) -> bool {
    let plane = matches!(c, '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    plane || matches!(c, '\t' | '\n' | '\r')
}
