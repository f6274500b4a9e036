//! What stories share: a way to the server, a folder, and waiting with progress.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use armarius_wire::client::{Client, segment};
use armarius_wire::v1::collection::{Collection, Put};
use armarius_wire::v1::flow::Applied;
use armarius_wire::v1::round::{Submit, Submitted};
use armarius_wire::v1::status::Counts;

use crate::progress::Progress;

/// How long one part of a story may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The stage.
pub(super) struct Stage {
    pub(super) client: Client,
    folder: tempfile::TempDir,
}

/// What happened, and the commands and pages that show it.
pub(super) struct Told {
    pub(super) happened: Vec<String>,
    pub(super) look: Vec<String>,
    pub(super) pages: Vec<String>,
}

impl Stage {
    pub(super) fn new(client: Client) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("armarius-demo-").tempdir()?;
        // Tasks may run as another user.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { client, folder })
    }

    /// A folder for files that tasks read.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a collection with a flow per text; each begins with its name.
    pub(super) fn set(&self, collection: &str, flows: &[(&str, String)]) -> anyhow::Result<()> {
        let path = format!("collections/{}", segment(collection));
        self.client.put_done(&path, &Put::default())?;
        for (name, text) in flows {
            let path = format!("flows/{}/{}", segment(collection), segment(name));
            self.client.put_text::<Applied>(&path, "application/yaml", text)?;
        }
        Ok(())
    }

    /// Submits work; whatever is refused ends the story.
    pub(super) fn submit(&self, rounds: &[Submit]) -> anyhow::Result<()> {
        let done: Vec<Submitted> = self.client.post("rounds", &rounds)?;
        match done.into_iter().find_map(|one| one.problem) {
            Some(problem) => Err(crate::exit::refused(problem)),
            None => Ok(()),
        }
    }

    /// The tasks of a collection.
    pub(super) fn counts(&self, collection: &str) -> anyhow::Result<Counts> {
        let path = format!("collections/{}", segment(collection));
        Ok(self.client.get::<Collection>(&path, &[])?.tasks)
    }

    /// Watches a collection until so many of its tasks are settled and none is open.
    pub(super) fn settle(&self, collection: &str, tasks: i64) -> anyhow::Result<Counts> {
        let total = u64::try_from(tasks).unwrap_or(0);
        let mut progress = Progress::new("settled", Some(total));
        self.wait(&format!("the tasks of {collection} settle"), || {
            let t = self.counts(collection)?;
            let settled = t.done + t.failed + t.cancelled;
            let label = format!("{} done, {} failed, {} running", t.done, t.failed, t.leased);
            progress.at(u64::try_from(settled).unwrap_or(0), &label);
            let open = t.waiting + t.held + t.ready + t.leased;
            Ok((open == 0 && settled >= tasks).then_some(t))
        })
    }

    /// Asks again and again, until there is an answer.
    pub(super) fn wait<T>(
        &self,
        what: &str,
        mut ask: impl FnMut() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = ask().with_context(|| format!("while {what}"))? {
                return Ok(answer);
            }
            if Instant::now() > until {
                bail!("{what}: not within {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A round of a flow on an item.
pub(super) fn round(flow: &str, item: String) -> Submit {
    Submit { flow: flow.to_owned(), item, ..Submit::default() }
}
