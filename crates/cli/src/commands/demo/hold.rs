//! A hold: work waits, says why, and goes on when it is released.

use anyhow::Context as _;
use armarius_wire::v1::hold::{IsSet, On, Set};
use armarius_wire::v1::why::Node;

use super::Story;
use super::stage::{Stage, Told, round};

pub(super) const STORY: Story =
    Story { name: "hold", title: "A hold, and the answer to why nothing happens", play };

const COLLECTION: &str = "letters";
const LETTERS: usize = 10;

fn play(stage: &Stage) -> anyhow::Result<Told> {
    let flow =
        "tasks:\n  - name: transcribe\n    command: [echo, transcribed, $ARMARIUS_ITEM_KEY]\n";
    stage.set(COLLECTION, &[("transcribe", flow.to_owned())])?;
    let on = On { collection: Some(COLLECTION.to_owned()), ..On::default() };
    let set = Set { on, reason: "the rights are being cleared".to_owned(), until: None };
    let IsSet { hold } = stage.client.post("holds", &set)?;
    let item = |n: usize| format!("{COLLECTION}/letter/{n:02}");
    let rounds: Vec<_> = (1..=LETTERS).map(|n| round("transcribe", item(n))).collect();
    stage.submit(&rounds)?;
    let about = item(1);
    let why: Node = stage.client.get("why", &[("item", about.as_str())])?;
    let answer = brake(&why).context("nobody says why the letter waits")?;
    eprintln!("{LETTERS} letters are submitted and wait; why? {answer}");
    let before = stage.counts(COLLECTION)?;
    stage.client.delete(&format!("holds/{hold}"))?;
    eprintln!("the hold is released");
    let after = stage.settle(COLLECTION, i64::try_from(LETTERS)?)?;
    Ok(Told {
        happened: vec![
            format!("{LETTERS} letters waited ({} done) because: {answer}", before.done),
            format!("after the release all {} were transcribed", after.done),
        ],
        look: vec![
            format!("why {about}"),
            format!("item events {COLLECTION}/collection/{COLLECTION}"),
        ],
        pages: vec![format!("/collection?name={COLLECTION}"), "/holds".to_owned()],
    })
}

/// The first sentence of the tree that speaks of a hold.
fn brake(node: &Node) -> Option<String> {
    if node.what.contains("hold") || node.what.contains("held") {
        return Some(node.what.clone());
    }
    node.because.iter().find_map(brake)
}
