//! Robots on an assembly line: each is woken by what a page has and has not.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

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

/// A checksum of what arrived.
const CHECKSUM: &str = r#"sha256sum < "$PAGES/$ARMARIUS_ITEM_KEY""#;
/// What kind of file it is; only grey maps are welcome.
const FORMAT: &str = r#"page=$PAGES/$ARMARIUS_ITEM_KEY
      if command -v file > /dev/null; then file -b "$page"; fi
      head -c 2 "$page" | grep -q P5 || { echo "not a grey map" >&2; exit 1; }"#;
/// A small copy of every fourth point, written in place by one rename.
const DERIVE: &str = r#"page=$PAGES/$ARMARIUS_ITEM_KEY small=$SMALL/$ARMARIUS_ITEM_KEY
      set -- $(sed -n 2p "$page")
      size=$(head -n 3 "$page" | wc -c)
      tail -c +$((size + 1)) "$page" | od -An -v -tu1 -w1 | awk -v w="$1" -v h="$2" '
        BEGIN { printf "P2\n%d %d\n255\n", int((w + 3) / 4), int((h + 3) / 4) }
        { i = NR - 1; x = i % w; y = int(i / w); if (x % 4 == 0 && y % 4 == 0) print $1 + 0 }
      ' > "$small.$ARMARIUS_TOKEN" && mv "$small.$ARMARIUS_TOKEN" "$small""#;
/// Whether the small copy has as many points as it says.
const VALIDATE: &str = r#"small=$SMALL/$ARMARIUS_ITEM_KEY
      set -- $(sed -n 2p "$small")
      points=$(tail -n +4 "$small" | wc -l)
      echo "$points points"
      test "$points" -eq $(($1 * $2))"#;

fn play(stage: &Stage) -> anyhow::Result<Told> {
    let [folder, small] = [("pages", 0o755), ("small", 0o777)].map(|(name, mode)| {
        let folder = stage.folder().join(name);
        std::fs::create_dir(&folder)
            .and_then(|()| std::fs::set_permissions(&folder, Permissions::from_mode(mode)))
            .map(|()| folder)
    });
    let (folder, small) = (folder?, small?);
    for n in 1..=PAGES {
        std::fs::write(folder.join(name(n)), page(n)).context("cannot write a page")?;
    }
    let places = [serde_json::to_string(&folder)?, serde_json::to_string(&small)?];
    let env = format!("env: {{ PAGES: {}, SMALL: {} }}", places[0], places[1]);
    let robot = |after: &str, records: &str, script: &str| {
        format!(
            "on: {{ items: {{ kinds: [page]{after} }} }}\nrecords: {records}\n\
             tasks:\n  - name: run\n    shell: sh\n    {env}\n    script: |\n      {script}\n"
        )
    };
    let of = |event: &str| format!(", success: [{event}]");
    stage.set(
        COLLECTION,
        &[
            ("checksum", robot("", "checksummed", CHECKSUM)),
            ("format", robot(&of("checksummed"), "identified", FORMAT)),
            ("derive", robot(&of("identified"), "derived", DERIVE)),
            ("validate", robot(&of("checksummed, derived"), "validated", VALIDATE)),
        ],
    )?;
    eprintln!("{PAGES} pages arrive; nobody submits work: the robots notice them");
    let item = |n| PutOne { item: format!("{COLLECTION}/page/{}", name(n)), ..PutOne::default() };
    let pages: Vec<PutOne> = (1..=PAGES).map(item).collect();
    let placed: Vec<Placed> = stage.client.post("items", &pages)?;
    if let Some(problem) = placed.into_iter().find_map(|one| one.problem) {
        return Err(crate::exit::refused(problem));
    }
    // Four robots for each page, but the broken one reaches only two of them.
    let tasks = i64::try_from(4 * PAGES - 2)?;
    let counts = stage.settle(COLLECTION, tasks)?;
    Ok(Told {
        happened: vec![
            format!(
                "{PAGES} pages were checksummed by sha256sum, then identified by file, then made \
                 small, then validated, each by its own robot: {} tasks done",
                counts.done
            ),
            format!(
                "page {BROKEN} is broken on purpose: `format` failed there ({} failed), and the \
                 robots behind it were never woken",
                counts.failed
            ),
        ],
        look: vec![
            format!("robot list {COLLECTION}"),
            format!("item find {COLLECTION} --failed identified"),
            format!("item show {COLLECTION}/page/{}", name(BROKEN)),
            format!("item premis {COLLECTION}/page/{}", name(1)),
        ],
        pages: vec![
            format!("/line?collection={COLLECTION}"),
            format!("/item?at={COLLECTION}/page/{}", name(BROKEN)),
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
