//! `armarius key …`

use std::process::ExitCode;

use armarius_wire::client::segment;
use armarius_wire::v1::Page;
use armarius_wire::v1::key::{Add, Added, Change, Key, Role};

use crate::connect::{Connection, Steering, Way};
use crate::paper;

/// Keys: who may do what.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Makes a key and shows it, once
    Add {
        /// Who it is for: the actor in every event it causes
        name: String,
        /// What its holder may do: submitter, worker, operator, admin, auditor or notifier
        #[arg(long, value_parser = role)]
        role: Role,
        /// Only this collection; can be given several times
        #[arg(long = "collection", value_name = "COLLECTION")]
        collections: Vec<String>,
        #[command(flatten)]
        steering: Steering,
    },
    /// Changes what a key is for; what is not given stays as it is
    Change {
        /// Its id
        id: String,
        /// What its holder may do from now on
        #[arg(long, value_parser = role)]
        role: Option<Role>,
        /// Only this collection from now on; can be given several times
        #[arg(long = "collection", value_name = "COLLECTION")]
        collections: Vec<String>,
        /// All collections from now on
        #[arg(long, conflicts_with = "collections")]
        all_collections: bool,
        #[command(flatten)]
        steering: Steering,
    },
    /// Lists them, without their secrets
    List {
        #[command(flatten)]
        connection: Connection,
    },
    /// Ends a key, at once
    Revoke {
        /// Its id
        id: String,
        #[command(flatten)]
        steering: Steering,
    },
}

fn role(text: &str) -> Result<Role, String> {
    let all: Vec<&str> = Role::ALL.into_iter().map(Role::as_str).collect();
    Role::parse(text).ok_or_else(|| format!("the roles are {}", all.join(", ")))
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Add { name, role, collections, steering } => {
            let add = Add { name, role, collections };
            if !steering.only_told(Way::Post, "keys", &add)? {
                let added: Added = steering.connection.client()?.post("keys", &add)?;
                eprintln!("this is shown once; keep it, and give it to its holder as ARMARIUS_KEY");
                paper::show(steering.connection.json, &added, |added| added.key.clone())?;
            }
        }
        Verb::Change { id, role, collections, all_collections, steering } => {
            let collections = (all_collections || !collections.is_empty()).then_some(collections);
            let (path, change) = (format!("keys/{}", segment(&id)), Change { role, collections });
            if !steering.only_told(Way::Put, &path, &change)? {
                steering.connection.client()?.put_done(&path, &change)?;
                eprintln!("key {id} is changed");
            }
        }
        Verb::List { connection } => {
            let page: Page<Key> = connection.client()?.get("keys", &[])?;
            paper::show(connection.json, &page, |page| {
                let row = |key: &Key| {
                    let collections = match key.collections.as_slice() {
                        [] => "all".to_owned(),
                        some => some.join(","),
                    };
                    let role = key.role.as_str().to_owned();
                    [key.id.clone(), key.name.clone(), role, collections, key.since.clone()]
                };
                let head = ["id", "name", "role", "collections", "since"];
                paper::table(head, page.entries.iter().map(row).collect())
            })?;
        }
        Verb::Revoke { id, steering } => {
            let path = format!("keys/{}", segment(&id));
            if !steering.only_told(Way::Delete, &path, &())? {
                steering.connection.client()?.delete(&path)?;
                eprintln!("key {id} opens nothing any more");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
