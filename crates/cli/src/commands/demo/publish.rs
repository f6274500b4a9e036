//! Dependencies and retries: a flow whose first step fails twice before it works.

use super::Story;
use super::stage::{Stage, Told, round};

pub(super) const STORY: Story =
    Story { name: "publish", title: "A flow with dependencies, on a line that breaks off", play };

const COLLECTION: &str = "books";
const BOOKS: usize = 6;

const FLOW: &str = r#"
records: published
tasks:
  - name: fetch
    retries: 3
    backoff: 1s..2s
    shell: sh
    script: |
      echo "attempt $ARMARIUS_ATTEMPT for $ARMARIUS_ITEM_KEY"
      [ "$ARMARIUS_ATTEMPT" -ge 3 ] || { echo "the line broke off" >&2; exit 75; }
  - name: checksum
    depends: [fetch]
    shell: sh
    script: printf %s "$ARMARIUS_ITEM" | sha256sum
  - name: derive
    depends: [fetch]
    shell: sh
    script: printf %s "$ARMARIUS_ITEM_KEY" | tr a-z A-Z
  - name: publish
    depends: [checksum, derive]
    command: [echo, published, $ARMARIUS_ITEM_KEY]
"#;

fn play(stage: &Stage) -> anyhow::Result<Told> {
    stage.set(COLLECTION, &[("publish", FLOW.to_owned())])?;
    let item = |n: usize| format!("{COLLECTION}/book/volume-{n}");
    let rounds: Vec<_> = (1..=BOOKS).map(|n| round("publish", item(n))).collect();
    stage.submit(&rounds)?;
    eprintln!("{BOOKS} books; fetching each breaks off twice and is tried again");
    let counts = stage.settle(COLLECTION, i64::try_from(4 * BOOKS)?)?;
    Ok(Told {
        happened: vec![
            format!(
                "{BOOKS} books went through four steps each: {} tasks done, {} failed",
                counts.done, counts.failed
            ),
            "every fetch took three attempts; what depends on it waited and ran once".to_owned(),
        ],
        look: vec![format!("flow graph {COLLECTION} publish"), format!("item events {}", item(1))],
        pages: vec![format!("/flow?collection={COLLECTION}&name=publish")],
    })
}
