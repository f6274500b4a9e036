//! The examples that ship with the program.

use std::path::Path;

use super::*;

#[test]
fn the_robots_of_the_line_are_right_flows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/line");
    let mut recorded = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let source = Source { file_name: path.to_str().unwrap(), text: &text };
        let flow = read(&source, Home::Server).unwrap_or_else(|error| panic!("{error}"));
        recorded.extend(flow.records.map(|name| name.to_string()));
    }
    recorded.sort();
    assert_eq!(recorded, ["checksummed", "derived", "identified", "validated"]);
}

#[test]
fn every_example_is_a_right_flow() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows");
    let mut triggers = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let source = Source { file_name: path.to_str().unwrap(), text: &text };
        let flows = read_together(&[source], Home::Server);
        let flows = flows.unwrap_or_else(|errors| panic!("{}", errors[0]));
        let on = codec::to_json(&flows[0])["on"].clone();
        triggers.push(
            on.as_object()
                .map_or(on.to_string(), |map| format!("{:?}", map.keys().collect::<Vec<_>>())),
        );
    }
    triggers.sort();
    assert_eq!(
        triggers,
        // Who is started by hand says nothing about it.
        [r#""commit""#, r#""lot""#, r#""submission""#, r#"["items"]"#, r#"["pairs"]"#, "null"]
    );
}
