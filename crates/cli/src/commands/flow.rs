//! `armarius flow …`

mod graph;
mod revisions;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use armarius_bridges::archive::{
    Content, FOLDER, File, files_in, read_files, sketch_files, wrong_calendar,
};
use armarius_core::flow::{Flow as Definition, codec};
use armarius_wire::client::{Client, segment};
use armarius_wire::flowfile::{self, FlowFileError, Home, Source};
use armarius_wire::v1::Page;
use armarius_wire::v1::flow::{Applied, Flow};
use armarius_wire::v1::robot::Line;

use crate::connect::{Connection, Steering, Way};
use crate::exit::Failure;
use crate::paper;

/// The revisions of an archive that are drawn unless others are asked for: two, so that what waits
/// for the one before can be seen.
const REVISIONS: (u32, u32) = (2, 3);

/// Flows: definitions of work.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Registers flows from their files, or new versions of them
    Apply {
        /// The collection
        collection: String,
        /// Flow files, YAML or JSON
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Checks flow files without a server
    Check {
        /// Flow files, or the folder of an archive, whose `_workflows` are read together
        #[arg(required = true, value_name = "FILE-OR-DIR")]
        files: Vec<PathBuf>,
        /// Read them as files of an archive: what does not say what wakes it is woken by commits
        #[arg(long)]
        archive: bool,
    },
    /// Draws the steps of a flow, from its file or from the server
    Graph {
        /// A flow file, the folder of an archive, or the collection of a flow on the server
        source: String,
        /// The flow on the server
        flow: Option<String>,
        /// Write it for Graphviz: `… --dot | dot -Tsvg`
        #[arg(long)]
        dot: bool,
        /// Draw the tasks of these revisions and who waits for whom; of a folder 2..3 unless said
        /// otherwise
        #[arg(long, value_name = "A..B", value_parser = span, conflicts_with_all = ["flow", "dot"])]
        revisions: Option<(u32, u32)>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Lists them
    List {
        /// Only of this collection
        collection: Option<String>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Shows one with its definition
    Show {
        /// The collection
        collection: String,
        /// The flow
        flow: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Ends a flow: no new rounds, what is open goes on
    Remove {
        /// The collection
        collection: String,
        /// The flow
        flow: String,
        #[command(flatten)]
        steering: Steering,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Apply { collection, files, steering } => apply(&collection, &files, &steering)?,
        Verb::Check { files, archive } => check(&files, archive)?,
        Verb::Graph { source, flow: None, dot: false, revisions, connection }
            if revisions.is_some() || Path::new(&source).is_dir() =>
        {
            let flows = sketched(Path::new(&source))?;
            let (first, last) = revisions.unwrap_or(REVISIONS);
            let drawn = revisions::drawn(&flows, first, last);
            paper::show(connection.json, &drawn, |drawn| {
                paper::clean(revisions::text(drawn).trim_end())
            })?;
        }
        Verb::Graph { source, flow, dot, connection, .. } => {
            let flow = drawn(&source, flow.as_deref(), &connection)?;
            if connection.json {
                paper::line(&serde_json::to_string_pretty(&codec::to_json(&flow))?)?;
            } else if dot {
                paper::line(graph::dot(&flow).trim_end())?;
            } else {
                paper::line(&paper::clean(graph::text(&flow).trim_end()))?;
            }
        }
        Verb::List { collection, connection } => {
            let query: Vec<(&str, &str)> =
                collection.iter().map(|c| ("collection", c.as_str())).collect();
            let page: Page<Flow> = connection.client()?.get("flows", &query)?;
            paper::show(connection.json, &page, |page| list(&page.entries))?;
        }
        Verb::Show { collection, flow, connection } => {
            let path = at(&collection, &flow);
            let flow: Flow = connection.client()?.get(&path, &[])?;
            paper::show(connection.json, &flow, show)?;
        }
        Verb::Remove { collection, flow, steering } => {
            let path = at(&collection, &flow);
            if !steering.only_told(Way::Delete, &path, &())? {
                steering.connection.client()?.delete(&path)?;
                eprintln!("flow {flow} opens no new rounds");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn at(collection: &str, flow: &str) -> String {
    format!("flows/{}/{}", segment(collection), segment(flow))
}

/// The definition that is to be drawn.
fn drawn(source: &str, flow: Option<&str>, connection: &Connection) -> anyhow::Result<Definition> {
    let Some(name) = flow else {
        let path = Path::new(source);
        if path.is_dir() {
            let hint = "draw one of its files, or its revisions without --dot";
            return Err(Failure::new(format!("{source} is a folder"), hint).into());
        }
        let bytes = load(path)?;
        return parse(path, &bytes, Home::Server).or_else(|error| {
            let name = path.to_string_lossy();
            let source = Source::from_bytes(&name, &bytes);
            let drawn = source.and_then(|source| flowfile::sketch(&source, Home::Server));
            cannot_run(drawn.ok(), &[error])
        });
    };
    let flow: Flow = connection.client()?.get(&at(source, name), &[])?;
    let text = flow.definition.as_ref().map_or("", |raw| raw.get());
    codec::from_text(text).map_err(|why| {
        Failure::new(why, "does this program have the version of the server?").into()
    })
}

fn apply(collection: &str, files: &[PathBuf], steering: &Steering) -> anyhow::Result<()> {
    let client = steering.connection.client()?;
    let mut applied = Vec::new();
    // All are read before the first is put: a typing error in one should not leave half of them.
    let mut read = Vec::new();
    for path in files {
        let bytes = load(path)?;
        let flow = parse(path, &bytes, Home::Server).map_err(|e| wrong(&[e]))?;
        read.push((flow.name.to_string(), kind(path), bytes));
    }
    for (name, kind, bytes) in read {
        let text = String::from_utf8_lossy(&bytes);
        if steering.only_told_text(&at(collection, &name), kind, &text)? {
            continue;
        }
        let done: Applied = client.put_text(&at(collection, &name), kind, &text)?;
        applied.push(done);
    }
    if applied.is_empty() {
        return Ok(());
    }
    paper::show(steering.connection.json, &applied, |applied| {
        let row = |a: &Applied| {
            let news = if a.fresh { "new version" } else { "unchanged" };
            [a.flow.clone(), short(&a.version), news.to_owned()]
        };
        paper::table(["flow", "version", ""], applied.iter().map(row).collect())
    })?;
    warn(&client, collection, &applied)
}

/// Tells what is probably not meant, as it stands now that all of them are there.
fn warn(client: &Client, collection: &str, applied: &[Applied]) -> anyhow::Result<()> {
    if applied.iter().all(|one| one.warnings.is_empty()) {
        return Ok(());
    }
    let line: Line = client.get("robots", &[("collection", collection)])?;
    let ours = line.robots.iter().filter(|robot| applied.iter().any(|one| one.flow == robot.name));
    for robot in ours {
        for warning in &robot.warnings {
            eprintln!("warning: {}: {}", robot.name, paper::clean(warning));
        }
    }
    Ok(())
}

fn check(files: &[PathBuf], archive: bool) -> anyhow::Result<()> {
    let home = if archive { Home::Archive } else { Home::Server };
    let (mut wrongs, mut count) = (Vec::new(), 0);
    for path in files {
        if path.is_dir() {
            let flows = read_files(&committed(path)?).map_err(|errors| wrong(&errors))?;
            if !flows.is_empty() {
                eprintln!("{}: {} checked together", path.display(), counted(flows.len()));
            }
            count += flows.len();
            continue;
        }
        count += 1;
        if let Err(error) = parse(path, &load(path)?, home) {
            wrongs.push(error);
        }
    }
    if !wrongs.is_empty() {
        return Err(wrong(&wrongs));
    }
    eprintln!("{} checked, nothing wrong", counted(count));
    Ok(())
}

fn counted(flows: usize) -> String {
    if flows == 1 { "1 flow".to_owned() } else { format!("{flows} flows") }
}

/// What a revision of this folder would define, or one file of it.
fn committed(path: &Path) -> anyhow::Result<Vec<File>> {
    if !path.is_dir() {
        let name = path.to_string_lossy().into_owned();
        return Ok(vec![File { name, content: Content::Bytes(load(path)?) }]);
    }
    let files = files_in(path).with_context(|| path.display().to_string())?;
    let files = files.unwrap_or_default();
    if files.is_empty() {
        let at = path.display();
        eprintln!("{at}: no definitions in a folder {FOLDER}; a revision like this runs nothing");
    }
    Ok(files)
}

/// The flows of an archive, as far as they can be drawn.
fn sketched(path: &Path) -> anyhow::Result<Vec<Definition>> {
    let files = committed(path)?;
    read_files(&files).or_else(|errors| cannot_run(sketch_files(&files).ok(), &errors))
}

/// What can be drawn although it cannot run, with a remark; if it cannot, what is wrong.
fn cannot_run<D>(drawn: Option<D>, errors: &[FlowFileError]) -> anyhow::Result<D> {
    let Some(drawn) = drawn else { return Err(wrong(errors)) };
    for error in errors {
        eprintln!("{error}");
    }
    eprintln!("drawn all the same, but it cannot run like this");
    Ok(drawn)
}

fn span(text: &str) -> Result<(u32, u32), String> {
    let parsed = text.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match parsed {
        Some((first, last)) if first >= 1 && first <= last && last - first < 20 => {
            Ok((first, last))
        }
        Some(_) | None => Err("write it as 2..3, at most twenty revisions".to_owned()),
    }
}

fn load(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

fn parse(path: &Path, bytes: &[u8], home: Home) -> Result<Definition, FlowFileError> {
    let name = path.to_string_lossy();
    let source = Source::from_bytes(&name, bytes)?;
    let flow = flowfile::read(&source, home)?;
    wrong_calendar(&source, &flow).map_or(Ok(flow), Err)
}

fn wrong(errors: &[FlowFileError]) -> anyhow::Error {
    for error in errors {
        eprintln!("{error}");
    }
    let files = if errors.len() == 1 { "flow file is" } else { "flow files are" };
    let why = format!("{} {files} wrong", errors.len());
    Failure::new(why, "nothing was changed; correct them and try again").into()
}

fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|e| e.to_str()) {
        Some("json") => "application/json",
        Some(_) | None => "application/yaml",
    }
}

fn list(flows: &[Flow]) -> String {
    let row = |flow: &Flow| {
        let sum = |count: fn(&armarius_wire::v1::status::Counts) -> i64| {
            flow.steps.iter().map(|step| count(&step.tasks)).sum::<i64>().to_string()
        };
        [
            flow.collection.clone(),
            flow.name.clone(),
            short(&flow.version),
            flow.steps.len().to_string(),
            sum(|c| c.waiting + c.held + c.ready),
            sum(|c| c.leased),
            sum(|c| c.done),
            sum(|c| c.failed),
            if flow.removed { "removed".to_owned() } else { String::new() },
        ]
    };
    let head =
        ["collection", "flow", "version", "steps", "waiting", "leased", "done", "failed", ""];
    paper::table(head, flows.iter().map(row).collect())
}

fn show(flow: &Flow) -> String {
    let definition = flow.definition.as_ref().map_or("", |raw| raw.get());
    let tree: serde_json::Value = serde_json::from_str(definition).unwrap_or_default();
    let head = paper::pairs(&[
        ("flow", flow.name.clone()),
        ("collection", flow.collection.clone()),
        ("version", flow.version.clone()),
        ("since", flow.since.clone()),
    ]);
    let text = serde_json::to_string_pretty(&tree).unwrap_or_default();
    format!("{head}\n{}", paper::clean(&text))
}

fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}
