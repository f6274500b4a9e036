//! PREMIS records: what is written is valid, what others wrote is read, and nothing is expanded.

use std::path::{Path, PathBuf};
use std::process::Command;

use armarius_bridges::premis::{
    Agent, Event, Identifier, PremisError, Record, Version, micros, read, write,
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/premis").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).unwrap()
}

/// What the official schema says about a document; nothing when it is valid.
fn complaints(text: &str, version: Version) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.xml");
    std::fs::write(&file, text).unwrap();
    let schema = match version {
        Version::V22 => fixture("schema/premis-v2-2.xsd"),
        Version::V30 => fixture("schema/premis-v3-0.xsd"),
    };
    let output = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema"])
        .args([&schema, &file])
        .env("XML_CATALOG_FILES", fixture("schema/catalog.xml"))
        .output()
        .expect("xmllint; `cargo xtask setup` installs it");
    if output.status.success() {
        return String::new();
    }
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn id(kind: &str, value: &str) -> Identifier {
    Identifier { kind: kind.to_owned(), value: value.to_owned() }
}

fn event(n: usize, name: &str, success: bool) -> Event {
    let robot = Agent {
        id: id("armarius", "ocr-0123456789ab"),
        name: "ocr".to_owned(),
        version: "0123456789ab".to_owned(),
        role: "executing program".to_owned(),
        software: true,
    };
    let person = Agent { id: id("local", "somebody"), ..Agent::default() };
    Event {
        id: id("UUID", &format!("6f0e1a52-8a0f-8c1e-9d67-{n:012}")),
        name: name.to_owned(),
        at: format!("2026-11-15T07:30:00.{n:06}Z"),
        success,
        detail: n.is_multiple_of(2).then(|| format!("{{\"pages\": {n}}} & <more>")),
        agents: if n.is_multiple_of(3) { vec![robot, person] } else { vec![robot] },
    }
}

fn record() -> Record {
    let names = ["scan", "fixity check", "format identification", "Data_Received"];
    let events = names.iter().enumerate().map(|(n, name)| event(n, name, n != 2)).collect();
    Record { object: id("armarius", "maps/page/vol%201/7"), events }
}

#[test]
fn what_is_written_is_valid_and_reads_back() {
    for version in [Version::V30, Version::V22] {
        let text = write(&record(), version);
        assert_eq!(complaints(&text, version), "", "{version}: {text}");
        let mut wanted = record();
        if version == Version::V22 {
            // It has no place for it.
            let agents = wanted.events.iter_mut().flat_map(|event| &mut event.agents);
            agents.for_each(|agent| agent.version.clear());
        }
        // Moments are written without needless zeros.
        let mut found = read(text.as_bytes()).unwrap();
        for event in found.iter_mut().flat_map(|r| &mut r.events).chain(&mut wanted.events) {
            event.at = micros(&event.at).unwrap().to_string();
        }
        assert_eq!(found, [wanted], "{version}");
    }
}

#[test]
fn a_record_without_events_is_valid() {
    let record = Record { object: id("armarius", "a/b/c"), events: Vec::new() };
    for version in [Version::V30, Version::V22] {
        assert_eq!(complaints(&write(&record, version), version), "");
    }
}

#[test]
fn odd_characters_are_escaped_or_left_out() {
    let mut record = record();
    record.events[0].detail = Some("<&>\"' é 書 \u{1}\u{b} ]]> &amp;".to_owned());
    let text = write(&record, Version::V30);
    assert_eq!(complaints(&text, Version::V30), "");
    let found = read(text.as_bytes()).unwrap();
    assert_eq!(found[0].events[0].detail.as_deref(), Some("<&>\"' é 書  ]]> &amp;"));
}

#[test]
fn the_danish_records_are_read() {
    let told = |name: &str| {
        let records = read(&bytes(&format!("kbdk/{name}"))).unwrap();
        let record = records.first().unwrap();
        let events = record.events.iter().map(|e| {
            let agents: Vec<&str> = e.agents.iter().map(|a| a.id.value.as_str()).collect();
            let detail = e.detail.as_deref().unwrap_or("-");
            format!("{} {} {} {} [{detail}]", e.id.value, e.name, e.success, agents.join(","))
        });
        format!("{}: {}", record.object.value, events.collect::<Vec<_>>().join("; "))
    };
    assert_eq!(told("objectOnlyBlob.xml"), "B400022028241-RT1: ");
    assert_eq!(
        told("eventAddedBlob.xml"),
        "B400022028241-RT1: B400022028241-RT1-86400000 Data_Received true \
         batch_uploaded_trigger [details here]"
    );
    assert_eq!(
        told("eventAndPriorityAddedBlob.xml"),
        "B400022028241-RT1: B400022028241-RT1-0 Prioritized true roundtrip_prioritizer \
         [details here]; B400022028241-RT1-86400000 Data_Received true batch_uploaded_trigger \
         [details here]"
    );
    assert_eq!(
        told("EventNoDetails.xml"),
        "B400022028254-RT1: B400022028254-RT1-1389099221440 Data_Received true \
         register-batch-trigger [-]"
    );
}

#[test]
fn a_legacy_offset_becomes_valid_when_it_is_written_again() {
    let text = String::from_utf8(bytes("kbdk/EventNoDetails.xml")).unwrap();
    assert!(complaints(&text, Version::V22).contains("eventDateTime"), "it is not valid as it is");
    let records = read(text.as_bytes()).unwrap();
    assert_eq!(micros(&records[0].events[0].at), Some(1_389_099_221_440_000));
    for version in [Version::V22, Version::V30] {
        assert_eq!(complaints(&write(&records[0], version), version), "");
    }
}

#[test]
fn events_are_put_in_order_of_time_and_given_to_their_objects() {
    let event = |id: &str, at: &str, link: &str| {
        format!(
            "<event><eventIdentifier><eventIdentifierType>t</eventIdentifierType>
             <eventIdentifierValue>{id}</eventIdentifierValue></eventIdentifier>
             <eventType>e</eventType><eventDateTime>{at}</eventDateTime>
             <linkingObjectIdentifier><linkingObjectIdentifierType>t</linkingObjectIdentifierType>
             <linkingObjectIdentifierValue>{link}</linkingObjectIdentifierValue>
             </linkingObjectIdentifier></event>"
        )
    };
    let object = |id: &str| {
        format!(
            "<object><objectIdentifier><objectIdentifierType>t</objectIdentifierType>
             <objectIdentifierValue>{id}</objectIdentifierValue></objectIdentifier></object>"
        )
    };
    let text = format!(
        "<p:premis xmlns:p='http://www.loc.gov/premis/v3' xmlns='http://www.loc.gov/premis/v3' \
         version='3.0'>{}{}{}{}{}</p:premis>",
        object("a"),
        object("b"),
        event("late", "2020-01-01", "a"),
        event("other", "2019-01-01T00:00:00", "b"),
        event("early", "2018-01-01T00:00:00+0100", "a"),
    );
    let records = read(text.as_bytes()).unwrap();
    let ids = |n: usize| -> Vec<&str> {
        records[n].events.iter().map(|event| event.id.value.as_str()).collect()
    };
    assert_eq!((ids(0), ids(1)), (vec!["early", "late"], vec!["other"]));
    assert!(!records[0].events[0].success, "no outcome is a failure");
}

#[test]
fn version_3_is_read_and_what_is_wrong_is_told() {
    let records = read(&bytes("made/events-v3-valid.xml")).unwrap();
    let outcomes: Vec<bool> = records[0].events.iter().map(|event| event.success).collect();
    assert_eq!(outcomes, [true, false]);
    assert_eq!(records[0].events[0].agents[0].version, "1.0.0");
    let detail = records[0].events[1].detail.as_deref();
    assert_eq!(detail, Some("sha256 of producer/a & b <1>.txt differs"));
    let found = read(&bytes("made/invalid-no-object.xml"));
    assert_eq!(found, Err(PremisError::BadRecord("the record has no object".to_owned())));
}

#[test]
fn nothing_is_expanded_fetched_or_nested_without_end() {
    let refused = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    let bomb = "<!DOCTYPE premis [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><premis>&b;</premis>";
    assert!(refused(bomb).contains("a document type is not read"), "{}", refused(bomb));
    let fetch = "<!DOCTYPE premis SYSTEM 'file:///etc/passwd'><premis/>";
    assert!(refused(fetch).contains("a document type is not read"));
    let unknown = "<premis xmlns='http://www.loc.gov/premis/v3'><object>&b;</object></premis>";
    assert!(refused(unknown).contains("the entity `b` is not read"), "{}", refused(unknown));
    assert!(refused(&"<a>".repeat(100)).contains("levels"));
    for wrong in ["", "<premis", "<premis></other>", "<premis>", "text", "\u{0}"] {
        assert!(read(wrong.as_bytes()).is_err(), "{wrong:?}");
    }
    assert!(read(b"\xff<premis/>").is_err());
    assert!(refused("<premis/>").contains("no PREMIS 2 or 3 record"));
}
