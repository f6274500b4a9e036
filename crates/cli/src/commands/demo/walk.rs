//! The first walk: a collection, a flow, two items, and their histories.

use armarius_wire::v1::Page;
use armarius_wire::v1::event::Event;

use super::Story;
use super::stage::{Stage, Told, round};

pub(super) const STORY: Story =
    Story { name: "walk", title: "A first walk: two pages through a flow of two steps", play };

const COLLECTION: &str = "maps";
/// The flow that users begin with, too.
const FLOW: &str = include_str!("../../../../../examples/flows/first.yaml");

fn play(stage: &Stage) -> anyhow::Result<Told> {
    stage.set(COLLECTION, &[("first", FLOW.to_owned())])?;
    let item = |n: usize| format!("{COLLECTION}/page/{n:04}");
    stage.submit(&[round("first", item(1)), round("first", item(2))])?;
    eprintln!("a collection, a flow, and two pages submitted to it");
    let counts = stage.settle(COLLECTION, 4)?;
    let first = item(1);
    let history: Page<Event> = stage.client.get("events", &[("item", first.as_str())])?;
    Ok(Told {
        happened: vec![
            format!("two pages went through two steps: {} tasks done", counts.done),
            format!(
                "every step of it is in their histories: {first} has {} events, the last one `{}`",
                history.entries.len(),
                history.entries.last().map_or("", |event| &event.name),
            ),
        ],
        look: vec!["task list".to_owned(), format!("why {first}"), format!("item events {first}")],
        pages: vec![format!("/item?at={first}"), "/board".to_owned()],
    })
}
