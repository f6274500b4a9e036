//! How a command finds its server and its key.
//!
//! A key is never an argument: arguments can be read by everybody on the machine.

use std::path::PathBuf;

use anyhow::Context as _;
use armarius_wire::client::Client;
use armarius_wire::v1::dry_run::{Change, DryRun, QUERY};
use serde::Serialize;

use crate::exit::Failure;
use crate::paper;
use crate::servers::{self, Server};

/// The variable that holds a key.
const KEY: &str = "ARMARIUS_KEY";

/// Where the server is, and how answers are shown. The key is found by itself for a server of this
/// user, else it is taken from ARMARIUS_KEY.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Connection {
    /// The server's address; found by itself for a server of this user
    #[arg(long, env = "ARMARIUS_URL", value_name = "URL", help_heading = "Server")]
    url: Option<String>,
    /// The data folder of the server, where this user has several
    #[arg(long, env = "ARMARIUS_DATA", value_name = "DIR", help_heading = "Server")]
    pub(crate) data: Option<PathBuf>,
    /// Show answers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The same, for what changes something: it can be told beforehand.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Steering {
    /// Tell what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl Connection {
    /// The client of the server that is meant.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        let given = key_given();
        let server = match (&self.url, &given) {
            (Some(_), Some(_)) => None,
            (Some(url), None) => servers::at(url)?,
            (None, Some(_) | None) => servers::find(self.data.as_deref())?,
        };
        let url = self.url.as_ref().or(server.as_ref().map(|server| &server.url));
        let url = url.ok_or_else(|| match &self.data {
            Some(data) => {
                let why = format!("no server of {} is known", data.display());
                let hint = "start it with `armarius up --data …`, or give --url and ARMARIUS_KEY";
                Failure::unreachable(why, hint)
            }
            None => Failure::unreachable(
                "no server is known",
                "start one with `armarius up`, or give --url and ARMARIUS_KEY",
            ),
        })?;
        let key = match given {
            Some(key) => key,
            None => key_of(server.as_ref(), url)?,
        };
        Ok(Client::new(url, key.trim()))
    }
}

/// The way a change is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Post,
    Put,
    Delete,
}

impl Steering {
    /// With `--dry-run`: asks what would happen, tells it, and says that this was all.
    pub(crate) fn only_told(
        &self,
        way: Way,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<bool> {
        if !self.dry_run {
            return Ok(false);
        }
        let path = format!("{path}?{QUERY}");
        let client = self.connection.client()?;
        let told: DryRun = match way {
            Way::Post => client.post(&path, body)?,
            Way::Put => client.put(&path, body)?,
            Way::Delete => client.delete_for(&path)?,
        };
        self.tell(&told)?;
        Ok(true)
    }

    /// As [`Steering::only_told`] for the text of a flow file.
    pub(crate) fn only_told_text(
        &self,
        path: &str,
        kind: &str,
        text: &str,
    ) -> anyhow::Result<bool> {
        if self.dry_run {
            let path = format!("{path}?{QUERY}");
            let told: DryRun = self.connection.client()?.put_text(&path, kind, text)?;
            self.tell(&told)?;
        }
        Ok(self.dry_run)
    }

    /// Many things at once are not told beforehand.
    pub(crate) fn no_rehearsal_of_many(&self) -> anyhow::Result<()> {
        if !self.dry_run {
            return Ok(());
        }
        let hint = "try --dry-run with one of them";
        Err(Failure::new("a list is not sent as a dry run; nothing was changed", hint).into())
    }

    fn tell(&self, told: &DryRun) -> anyhow::Result<()> {
        paper::show(self.connection.json, told, |told| {
            let row = |change: &Change| {
                let about = change.task.as_ref().unwrap_or(&change.item);
                [change.event.clone(), about.clone(), change.to.clone().unwrap_or_default()]
            };
            let head = ["would happen", "to", "state"];
            if told.changes.is_empty() {
                return String::new();
            }
            paper::table(head, told.changes.iter().map(row).collect())
        })?;
        if !self.connection.json {
            if told.more > 0 {
                eprintln!("and {} more", told.more);
            }
            if told.errands > 0 {
                eprintln!("and what follows from it, in the background ({} errands)", told.errands);
            }
            match told.rows {
                0 => eprintln!("nothing would change"),
                rows => eprintln!("dry run: {rows} rows would be written; nothing was changed"),
            }
        }
        Ok(())
    }
}

/// The key in the environment.
fn key_given() -> Option<String> {
    std::env::var(KEY).ok().filter(|key| !key.is_empty())
}

fn key_of(server: Option<&Server>, url: &str) -> anyhow::Result<String> {
    // A key is never sent to a server it was not made by.
    let Some(server) = server.filter(|server| servers::is_same(&server.url, url)) else {
        return Err(Failure::new(format!("no key for {url} is known"), "set ARMARIUS_KEY").into());
    };
    std::fs::read_to_string(&server.key_file)
        .with_context(|| server.key_file.display().to_string())
        .context(Failure::new("cannot read the key", "set ARMARIUS_KEY"))
}
