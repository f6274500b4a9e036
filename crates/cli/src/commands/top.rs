//! `armarius top`: what happens now, in the terminal.

mod frame;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use armarius_wire::client::Client;
use armarius_wire::v1::Page;
use armarius_wire::v1::flow::Flow;
use armarius_wire::v1::lease::Lease;
use armarius_wire::v1::status::Stats;
use armarius_wire::v1::task::Task;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::{cursor, execute, queue, terminal};
use serde::Serialize;

use crate::connect::Connection;
use crate::paper;

/// A live view: queues, what runs, what failed, throughput. `q` ends it, the space bar stops and
/// resumes it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds between looks
    #[arg(long, default_value_t = 1, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
    /// Show one picture and end, as it does where there is no terminal
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    connection: Connection,
}

/// What is shown.
#[derive(Debug, Serialize)]
struct Picture {
    url: String,
    stats: Stats,
    flows: Vec<Flow>,
    running: Vec<Task>,
    failed: Vec<Task>,
    leases: Vec<Lease>,
    /// Tasks done per second since the picture before.
    done_per_s: f64,
    commits_per_s: f64,
    #[serde(skip)]
    at: Option<Instant>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { interval, once, connection } = args;
    let client = connection.client()?;
    let first = look(&client, None)?;
    if connection.json {
        paper::line(&serde_json::to_string_pretty(&first)?)?;
    } else if once || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let lines = frame::lines(&first, paper::Ink::of_stdout(), paper::columns(), usize::MAX);
        paper::line(&lines.join("\n"))?;
    } else {
        let screen = Screen::open()?;
        let ended = live(&client, first, Duration::from_secs(interval));
        drop(screen);
        ended?;
    }
    Ok(ExitCode::SUCCESS)
}

fn look(client: &Client, before: Option<&Picture>) -> anyhow::Result<Picture> {
    let flows: Page<Flow> = client.get("flows", &[])?;
    let running: Page<Task> = client.get("tasks", &[("state", "leased"), ("max", "50")])?;
    let failed: Page<Task> = client.get("tasks", &[("state", "failed"), ("max", "20")])?;
    let leases: Page<Lease> = client.get("leases", &[("max", "200")])?;
    let stats: Stats = client.get("stats", &[])?;
    let at = Instant::now();
    let mut picture = Picture {
        url: client.url().to_owned(),
        stats,
        flows: flows.entries,
        running: running.entries,
        failed: failed.entries,
        leases: leases.entries,
        done_per_s: 0.0,
        commits_per_s: 0.0,
        at: Some(at),
    };
    if let Some((before, then)) = before.and_then(|before| Some((before, before.at?))) {
        let seconds = (at - then).as_secs_f64().max(1e-3);
        let grown = |now: i64, then: i64| (now - then).max(0);
        let per_s = |n: i64| f64::from(i32::try_from(n).unwrap_or(i32::MAX)) / seconds;
        picture.done_per_s = per_s(grown(picture.stats.tasks.done, before.stats.tasks.done));
        let commits = picture.stats.commits.saturating_sub(before.stats.commits);
        picture.commits_per_s = per_s(i64::try_from(commits).unwrap_or(0));
    }
    Ok(picture)
}

/// The terminal as it was comes back when this is dropped.
struct Screen;

impl Screen {
    fn open() -> anyhow::Result<Self> {
        terminal::enable_raw_mode().context("the terminal cannot be used")?;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(Self)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        execute!(io::stdout(), cursor::Show, terminal::LeaveAlternateScreen).ok();
        terminal::disable_raw_mode().ok();
    }
}

fn live(client: &Client, first: Picture, every: Duration) -> anyhow::Result<()> {
    let (mut picture, mut paused) = (first, false);
    loop {
        draw(&picture, paused)?;
        let until = Instant::now() + every;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if !event::poll(left)? {
                break;
            }
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                        return Ok(());
                    }
                    KeyCode::Char(' ') => paused = !paused,
                    _ => {}
                },
                _ => {}
            }
            draw(&picture, paused)?;
        }
        if !paused {
            picture = look(client, Some(&picture))?;
        }
    }
}

fn draw(picture: &Picture, paused: bool) -> anyhow::Result<()> {
    let (columns, rows) = terminal::size()?;
    let rows = usize::from(rows).saturating_sub(1);
    let ink = paper::Ink::of_stdout();
    let mut out = io::stdout().lock();
    queue!(out, cursor::MoveTo(0, 0))?;
    for line in frame::lines(picture, ink, usize::from(columns), rows) {
        write!(out, "{line}\u{1b}[K\r\n")?;
    }
    let keys = if paused { "stopped; space goes on, q ends" } else { "space stops, q ends" };
    write!(out, "\u{1b}[J{}", ink.soft(keys))?;
    Ok(out.flush()?)
}
