//! Backups of a server at work, and what they bring back.

use std::sync::atomic::{AtomicBool, Ordering};

use armarius_store::conformance::cluster::Cluster;
use armarius_wire::client::Client;
use armarius_wire::v1::claim::{Reply, Request};
use armarius_wire::v1::report::{Outcome, Report};
use serde_json::{Value, json};

use crate::lab::{Lab, Running};

fn client(lab: &Lab, server: &Running, data: &str) -> Client {
    let key = std::fs::read_to_string(lab.path(data).join("admin.key")).unwrap();
    Client::new(&server.url, key.trim())
}

fn claim(client: &Client) -> Reply {
    let claim = Request { worker: "w".to_owned(), max: 1, wait_s: 30, ..Request::default() };
    client.claim(&claim).unwrap().unwrap()
}

fn report(client: &Client, granted: &Reply) -> String {
    let report = Report {
        lease: granted.lease.clone(),
        task: granted.tasks[0].task,
        token: granted.tasks[0].token.clone(),
        outcome: Some(Outcome::Success),
        exit_code: None,
        result: None,
        manifest: None,
        last: false,
    };
    let done = client.report(&[report]).unwrap();
    done[0].outcome.clone().unwrap_or_else(|| format!("{:?}", done[0].problem))
}

#[test]
fn a_backup_under_load_is_whole_and_a_worker_from_before_disturbs_nobody() {
    let lab = Lab::new();
    let serve = |data: &str| {
        lab.start(&["serve", "--listen", "127.0.0.1:0", "--data", data], "listening on")
    };
    let server = serve("a");
    lab.with_flow("ocr.yaml", "tasks: [{ name: scan, run: outside, ttl: 600s }]");
    lab.ok(&["submit", "ocr", "maps/held/1"]);
    let client = client(&lab, &server, "a");
    let granted = claim(&client);
    let stop = AtomicBool::new(false);
    let acknowledged = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let mut n = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let rounds: Vec<Value> = (n..n + 20)
                    .map(|i| json!({ "item": format!("maps/page/{i}"), "flow": "ocr" }))
                    .collect();
                client.post::<Value>("rounds", &rounds).unwrap();
                n += 20;
            }
            n
        });
        let made = lab.json(&["backup", "one.tar", "--data", "a"]);
        assert!(made["events"].as_u64() > Some(0), "{made}");
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap()
    });
    // The worker's report is taken by the server it came from …
    assert_eq!(report(&client, &granted), "applied");
    drop(server);
    let back = lab.json(&["restore", "one.tar", "--data", "b"]);
    assert_eq!(back["recalled"], 1, "{back}");
    let restored = serve("b");
    let client = self::client(&lab, &restored, "b");
    // … and is stale in the restored past, where the task waits for somebody else.
    assert_eq!(report(&client, &granted), "recorded-stale");
    let address = ["task", "show", "ocr.scan@maps/held/1", "--data", "b"];
    assert_eq!(lab.json(&address)["state"], "ready");
    let stats = lab.json(&["status", "--data", "b"]);
    let ready = stats["stats"]["tasks"]["ready"].as_u64().unwrap();
    assert!(ready >= 1 && ready <= acknowledged + 1, "{ready} of {acknowledged}");
    let again = claim(&client);
    assert!(again.tasks[0].token.parse::<i64>().unwrap() >> 48 >= 1, "{again:?}");
    drop(restored);
    let said = lab.say(&["doctor", "--data", "b"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("all is well"), "{}", said.out);
}

#[test]
fn backups_and_restores_replace_nothing_and_trust_nothing() {
    let lab = Lab::new();
    let server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    lab.with_flow("ocr.yaml", "tasks: [{ name: scan, run: outside }]");
    lab.ok(&["backup", "plain.tar"]);
    assert!(lab.say(&["backup", "plain.tar"]).err.contains("is there already"));
    lab.ok(&["backup", "secret.tar", "--with-secrets"]);
    let said = lab.say(&["doctor"]);
    assert_eq!(said.code, 69, "{}", said.err);
    assert!(said.err.contains("make a backup"), "{}", said.err);
    let holds = |file: &str, text: &str| {
        let bytes = std::fs::read(lab.path(file)).unwrap();
        bytes.windows(text.len()).any(|w| w == text.as_bytes())
    };
    let key = std::fs::read_to_string(lab.path("armarius-data/admin.key")).unwrap();
    let secret = key.trim().rsplit('_').next().unwrap().to_owned();
    assert!(!holds("plain.tar", &secret) && holds("secret.tar", &secret));
    let said = lab.say(&["restore", "plain.tar", "--data", "armarius-data"]);
    assert!(said.err.contains("is not empty"), "{}", said.err);
    drop(server);
    // A byte that changed, a tail that is missing: refused, and nothing is left behind.
    let bytes = std::fs::read(lab.path("plain.tar")).unwrap();
    let mut changed = bytes.clone();
    let at = bytes.windows(4).position(|w| w == b"scan").unwrap();
    changed[at] ^= 1;
    for (name, bad) in [("changed.tar", &changed[..]), ("cut.tar", &bytes[..bytes.len() / 2])] {
        std::fs::write(lab.path(name), bad).unwrap();
        let said = lab.say(&["restore", name, "--data", "c"]);
        assert_eq!(said.code, 65, "{name}: {}", said.err);
        assert!(!lab.path("c").exists());
    }
    // Without keys the first start makes one for this machine; the old ones still open it.
    lab.ok(&["restore", "plain.tar", "--data", "d"]);
    let args = ["serve", "--listen", "127.0.0.1:0", "--data", "d"];
    let again = lab.start(&args, "listening on");
    assert!(lab.ok(&["flow", "list", "--data", "d"]).contains("ocr"));
    let env = [("ARMARIUS_URL", again.url.as_str()), ("ARMARIUS_KEY", key.trim())];
    assert_eq!(lab.say_with(&["status"], &env).code, 0);
}

/// A database of its own with one task that is ready, and a server on it.
fn shared(lab: &Lab) -> (String, Running) {
    let url = Cluster::shared().fresh_url() + "&shards=2";
    lab.write("ocr.yaml", "tasks: [{ name: scan, run: outside, ttl: 600s }]");
    let server = serve_on(lab, &url);
    lab.ok(&["collection", "put", "maps"]);
    lab.ok(&["flow", "apply", "maps", "ocr.yaml"]);
    lab.ok(&["submit", "ocr", "maps/page/1"]);
    (url, server)
}

fn serve_on(lab: &Lab, url: &str) -> Running {
    lab.start(&["serve", "--store", url, "--listen", "127.0.0.1:0"], "listening on")
}

#[test]
fn an_older_dump_that_is_brought_back_is_noticed_and_no_token_is_given_twice() {
    let lab = Lab::new();
    let (url, server) = shared(&lab);
    let schema = url.split("schema=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let dump = Cluster::shared().dump(&schema).unwrap();
    // What happens from here on is lost with the server that knew of it.
    let before = claim(&client(&lab, &server, "armarius-data"));
    drop(server);
    Cluster::shared().bring_back(&schema, &dump).unwrap();
    let server = serve_on(&lab, &url);
    let client = client(&lab, &server, "armarius-data");
    let after = claim(&client);
    assert_eq!(after.tasks[0].task, before.tasks[0].task);
    assert_ne!(after.tasks[0].token, before.tasks[0].token, "{after:?}");
    assert_eq!(report(&client, &before), "recorded-stale");
    assert_eq!(report(&client, &after), "applied");
    let said = lab.json(&["item", "events", "maps/collection/maps"]);
    assert!(said.to_string().contains("epoch.raised"), "{said}");
    drop(server);
    let said = lab.ok(&["doctor", "--store", &url, "--json"]);
    assert!(said.contains("\"findings\":[]"), "{said}");
}

#[test]
fn what_was_lent_is_called_back_on_request() {
    let lab = Lab::new();
    let (url, server) = shared(&lab);
    let before = claim(&client(&lab, &server, "armarius-data"));
    drop(server);
    let said = lab.json(&["store", "recall", &url]);
    assert_eq!(said["recalled"], 1, "{said}");
    let server = serve_on(&lab, &url);
    let client = client(&lab, &server, "armarius-data");
    assert_eq!(report(&client, &before), "recorded-stale");
    let after = claim(&client);
    assert_ne!(after.tasks[0].token, before.tasks[0].token, "{after:?}");
    let none = lab.say(&["store", "recall", "sqlite:none.db"]);
    assert_eq!(none.code, 1, "{}{}", none.out, none.err);
    assert!(!lab.path("none.db").exists(), "nothing is made by asking");
}
