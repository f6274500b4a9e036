//! Robots on an assembly line: each is woken by what a page has and has not.

use anyhow::Context as _;
use armarius_wire::v1::item::{Placed, PutOne};

use super::Story;
use super::stage::{Stage, Told};

pub(super) const STORY: Story =
    Story { name: "line", title: "Robots along an assembly line of scanned pages", play };

const COLLECTION: &str = "scans";
const PAGES: usize = 24;
/// The page whose scan is broken.
const BROKEN: usize = 13;

fn play(stage: &Stage) -> anyhow::Result<Told> {
    let folder = stage.folder().join("pages");
    std::fs::create_dir(&folder)?;
    for n in 1..=PAGES {
        std::fs::write(folder.join(name(n)), page(n)).context("cannot write a page")?;
    }
    let env = format!("env: {{ PAGES: {} }}", serde_json::to_string(&folder)?);
    let robot = |after: &str, records: &str, script: &str| {
        format!(
            "on: {{ items: {{ kinds: [page]{after} }} }}\nrecords: {records}\n\
             tasks:\n  - name: run\n    shell: sh\n    {env}\n    script: |\n      {script}\n"
        )
    };
    let sum = r#"sha256sum < "$PAGES/$ARMARIUS_ITEM_KEY""#;
    let format = r#"page=$PAGES/$ARMARIUS_ITEM_KEY
      head -c 2 "$page" | grep -q P5 || { echo "not a grey map" >&2; exit 1; }
      if command -v file > /dev/null; then file -b "$page"; fi"#;
    let measure = r#"head -n 2 "$PAGES/$ARMARIUS_ITEM_KEY" | tail -n 1"#;
    stage.set(
        COLLECTION,
        &[
            ("checksum", robot("", "checksummed", sum)),
            ("format", robot(", success: [checksummed]", "identified", format)),
            ("measure", robot(", success: [checksummed, identified]", "measured", measure)),
        ],
    )?;
    eprintln!("{PAGES} pages arrive; nobody submits work: the robots notice them");
    let item = |n| PutOne { item: format!("{COLLECTION}/page/{}", name(n)), ..PutOne::default() };
    let pages: Vec<PutOne> = (1..=PAGES).map(item).collect();
    let placed: Vec<Placed> = stage.client.post("items", &pages)?;
    if let Some(problem) = placed.into_iter().find_map(|one| one.problem) {
        return Err(crate::exit::refused(problem));
    }
    // Three robots for each page, but the broken one never reaches the third.
    let tasks = i64::try_from(3 * PAGES - 1)?;
    let counts = stage.settle(COLLECTION, tasks)?;
    Ok(Told {
        happened: vec![
            format!(
                "{PAGES} pages were checksummed by sha256sum, then identified, then measured, each \
                 by its own robot: {} tasks done",
                counts.done
            ),
            format!(
                "page {BROKEN} is broken on purpose: `format` failed there ({} failed), and the \
                 robot behind it was never woken",
                counts.failed
            ),
        ],
        look: vec![
            format!("item events {COLLECTION}/page/{}", name(BROKEN)),
            format!("task list --collection {COLLECTION} --state failed"),
        ],
    })
}

fn name(n: usize) -> String {
    format!("page-{n:04}")
}

/// A small grey map, or something that is none.
fn page(n: usize) -> Vec<u8> {
    if n == BROKEN {
        return b"this scan was cut off".to_vec();
    }
    let (width, height) = (16 + n, 24 + n);
    let mut bytes = format!("P5\n{width} {height}\n255\n").into_bytes();
    bytes.extend((0..width * height).map(|i| u8::try_from((i * n) % 251).unwrap_or(0)));
    bytes
}
