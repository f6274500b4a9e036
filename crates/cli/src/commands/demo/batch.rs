//! A batch: counted exactly, reported once for each time it settles.

use std::time::Duration;

use armarius_wire::v1::batch::{Batch, Open, Opened};
use serde_json::json;

use super::Story;
use super::stage::{Stage, Told, round};
use crate::progress::Progress;

pub(super) const STORY: Story =
    Story { name: "batch", title: "A batch of two hundred, with exact counters", play };

const COLLECTION: &str = "deliveries";
const MEMBERS: usize = 200;
const BAD: usize = 3;

fn play(stage: &Stage) -> anyhow::Result<Told> {
    let repaired = stage.folder().join("repaired");
    // The last members fail until somebody repairs what is wrong.
    let script = format!(
        "case $ARMARIUS_ITEM_KEY in *-bad) test -e '{}' ;; *) true ;; esac",
        repaired.display()
    );
    let flow = format!("tasks:\n  - name: take-in\n    shell: sh\n    script: {}\n", json!(script));
    stage.set(COLLECTION, &[("take-in", flow)])?;
    let open = Open { id: None, collection: COLLECTION.to_owned(), key: "demo".to_owned() };
    let Opened { batch } = stage.client.post("batches", &open)?;
    let item = |n: usize| {
        let bad = if n > MEMBERS - BAD { "-bad" } else { "" };
        format!("{COLLECTION}/file/{n:03}{bad}")
    };
    let rounds: Vec<_> = (1..=MEMBERS)
        .map(|n| armarius_wire::v1::round::Submit {
            batch: Some(batch),
            ..round("take-in", item(n))
        })
        .collect();
    stage.submit(&rounds)?;
    stage.client.tell(&format!("batches/{batch}/seal"), &json!({}))?;
    eprintln!("{MEMBERS} files in batch {batch}, {BAD} of them bad");
    let first = end(stage, batch, "failed")?;
    std::fs::write(&repaired, "")?;
    eprintln!("what was wrong is repaired: only what failed is tried again");
    stage.client.tell(&format!("batches/{batch}/retry"), &json!({}))?;
    stage.settle(COLLECTION, i64::try_from(MEMBERS)?)?;
    stage.client.tell(&format!("batches/{batch}/report"), &json!({}))?;
    let second = end(stage, batch, "completed")?;
    Ok(Told {
        happened: vec![
            format!(
                "at first {} of {} files were taken in and {} failed",
                first.done, first.total, first.failed
            ),
            format!(
                "after the repair and `batch retry`: {} done, {} failed, reported {} times",
                second.done, second.failed, second.generation
            ),
        ],
        look: vec![format!("batch show {batch}"), format!("item events {}", second.item)],
        pages: vec![format!("/batch?id={batch}")],
    })
}

/// Watches the batch until it has reported and is in this state.
fn end(stage: &Stage, batch: i64, state: &str) -> anyhow::Result<Batch> {
    let mut progress = Progress::new("settled", Some(MEMBERS as u64));
    stage.wait("the batch settles", || {
        let row: Batch = stage.client.get(&format!("batches/{batch}"), &[])?;
        let settled = u64::try_from(row.total - row.open).unwrap_or(0);
        progress.at(settled, &format!("{} done, {} failed", row.done, row.failed));
        std::thread::sleep(Duration::from_millis(50));
        Ok((row.state == state).then_some(row))
    })
}
