//! Several servers on one PostgreSQL.

use armarius_store::conformance::cluster::Cluster;
use rustix::process::Signal;

use crate::lab::{Lab, read_soon};

const FLOW: &str = "tasks: [{ name: s, command: [sh, -c, 'echo $ARMARIUS_ITEM_KEY > $0', OUT] }]";

/// An address with a password that must not be seen anywhere.
fn url() -> String {
    let url = Cluster::shared().fresh_url().replace("postgres@", "postgres:s3cret@");
    assert!(url.contains("s3cret"), "{url}");
    format!("{url}&shards=4")
}

#[test]
fn two_servers_share_a_database_and_one_goes_on_without_the_other() {
    let (lab, url) = (Lab::new(), url());
    let serve = |data: &str| {
        let args = ["serve", "--store", &url, "--data", data, "--listen", "127.0.0.1:0"];
        lab.start(&args, "listening on")
    };
    let mut one = serve("one");
    let two = serve("two");
    let at = |server: &str, args: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["--url", server]);
        let key = std::fs::read_to_string(lab.path("one/admin.key")).unwrap();
        let said = lab.say_with(&all, &[("ARMARIUS_KEY", key.trim())]);
        assert_eq!(said.code, 0, "{args:?}: {}{}", said.out, said.err);
        said.out
    };
    let marks = lab.folder("marks");
    // Made through one, known to the other, in whichever shards the names fall.
    for (n, collection) in ["maps", "books", "letters"].into_iter().enumerate() {
        let out = marks.join(collection);
        lab.write("f.yaml", &FLOW.replace("OUT", &out.display().to_string()));
        let (here, there) = if n % 2 == 0 { (&one.url, &two.url) } else { (&two.url, &one.url) };
        at(here, &["collection", "put", collection]);
        at(there, &["flow", "apply", collection, "f.yaml"]);
    }
    let key = std::fs::read_to_string(lab.path("two/admin.key")).unwrap();
    let work = ["work", "--url", &two.url, "--slots", "1"];
    let _worker = lab.start_with(&work, "worker", &[("ARMARIUS_KEY", key.trim())]);
    // The worker waits at one server; what comes through the other wakes it.
    at(&one.url, &["submit", "f", "maps/page/1"]);
    assert_eq!(read_soon(&marks.join("maps")).trim(), "1");
    one.signal(Signal::KILL);
    one.end();
    at(&two.url, &["submit", "f", "books/page/2", "letters/page/3"]);
    assert_eq!(read_soon(&marks.join("books")).trim(), "2");
    assert_eq!(read_soon(&marks.join("letters")).trim(), "3");
    let status = at(&two.url, &["status"]);
    assert!(status.contains("postgres") && !status.contains("s3cret"), "{status}");
    let said = lab.say(&["doctor", "--store", &url, "--json"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(said.out.contains("\"findings\":[]"), "{}", said.out);
    assert!(
        !said.out.contains("s3cret") && !said.err.contains("s3cret"),
        "{}{}",
        said.out,
        said.err
    );
}

#[test]
fn what_cannot_be_reached_is_said_without_its_secret() {
    let lab = Lab::new();
    for (store, code) in [
        ("postgres://armarius:s3cret@127.0.0.1:1/nothing", 1),
        ("mysql://armarius:s3cret@127.0.0.1/nothing", 1),
    ] {
        let said = lab.say(&["serve", "--store", store, "--listen", "127.0.0.1:0"]);
        assert_eq!(said.code, code, "{}", said.err);
        assert!(said.err.contains("hint: "), "{}", said.err);
        assert!(!said.err.contains("s3cret"), "{}", said.err);
    }
    let env = [("ARMARIUS_STORE", "postgres://u:s3cret@h/d")];
    for args in [&["serve", "--help"][..], &["doctor", "--help"], &["config", "show"]] {
        let said = lab.say_with(args, &env);
        assert!(!said.out.contains("s3cret") && !said.err.contains("s3cret"), "{}", said.out);
    }
}

#[test]
fn an_archive_moves_from_a_file_into_a_database_and_goes_on_there() {
    let (lab, url) = (Lab::new(), url());
    let out = lab.folder("marks").join("maps");
    let mut up = lab.up();
    lab.with_flow("f.yaml", &FLOW.replace("OUT", &out.display().to_string()));
    lab.ok(&["submit", "f", "maps/page/1"]);
    assert_eq!(read_soon(&out).trim(), "1");
    lab.wait("f.s@maps/page/1", &["done"]);
    let copy = ["store", "copy", "sqlite:armarius-data/armarius.db", &url, "--json"];
    let busy = lab.say(&copy);
    assert_eq!(busy.code, 69, "a server has it open: {}{}", busy.out, busy.err);
    up.signal(Signal::TERM);
    assert_eq!(up.end(), Some(0));
    let said = lab.ok(&copy);
    assert!(said.contains("\"tasks\":1") && !said.contains("s3cret"), "{said}");
    let again = lab.say(&copy);
    assert_eq!(again.code, 69, "the target is not empty: {}{}", again.out, again.err);
    assert!(!again.err.contains("s3cret"), "{}", again.err);
    // The history is there, keys are, and work goes on.
    std::fs::remove_file(&out).unwrap();
    let args = ["up", "--store", &url, "--listen", "127.0.0.1:0"];
    let _up = lab.start(&args, "listening on");
    assert_eq!(lab.json(&["task", "show", "f.s@maps/page/1"])["state"], "done");
    lab.ok(&["submit", "f", "maps/page/2"]);
    assert_eq!(read_soon(&out).trim(), "2");
}
