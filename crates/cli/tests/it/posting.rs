//! Letters leave a real server, which may die between a delivery and its record.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::Signal;

use crate::lab::Lab;

/// A letter that came, and the way to let its sender have an answer.
type Came = (i64, mpsc::Sender<bool>);

/// A server that hands every letter to the test before it answers; `false` hangs up.
fn hook() -> (String, mpsc::Receiver<Came>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/told", listener.local_addr().unwrap());
    let (tx, rx) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let tx = tx.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut out = stream;
                loop {
                    let (mut length, mut number, mut any) = (0, 0, false);
                    loop {
                        let mut line = String::new();
                        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                            break;
                        }
                        any = true;
                        let (name, value) = line.split_once(':').unwrap_or_default();
                        match name.to_ascii_lowercase().as_str() {
                            "content-length" => length = value.trim().parse().unwrap(),
                            "idempotency-key" => number = value.trim().parse().unwrap(),
                            _ => {}
                        }
                    }
                    let mut body = vec![0; length];
                    if !any || reader.read_exact(&mut body).is_err() {
                        return;
                    }
                    let (answer_tx, answer_rx) = mpsc::channel();
                    tx.send((number, answer_tx)).unwrap();
                    if !answer_rx.recv().unwrap_or(false) {
                        return;
                    }
                    drop(out.write_all(b"HTTP/1.1 204 No Content\r\n\r\n"));
                }
            });
        }
    });
    (url, rx)
}

#[test]
fn a_letter_whose_record_was_lost_comes_again_with_its_number_and_in_order() {
    let lab = Lab::new();
    let (url, came) = hook();
    let args = ["serve", "--listen", "127.0.0.1:0", "--outbox-allow", "127.0.0.1"];
    let mut server = lab.start(&args, "listening on");
    lab.ok(&["collection", "put", "maps", "--notify", &url]);
    for key in ["a", "b", "c"] {
        let batch = lab.ok(&["batch", "open", "maps", "--key", key]);
        lab.ok(&["batch", "seal", batch.trim()]);
    }
    let next = || came.recv_timeout(Duration::from_secs(60)).unwrap();
    let (number, answer) = next();
    assert_eq!(number, 1);
    answer.send(true).unwrap();
    // The second has arrived; the server dies before it hears so.
    let (number, answer) = next();
    assert_eq!(number, 2);
    server.signal(Signal::KILL);
    server.end();
    // Nobody may be there to hear it any more.
    answer.send(true).ok();
    let _again = lab.start(&args, "listening on");
    for wanted in [2, 3] {
        let (number, answer) = next();
        assert_eq!(number, wanted);
        answer.send(true).unwrap();
    }
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while !lab.json(&["outbox", "list"])["entries"].as_array().unwrap().is_empty() {
        assert!(std::time::Instant::now() < until, "letters are left");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(came.try_recv().is_err(), "a letter came once too often");
}

#[test]
fn a_letter_to_a_private_address_waits_and_says_so() {
    let lab = Lab::new();
    let (url, came) = hook();
    let _server = lab.start(&["serve", "--listen", "127.0.0.1:0"], "listening on");
    lab.ok(&["collection", "put", "maps", "--notify", &url]);
    let batch = lab.ok(&["batch", "open", "maps"]);
    lab.ok(&["batch", "seal", batch.trim()]);
    let until = std::time::Instant::now() + Duration::from_secs(60);
    loop {
        let list = lab.json(&["outbox", "list"]);
        if list["entries"][0]["tries"].as_i64() > Some(0) {
            assert_eq!(list["entries"][0]["waiting"], 1);
            break;
        }
        assert!(std::time::Instant::now() < until, "{list}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(came.try_recv().is_err());
}
