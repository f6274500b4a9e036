//! How a command finds its server and its key.
//!
//! A key is never an argument: arguments can be read by everybody on the machine.

use std::path::PathBuf;

use anyhow::Context as _;
use armarius_wire::client::Client;

use crate::exit::Failure;
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
    data: Option<PathBuf>,
    /// Show answers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Connection {
    /// The client of the server that is meant.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        let given = key_given();
        let server = match (&self.url, &given) {
            (Some(_), Some(_)) => None,
            (Some(_) | None, Some(_) | None) => servers::find(self.data.as_deref())?,
        };
        let url = self.url.as_ref().or(server.as_ref().map(|server| &server.url));
        let url = url.ok_or_else(|| match &self.data {
            Some(data) => {
                let why = format!("no server of {} is known", data.display());
                Failure::new(why, "start it with `armarius up --data …`, or give --url")
            }
            None => Failure::new(
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

/// The key in the environment.
fn key_given() -> Option<String> {
    std::env::var(KEY).ok().filter(|key| !key.is_empty())
}

fn key_of(server: Option<&Server>, url: &str) -> anyhow::Result<String> {
    // A key is never sent to a server it was not made by.
    let Some(server) =
        server.filter(|server| server.url.trim_end_matches('/') == url.trim_end_matches('/'))
    else {
        return Err(Failure::new(format!("no key for {url} is known"), "set ARMARIUS_KEY").into());
    };
    std::fs::read_to_string(&server.key_file)
        .with_context(|| server.key_file.display().to_string())
        .context(Failure::new("cannot read the key", "set ARMARIUS_KEY"))
}
