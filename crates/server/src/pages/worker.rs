//! Who works: leases, by worker.

use std::collections::BTreeMap;

use armarius_core::ids::Time;
use armarius_core::rows::Lease;
use armarius_core::view::Need;
use axum::extract::State;
use maud::html;

use super::frame::page;
use super::parts::ago_at;
use crate::api;
use crate::app::App;
use crate::keys::Caller;
use crate::look::{Look, Lost, task_address};
use crate::problem::Answer;

/// Leases shown; those that lapse first come first.
const LEASES_MAX: usize = 200;
/// Tasks shown of one lease.
const TASKS_MAX: usize = 20;

/// A lease and the addresses of its tasks.
struct Held {
    lease: Lease,
    tasks: Vec<(i64, String, bool)>,
}

/// `GET /workers`
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Answer {
    let asking = caller.clone();
    let held = app.look(move |look| read(look, &asking)).await?;
    let shown = held.len();
    let mut workers: BTreeMap<(String, String), Vec<Held>> = BTreeMap::new();
    for one in held {
        let who = (one.lease.worker.to_string(), one.lease.actor.to_string());
        workers.entry(who).or_default().push(one);
    }
    let parked = app.handle().stats().parked;
    let main = html! {
        h1 { "Workers" }
        div id="workers" data-live {
            p.facts { (workers.len()) " at work, " (parked) " waiting for work" }
            @if workers.is_empty() { p.quiet { "Nobody holds a lease at the moment." } }
            @for ((worker, actor), leases) in &workers { section {
                h2 { (worker) " " span.quiet { "with the key " (actor) } }
                div.scroll { table {
                    thead { tr { th scope="col" { "task" } th scope="col" { "taken" } th scope="col"
                        { "lease ends" } } }
                    tbody { @for held in leases { @for (task, address, stopping) in &held.tasks
                        { tr {
                        td.address { a href={ "/task?id=" (task) } { (address) } @if *stopping
                            { " " span.quiet { "stopping" } } }
                        td { (ago_at(held.lease.granted_at)) }
                        td { @if held.lease.expires_at == Time::ZERO { "" } @else
                            { (ago_at(held.lease.expires_at)) } }
                    } }
                    @if held.lease.grips.len() > TASKS_MAX { tr
                        { td.quiet colspan="3" { "and " (held.lease.grips.len() - TASKS_MAX)
                        " more in this lease" } } } } }
                } }
            } }
            @if shown == LEASES_MAX { p.quiet { "Only the " (LEASES_MAX)
                " leases that lapse first are shown." } }
        }
    };
    Ok(page(&caller, "/workers", "Workers", &main))
}

fn read(look: &mut Look<'_>, caller: &Caller) -> Result<Vec<Held>, Lost> {
    let ids = look.ask(|view| {
        let due = view.due_leases.first(&(), LEASES_MAX)?;
        Ok(due.take(LEASES_MAX).map(|((_, id), ())| *id).collect::<Vec<_>>())
    })?;
    let needs: Vec<Need> = ids.iter().map(|id| Need::Lease(*id)).collect();
    look.load(&needs)?;
    let mut held = Vec::new();
    for id in ids {
        let Some(lease) = look.ask(|view| Ok(view.leases.get(&id)?.cloned()))? else { continue };
        if !api::lease::is_visible(look, caller, &lease) {
            continue;
        }
        let mut tasks = Vec::new();
        for grip in lease.grips.iter().take(TASKS_MAX) {
            let address = look.ask(|view| match view.bodies.get(&grip.task)? {
                Some(body) => task_address(view, body),
                None => Ok(format!("task {}", grip.task)),
            })?;
            tasks.push((grip.task.0, address, grip.stopping));
        }
        held.push(Held { lease, tasks });
    }
    Ok(held)
}
