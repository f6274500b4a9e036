//! `armarius bench http`: full lifecycles through the API, as its callers see it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use armarius_wire::client::Client;
use armarius_wire::v1::claim::Request;
use armarius_wire::v1::collection::Put;
use armarius_wire::v1::flow::Applied;
use armarius_wire::v1::report::{Outcome, Report, Reported};
use armarius_wire::v1::round::{Submit, Submitted};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::figures::{Latencies, cpu_seconds_of, grouped, rss_bytes_of};
use crate::own::Server;

/// How long idle workers are watched.
const IDLE_WATCHED: Duration = Duration::from_secs(5);
/// Time between two submissions whose way is measured.
const QUIET: Duration = Duration::from_millis(3);

/// Drives lifecycles over HTTP on this machine and prints what came of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Lifecycles to measure.
    #[arg(long, default_value_t = 100_000)]
    tasks: u64,
    /// Callers at once, each with a connection.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000))]
    callers: u64,
    /// Tasks per submission, claim and report.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    claim: u64,
    /// Idle workers that wait for work; 0 leaves this part out.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(0..=9000))]
    idle: u64,
    /// Submissions whose way to the worker's hands is measured; 0 leaves this part out.
    #[arg(long, default_value_t = 1_000)]
    samples: u64,
    /// The folder whose disk the store is on.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// An empty database instead: postgres://…; what is written stays there.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Print one JSON object instead of lines for people.
    #[arg(long)]
    json: bool,
}

/// What is printed.
#[derive(Default, serde::Serialize)]
struct Figures {
    lifecycles_per_s: u64,
    tasks: u64,
    callers: u64,
    claim: u64,
    submit_p50_us: u32,
    submit_p99_us: u32,
    claim_p50_us: u32,
    claim_p99_us: u32,
    report_p50_us: u32,
    report_p99_us: u32,
    server_cpu_s: f64,
    rest_rss_bytes: u64,
    idle_workers: u64,
    idle_cpu_percent: f64,
    idle_rss_bytes: u64,
    to_worker_p50_us: u32,
    to_worker_p99_us: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    crate::limits::raise_open_files();
    let listen = ["--listen".to_owned(), "127.0.0.1:0".to_owned()];
    let store = args.store.as_deref();
    let server = Server::start_on(store, &args.dir, "serve", &listen)?;
    let client = server.client();
    client.put_done("collections/bench", &Put::default())?;
    let flow = "records: processed\nmax_items: 1000\ntasks: [{name: work, run: outside}]\n";
    client.put_text::<Applied>("flows/bench/ocr", "application/yaml", flow)?;
    let mut figures = Figures {
        tasks: args.tasks,
        callers: args.callers,
        claim: args.claim,
        rest_rss_bytes: rss_bytes_of(server.pid()),
        ..Figures::default()
    };
    drive(args, &server, &mut figures)?;
    if args.samples > 0 {
        to_worker(args.samples, &client, &mut figures)?;
    }
    if args.idle > 0 {
        idle(args.idle, &server, &mut figures)?;
    }
    if args.json {
        println!("{}", serde_json::to_string(&figures)?);
    } else {
        figures.print();
    }
    Ok(())
}

/// How one caller's run went: submit, claim, report.
#[derive(Default)]
struct Run {
    finished: u64,
    latencies: [Latencies; 3],
}

fn drive(args: &Args, server: &Server, figures: &mut Figures) -> anyhow::Result<()> {
    let left = AtomicI64::new(i64::try_from(args.tasks).context("too many tasks")?);
    let made = AtomicU64::new(0);
    let cpu = cpu_seconds_of(server.pid());
    let began = Instant::now();
    let runs = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..args.callers)
            .map(|n| {
                let (client, left, made) = (server.client(), &left, &made);
                scope.spawn(move || caller(&client, n, args.claim, left, made))
            })
            .collect();
        callers.into_iter().map(|caller| caller.join()).collect::<Vec<_>>()
    });
    let seconds = began.elapsed().as_secs_f64();
    let mut total = Run::default();
    for run in runs {
        let Ok(run) = run else { bail!("a caller panicked") };
        let run = run?;
        total.finished += run.finished;
        for (all, own) in total.latencies.iter_mut().zip(run.latencies) {
            all.merge(own);
        }
    }
    figures.lifecycles_per_s = super::engine::per_second(total.finished, seconds);
    figures.server_cpu_s = cpu_seconds_of(server.pid()) - cpu;
    let [submit, claim, report] = &mut total.latencies;
    (figures.submit_p50_us, figures.submit_p99_us) = halves(submit);
    (figures.claim_p50_us, figures.claim_p99_us) = halves(claim);
    (figures.report_p50_us, figures.report_p99_us) = halves(report);
    Ok(())
}

fn halves(latencies: &mut Latencies) -> (u32, u32) {
    (latencies.percentile(50.0), latencies.percentile(99.0))
}

/// What a worker needs of a grant; the rest is passed over.
#[derive(Deserialize)]
struct Granted {
    lease: String,
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    task: i64,
    token: String,
}

fn caller(
    client: &Client,
    n: u64,
    bundle: u64,
    left: &AtomicI64,
    made: &AtomicU64,
) -> anyhow::Result<Run> {
    let claim = Request {
        worker: format!("caller-{n}"),
        max: u32::try_from(bundle)?,
        ..Request::default()
    };
    let mut run = Run::default();
    while left.fetch_sub(i64::try_from(bundle)?, Ordering::Relaxed) > 0 {
        let first = made.fetch_add(bundle, Ordering::Relaxed);
        let began = Instant::now();
        submit(client, first, bundle)?;
        run.latencies[0].note(began.elapsed());
        let began = Instant::now();
        let granted: Option<Granted> = client.claim_as(&claim)?;
        run.latencies[1].note(began.elapsed());
        let Some(granted) = granted else { continue };
        let began = Instant::now();
        run.finished += report(client, &granted)?;
        run.latencies[2].note(began.elapsed());
    }
    Ok(run)
}

fn submit(client: &Client, first: u64, count: u64) -> anyhow::Result<()> {
    // About 200 bytes, as a description of a page with its sources would have.
    let payload = serde_json::json!({
        "source": "file:///scans/in/0001.tif",
        "target": "s3://masters/0001.jp2",
        "sha256": "c0ffee".repeat(10),
        "rights": "public domain",
        "operator": "station 4",
    });
    let payload = RawValue::from_string(payload.to_string())?;
    let round = |i: u64| Submit {
        item: format!("bench/page/vol-{:06}%2Fpage-{:04}", i / 400, i % 400),
        flow: "ocr".to_owned(),
        payload: Some(payload.clone()),
        priority: i32::try_from(i % 10).ok(),
        ..Submit::default()
    };
    let rounds: Vec<Submit> = (first..first + count).map(round).collect();
    let done: Vec<Submitted> = client.post("rounds", &rounds)?;
    match done.into_iter().find_map(|one| one.problem) {
        Some(problem) => Err(crate::exit::refused(problem)),
        None => Ok(()),
    }
}

fn report(client: &Client, granted: &Granted) -> anyhow::Result<u64> {
    let report = |task: &Task| Report {
        lease: granted.lease.clone(),
        task: task.task,
        token: task.token.clone(),
        outcome: Some(Outcome::Success),
        exit_code: None,
        result: None,
        manifest: None,
        last: false,
    };
    let reports: Vec<Report> = granted.tasks.iter().map(report).collect();
    let done: Vec<Reported> = client.report(&reports)?;
    if let Some(bad) = done.iter().find(|one| one.outcome.as_deref() != Some("applied")) {
        bail!("a report was answered with {bad:?}");
    }
    Ok(done.len() as u64)
}

/// How long a submission takes into the hands of a worker that waits for it.
fn to_worker(samples: u64, client: &Client, figures: &mut Figures) -> anyhow::Result<()> {
    let (got_tx, got_rx) = mpsc::channel::<anyhow::Result<Instant>>();
    let worker = client.clone();
    // Ends with the process: it waits for work that does not come.
    std::thread::spawn(move || {
        let claim =
            Request { worker: "waiting".to_owned(), max: 1, wait_s: 30, ..Request::default() };
        loop {
            let one = || -> anyhow::Result<Option<Instant>> {
                let Some(granted) = worker.claim_as::<Granted>(&claim)? else { return Ok(None) };
                let at = Instant::now();
                report(&worker, &granted)?;
                Ok(Some(at))
            };
            let told = match one() {
                Ok(Some(at)) => got_tx.send(Ok(at)),
                Ok(None) => continue,
                Err(error) => got_tx.send(Err(error)),
            };
            if told.is_err() {
                return;
            }
        }
    });
    // What is left from before is not measured.
    while got_rx.recv_timeout(Duration::from_millis(500)).is_ok() {}
    let mut latencies = Latencies::default();
    for n in 0..samples {
        std::thread::sleep(QUIET);
        let began = Instant::now();
        submit(client, 1_000_000_000 + n, 1)?;
        let got = got_rx.recv_timeout(Duration::from_secs(30)).context("nobody got the task")??;
        latencies.note(got.saturating_duration_since(began));
    }
    (figures.to_worker_p50_us, figures.to_worker_p99_us) = halves(&mut latencies);
    Ok(())
}

/// What so many workers cost that wait for work and get none.
fn idle(count: u64, server: &Server, figures: &mut Figures) -> anyhow::Result<()> {
    let place = server.url.strip_prefix("http://").context("the server's address is strange")?;
    let body = r#"{"worker":"idle","max":1,"wait_s":60}"#;
    let request = format!(
        "POST /api/v1/claims HTTP/1.1\r\nhost: {place}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.key,
        body.len()
    );
    let mut sockets = Vec::new();
    for _ in 0..count {
        let mut socket = TcpStream::connect(place).context("no more connections")?;
        socket.write_all(request.as_bytes())?;
        sockets.push(socket);
    }
    // Everybody is let in and seated before the watch begins.
    std::thread::sleep(Duration::from_secs(2));
    let (cpu, began) = (cpu_seconds_of(server.pid()), Instant::now());
    std::thread::sleep(IDLE_WATCHED);
    let used = cpu_seconds_of(server.pid()) - cpu;
    figures.idle_workers = count;
    figures.idle_cpu_percent = 100.0 * used / began.elapsed().as_secs_f64();
    figures.idle_rss_bytes = rss_bytes_of(server.pid());
    for socket in &mut sockets {
        socket.set_nonblocking(true)?;
        let mut byte = [0];
        if let Ok(n) = socket.read(&mut byte) {
            bail!("an idle worker was answered ({n} bytes): it did not wait");
        }
    }
    Ok(())
}

impl Figures {
    fn print(&self) {
        println!(
            "{:>12} lifecycles/s over HTTP   ({} tasks, {} callers × {}; the server used {:.1} s)",
            grouped(self.lifecycles_per_s),
            grouped(self.tasks),
            self.callers,
            self.claim,
            self.server_cpu_s
        );
        for (name, p50, p99) in [
            ("submit", self.submit_p50_us, self.submit_p99_us),
            ("claim", self.claim_p50_us, self.claim_p99_us),
            ("report", self.report_p50_us, self.report_p99_us),
        ] {
            println!("{name:>12} p50 {p50} µs, p99 {p99} µs per call");
        }
        println!("{:>12} bytes resident at rest", grouped(self.rest_rss_bytes));
        if self.to_worker_p50_us > 0 {
            let (p50, p99) = (self.to_worker_p50_us, self.to_worker_p99_us);
            println!(
                "{:>12} p50 {p50} µs, p99 {p99} µs from submit into the worker's hands",
                "idle"
            );
        }
        if self.idle_workers > 0 {
            println!(
                "{:>12} {:.2} % of a core and {} bytes resident with {} workers waiting",
                "idle",
                self.idle_cpu_percent,
                grouped(self.idle_rss_bytes),
                self.idle_workers
            );
        }
    }
}
