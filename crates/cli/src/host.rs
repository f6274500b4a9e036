//! The server in this process: store, engine, keys, socket, and how they end.

use std::fs::{self, DirBuilder};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use armarius_bridges::archive::{self, Limits, Watcher};
use armarius_bridges::outbox::{self, Postman};
use armarius_core::text::Name;
use armarius_engine::seam::Description;
use armarius_engine::{Engine, Fatal};
use armarius_server::keys::Ring;
use armarius_server::listen::tls::{Files, Tls};
use armarius_server::{App, Settings, Shelf, listen};
use armarius_wire::v1::key::Role;
use tokio::sync::oneshot;

use crate::archives::Archives;
use crate::config::DATA_DEFAULT;
use crate::exit::Failure;
use crate::log::Log;
use crate::servers::{self, Server};
use crate::signals::Ends;
use crate::stores::{self, Started, StoreAt};
use crate::worker;

/// Threads of the runtime: requests are small, and the lane needs a core for itself.
const RUNTIME_THREADS: usize = 2;
/// Threads for questions; there are no more readers than this.
const QUESTION_THREADS_MAX: usize = 8;

/// Any free port of this machine alone.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Where to live and where to listen.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Place {
    /// The folder for everything that is kept
    #[arg(long, value_name = "DIR", default_value = DATA_DEFAULT)]
    pub(crate) data: PathBuf,
    /// The store: sqlite:PATH, memory, or postgres://USER@HOST/DATABASE; else the file in the data
    /// folder
    #[arg(long, value_name = "STORE", hide_env_values = true, hide_default_value = true)]
    pub(crate) store: Option<String>,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7700")]
    pub(crate) listen: SocketAddr,
    /// Listen beyond this machine without encryption, because a proxy in front provides it
    #[arg(
        long,
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        default_value = "false",
        value_name = "BOOL"
    )]
    pub(crate) behind_proxy: bool,
    /// What a task writes is kept whole up to this size, such as 16M; of more, both ends are
    #[arg(long, value_name = "BYTES", default_value = "16M", value_parser = worker::manner::bytes)]
    pub(crate) output_max: u64,
    /// Encrypt connections with this certificate (PEM); it is read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: Log,
    /// How often the repositories of archives are looked at without a notice, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub(crate) archive_poll: u16,
    #[command(flatten)]
    pub(crate) outbox: Outbox,
}

/// Where letters may go.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Outbox {
    /// Hosts in private networks that letters may go to, HOST or HOST:PORT, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "HOST,…")]
    outbox_allow: Vec<String>,
    /// The folder that letters to `file:NAME` are appended in; without it they are refused
    #[arg(long, value_name = "DIR")]
    outbox_folder: Option<PathBuf>,
}

impl Outbox {
    fn options(&self) -> anyhow::Result<outbox::Options> {
        if let Some(folder) = &self.outbox_folder {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        Ok(outbox::Options {
            allow: self.outbox_allow.clone(),
            folder: self.outbox_folder.clone(),
            log: |line| eprintln!("{line}"),
            ..outbox::Options::default()
        })
    }
}

/// A worker in the same process.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Crew {
    /// Tasks the worker runs at once
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1000))]
    slots: u16,
    /// What the worker can do, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "LABEL,…")]
    labels: Vec<String>,
    #[command(flatten)]
    manner: worker::manner::Manner,
}

/// Serves until it is asked to end, perhaps with a worker in the same process.
pub(crate) fn run(place: &Place, crew: Option<Crew>) -> anyhow::Result<ExitCode> {
    place.log.begin();
    let tls = open_tls(place)?;
    if !listen::is_private(&place.listen) && !place.behind_proxy && tls.is_none() {
        let why =
            format!("{} can be reached from other machines, without encryption", place.listen);
        let hint = "listen on 127.0.0.1, give --tls-cert and --tls-key, or say --behind-proxy if a \
                    proxy encrypts";
        return Err(Failure::new(why, hint).into());
    }
    let data = settle(&place.data)?;
    crate::limits::raise_open_files();
    let (fatal_tx, fatal_rx) = oneshot::channel();
    let store = StoreAt::of(place.store.as_deref(), &data)?;
    let options = armarius_engine::Options {
        on_word: Arc::new(|word| eprintln!("warning: {word}")),
        on_fatal: Some(Box::new(move |fatal: &Fatal| drop(fatal_tx.send(fatal.clone())))),
        ..armarius_engine::Options::default()
    };
    let shelf = stores::Shelf { folder: data.join("output"), whole_bytes_max: place.output_max };
    let Started { engine, description, outputs } = store.serve(options, &shelf)?;
    let keys = Ring::open(engine.handle())?;
    let key_file = data.join("admin.key");
    if keys.lacks_admin() {
        keys.add_first(&Name::trusted("admin"), &key_file)?;
        eprintln!("made the first key, an admin's: {}", key_file.display());
    } else if !key_file.exists() {
        // A restored store, or another machine's: whoever owns this folder needs a key of its own.
        let name = format!("admin on {}", worker::default_name());
        keys.add_first(&Name::trusted(&name), &key_file)?;
        eprintln!("made an admin key for this machine: {}", key_file.display());
    }
    let shelf = Shelf::new(outputs, data.join("secrets"));
    let (watcher, archives) = watch(&engine, &data, place)?;
    let postman = Postman::start(engine.handle(), place.outbox.options()?)
        .context("cannot start delivering letters")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .max_blocking_threads(QUESTION_THREADS_MAX)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let server = Server { data, url: String::new(), key_file };
    let parts = Parts {
        keys,
        description,
        shelf,
        archives,
        engine,
        postman,
        watcher,
        fatal: fatal_rx,
        server,
        crew,
        tls,
    };
    let ended = runtime.block_on(serve(parts, place));
    // What still waits beside the runtime is not waited for.
    runtime.shutdown_background();
    ended
}

/// Begins to watch archives, and answers what the server asks about them.
fn watch(engine: &Engine, data: &Path, place: &Place) -> anyhow::Result<(Watcher, Archives)> {
    let limits = Limits { mirrors: Some(data.join("mirrors")), ..Limits::default() };
    let watching = archive::Options {
        poll: Duration::from_secs(u64::from(place.archive_poll)),
        limits: limits.clone(),
        log: |line| eprintln!("{line}"),
        ..archive::Options::default()
    };
    let watcher =
        Watcher::start(engine.handle(), watching).context("cannot start watching archives")?;
    let archives = Archives { ring: watcher.ring(), limits, scratch: data.join("exports") };
    Ok((watcher, archives))
}

struct Parts {
    keys: Ring,
    description: Description,
    shelf: Shelf,
    archives: Archives,
    engine: Engine,
    postman: Postman,
    watcher: Watcher,
    fatal: oneshot::Receiver<Fatal>,
    server: Server,
    crew: Option<Crew>,
    tls: Option<Tls>,
}

// tidy: long because start and end of everything stand in their order
async fn serve(parts: Parts, place: &Place) -> anyhow::Result<ExitCode> {
    let Parts { keys, description, shelf, archives, engine, postman, watcher, .. } = parts;
    let (fatal, server, crew, tls) = (parts.fatal, parts.server, parts.crew, parts.tls);
    let mut ends = Ends::listen()?;
    let address = place.listen;
    let listener = listen::bind(address).await.with_context(|| {
        Failure::new(format!("cannot listen on {address}"), "choose another with --listen")
    })?;
    let address = listener.local_addr().context("the socket has no address")?;
    let settings =
        Settings { tls: tls.is_some(), behind_proxy: place.behind_proxy, ..Settings::default() };
    let app = App::new(engine.handle(), keys, description, settings).with_shelf(shelf);
    let app = app.with_repositories(Arc::new(archives));
    tokio::spawn(app.clone().tend());
    // With encryption, programs of this machine still speak plainly, on a socket of their own: a
    // certificate names the machine as others call it, not its loopback.
    let inner = match &tls {
        Some(tls) => {
            tokio::spawn(tls.clone().tend());
            Some(listen::bind(LOOPBACK).await.context("cannot listen on the loopback")?)
        }
        None => None,
    };
    let own = match &inner {
        Some(inner) => inner.local_addr().context("the socket has no address")?,
        None => address,
    };
    let url = url_of(own);
    let server = Server { url: url.clone(), ..server };
    let signs_in = crew.is_some();
    let work = crew.map(|crew| start_worker(&app, &server, crew)).transpose()?;
    if let Err(error) = servers::record(&server) {
        eprintln!("warning: other commands will not find this server: {error:#}");
    }
    place.log.say(&match &inner {
        Some(_) => {
            format!("listening on https://{address} and {url}, data in {}", server.data.display())
        }
        None => format!("listening on {url}, data in {}", server.data.display()),
    });
    if signs_in && let Some(link) = sign_in_link(&app, &server).await {
        place.log.say(&format!("sign in at {link} (works once; `armarius login` prints another)"));
    }
    let (broke_tx, broke_rx) = oneshot::channel();
    let end = async move {
        tokio::select! {
            () = ends.next() => {}
            Ok(fatal) = fatal => {
                drop(broke_tx.send(fatal));
                return;
            }
        }
        // The worker goes first: it still has to report. Who asks twice does not want to wait.
        if let Some(work) = work {
            tokio::select! {
                _ = tokio::task::spawn_blocking(move || work.stop()) => {}
                () = ends.next() => {}
            }
        }
    };
    let (inner_end, inner_ended) = oneshot::channel::<()>();
    let inner = inner.map(|inner| {
        let ended = async move { drop(inner_ended.await) };
        tokio::spawn(listen::serve(inner, app.clone(), None, ended))
    });
    let linger = listen::serve(listener, app.clone(), tls, end).await;
    drop(inner_end);
    if let Ok(fatal) = { broke_rx }.try_recv() {
        // What is stored must not be touched again: no farewells.
        eprintln!("error: {fatal}");
        std::process::exit(i32::from(fatal.code));
    }
    place.log.say("stopping");
    // Claims that wait for work are sent home by the engine; then the connections can end.
    app.send_home();
    postman.stop();
    watcher.stop();
    let stopped = tokio::task::spawn_blocking(move || engine.stop());
    linger.await;
    if let Some(inner) = inner
        && let Ok(linger) = inner.await
    {
        linger.await;
    }
    match stopped.await.context("the engine broke while it stopped")? {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(fatal) => Err(Failure::fatal(&fatal, "see the log above").into()),
    }
}

/// A link for the person who started it, with the key that programs of this machine use.
async fn sign_in_link(app: &App, server: &Server) -> Option<String> {
    let key = fs::read_to_string(&server.key_file).ok()?;
    let id = key.trim().strip_prefix("ark_")?.split('_').next()?;
    let path = app.sign_in_path(&Name::new(id).ok()?).await?;
    Some(format!("{}{path}", server.url))
}

fn open_tls(place: &Place) -> anyhow::Result<Option<Tls>> {
    let (Some(cert), Some(key)) = (&place.tls_cert, &place.tls_key) else { return Ok(None) };
    let files = Files { cert: cert.clone(), key: key.clone() };
    let hint = "give PEM files: the certificate with its chain, and its private key";
    let tls = Tls::open(files).map_err(|error| Failure::new(error.to_string(), hint))?;
    Ok(Some(tls))
}

fn start_worker(app: &App, server: &Server, crew: Crew) -> anyhow::Result<worker::Working> {
    let key = app.keys().lend(&Name::trusted("worker of armarius up"), Role::Worker)?;
    let client = armarius_wire::client::Client::new(&server.url, &key.text);
    let mut options = worker::Options::new(client, worker::default_name());
    options.labels = crew.labels;
    options.slots = usize::from(crew.slots);
    crew.manner.settle(&server.data, &mut options)?;
    worker::start(options)
}

/// How this machine reaches a server that listens there.
fn url_of(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let loopback: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(loopback);
    }
    format!("http://{address}")
}

/// The data folder, made if needed, for its owner alone, without links.
fn settle(data: &Path) -> anyhow::Result<PathBuf> {
    let shown = || data.display().to_string();
    if !data.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(data).with_context(shown)?;
    }
    fs::canonicalize(data).with_context(shown)
}
