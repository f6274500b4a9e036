//! The assembly line: robots as stations, in the order in which items come to them.

use std::collections::BTreeMap;

use armarius_core::command::{Command, HoldOn};
use armarius_core::ids::HoldId;
use armarius_core::task::State as Stands;
use armarius_core::text::Name;
use armarius_wire::client::segment;
use armarius_wire::v1::robot::{Edge as Looks, Line, Query, Robot};
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::act::{back, strange};
use super::drawing::{self, Edge, Node};
use super::frame::{page, steers};
use super::graph::worst;
use super::parts::{action, badge_as, collection_link, count, flow_link, lasting};
use crate::api;
use crate::app::App;
use crate::body::{Form, Params};
use crate::keys::Caller;
use crate::problem::Answer;

/// Stations shown at once.
const STATIONS_MAX: usize = 200;

/// Which part of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    collection: Option<String>,
}

/// `GET /line`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let Line { robots, edges } = api::robot::read(&app, &caller, wanted.collection.clone()).await?;
    let all = robots.len();
    let mut lines: BTreeMap<&str, Vec<&Robot>> = BTreeMap::new();
    for robot in robots.iter().take(STATIONS_MAX) {
        lines.entry(&robot.collection).or_default().push(robot);
    }
    let main = html! {
        h1 { "Assembly line" }
        @if wanted.collection.is_some() { p { a href="/line" { "All collections" } } }
        div id="line" data-live {
            @if lines.is_empty() { p.quiet { "There are no robots here: flows that items wake. "
                code { "examples/line" } " has some to begin with." } }
            @for (collection, robots) in &lines {
                section {
                    h2 { (collection_link(collection)) }
                    (stations(&caller, robots, &edges, collection))
                }
            }
            @if all > STATIONS_MAX { p.quiet { "Only " (STATIONS_MAX) " of " (all)
                " robots; choose a collection." } }
        }
    };
    Ok(page(&caller, "/line", "Assembly line", &main))
}

fn stations(caller: &Caller, robots: &[&Robot], edges: &[Looks], collection: &str) -> Markup {
    let edges: Vec<&Looks> = edges.iter().filter(|edge| edge.collection == collection).collect();
    let (nodes, curves) = picture(robots, &edges);
    let order = drawing::order(&nodes, &curves);
    let order = order.into_iter().filter(|place| *place < robots.len());
    let label = format!("{} robots of {collection} and the events between them", robots.len());
    html! {
        div.scroll.drawing tabindex="0" { (drawing::draw(&label, &nodes, &curves)) }
        ol.line { @for place in order { (station(caller, robots[place])) } }
    }
}

/// Robots as boxes, events as curves. An event that nobody here records comes from a box of its
/// own; a robot that merely looks whether its own event is old is not drawn as a circle.
fn picture(robots: &[&Robot], edges: &[&Looks]) -> (Vec<Node>, Vec<Edge>) {
    let mut nodes: Vec<Node> = robots.iter().map(|robot| node(robot)).collect();
    let mut outside: BTreeMap<&str, usize> = BTreeMap::new();
    let mut curves = Vec::new();
    let at = |name: &str| robots.iter().position(|robot| robot.name == name);
    for edge in edges {
        let wakes = matches!(&*edge.how, "success" | "failed");
        let Some(to) = at(&edge.to) else { continue };
        let from = match &edge.from {
            Some(from) => at(from),
            None if wakes => Some(*outside.entry(&edge.event).or_insert_with(|| {
                nodes.push(Node {
                    name: edge.event.clone(),
                    tell: "from outside".to_owned(),
                    about: format!("{}: no robot here records it", edge.event),
                    class: "ghost",
                    href: None,
                    late: true,
                });
                nodes.len() - 1
            })),
            None => None,
        };
        let Some(from) = from.filter(|from| *from != to) else { continue };
        let (class, word) = match &*edge.how {
            "success" => ("", ""),
            "failed" => ("cancels", "✕ "),
            "absent" => ("settled", "no "),
            _ => ("settled", "old "),
        };
        let label = format!("{word}{}", edge.event);
        curves.push(Edge { from, to, class, label, pulls: wakes, points_back: false });
    }
    (nodes, curves)
}

fn node(robot: &Robot) -> Node {
    let numbers =
        format!("{} waiting, {} running", count(waiting(robot)), count(robot.tasks.leased));
    Node {
        name: robot.name.clone(),
        about: format!("{}: {numbers}, {} failed", robot.name, count(robot.tasks.failed)),
        tell: numbers,
        class: if robot.paused.is_some() { "held" } else { worst(&robot.tasks) },
        href: Some(flow_href(robot)),
        late: false,
    }
}

fn flow_href(robot: &Robot) -> String {
    format!("/flow?collection={}&name={}", segment(&robot.collection), segment(&robot.name))
}

fn waiting(robot: &Robot) -> i64 {
    robot.tasks.waiting + robot.tasks.held + robot.tasks.ready
}

fn station(caller: &Caller, robot: &Robot) -> Markup {
    let query = format!("collection={}&flow={}", segment(&robot.collection), segment(&robot.name));
    let numbers = [
        ("waiting", "waiting,held,ready", waiting(robot)),
        ("running", "leased", robot.tasks.leased),
        ("failed", "failed", robot.tasks.failed),
        ("done", "done", robot.tasks.done),
    ];
    html! { li.station {
        h3 { (flow_link(&robot.collection, &robot.name)) " " (stands(robot)) }
        p.quiet { (wakes(robot)) @if let Some(event) = &robot.records { " → " b { (event) } } }
        dl.numbers { @for (name, states, n) in numbers {
            div class=(if n == 0 { "zero" } else { name }) { dt { (name) }
                dd { a href={ "/tasks?" (query) "&state=" (states) } { (count(n)) } } }
        } }
        p.pace { b { (count(robot.done_minute)) } " in the last minute, " b
            { (count(robot.done_hour)) } " in the last hour"
            @if let Some(since) = &robot.waiting_since { "; first in line waits for "
                b { (lasting(since)) } } }
        @if let Some(holder) = &robot.holder { p { "held by " (holder) } }
        @if let Some(filling) = &robot.filling { p.filling {
            progress max="100" value=(filling.percent) aria-label="Items it was asked about" {}
            " asked about " (filling.percent) " % of the items, for " (lasting(&filling.since)) } }
        @if let Some(paused) = &robot.paused { p.note { (paused.reason) span.quiet { " – "
            (paused.owner) ", for " (lasting(&paused.since)) } } }
        @for warning in &robot.warnings { p.warning { (warning) } }
        @if steers(caller) { (forms(robot)) }
    } }
}

fn stands(robot: &Robot) -> Markup {
    if robot.paused.is_some() {
        badge_as(Stands::Held, "paused")
    } else if robot.tasks.leased > 0 {
        badge_as(Stands::Leased, "working")
    } else if robot.tasks.ready > 0 {
        badge_as(Stands::Ready, "waits for a worker")
    } else {
        badge_as(Stands::Done, "idle")
    }
}

/// What wakes it, in one line. That its own event is old or not there needs no words.
fn wakes(robot: &Robot) -> String {
    let Query { kinds, types, success, failed, absent, stale, items } = &robot.query;
    let stale: Vec<String> =
        stale.iter().filter(|event| robot.records.as_ref() != Some(event)).cloned().collect();
    let lists = [
        ("every ", kinds),
        ("of type ", types),
        ("key ", items),
        ("after ", success),
        ("after failed ", failed),
        ("without ", absent),
        ("without a fresh ", &stale),
    ];
    let told = lists.iter().filter(|(_, names)| !names.is_empty());
    told.map(|(word, names)| format!("{word}{}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

fn forms(robot: &Robot) -> Markup {
    let form = |verb: &str, button: &str, inner: &Markup| {
        html! { form method="post" action="/line/act" {
            input type="hidden" name="collection" value=(robot.collection);
            input type="hidden" name="robot" value=(robot.name);
            input type="hidden" name="verb" value=(verb);
            (inner)
            button.main type="submit" { (button) }
        } }
    };
    let (collection, name) = (&robot.collection, &robot.name);
    html! { @match &robot.paused {
        Some(paused) => (action("Resume", &format!("Hold {} is released, and with it everything it \
            brakes.", paused.hold), &form("resume", &format!("Resume {name}"),
            &html! { input type="hidden" name="hold" value=(paused.hold); }))),
        None => (action("Pause", &format!("No item is handed to {name} in {collection} while it is \
            paused; what is in work goes on."), &form("pause", &format!("Pause {name}"),
            &html! { label { "Reason" input name="reason" required maxlength="500"; } }))),
    } }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Act {
    collection: String,
    robot: String,
    verb: String,
    #[serde(default)]
    reason: String,
    hold: Option<i64>,
}

/// `POST /line/act`
pub(super) async fn act(State(app): State<App>, caller: Caller, Form(act): Form<Act>) -> Answer {
    match (&*act.verb, act.hold) {
        ("pause", None) => {
            let on = HoldOn::Flow(Name::new(&act.collection)?, Name::new(&act.robot)?);
            api::hold::permit(&app, &caller, &on).await?;
            let reason = act.reason.as_str().into();
            app.ask(&caller, Command::Hold { on, reason, until: None }).await?;
        }
        ("resume", Some(hold)) => api::hold::release_for(&app, &caller, HoldId(hold)).await?,
        _ => return Err(strange(&act.verb)),
    }
    Ok(back(&format!("/line?collection={}", segment(&act.collection))))
}

#[cfg(test)]
mod tests {
    use armarius_wire::v1::status::Counts;

    use super::*;

    fn look(from: Option<&str>, event: &str, to: &str, how: &str) -> Looks {
        Looks {
            collection: "c".to_owned(),
            from: from.map(str::to_owned),
            event: event.to_owned(),
            to: to.to_owned(),
            how: how.to_owned(),
        }
    }

    fn robot(name: &str) -> Robot {
        let text = serde_json::json!({
            "collection": "c", "name": name, "version": "", "query": {}, "touches": false,
            "singleton": false, "max_items": 1, "tasks": Counts::default(),
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn stations_stand_in_the_order_of_their_events() {
        let robots = ["derive", "checksum", "validate", "format"].map(robot);
        let robots: Vec<&Robot> = robots.iter().collect();
        let edges = [
            look(None, "scanned", "checksum", "success"),
            look(Some("checksum"), "checksummed", "format", "success"),
            look(Some("format"), "identified", "derive", "success"),
            look(Some("derive"), "derived", "validate", "success"),
            look(Some("checksum"), "checksummed", "validate", "success"),
            look(Some("validate"), "validated", "validate", "stale"),
            look(Some("validate"), "validated", "checksum", "absent"),
            look(None, "waived", "format", "absent"),
        ];
        let edges: Vec<&Looks> = edges.iter().collect();
        let (nodes, curves) = picture(&robots, &edges);
        let order = drawing::order(&nodes, &curves);
        let names: Vec<&str> = order.iter().map(|n| nodes[*n].name.as_str()).collect();
        assert_eq!(names, ["scanned", "checksum", "format", "derive", "validate"]);
        let labels: Vec<&str> = curves.iter().map(|curve| curve.label.as_str()).collect();
        assert_eq!(
            labels,
            ["scanned", "checksummed", "identified", "derived", "checksummed", "no validated"]
        );
    }
}
