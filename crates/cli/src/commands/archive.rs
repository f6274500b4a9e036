//! `armarius archive …`

mod hook;
mod log;
mod script;

use std::path::Path;
use std::process::ExitCode;

use armarius_wire::client::segment;
use armarius_wire::v1::Page;
use armarius_wire::v1::archive::{Accept, Accepted, Archive, Put, Skip};

use crate::connect::{Connection, Steering, Way};
use crate::paper;

pub(super) use log::revision_text;

/// Archives: repositories whose every revision runs the workflow it defines.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Watches a repository, or changes what is said about it
    Add {
        /// Its name, without a slash
        #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
        name: String,
        /// The repository: a path on the server's machine, or a URL
        #[arg(long, value_name = "PATH-OR-URL")]
        repo: String,
        /// svn or git; found out by itself where it can be
        #[arg(long)]
        kind: Option<String>,
        /// The branch whose first parents are counted (git)
        #[arg(long)]
        branch: Option<String>,
        /// The first revision to process
        #[arg(long, value_name = "REV")]
        from: Option<i64>,
        /// Run what the repository defines; without it definitions are read and shown only
        #[arg(long)]
        trust: bool,
        /// Revisions made by tasks that may stand behind one another before nothing more is run
        /// (8 unless it was said before)
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
        depth_max: Option<u32>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Lists them
    List {
        #[command(flatten)]
        connection: Connection,
    },
    /// Shows one: how far it is, what it waits for
    Show {
        /// Its name
        name: String,
        #[command(flatten)]
        connection: Connection,
    },
    /// Shows its revisions with their tasks, newest first
    Log {
        /// Its name
        name: String,
        /// Revisions to show
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=200))]
        max: u16,
        /// Only revisions below this one
        #[arg(long, value_name = "REV")]
        before: Option<i64>,
        #[command(flatten)]
        connection: Connection,
    },
    /// Prints the hook that tells the server about commits, or installs it
    Hook(hook::Args),
    /// Passes over the revision that is awaited: nothing of it runs
    Skip {
        /// Its name
        name: String,
        /// The revision
        revision: i64,
        /// Why
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        steering: Steering,
    },
    /// Looks again at an archive that was stopped because its history changed
    Resume {
        /// Its name
        name: String,
        /// Take the history as it is now: what was planned stays, planning goes on behind it
        #[arg(long, requires = "reason")]
        accept: bool,
        /// Why it is accepted
        #[arg(long, requires = "accept")]
        reason: Option<String>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Watches it no more and takes its hook away; its history stays, what is open goes on
    Remove {
        /// Its name
        name: String,
        #[command(flatten)]
        steering: Steering,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Add { name, repo, kind, branch, from, trust, depth_max, steering } => {
            let repo = whole(&repo);
            let put = Put { repo, kind, branch, from, trust, depth_max };
            add(&name, &put, &steering)?;
        }
        Verb::List { connection } => {
            let page: Page<Archive> = connection.client()?.get("archives", &[])?;
            paper::show(connection.json, &page, |page| list(&page.entries))?;
        }
        Verb::Show { name, connection } => {
            let archive: Archive = connection.client()?.get(&at(&name), &[])?;
            paper::show(connection.json, &archive, show)?;
        }
        Verb::Log { name, max, before, connection } => {
            log::run(&at(&name), max, before, &connection)?;
        }
        Verb::Hook(args) => hook::run(&args)?,
        Verb::Skip { name, revision, reason, steering } => {
            let (path, skip) = (format!("{}/skip", at(&name)), Skip { revision, reason });
            if !steering.only_told(Way::Post, &path, &skip)? {
                steering.connection.client()?.tell(&path, &skip)?;
                eprintln!("revision {revision} of {name} is passed over");
            }
        }
        Verb::Resume { name, reason: Some(reason), steering, .. } => {
            accept(&name, &Accept { reason }, &steering)?;
        }
        Verb::Resume { name, reason: None, steering, .. } => {
            let path = format!("{}/resume", at(&name));
            if !steering.only_told(Way::Post, &path, &serde_json::json!({}))? {
                steering.connection.client()?.tell(&path, &serde_json::json!({}))?;
                eprintln!("archive {name} is looked at again");
                eprintln!("if its history still differs from what was planned, it stops again:");
                eprintln!("`armarius archive resume {name} --accept --reason …` takes it as it is");
            }
        }
        Verb::Remove { name, steering } => {
            let path = at(&name);
            if !steering.only_told(Way::Delete, &path, &())? {
                let client = steering.connection.client()?;
                let archive: Archive = client.get(&path, &[])?;
                client.delete(&path)?;
                eprintln!("archive {name} is watched no more");
                hook::forget(&archive, &client);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn at(name: &str) -> String {
    format!("archives/{}", segment(name))
}

/// A path of this machine as the server will see it; anything else as it is.
fn whole(repo: &str) -> String {
    let path = Path::new(repo);
    if repo.contains("://") || path.is_absolute() {
        return repo.to_owned();
    }
    path.canonicalize().map_or_else(|_| repo.to_owned(), |path| path.display().to_string())
}

fn add(name: &str, put: &Put, steering: &Steering) -> anyhow::Result<()> {
    if steering.only_told(Way::Put, &at(name), put)? {
        return Ok(());
    }
    steering.connection.client()?.put_done(&at(name), put)?;
    eprintln!("archive {name} is watched");
    if put.trust {
        eprintln!("commits to {} can now run programs as this server's workers", put.repo);
    } else {
        eprintln!(
            "its definitions are shown and do not run; add it again with --trust to run them"
        );
    }
    eprintln!("`armarius archive hook {name} --install` makes it quick; it is polled anyway");
    Ok(())
}

fn accept(name: &str, accept: &Accept, steering: &Steering) -> anyhow::Result<()> {
    let path = format!("{}/accept", at(name));
    if steering.only_told(Way::Post, &path, accept)? {
        return Ok(());
    }
    let accepted: Accepted = steering.connection.client()?.post(&path, accept)?;
    paper::show(steering.connection.json, &accepted, |told| goes_on(name, told))
}

fn goes_on(name: &str, told: &Accepted) -> String {
    let Accepted { planned, youngest, was, is } = told;
    let mut text = format!("the history of archive {name} is accepted as it is now\n");
    if was != is && !is.is_empty() {
        text.push_str(&format!("revision {planned} was {was}, it is {is}\n"));
    }
    text.push_str(&format!("revisions up to {planned} stay as they were planned\n"));
    text.push_str(&if youngest < planned {
        format!("the repository has {youngest}: it goes on when there are more than {planned}\n")
    } else {
        format!("it goes on with revision {}\n", planned.saturating_add(1))
    });
    text
}

fn list(archives: &[Archive]) -> String {
    let row = |a: &Archive| {
        let awaiting = a.awaiting.as_ref().map(|w| w.revision.to_string()).unwrap_or_default();
        [
            a.name.clone(),
            a.kind.clone(),
            stands(a),
            a.youngest.to_string(),
            a.planned.to_string(),
            awaiting,
            if a.trusted { "yes" } else { "no" }.to_owned(),
            a.repo.clone(),
        ]
    };
    let head = ["archive", "kind", "state", "youngest", "planned", "awaits", "trusted", "repo"];
    paper::table(head, archives.iter().map(row).collect())
}

/// How an archive stands, in a word or two.
fn stands(a: &Archive) -> String {
    match (a.held_back.is_empty(), a.behind.is_empty()) {
        (false, _) => "held back".to_owned(),
        (true, false) => format!("{}, behind", a.state),
        (true, true) => a.state.clone(),
    }
}

fn show(a: &Archive) -> String {
    let mut pairs = vec![
        ("archive", a.name.clone()),
        ("repository", format!("{} {}", a.kind, a.repo)),
        ("state", format!("{} since {}", a.state, a.since)),
    ];
    if !a.reason.is_empty() {
        pairs.push(("because", a.reason.clone()));
    }
    if !a.branch.is_empty() {
        pairs.push(("branch", a.branch.clone()));
    }
    pairs.push(("trusted", if a.trusted { "yes" } else { "no, nothing runs" }.to_owned()));
    let revisions = match a.youngest < a.from {
        true => format!("none yet; the first to process is {}", a.from),
        false => format!("{} to {}, planned up to {}", a.from, a.youngest, a.planned),
    };
    pairs.push(("revisions", revisions));
    if a.youngest < a.planned {
        let text = format!("more than {} revisions; a shorter history was accepted", a.planned);
        pairs.push(("awaiting", text));
    }
    if let Some(awaiting) = &a.awaiting {
        let text = format!("revision {} since {}", awaiting.revision, awaiting.since);
        pairs.push(("awaiting", text));
    }
    let depth = format!("nothing runs behind more than {} revisions made by tasks", a.depth_max);
    pairs.push(("loops", depth));
    pairs.push(("flows", a.flows.join(", ")));
    if !a.behind.is_empty() {
        let failed = a.behind.join(", ");
        let what = format!("{failed} failed; later revisions wait for it: retry or skip it");
        pairs.push(("behind", what));
    }
    let mut text = paper::pairs(&pairs);
    if !a.held_back.is_empty() {
        text.push_str(&format!("\nheld back:\n{}", paper::clean(&a.held_back)));
    }
    text
}
