//! Figures for Prometheus, in its text form.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use armarius_core::task::State as Stands;
use armarius_engine::{COMMIT_BOUNDS_US, Stage};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse as _;

use crate::app::App;
use crate::keys::Caller;
use crate::problem::Answer;

/// Upper bounds of the buckets of answer times, in microseconds.
const BOUNDS_US: [u64; 8] = [500, 1_000, 5_000, 10_000, 50_000, 250_000, 1_000_000, 10_000_000];
/// Queues that get lines of their own; what is beyond is in the sums.
const QUEUES_MAX: usize = 2_000;

/// What went over the sockets since the start.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Answers by the first digit of their status.
    answers: [AtomicU64; 6],
    times: [AtomicU64; BOUNDS_US.len() + 1],
    time_us: AtomicU64,
    /// Requests being answered.
    pub(crate) open: AtomicUsize,
    /// Connections there are.
    pub(crate) connections: AtomicUsize,
    /// Requests refused because somebody asked too often.
    pub(crate) slowed: AtomicU64,
}

impl Traffic {
    /// Notes an answer.
    pub(crate) fn answered(&self, status: u16, took: Duration) {
        if let Some(count) = self.answers.get(usize::from(status / 100)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let above = BOUNDS_US.iter().take_while(|bound| **bound < us).count();
        if let Some(count) = self.times.get(above) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.time_us.fetch_add(us, Ordering::Relaxed);
    }
}

/// `GET /metrics`
pub(crate) async fn metrics(State(app): State<App>, caller: Caller) -> Answer {
    let queues = app
        .look(move |look| {
            let mut queues = Vec::new();
            for (_, queue) in look.view.queues.iter() {
                let flow = look.view.flows.get(&queue.flow).ok().flatten();
                let home = look.view.collections.get(&queue.collection).ok().flatten();
                let (Some(flow), Some(home)) = (flow, home) else { continue };
                if caller.may(&home.name) {
                    let names = [&home.name, &flow.name, &queue.step].map(|name| label(name));
                    queues.push((names, queue.counts));
                }
            }
            Ok(queues)
        })
        .await?;
    let mut page = Page::default();
    tasks(&mut page, &queues);
    engine(&mut page, &app);
    http(&mut page, &app);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], page.0).into_response())
}

type Queue = ([String; 3], [i64; 7]);

fn tasks(page: &mut Page, queues: &[Queue]) {
    page.about("armarius_tasks", "gauge", "Tasks by state, in all queues.");
    for (place, state) in Stands::ALL.into_iter().enumerate() {
        let sum: i64 = queues.iter().filter_map(|(_, counts)| counts.get(place)).sum();
        page.line("armarius_tasks", &format!("state=\"{}\"", state.as_str()), sum);
    }
    page.about("armarius_queue_tasks", "gauge", "Tasks of one step by state, where there are any.");
    for ([collection, flow, step], counts) in queues.iter().take(QUEUES_MAX) {
        for (state, n) in Stands::ALL.into_iter().zip(counts).filter(|(_, n)| **n != 0) {
            let state = state.as_str();
            let labels = format!(
                "collection=\"{collection}\",flow=\"{flow}\",step=\"{step}\",state=\"{state}\""
            );
            page.line("armarius_queue_tasks", &labels, n);
        }
    }
}

fn engine(page: &mut Page, app: &App) {
    let stats = app.handle().stats();
    let up = u8::from(app.handle().stage() == Stage::Running);
    page.one("armarius_up", "gauge", "Whether commands are taken.", up);
    page.one("armarius_uptime_seconds", "gauge", "Since the start.", app.uptime().as_secs());
    page.one("armarius_commits_total", "counter", "Commits made durable.", stats.commits);
    page.one("armarius_commands_total", "counter", "Commands answered.", stats.commands);
    page.one("armarius_commands_refused_total", "counter", "Commands refused.", stats.refused);
    page.one(
        "armarius_commands_failed_total",
        "counter",
        "Commands that failed for another reason.",
        stats.failed,
    );
    page.one("armarius_duties_total", "counter", "Duties and pieces of errands.", stats.duties);
    page.one("armarius_rows_total", "counter", "Rows written.", stats.rows);
    page.about("armarius_commands_waiting", "gauge", "Commands waiting for the lane, by line.");
    for (line, n) in &stats.waiting {
        page.line("armarius_commands_waiting", &format!("line=\"{}\"", line.as_str()), n);
    }
    page.one("armarius_claims_parked", "gauge", "Claims that wait for work.", stats.parked);
    let bounds = COMMIT_BOUNDS_US.map(seconds);
    let name = "armarius_commit_seconds";
    page.about(name, "histogram", "How long commits take.");
    page.histogram(name, &bounds, &stats.commit_times, stats.commit_sum.as_secs_f64());
}

fn http(page: &mut Page, app: &App) {
    let traffic = app.traffic();
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    page.about("armarius_http_answers_total", "counter", "Answers by class of status.");
    for (class, count) in traffic.answers.iter().enumerate().skip(1) {
        page.line("armarius_http_answers_total", &format!("class=\"{class}xx\""), read(count));
    }
    let name = "armarius_http_seconds";
    page.about(name, "histogram", "How long answers take, waiting claims included.");
    let times = traffic.times.each_ref().map(read);
    let sum = Duration::from_micros(read(&traffic.time_us)).as_secs_f64();
    page.histogram(name, &BOUNDS_US.map(seconds), &times, sum);
    let now = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    page.one("armarius_http_open", "gauge", "Requests being answered.", now(&traffic.open));
    page.one("armarius_connections", "gauge", "Connections.", now(&traffic.connections));
    let slowed = read(&traffic.slowed);
    page.one("armarius_http_slowed_total", "counter", "Requests refused as too many.", slowed);
    page.one("armarius_feed_followers", "gauge", "Feeds.", app.pulse().followers());
    page.one(
        "armarius_sessions",
        "gauge",
        "Sessions used here and not over.",
        app.sessions().count(),
    );
}

/// A page in the making.
#[derive(Default)]
struct Page(String);

impl Page {
    fn about(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name}{{{labels}}} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.about(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    /// Buckets count everything up to their bound.
    fn histogram(&mut self, name: &str, bounds: &[f64], counts: &[u64], sum: f64) {
        let mut so_far = 0;
        for (bound, count) in bounds.iter().zip(counts) {
            so_far += count;
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{bound}\"}} {so_far}");
        }
        let all: u64 = counts.iter().sum();
        let _ = writeln!(self.0, "{name}_bucket{{le=\"+Inf\"}} {all}");
        let _ = write!(self.0, "{name}_sum {sum}\n{name}_count {all}\n");
    }
}

fn seconds(us: u64) -> f64 {
    Duration::from_micros(us).as_secs_f64()
}

/// A label's value as Prometheus wants it.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
