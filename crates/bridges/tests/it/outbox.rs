//! Letters arrive, in order per destination, however the other side behaves.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use armarius_bridges::outbox::{Options, Postman};
use armarius_core::Command;
use armarius_core::text::{Name, Text};
use armarius_core::view::{Need, View};
use armarius_engine::{Engine, Handle};
use armarius_store::Memory;

use crate::hook::{Hook, Next, PATIENCE};

fn engine() -> Engine {
    Engine::start(Box::new(Memory::new()), armarius_engine::Options::default()).unwrap()
}

fn quick() -> Options {
    Options {
        allow: vec!["127.0.0.1".to_owned()],
        timeout: Duration::from_secs(3),
        pause_min: Duration::from_millis(10),
        pause_max: Duration::from_millis(50),
        ..Options::default()
    }
}

fn post(handle: &Handle, to: &str, body: &str) {
    let command = Command::Post { to: to.into(), body: body.into() };
    handle.call(Name::trusted("test"), None, command).unwrap();
}

/// Waits until no letter is left.
fn wait_empty(handle: &Handle) {
    let until = Instant::now() + PATIENCE;
    while !due(handle).is_empty() {
        assert!(Instant::now() < until, "letters are left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn due(handle: &Handle) -> Vec<Text> {
    let asked = handle.question(|reader| {
        let mut view = View::new(0);
        reader.look(&[Need::DueLetters((), None, 10)], &mut view, false)?;
        Ok(view.due_letters.first(&(), 10).unwrap().map(|((_, to), ())| to.clone()).collect())
    });
    asked.unwrap()
}

#[test]
fn letters_arrive_in_order_through_failure_silence_and_recovery() {
    let plan = [
        Next::Answer(500),
        Next::Answer(204),
        Next::HangUp,
        Next::Silence,
        Next::Answer(429),
        Next::Redirect,
        Next::Answer(404),
    ];
    let hook = Hook::start(&plan);
    let engine = engine();
    let handle = engine.handle();
    let postman = Postman::start(handle.clone(), quick()).unwrap();
    for n in 1..=5 {
        post(&handle, &format!("{}/a", hook.url), &format!("{{\"n\":{n}}}"));
    }
    wait_empty(&handle);
    let got = hook.wait(11);
    // A machine that is too slow for the timeout may add a try, but never changes the order.
    let mut numbers: Vec<&str> = got.iter().map(|(_, number, _)| number.as_str()).collect();
    let tries = |n: &str| numbers.iter().filter(|number| **number == n).count();
    assert!(tries("1") >= 2 && tries("2") >= 6, "{numbers:?}");
    numbers.dedup();
    assert_eq!(numbers, ["1", "2", "3", "4", "5"]);
    assert!(got.iter().all(|(path, n, body)| path == "/a" && *body == format!("{{\"n\":{n}}}")));
    postman.stop();
}

#[test]
fn a_destination_that_stalls_delays_no_other() {
    let (stalls, works) = (Hook::start(&[Next::Silence; 100]), Hook::start(&[]));
    let engine = engine();
    let handle = engine.handle();
    for n in 1..=20 {
        post(&handle, &format!("{}/s", stalls.url), "{}");
        post(&handle, &format!("{}/w", works.url), &n.to_string());
    }
    let postman = Postman::start(handle, quick()).unwrap();
    let got = works.wait(20);
    let bodies: Vec<String> = got.into_iter().map(|(_, _, body)| body).collect();
    assert_eq!(bodies, (1..=20).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(stalls.wait(1).iter().all(|(_, number, _)| number == "1"));
    postman.stop();
}

/// What was logged, for the test below alone.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[test]
fn private_addresses_and_strange_destinations_are_refused_and_kept() {
    let hook = Hook::start(&[]);
    let engine = engine();
    let handle = engine.handle();
    let port = hook.url.rsplit(':').next().unwrap().to_owned();
    let destinations = [
        format!("{}/x?key=secret", hook.url),
        format!("http://localhost:{port}/x"),
        format!("http://[::ffff:127.0.0.1]:{port}/x"),
        "gopher://example.org/".to_owned(),
        "file:letters".to_owned(),
        "nowhere".to_owned(),
    ];
    for to in &destinations {
        post(&handle, to, "{}");
    }
    let log = |line: &str| LOGGED.lock().unwrap().push(line.to_owned());
    let options = Options { allow: Vec::new(), log, ..quick() };
    let postman = Postman::start(handle.clone(), options).unwrap();
    let until = Instant::now() + PATIENCE;
    let tried = |lines: &[String], to: &str| lines.iter().filter(|l| l.contains(to)).count() >= 2;
    let all = ["127.0.0.1:", "localhost", "::ffff", "gopher", "file:letters", "nowhere"];
    while !all.iter().all(|to| tried(&LOGGED.lock().unwrap(), to)) {
        assert!(Instant::now() < until, "{:?}", LOGGED.lock().unwrap());
        std::thread::sleep(Duration::from_millis(5));
    }
    postman.stop();
    assert_eq!(due(&handle).len(), destinations.len());
    assert_eq!(hook.wait(0), []);
    let log = LOGGED.lock().unwrap().join("\n");
    assert!(log.contains("private network; add it to outbox.allow"), "{log}");
    assert!(!log.contains("secret"), "{log}");
}

#[test]
fn letters_to_files_are_appended_in_their_folder_alone() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine();
    let handle = engine.handle();
    for n in 1..=3 {
        post(&handle, "file:told.jsonl", &format!("{{\"n\":{n}}}"));
    }
    post(&handle, "file:../escape", "{}");
    let options = Options { folder: Some(folder.path().join("letters")), ..quick() };
    std::fs::create_dir(folder.path().join("letters")).unwrap();
    let postman = Postman::start(handle.clone(), options).unwrap();
    let until = Instant::now() + PATIENCE;
    while due(&handle).len() > 1 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
    postman.stop();
    let text = std::fs::read_to_string(folder.path().join("letters/told.jsonl")).unwrap();
    let wanted: String =
        (1..=3).map(|n| format!("{{\"body\":{{\"n\":{n}}},\"n\":{n}}}\n")).collect();
    assert_eq!(text, wanted);
    assert!(!folder.path().join("escape").exists());
}
