//! A real, small HTTP server that answers as it is told and writes down what it got.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything here may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What the next request gets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// An answer with this status.
    Answer(u16),
    /// Nothing, until the other side gives up.
    Silence,
    /// The connection breaks after the request was read.
    HangUp,
    /// An answer that leads elsewhere.
    Redirect,
}

/// What came: path, number, body.
pub(crate) type Got = (String, String, String);

#[derive(Clone)]
pub(crate) struct Hook {
    pub(crate) url: String,
    plan: Arc<Mutex<VecDeque<Next>>>,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Hook {
    /// Answers as planned, and 204 when the plan is over.
    pub(crate) fn start(plan: &[Next]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let hook = Self {
            url,
            plan: Arc::new(Mutex::new(plan.iter().copied().collect())),
            got: Arc::default(),
        };
        let own = hook.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = own.clone();
                thread::spawn(move || own.serve(stream));
            }
        });
        hook
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut out = stream;
        while let Some(got) = read(&mut reader) {
            self.got.lock().unwrap().push(got);
            let next = self.plan.lock().unwrap().pop_front().unwrap_or(Next::Answer(204));
            let answer = match next {
                Next::Answer(status) => format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n"),
                Next::Redirect => format!(
                    "HTTP/1.1 302 x\r\nlocation: {}/elsewhere\r\ncontent-length: 0\r\n\r\n",
                    self.url
                ),
                Next::Silence => {
                    thread::sleep(PATIENCE);
                    return;
                }
                Next::HangUp => return,
            };
            if out.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Waits until so many requests came.
    pub(crate) fn wait(&self, count: usize) -> Vec<Got> {
        let until = Instant::now() + PATIENCE;
        loop {
            let got = self.got.lock().unwrap().clone();
            if got.len() >= count {
                return got;
            }
            assert!(Instant::now() < until, "only {got:?} came");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Got> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut number) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "idempotency-key" => value.trim().clone_into(&mut number),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, number, String::from_utf8(body).unwrap()))
}
