//! The answer to a commit is lost on the way, through HTTP: the caller is told that the outcome is
//! not known, asks again with the same id, and gets the first outcome.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use armarius_store::conformance::cluster::Cluster;
use serde_json::{Value, json};

use crate::lab::Lab;

/// What a caller waits for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Bytes of a transaction that are remembered.
const SEEN_BYTES_MAX: usize = 1 << 20;
/// What ends a transaction, as it is sent.
const END: &[u8] = b"commit\0";

/// Stands between a server and its database, and can lose the end of one transaction.
struct Ferry {
    folder: PathBuf,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    plan: Mutex<Option<Plan>>,
    /// Nobody gets across.
    closed: AtomicBool,
    running: Mutex<Vec<UnixStream>>,
}

/// Which transaction is lost, and how.
#[derive(Clone)]
struct Plan {
    /// What it writes.
    mark: String,
    /// Whether the database gets its end; nobody hears the answer either way.
    arrives: bool,
}

impl Ferry {
    fn start(folder: PathBuf, server: &Path) -> Self {
        std::fs::create_dir(&folder).unwrap();
        let name = ".s.PGSQL.5432";
        let listener = UnixListener::bind(folder.join(name)).unwrap();
        let (state, server) = (Arc::new(State::default()), server.join(name));
        let kept = Arc::clone(&state);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if kept.closed.load(Ordering::SeqCst) {
                    continue;
                }
                if let Ok(far) = UnixStream::connect(&server) {
                    drop(carry(near, far, &kept));
                }
            }
        });
        Self { folder, state }
    }

    /// The next transaction that writes this is lost, and everything is cut with it.
    fn lose(&self, mark: &str, arrives: bool) {
        *self.state.plan.lock().unwrap() = Some(Plan { mark: mark.to_owned(), arrives });
    }

    fn heal(&self) {
        assert!(self.state.plan.lock().unwrap().is_none(), "nothing was lost");
        self.state.closed.store(false, Ordering::SeqCst);
    }
}

impl State {
    fn cut(&self) {
        self.closed.store(true, Ordering::SeqCst);
        *self.plan.lock().unwrap() = None;
        for stream in self.running.lock().unwrap().drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

fn carry(near: UnixStream, far: UnixStream, state: &Arc<State>) -> io::Result<()> {
    state.running.lock().unwrap().extend([near.try_clone()?, far.try_clone()?]);
    let mute = Arc::new(AtomicBool::new(false));
    let (mut from, mut to) = (far.try_clone()?, near.try_clone()?);
    let (muted, all) = (Arc::clone(&mute), Arc::clone(state));
    std::thread::spawn(move || {
        let mut chunk = [0; 1 << 16];
        while let Ok(n @ 1..) = from.read(&mut chunk) {
            // The database has done it; that is the moment.
            if muted.load(Ordering::SeqCst) {
                all.cut();
                break;
            }
            if to.write_all(&chunk[..n]).is_err() {
                break;
            }
        }
        drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
    });
    let (mut from, mut to, all) = (near, far, Arc::clone(state));
    std::thread::spawn(move || {
        let (mut chunk, mut seen) = ([0; 1 << 16], Vec::new());
        while let Ok(n @ 1..) = from.read(&mut chunk) {
            seen.extend_from_slice(&chunk[..n]);
            let plan = all.plan.lock().unwrap().clone();
            if holds(&seen, END) || seen.len() > SEEN_BYTES_MAX {
                let lost = plan.filter(|plan| holds(&seen, plan.mark.as_bytes()));
                match lost.map(|plan| plan.arrives) {
                    Some(true) => mute.store(true, Ordering::SeqCst),
                    Some(false) => {
                        all.cut();
                        break;
                    }
                    None => {}
                }
                seen.clear();
            }
            if to.write_all(&chunk[..n]).is_err() {
                break;
            }
        }
        drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
    });
    Ok(())
}

fn holds(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

/// A server whose way to the database can lose things, and somebody who talks to it.
struct Scene {
    lab: Lab,
    ferry: Ferry,
    base: String,
    key: String,
    agent: ureq::Agent,
    _server: crate::lab::Running,
}

impl Scene {
    fn open() -> Self {
        let (lab, cluster) = (Lab::new(), Cluster::shared());
        let ferry = Ferry::start(lab.path("ferry"), cluster.folder());
        let direct = cluster.fresh_url() + "&shards=1";
        let there = ferry.folder.display().to_string();
        let url = direct.replace(&cluster.folder().display().to_string(), &there);
        let url = url.replace("connect_timeout=60", "connect_timeout=2");
        let args = ["serve", "--store", &url, "--listen", "127.0.0.1:0"];
        let server = lab.start(&args, "listening on");
        lab.with_flow("ocr.yaml", "tasks: [{ name: scan, run: outside }]");
        let key = std::fs::read_to_string(lab.path("armarius-data/admin.key")).unwrap();
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(ANSWER_MAX))
            .proxy(None);
        let base = format!("{}/api/v1", server.url.trim_end_matches('/'));
        let agent = config.build().into();
        Self { lab, ferry, base, key: key.trim().to_owned(), agent, _server: server }
    }

    /// Status, type and body of an answer.
    fn post(&self, path: &str, body: &Value) -> (u16, String, Value) {
        let request = self.agent.post(format!("{}/{path}", self.base));
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let request = request.header("content-type", "application/json");
        let mut answer = request.send(body.to_string()).unwrap();
        let kind = answer.headers().get("content-type").map(|k| k.to_str().unwrap().to_owned());
        let text = answer.body_mut().read_to_string().unwrap();
        let body = serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"));
        (answer.status().as_u16(), kind.unwrap_or_default(), body)
    }

    /// Asks until the server has found its database again.
    fn insist(&self, path: &str, body: &Value) -> Value {
        let until = Instant::now() + ANSWER_MAX;
        loop {
            let (status, _, answer) = self.post(path, body);
            let is_away = status == 503 || answer[0]["problem"]["status"] == 503;
            if !is_away {
                assert!(status < 300, "{status}: {answer}");
                return answer;
            }
            assert!(Instant::now() < until, "it never came back: {answer}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The database made the commit, and its answer never came.
#[test]
fn a_batch_whose_commit_was_made_unheard_is_opened_once() {
    let scene = Scene::open();
    let open = json!({ "collection": "maps", "key": "lost-batch", "id": "batch-1" });
    scene.ferry.lose("lost-batch", true);
    let (status, kind, problem) = scene.post("batches", &open);
    assert_eq!((status, kind.as_str()), (503, "application/problem+json"), "{problem}");
    assert_eq!(problem["code"], "outcome-unknown", "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("same id"), "{problem}");
    scene.ferry.heal();
    let first = scene.insist("batches", &open);
    assert_eq!(scene.insist("batches", &open), first, "each repeat gets the first outcome");
    let batches = scene.lab.json(&["batch", "list"]);
    assert_eq!(batches["entries"].as_array().map(Vec::len), Some(1), "{batches}");
}

/// The end of the transaction never reached the database.
#[test]
fn a_submission_whose_commit_never_arrived_is_made_once_when_it_is_repeated() {
    let scene = Scene::open();
    let round = json!([{ "item": "maps/page/lost-page", "flow": "ocr", "id": "round-1" }]);
    scene.ferry.lose("lost-page", false);
    let (status, _, answer) = scene.post("rounds", &round);
    assert_eq!(status, 200, "each entry is answered for itself: {answer}");
    assert_eq!(answer[0]["problem"]["code"], "outcome-unknown", "{answer}");
    assert_eq!(answer[0]["problem"]["status"], 503, "{answer}");
    scene.ferry.heal();
    let first = scene.insist("rounds", &round)[0].clone();
    let again = scene.insist("rounds", &round)[0].clone();
    assert_eq!(again["repeated"], true, "{again}");
    assert_eq!((&again["round"], &again["task"]), (&first["round"], &first["task"]));
    let tasks = scene.lab.json(&["task", "list"]);
    assert_eq!(tasks["entries"].as_array().map(Vec::len), Some(1), "{tasks}");
    let said = scene.lab.json(&["item", "events", "maps/page/lost-page"]);
    let made = said["entries"].as_array().unwrap().iter().filter(|e| e["name"] == "item.made");
    assert!(made.count() <= 1, "{said}");
}
