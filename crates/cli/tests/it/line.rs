//! An assembly line of real robots: the flows in `examples/line`, with the programs they call.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::lab::Lab;

/// A small grey map.
fn page(width: usize, height: usize) -> Vec<u8> {
    let mut bytes = format!("P5\n{width} {height}\n255\n").into_bytes();
    bytes.extend((0..width * height).map(|i| u8::try_from(i % 251).unwrap()));
    bytes
}

/// The line, in a place of its own.
fn line(lab: &Lab) {
    lab.ok(&["collection", "put", "scans"]);
    for folder in ["pages", "small"] {
        std::fs::create_dir(lab.path(folder)).unwrap();
        // Tasks may run as another user.
        std::fs::set_permissions(lab.path(folder), Permissions::from_mode(0o777)).unwrap();
    }
    std::fs::set_permissions(lab.path("."), Permissions::from_mode(0o755)).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/line");
    let names = ["checksum", "format", "derivative", "validation"].map(|n| format!("{n}.yaml"));
    for name in &names {
        let text = std::fs::read_to_string(examples.join(name)).unwrap();
        let text = text
            .replace("/srv/pages", lab.path("pages").to_str().unwrap())
            .replace("/srv/small", lab.path("small").to_str().unwrap());
        lab.write(name, &text);
    }
    let files = names.iter().map(String::as_str);
    let said = lab.say(&["flow", "apply", "scans"].into_iter().chain(files).collect::<Vec<_>>());
    assert_eq!((said.code, said.err.as_str()), (0, ""), "a whole line has nothing to warn of");
}

/// Waits until a robot's task came to be and ended so.
#[track_caller]
fn ends(lab: &Lab, task: &str, state: &str) {
    lab.until(task, || {
        let said = lab.say(&["task", "show", task, "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&said.out).unwrap_or_default();
        said.code == 0 && shown["state"] == state
    });
}

fn keys(found: &serde_json::Value) -> Vec<&str> {
    found["entries"].as_array().unwrap().iter().map(|i| i["key"].as_str().unwrap()).collect()
}

#[test]
fn pages_go_along_the_line_and_a_broken_one_stops_where_it_should() {
    let lab = Lab::new();
    let _up = lab.up();
    line(&lab);
    for n in 1..=3 {
        std::fs::write(lab.path(&format!("pages/p{n}")), page(10 + n, 9)).unwrap();
    }
    std::fs::write(lab.path("pages/p2"), "this scan was cut off").unwrap();
    for n in 1..=3 {
        lab.ok(&["item", "put", &format!("scans/page/p{n}")]);
    }
    ends(&lab, "validation.count@scans/page/p1", "done");
    ends(&lab, "validation.count@scans/page/p3", "done");
    ends(&lab, "format.identify@scans/page/p2", "failed");
    let small = std::fs::read_to_string(lab.path("small/p1")).unwrap();
    assert!(small.starts_with("P2\n3 3\n255\n"), "{small}");

    let find = |more: &[&str]| {
        lab.json(
            &["item", "find", "scans"].into_iter().chain(more.iter().copied()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(keys(&find(&["--failed", "identified"])), ["p2"]);
    assert_eq!(keys(&find(&["--success", "validated", "--max", "1"])), ["p1"]);
    assert_eq!(keys(&find(&["--success", "validated"])), ["p1", "p3"]);
    let shown = lab.ok(&["item", "show", "scans/page/p2"]);
    assert!(shown.contains("identified") && shown.contains("failure"), "{shown}");
    let list = lab.ok(&["robot", "list", "scans"]);
    assert!(
        list.contains("derivative") && list.contains("identified, no or old derived"),
        "{list}"
    );

    // The page is scanned again: a person sends it back, and it comes through.
    std::fs::write(lab.path("pages/p2"), page(16, 16)).unwrap();
    let told =
        lab.ok(&["rewind", "scans/page/p2", "--from", "checksummed", "--reason", "new scan"]);
    assert!(told.contains("robots no longer see checksummed, identified"), "{told}");
    ends(&lab, "validation.count@scans/page/p2", "done");
    assert_eq!(keys(&find(&["--failed", "identified"])), Vec::<&str>::new());

    // A page that changes goes through the whole line again.
    std::fs::write(lab.path("pages/p1"), page(20, 20)).unwrap();
    lab.ok(&["item", "touch", "scans/page/p1"]);
    let events = ["checksummed", "identified", "derived", "validated"];
    lab.until("every robot has seen it again", || {
        events.iter().all(|event| keys(&find(&["--stale", event])).is_empty())
    });
}

#[test]
fn a_robot_can_be_paused_and_goes_on() {
    let lab = Lab::new();
    let _up = lab.up();
    line(&lab);
    lab.ok(&["robot", "pause", "scans", "checksum", "--reason", "disk full"]);
    std::fs::write(lab.path("pages/p1"), page(8, 8)).unwrap();
    lab.ok(&["item", "put", "scans/page/p1"]);
    let shown = lab.json(&["robot", "show", "scans", "checksum"]);
    assert_eq!(shown["paused"]["reason"], "disk full");
    assert_eq!(shown["tasks"]["ready"], 1);
    lab.ok(&["robot", "resume", "scans", "checksum"]);
    ends(&lab, "validation.count@scans/page/p1", "done");
    assert_eq!(lab.say(&["robot", "resume", "scans", "checksum"]).code, 1);
}

#[test]
fn a_history_goes_out_and_comes_back_as_premis() {
    let lab = Lab::new();
    let _up = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    lab.ok(&["collection", "put", "maps"]);
    lab.ok(&["item", "put", "maps/page/1"]);
    lab.ok(&[
        "event",
        "add",
        "maps/page/1",
        "scan",
        "--agent",
        "scanner 7",
        "--at",
        "2014-01-07T12:00:00Z",
    ]);
    lab.ok(&[
        "event",
        "add",
        "maps/page/1",
        "fixity check",
        "--outcome",
        "failure",
        "--detail",
        "{\"a\": \"<&>\"}",
    ]);
    let schemas =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../bridges/tests/fixtures/premis/schema");
    let mut out = Vec::new();
    for (version, schema) in [("3.0", "premis-v3-0.xsd"), ("2.2", "premis-v2-2.xsd")] {
        let text = lab.ok(&["item", "premis", "maps/page/1", "--version", version]);
        lab.write("record.xml", &text);
        let check = std::process::Command::new("xmllint")
            .args(["--noout", "--nonet", "--schema"])
            .args([schemas.join(schema), lab.path("record.xml")])
            .env("XML_CATALOG_FILES", schemas.join("catalog.xml"))
            .output()
            .unwrap();
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
        out.push(text);
    }
    // At home everything is known; elsewhere it is new once.
    let import = |args: &[&str]| {
        let all = ["item", "import", "record.xml"].into_iter().chain(args.iter().copied());
        let done = lab.json(&all.collect::<Vec<_>>());
        (done["added"].as_i64().unwrap(), done["known"].as_i64().unwrap())
    };
    assert_eq!(import(&[]), (0, 2));
    assert_eq!(import(&["--into", "maps/copy"]), (2, 0));
    assert_eq!(import(&["--into", "maps/copy"]), (0, 2));
    // What came from elsewhere goes out under the same identifiers, and in both versions.
    let ids = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("eventIdentifierValue"));
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let copy = lab.ok(&["item", "premis", "maps/copy/1"]);
    assert_eq!([ids(&out[0]), ids(&out[1])], [ids(&copy), ids(&copy)]);
    assert_eq!(ids(&copy).len(), 2);
}

#[test]
fn histories_of_others_are_read_and_bombs_are_not() {
    let lab = Lab::new();
    let _up = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    lab.ok(&["collection", "put", "maps"]);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bridges/tests/fixtures/premis");
    let danish = fixtures.join("kbdk/EventNoDetails.xml");
    lab.ok(&["item", "import", danish.to_str().unwrap(), "--into", "maps/batch-item"]);
    let shown = lab.json(&["item", "show", "maps/batch-item/B400022028254-RT1"]);
    let mark = &shown["marks"][0];
    assert_eq!((&mark["name"], &mark["imported"]), (&"Data_Received".into(), &true.into()));
    lab.write("bad.xml", "<!DOCTYPE premis [<!ENTITY a 'b'>]><premis>&a;</premis>");
    let said = lab.say(&["item", "import", "bad.xml", "--into", "maps/page"]);
    assert!(said.code != 0 && said.err.contains("a document type is not read"), "{}", said.err);
}
