//! Reads PREMIS 3.0 and 2.2, the older one as several programs write it.

use std::collections::BTreeMap;

use super::moment::micros;
use super::tree::{Node, parse};
use super::write::{NAMESPACE_22, NAMESPACE_30};
use super::{Agent, EVENTS_MAX, Event, Identifier, PremisError, Record};

/// The records of a document: one per object, each with the events that name it. Events are in
/// order of time, whatever their places in the document.
pub fn read(bytes: &[u8]) -> Result<Vec<Record>, PremisError> {
    let text = std::str::from_utf8(bytes).map_err(|e| PremisError::BadXml {
        at: e.valid_up_to() as u64,
        what: "the document is not UTF-8".to_owned(),
    })?;
    let root = parse(text.trim_start_matches('\u{feff}'))?;
    if root.name != "premis" || ![NAMESPACE_30, NAMESPACE_22].contains(&root.space.as_str()) {
        let what = format!("`{}` is no PREMIS 2 or 3 record", root.name);
        return Err(PremisError::BadRecord(what));
    }
    let agents = agents(&root);
    let mut records: Vec<Record> = root
        .all("object")
        .filter_map(|object| identifier(object, "objectIdentifier"))
        .map(|object| Record { object, events: Vec::new() })
        .collect();
    if records.is_empty() {
        return Err(PremisError::BadRecord("the record has no object".to_owned()));
    }
    let events: Vec<&Node> = root.all("event").collect();
    if events.len() > EVENTS_MAX {
        let what = format!("{} events, more than {EVENTS_MAX}", events.len());
        return Err(PremisError::TooLarge(what));
    }
    for (place, node) in events.into_iter().enumerate() {
        let event = event(node, &agents).map_err(|what| {
            PremisError::BadRecord(format!("event {} of the record: {what}", place + 1))
        })?;
        give(&mut records, node, &event);
    }
    for record in &mut records {
        in_order(&mut record.events);
    }
    Ok(records)
}

/// Gives an event to the objects it names; where it names none, to the first.
fn give(records: &mut [Record], node: &Node, event: &Event) {
    let links: Vec<Identifier> =
        node.all("linkingObjectIdentifier").filter_map(|n| pair(n, "linkingObject")).collect();
    let mut given = false;
    for record in records.iter_mut().filter(|r| links.iter().any(|l| l.value == r.object.value)) {
        record.events.push(event.clone());
        given = true;
    }
    if !given && let Some(first) = records.first_mut() {
        first.events.push(event.clone());
    }
}

/// By time; one whose time cannot be read stays behind the one before it.
fn in_order(events: &mut [Event]) {
    let mut latest = i64::MIN;
    let mut keys = BTreeMap::new();
    for event in events.iter() {
        latest = micros(&event.at).unwrap_or(latest);
        keys.insert((event.id.clone(), event.name.clone()), latest);
    }
    events.sort_by_key(|e| keys.get(&(e.id.clone(), e.name.clone())).copied().unwrap_or_default());
}

fn event(node: &Node, agents: &BTreeMap<String, Agent>) -> Result<Event, String> {
    let id = identifier(node, "eventIdentifier").ok_or("it has no identifier")?;
    let name = node.text_of("eventType").ok_or_else(|| format!("{} has no type", id.value))?;
    let at = node.text_of("eventDateTime").ok_or_else(|| format!("{} has no time", id.value))?;
    let outcome = node.one("eventOutcomeInformation");
    let said = outcome.and_then(|outcome| outcome.text_of("eventOutcome"));
    // Anything but a success, and saying nothing at all, is a failure.
    let success = said.is_some_and(|said| said.eq_ignore_ascii_case("success"));
    let linked = node.all("linkingAgentIdentifier").filter_map(|link| {
        let id = pair(link, "linkingAgent")?;
        let known = agents.get(&id.value).cloned().unwrap_or_default();
        let role = link.text_of("linkingAgentRole").unwrap_or_default();
        Some(Agent { id, role, ..known })
    });
    Ok(Event { success, detail: detail(node, outcome), agents: linked.collect(), id, name, at })
}

/// The note of the outcome; else the detail, which 3.0 wraps once more.
fn detail(node: &Node, outcome: Option<&Node>) -> Option<String> {
    let note = outcome.into_iter().flat_map(|outcome| outcome.all("eventOutcomeDetail"));
    let note = note.filter_map(|detail| detail.text_of("eventOutcomeDetailNote")).next();
    let wrapped = || node.one("eventDetailInformation").and_then(|d| d.text_of("eventDetail"));
    note.or_else(wrapped).or_else(|| node.text_of("eventDetail"))
}

fn agents(root: &Node) -> BTreeMap<String, Agent> {
    let agent = |node: &Node| {
        let id = identifier(node, "agentIdentifier")?;
        let name = node.text_of("agentName").unwrap_or_default();
        let version = node.text_of("agentVersion").unwrap_or_default();
        let software = node.text_of("agentType").is_some_and(|t| t == "software");
        Some((id.value.clone(), Agent { id, name, version, role: String::new(), software }))
    };
    root.all("agent").filter_map(agent).collect()
}

fn identifier(node: &Node, name: &str) -> Option<Identifier> {
    pair(node.one(name)?, name.trim_end_matches("Identifier"))
}

/// `…IdentifierType` and `…IdentifierValue`.
fn pair(node: &Node, prefix: &str) -> Option<Identifier> {
    let kind = node.text_of(&format!("{prefix}IdentifierType")).unwrap_or_default();
    let value = node.text_of(&format!("{prefix}IdentifierValue"))?;
    Some(Identifier { kind, value })
}
