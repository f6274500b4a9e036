//! `armarius demo`: stories, played with real commands on a server of its own.
//!
//! One file per story. A story makes its collection and flows, gives the worker something to do,
//! watches it, and tells at the end what happened and which commands and pages show it.

mod batch;
mod hold;
mod line;
mod publish;
mod revisions;
mod stage;
mod walk;

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Context as _;
use armarius_wire::v1::login::Link;

use crate::exit::Failure;
use crate::own::Server;
use crate::paper::{self, Ink};
use stage::{Stage, Told};

/// A story.
struct Story {
    /// What it is asked for by.
    name: &'static str,
    /// What it shows.
    title: &'static str,
    /// Plays it.
    play: fn(&Stage) -> anyhow::Result<Told>,
}

/// All of them, in the order they are played.
const STORIES: &[Story] =
    &[walk::STORY, publish::STORY, batch::STORY, hold::STORY, line::STORY, revisions::STORY];

/// Plays stories with real commands. The server then goes on until Ctrl-C, so that you can look
/// around; everything is removed at the end.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these stories: walk, publish, batch, hold, line, revisions
    stories: Vec<String>,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// End when the stories are told
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { stories, listen, once } = args;
    let wanted = chosen(&stories)?;
    let options = ["--listen".to_owned(), listen.to_string(), "--slots".to_owned(), "4".to_owned()];
    let server = Server::start(&std::env::temp_dir(), "up", &options)?;
    let ink = Ink::of_stderr();
    let stage = Stage::new(server.client())?;
    eprintln!("{} listens on {}", ink.strong("armarius"), server.url);
    if !once {
        eprintln!("watch it in a browser: {}", sign_in(&server)?);
    }
    let mut told = Vec::new();
    for (n, story) in wanted.iter().enumerate() {
        eprintln!("\n{} {}", ink.strong(&format!("{}/{}", n + 1, wanted.len())), story.title);
        let one = (story.play)(&stage).with_context(|| format!("the story {}", story.name))?;
        told.push((*story, one));
    }
    paper::line(summary(&told, (!once).then_some(&server.url)).trim_end())?;
    if once {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("\n{}", ink.strong("Look around"));
    eprintln!("  in a browser, with this link, which signs you in once:");
    eprintln!("    {}", sign_in(&server)?);
    eprintln!("  from another terminal:");
    eprintln!("    export ARMARIUS_URL={} ARMARIUS_KEY={}", server.url, server.key);
    eprintln!("    armarius top");
    eprintln!("Ctrl-C ends the server and removes everything.");
    wait_for_the_end()?;
    Ok(ExitCode::SUCCESS)
}

/// A link that signs in once.
fn sign_in(server: &Server) -> anyhow::Result<String> {
    let link: Link = server.client().post("logins", &serde_json::json!({}))?;
    Ok(format!("{}{}", server.url, link.path))
}

/// What happened, story by story, and where to look: at pages only while there is a server.
fn summary(told: &[(&Story, Told)], url: Option<&String>) -> String {
    let ink = Ink::of_stdout();
    let mut text = format!("\n{}\n", ink.strong("What happened"));
    for (story, Told { happened, look, pages }) in told {
        text.push_str(&format!("\n{}\n", ink.strong(story.title)));
        happened.iter().for_each(|line| text.push_str(&format!("  · {line}\n")));
        look.iter().for_each(|line| text.push_str(&format!("    $ armarius {line}\n")));
        let pages = url.into_iter().flat_map(|url| pages.iter().map(move |page| (url, page)));
        pages.for_each(|(url, page)| text.push_str(&format!("    {url}{page}\n")));
    }
    text
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Story>> {
    if names.is_empty() {
        return Ok(STORIES.iter().collect());
    }
    let one = |name: &String| {
        let found = STORIES.iter().find(|story| story.name == name);
        found.ok_or_else(|| {
            let all = STORIES.iter().map(|story| story.name);
            let hint = armarius_core::flow::check::did_you_mean(
                name,
                all,
                "the stories are walk, publish, batch, hold, line and revisions",
            );
            Failure::new(format!("there is no story {name}"), hint).into()
        })
    };
    names.iter().map(one).collect()
}

fn wait_for_the_end() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        crate::signals::Ends::listen()?.next().await;
        Ok(())
    })
}
