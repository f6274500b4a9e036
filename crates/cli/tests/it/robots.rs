//! The life of robots through the real binary: on a file, and on a shared database.

use armarius_store::conformance::cluster::Cluster;
use rustix::process::Signal;
use serde_json::Value;

use crate::lab::{Lab, Running, read_soon};

/// Items of a registration that is interrupted: several pieces.
const MANY: usize = 3_000;

/// A folder with a server, on either store.
struct Place {
    lab: Lab,
    store: Option<String>,
}

impl Place {
    fn file() -> Self {
        Self { lab: Lab::new(), store: None }
    }

    fn postgres() -> Self {
        let url = format!("{}&shards=2", Cluster::shared().fresh_url());
        Self { lab: Lab::new(), store: Some(url) }
    }

    fn serve(&self, listen: &str) -> Running {
        let mut args = vec!["serve", "--listen", listen];
        args.extend(self.store.iter().flat_map(|url| ["--store", url]));
        self.lab.start(&args, "listening on")
    }

    /// Two places are one where the store makes no difference to what is said.
    fn both() -> [Self; 2] {
        [Self::file(), Self::postgres()]
    }
}

/// A robot that waits for a scan, and runs this.
fn robot(lab: &Lab, more: &str, script: &str) {
    let text = format!(
        "on: {{ items: {{ kinds: [page], success: [scan] }} }}\nrecords: ocr\n{more}\n\
         tasks: [{{ name: s, shell: sh, ttl: 1s, script: '{script}' }}]"
    );
    lab.write("ocr.yaml", &text);
    lab.ok(&["flow", "apply", "maps", "ocr.yaml"]);
}

fn scanned(lab: &Lab, key: &str) {
    let item = format!("maps/page/{key}");
    lab.ok(&["item", "put", &item]);
    lab.ok(&["event", "add", &item, "scan"]);
}

fn events(lab: &Lab, key: &str) -> Vec<Value> {
    let page = lab.json(&["item", "events", &format!("maps/page/{key}")]);
    page["entries"].as_array().unwrap().clone()
}

/// How often an event of a name happened to an item.
fn count(lab: &Lab, key: &str, name: &str) -> usize {
    events(lab, key).iter().filter(|event| event["name"] == name).count()
}

fn found(lab: &Lab, query: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["item", "find", "maps"].iter().chain(query).copied().collect();
    let found = lab.json(&args);
    let entries = found["entries"].as_array().unwrap();
    entries.iter().map(|item| item["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_robot_s_life_is_the_same_on_both_stores() {
    for place in Place::both() {
        let lab = &place.lab;
        let _server = place.serve("127.0.0.1:0");
        lab.ok(&["collection", "put", "maps"]);
        scanned(lab, "p1");
        lab.ok(&["item", "put", "maps/page/p2"]);
        let marks = lab.folder("marks");
        let at = marks.display();
        // A page called `bad` cannot be read; one called `slow` waits until it may go on.
        let script = format!(
            "echo $ARMARIUS_ROUND >> {at}/$ARMARIUS_ITEM_KEY; \
             [ $ARMARIUS_ITEM_KEY != bad ] || {{ echo unreadable; exit 3; }}; \
             while [ $ARMARIUS_ITEM_KEY = slow ] && ! [ -e {at}/go ]; do sleep 0.02; done"
        );
        robot(lab, "", &script);
        let _worker = lab.start(&["work", "--slots", "3"], "worker");
        // Registered after its item, and before its event.
        lab.wait("ocr.s@maps/page/p1", &["done"]);
        lab.ok(&["event", "add", "maps/page/p2", "scan", "--outcome", "failure"]);
        lab.ok(&["event", "add", "maps/page/p2", "scan"]);
        lab.wait("ocr.s@maps/page/p2", &["done"]);
        assert_eq!(found(lab, &["--success", "ocr"]), ["p1", "p2"]);

        // What cannot be done is a failure with its reason, and waits for a person.
        scanned(lab, "bad");
        lab.wait("ocr.s@maps/page/bad", &["failed"]);
        let why = lab.detail("maps/page/bad", "ocr");
        assert_eq!(why["exit_code"], 3, "{why}");
        assert_eq!(found(lab, &["--failed", "ocr"]), ["bad"]);
        lab.ok(&["rewind", "maps/page/bad"]);
        lab.wait("ocr.s@maps/page/bad~2", &["failed"]);
        assert_eq!(count(lab, "bad", "ocr"), 2, "nothing is erased");

        // The content changes while the robot is at work: its result is old, and it works again.
        scanned(lab, "slow");
        read_soon(&marks.join("slow"));
        lab.ok(&["item", "touch", "maps/page/slow"]);
        lab.write("marks/go", "");
        lab.wait("ocr.s@maps/page/slow~2", &["done"]);
        assert_eq!(count(lab, "slow", "ocr"), 2);
        assert!(found(lab, &["--success", "scan", "--stale", "ocr"]).is_empty());

        // It is paused, goes on, and leaves; its history stays.
        lab.ok(&["robot", "pause", "maps", "ocr", "--reason", "tea"]);
        scanned(lab, "p3");
        let shown = lab.json(&["robot", "show", "maps", "ocr"]);
        assert_eq!(
            (&shown["paused"]["reason"], &shown["tasks"]["ready"]),
            (&"tea".into(), &1.into())
        );
        lab.ok(&["flow", "remove", "maps", "ocr"]);
        lab.wait("ocr.s@maps/page/p3", &["cancelled"]);
        assert_eq!(count(lab, "p1", "ocr"), 1);
        let line = lab.json(&["robot", "list", "maps"]);
        assert_eq!(line["robots"], Value::Array(Vec::new()), "{line}");
    }
}

#[test]
fn a_hung_robot_that_goes_on_after_its_lease_lapsed_changes_nothing() {
    for place in Place::both() {
        let lab = &place.lab;
        let _server = place.serve("127.0.0.1:0");
        lab.ok(&["collection", "put", "maps"]);
        let marks = lab.folder("marks");
        let at = marks.display();
        let script = format!(
            "echo $ARMARIUS_TOKEN >> {at}/begun; echo >> {at}/begun.$ARMARIUS_ATTEMPT; \
             while [ $ARMARIUS_ATTEMPT = 1 ] && ! [ -e {at}/go ]; do sleep 0.02; done"
        );
        robot(lab, "", &script);
        let hung = lab.start(&["work", "--worker", "hung"], "worker");
        scanned(lab, "p1");
        read_soon(&marks.join("begun.1"));
        hung.signal(Signal::STOP);
        let mut other = lab.start(&["work", "--worker", "other"], "worker");
        lab.wait("ocr.s@maps/page/p1", &["done"]);
        lab.write("marks/go", "");
        hung.signal(Signal::CONT);
        // It is awake and of use again: only it is there for the next page.
        other.signal(Signal::TERM);
        assert_eq!(other.end(), Some(0));
        scanned(lab, "p2");
        lab.wait("ocr.s@maps/page/p2", &["done"]);
        assert_eq!((count(lab, "p1", "ocr"), count(lab, "p1", "task.failed")), (1, 0));
        let tokens = std::fs::read_to_string(marks.join("begun")).unwrap();
        let tokens: Vec<u64> = tokens.lines().map(|line| line.parse().unwrap()).collect();
        assert!(tokens[0] < tokens[1], "{tokens:?}");
        let done = lab.json(&["task", "show", "ocr.s@maps/page/p1"]);
        assert_eq!((&done["state"], &done["attempts"]), (&"done".into(), &2.into()), "{done}");
    }
}

#[test]
fn two_instances_of_a_singleton_take_turns_and_one_survives_the_other() {
    for place in Place::both() {
        let lab = &place.lab;
        let _server = place.serve("127.0.0.1:0");
        lab.ok(&["collection", "put", "maps"]);
        let marks = lab.folder("marks");
        let at = marks.display();
        // The first page never ends by itself. Whoever finds another one at work says so.
        let script = format!(
            "[ $ARMARIUS_ITEM_KEY-$ARMARIUS_ATTEMPT != p1-1 ] || {{ \
             echo > {at}/begun; sleep 1000; }}; \
             mkdir {at}/lock || echo $ARMARIUS_ITEM_KEY >> {at}/both; sleep 0.05; rmdir {at}/lock"
        );
        robot(lab, "singleton: true\nmax_items: 1", &script);
        let work = |name: &str| lab.start(&["work", "--worker", name, "--slots", "4"], "worker");
        let mut first = work("first");
        scanned(lab, "p1");
        read_soon(&marks.join("begun"));
        let _second = work("second");
        for key in ["p2", "p3", "p4", "p5"] {
            scanned(lab, key);
        }
        let shown = lab.json(&["robot", "show", "maps", "ocr"]);
        let tasks = &shown["tasks"];
        assert_eq!((&shown["holder"], &tasks["ready"]), (&"first".into(), &4.into()), "{shown}");
        first.signal(Signal::KILL);
        first.end();
        for key in ["p1", "p2", "p3", "p4", "p5"] {
            lab.wait(&format!("ocr.s@maps/page/{key}"), &["done"]);
            assert_eq!(count(lab, key, "ocr"), 1, "{key}");
        }
        assert!(!marks.join("both").exists(), "two worked at once");
    }
}

#[test]
fn a_server_killed_while_a_robot_is_registered_goes_on_where_it_was() {
    for place in Place::both() {
        let lab = &place.lab;
        let mut server = place.serve("127.0.0.1:0");
        let address = server.url.strip_prefix("http://").unwrap().to_owned();
        lab.ok(&["collection", "put", "maps"]);
        let list: String = (0..MANY).map(|n| format!("{{\"item\":\"maps/page/{n}\"}}\n")).collect();
        lab.write("items.jsonl", &list);
        lab.ok(&["item", "put", "--from", "items.jsonl"]);
        lab.write(
            "all.yaml",
            "on: { items: { kinds: [page] } }\nrecords: all\ntasks: [{ name: s, run: outside }]",
        );
        lab.ok(&["flow", "apply", "maps", "all.yaml"]);
        for _ in 0..2 {
            server.signal(Signal::KILL);
            server.end();
            server = place.serve(&address);
        }
        lab.until("all are asked", || {
            let shown = lab.json(&["robot", "show", "maps", "all"]);
            shown["tasks"]["ready"] == MANY && shown["filling"].is_null()
        });
        assert_eq!(count(lab, "0", "task.ready"), 1);
        assert_eq!(count(lab, &(MANY - 1).to_string(), "task.ready"), 1);
        // And when it leaves again.
        lab.ok(&["flow", "remove", "maps", "all"]);
        server.signal(Signal::KILL);
        server.end();
        server = place.serve(&address);
        lab.until("all are withdrawn", || {
            let page = lab.json(&["task", "list", "--state", "ready"]);
            page["entries"].as_array().unwrap().is_empty()
        });
        drop(server);
        let mut doctor = vec!["doctor", "--json"];
        doctor.extend(place.store.iter().flat_map(|url| ["--store", url.as_str()]));
        let said = lab.say(&doctor);
        assert!(said.code == 0 && said.out.contains("\"findings\":[]"), "{}{}", said.out, said.err);
    }
}
