//! A server of the chaos run: `node URL SOCKET` serves a PostgreSQL database on a socket.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use armarius_engine::seam::StoreError;
use armarius_engine::{Engine, Fatal, Options};
use armarius_store::postgres::{self, Database, Patience};

/// How long the database may be away when it starts.
const START_MAX: Duration = Duration::from_secs(60);
/// How long it waits before it tries again.
const PAUSE: Duration = Duration::from_millis(100);
/// How long anything may take while it runs.
const PATIENCE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, socket] = words.as_slice() else {
        eprintln!("node URL SOCKET");
        return ExitCode::FAILURE;
    };
    match run(url, Path::new(socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("node: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(url: &str, socket: &Path) -> anyhow::Result<()> {
    let database = open(url)?;
    let options = Options {
        readers: 0,
        on_word: Arc::new(|word| eprintln!("node: {word}")),
        on_fatal: Some(Box::new(|fatal: &Fatal| {
            eprintln!("node: {fatal}");
            std::process::exit(i32::from(fatal.code));
        })),
        ..Options::default()
    };
    let engine = Engine::start_all(&database, options)?;
    armarius_sim::node::serve(socket, &engine.handle())?;
    Ok(())
}

/// Opens the database, however long it is away.
fn open(url: &str) -> anyhow::Result<Database> {
    let patience = Patience {
        statement: PATIENCE,
        lock: PATIENCE,
        commit: PATIENCE,
        resolve: PATIENCE,
        connection: PATIENCE,
    };
    let began = Instant::now();
    loop {
        let options = postgres::Options { patience, ..postgres::Options::default() };
        match Database::open(url, options) {
            Ok(database) => return Ok(database),
            Err(StoreError::Corrupt(why)) => anyhow::bail!("corrupt: {why}"),
            Err(error) if began.elapsed() > START_MAX => return Err(error.into()),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}
