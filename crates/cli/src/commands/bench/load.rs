//! Callers that drive full lifecycles: submit with a payload, claim by priority, report success.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context as _, bail};
use armarius_core::Command;
use armarius_core::address::ItemAddress;
use armarius_core::command::{Claim, Ending, Report, Submit};
use armarius_core::flow::{Class, Flow, Step};
use armarius_core::reply::{Reply, Reported};
use armarius_core::text::{Name, Text};
use armarius_engine::{Handle, Request};
use armarius_store::postgres::{SHARDS, default_place};

use super::callers::{self, Callers, ask, ask_all};
use super::figures::Latencies;

/// Flows per collection: each is a queue.
const FLOWS: u64 = 4;
/// Names of a collection that are tried until one falls on the shard it should.
const NAMES_TRIED: u32 = 1_000;
/// Priorities in use.
const PRIORITIES: u64 = 10;

/// Which keys items get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Keys {
    /// `vol-000012/page-0034`: as pages of volumes come in, one volume after another.
    Pages,
    /// 24 random hexadecimal digits: every insertion at another place of the index.
    Random,
}

/// What the callers share.
pub(crate) struct Load {
    pub(crate) handle: Handle,
    pub(crate) collections: u64,
    homes: Vec<Name>,
    pub(crate) keys: Keys,
    /// Before every key.
    tag: String,
    /// Items made so far.
    pub(crate) made: AtomicU64,
    payload: Text,
}

/// How a run went.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) finished: u64,
    pub(crate) submit: Latencies,
    pub(crate) claim: Latencies,
    pub(crate) report: Latencies,
}

impl Load {
    pub(crate) fn new(handle: Handle, collections: u64, keys: Keys, tag: String) -> Self {
        // About 200 bytes, as a description of a page with its sources would have.
        let payload = serde_json::json!({
            "source": "file:///scans/in/0001.tif",
            "target": "s3://masters/0001.jp2",
            "sha256": "c0ffee".repeat(10),
            "rights": "public domain",
            "operator": "station 4",
        });
        let payload = payload.to_string();
        let made = AtomicU64::new(0);
        let homes = (0..collections).map(collection).collect();
        Self { handle, collections, homes, keys, tag, made, payload: payload.into() }
    }

    /// Makes the collections and flows.
    pub(crate) fn prepare(&self) -> anyhow::Result<()> {
        let actor = Name::trusted("bench");
        for name in &self.homes {
            let command = Command::PutCollection { name: name.clone(), notify: Vec::new() };
            self.handle.call(actor.clone(), None, command)?;
            for f in 0..FLOWS {
                let mut flow = Flow::manual(flow_name(f));
                flow.records = Some(Name::trusted("processed"));
                flow.max_items = armarius_core::limits::CLAIM_TASKS_MAX;
                flow.tasks.push(Step::outside(Name::trusted("work")));
                let command = Command::ApplyFlow { collection: name.clone(), flow: Box::new(flow) };
                self.handle.call(actor.clone(), None, command)?;
            }
        }
        Ok(())
    }

    /// A key that meets none of an earlier run.
    pub(super) fn tagged(&self, key: &str) -> String {
        format!("{}{key}", self.tag)
    }

    /// Claims and reports with so many callers until nothing is left.
    pub(super) fn work_off(self: &Arc<Self>, how: Callers, bundle: u64) -> anyhow::Result<()> {
        let caller = |n| Arc::clone(self).work_all(Name::trusted(&format!("caller-{n}")), bundle);
        how.drive(caller)?;
        Ok(())
    }

    async fn work_all(self: Arc<Self>, actor: Name, bundle: u64) -> anyhow::Result<()> {
        let mut run = Run::default();
        loop {
            let before = run.finished;
            self.work(&actor, bundle, &mut run).await?;
            if run.finished == before {
                return Ok(());
            }
        }
    }

    /// Submits tasks without working on them.
    pub(crate) fn backlog(&self, tasks: u64) -> anyhow::Result<()> {
        callers::alone(async {
            let mut left = tasks;
            while left > 0 {
                let n = left.min(1_000);
                self.submit_bulk(n).await?;
                left -= n;
            }
            Ok(())
        })
    }

    /// Drives `tasks` lifecycles with so many callers, each taking bundles of `bundle`.
    pub(crate) fn drive(
        self: &Arc<Self>,
        tasks: u64,
        how: Callers,
        bundle: u64,
    ) -> anyhow::Result<Run> {
        let left = i64::try_from(tasks).context("too many tasks")?;
        let left = Arc::new(AtomicI64::new(left));
        let caller = |n| Arc::clone(self).caller(n, Arc::clone(&left), bundle);
        let mut total = Run::default();
        for run in how.drive(caller)? {
            total.finished += run.finished;
            total.submit.merge(run.submit);
            total.claim.merge(run.claim);
            total.report.merge(run.report);
        }
        Ok(total)
    }

    async fn caller(
        self: Arc<Self>,
        n: u64,
        left: Arc<AtomicI64>,
        bundle: u64,
    ) -> anyhow::Result<Run> {
        let actor = Name::trusted(&format!("caller-{n}"));
        let step = i64::try_from(bundle).unwrap_or(1);
        let mut run = Run::default();
        while left.fetch_sub(step, Ordering::Relaxed) > 0 {
            let began = Instant::now();
            self.submit_bulk(bundle).await?;
            run.submit.note(began.elapsed());
            self.finish(&actor, bundle, &mut run).await?;
        }
        Ok(run)
    }

    /// Claims and reports as many as were submitted. One claim may bring fewer: it is served from
    /// one shard of a database.
    async fn finish(&self, actor: &Name, bundle: u64, run: &mut Run) -> anyhow::Result<()> {
        let until = run.finished + bundle;
        while run.finished < until {
            let before = run.finished;
            self.work(actor, until - before, run).await?;
            if run.finished == before {
                bail!("a claim came back empty although there is work");
            }
        }
        Ok(())
    }

    async fn submit_bulk(&self, n: u64) -> anyhow::Result<()> {
        let actor = Name::trusted("bench");
        let first = self.made.fetch_add(n, Ordering::Relaxed);
        // What is submitted together belongs together: one delivery, one collection.
        let home = first / n.max(1) % self.collections;
        let home = self.homes.get(usize::try_from(home)?).context("no collection")?;
        let request =
            |i| Request { actor: actor.clone(), idem: None, command: self.submission(i, home) };
        for outcome in ask_all(&self.handle, (first..first + n).map(request).collect()).await {
            outcome?;
        }
        Ok(())
    }

    fn submission(&self, i: u64, home: &Name) -> Command {
        let scattered = mix(i);
        let tag = &self.tag;
        let key = match self.keys {
            Keys::Pages => format!("{tag}vol-{:06}/page-{:04}", i / 400, i % 400),
            Keys::Random => format!("{tag}{:016x}{:08x}", scattered, mix(scattered) >> 32),
        };
        Command::Submit(Submit {
            item: ItemAddress {
                collection: home.clone(),
                kind: Name::trusted("page"),
                key: key.into(),
            },
            flow: flow_name((scattered >> 8) % FLOWS),
            payload: self.payload.clone(),
            priority: Some(i32::try_from((scattered >> 16) % PRIORITIES).unwrap_or(0)),
            not_before: None,
            parts: Vec::new(),
            depends: Vec::new(),
            batch: None,
        })
    }

    /// As [`Load::work`], by somebody who waits.
    pub(super) fn work_now(&self, bundle: u64, run: &mut Run) -> anyhow::Result<()> {
        callers::alone(self.work(&Name::trusted("bench"), bundle, run))
    }

    /// Claims a bundle and reports each of its tasks.
    pub(super) async fn work(
        &self,
        actor: &Name,
        bundle: u64,
        run: &mut Run,
    ) -> anyhow::Result<()> {
        let claim = Claim {
            worker: actor.clone(),
            labels: Vec::new(),
            steps: Vec::new(),
            collections: Vec::new(),
            ways: Vec::new(),
            max: u32::try_from(bundle).unwrap_or(1),
        };
        let began = Instant::now();
        let command = Command::Claim(claim);
        let claim = Request { actor: actor.clone(), idem: None, command };
        let reply = ask(&self.handle, claim).await?;
        run.claim.note(began.elapsed());
        let Reply::Claimed(Some(granted)) = reply else { return Ok(()) };
        let reports: Vec<Request> = granted
            .tasks
            .iter()
            .map(|task| Request {
                actor: actor.clone(),
                idem: None,
                command: Command::Report(Report {
                    lease: granted.lease,
                    task: task.task,
                    token: task.token,
                    outcome: Ending::Class(Class::Success),
                    detail: None,
                    manifest: None,
                    last: false,
                }),
            })
            .collect();
        let n = reports.len() as u64;
        let began = Instant::now();
        for outcome in ask_all(&self.handle, reports).await {
            match outcome? {
                Reply::Reported(Reported::Applied) => {}
                other => bail!("a report was answered with {other:?}"),
            }
        }
        run.report.note(began.elapsed());
        run.finished += n;
        Ok(())
    }
}

/// Each on a shard of its own, as long as a database has so many.
pub(super) fn collection(n: u64) -> Name {
    let shard = u16::try_from(n % u64::from(SHARDS)).unwrap_or_default();
    let names = (0..NAMES_TRIED).map(|i| format!("bench-{n}-{i}"));
    let mut fitting = names.filter(|name| default_place(name, SHARDS) == shard);
    Name::trusted(&fitting.next().unwrap_or_else(|| format!("bench-{n}")))
}

pub(super) fn flow_name(n: u64) -> Name {
    let names = ["ocr", "derive", "check", "describe"];
    let place = usize::try_from(n).unwrap_or(0);
    Name::trusted(names.get(place).unwrap_or(&"ocr"))
}

/// Scatters a number, always in the same way (the finaliser of SplitMix64).
fn mix(n: u64) -> u64 {
    let z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
