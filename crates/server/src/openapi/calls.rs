//! A sentence for each call, and the types that belong to it.

use armarius_wire::v1::{
    Page, archive, batch, claim, collection, event, feed, flow, hold, item, key, lease, login,
    outbox, output, report, robot, round, schedule, status, task, why, worker,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// A kind of content, and what makes its schema.
type Content = (&'static str, fn(&mut SchemaGenerator) -> Value);

/// One call.
pub(super) struct Call {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) about: &'static str,
    pub(super) query: &'static [(&'static str, &'static str)],
    pub(super) takes: Option<Content>,
    pub(super) gives: Option<Content>,
    pub(super) status: u16,
    pub(super) answers: &'static str,
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn text(_: &mut SchemaGenerator) -> Value {
    json!({ "type": "string" })
}

const fn body<T: JsonSchema>() -> Option<Content> {
    Some(("application/json", of::<T>))
}

const fn call(
    (method, path): (&'static str, &'static str),
    id: &'static str,
    about: &'static str,
) -> Call {
    Call {
        method,
        path,
        id,
        about,
        query: &[],
        takes: None,
        gives: None,
        status: 204,
        answers: "Done.",
    }
}

impl Call {
    const fn takes<T: JsonSchema>(self) -> Self {
        Self { takes: body::<T>(), ..self }
    }

    const fn gives<T: JsonSchema>(self, status: u16, answers: &'static str) -> Self {
        Self { gives: body::<T>(), status, answers, ..self }
    }

    const fn query(self, query: &'static [(&'static str, &'static str)]) -> Self {
        Self { query, ..self }
    }
}

const PAGE: [(&str, &str); 2] =
    [("cursor", "`next` of the page before"), ("max", "entries of one page, 100 unless said")];
const DRY: (&str, &str) = ("dry_run", "`true`: tell what would happen, and change nothing");

/// All of them.
pub(super) const CALLS: &[Call] = &[
    call(("GET", "/healthz"), "health", "Whether the process answers")
        .gives::<status::Health>(200, "It does."),
    call(("GET", "/readyz"), "ready", "Whether commands are taken")
        .gives::<status::Health>(200, "They are."),
    Call {
        gives: Some(("text/plain", text)),
        status: 200,
        answers: "Figures in the text form of Prometheus.",
        ..call(("GET", "/metrics"), "metrics", "Figures for Prometheus")
    },
    // The worker's side.
    call(("POST", "/api/v1/claims"), "claim", "Asks for work, and waits for it")
        .takes::<claim::Request>()
        .gives::<claim::Reply>(200, "A lease; 204 when nothing came in time."),
    call(("POST", "/api/v1/leases/{lease}/heartbeat"), "heartbeat", "Renews a lease")
        .takes::<lease::Heartbeat>()
        .gives::<lease::Renewed>(200, "How long it goes on, and which tasks to stop."),
    call(
        ("POST", "/api/v1/leases/stops"),
        "listenForStops",
        "Waits until a task of some leases is to be stopped",
    )
    .takes::<lease::Listen>()
    .gives::<lease::Stops>(200, "Which; none when nothing came in time."),
    call(
        ("POST", "/api/v1/leases/{lease}/give-back"),
        "giveBack",
        "Gives back what is left in a lease",
    ),
    call(("POST", "/api/v1/reports"), "report", "Reports what came of tasks")
        .takes::<Vec<report::Report>>()
        .gives::<Vec<report::Reported>>(200, "What each report did, in order."),
    Call {
        takes: Some(("application/octet-stream", text)),
        ..call(
            ("POST", "/api/v1/leases/{lease}/output"),
            "writeOutput",
            "Adds to what a task has written",
        )
        .query(&[
            ("task", "the task"),
            ("token", "the token it was granted with"),
            ("from", "offset of the first byte"),
        ])
        .gives::<output::Taken>(200, "Where the output ends now.")
    },
    call(("GET", "/api/v1/workers"), "listWorkers", "Workers: who asks for work, who has some")
        .gives::<Page<worker::Worker>>(200, "All that are known."),
    call(("GET", "/api/v1/leases"), "listLeases", "Leases, those that lapse first come first")
        .query(&[PAGE[1]])
        .gives::<Page<lease::Lease>>(200, "Leases, without their names."),
    // What there is.
    call(
        ("GET", "/api/v1/collections"),
        "listCollections",
        "Collections and how their tasks stand",
    )
    .gives::<Page<collection::Collection>>(200, "All of them."),
    call(("GET", "/api/v1/collections/{collection}"), "showCollection", "One collection")
        .gives::<collection::Collection>(200, "The collection."),
    call(
        ("PUT", "/api/v1/collections/{collection}"),
        "putCollection",
        "Makes a collection, or changes whom it tells",
    )
    .query(&[DRY])
    .takes::<collection::Put>(),
    call(("GET", "/api/v1/flows"), "listFlows", "Flows and how the tasks of their steps stand")
        .query(&[("collection", "only this one")])
        .gives::<Page<flow::Flow>>(200, "All of them."),
    call(("GET", "/api/v1/flows/{collection}/{flow}"), "showFlow", "One flow")
        .gives::<flow::Flow>(200, "The flow with its definition."),
    Call {
        takes: Some(("application/yaml", text)),
        ..call(
            ("PUT", "/api/v1/flows/{collection}/{flow}"),
            "applyFlow",
            "Registers a flow, or a new version of it, from the text of its file",
        )
        .query(&[DRY])
        .gives::<flow::Applied>(201, "The version; 200 when it was known.")
    },
    call(
        ("DELETE", "/api/v1/flows/{collection}/{flow}"),
        "removeFlow",
        "Ends a flow: no new rounds",
    )
    .query(&[DRY]),
    // Archives.
    call(("GET", "/api/v1/archives"), "listArchives", "Archives: repositories that are watched")
        .gives::<Page<archive::Archive>>(200, "All of them."),
    call(("GET", "/api/v1/archives/{archive}"), "showArchive", "One archive")
        .gives::<archive::Archive>(200, "The archive, and what holds it back."),
    call(("PUT", "/api/v1/archives/{archive}"), "putArchive", "Watches a repository")
        .query(&[DRY])
        .takes::<archive::Put>(),
    call(("DELETE", "/api/v1/archives/{archive}"), "removeArchive", "Watches it no more")
        .query(&[DRY]),
    call(("POST", "/api/v1/archives/{archive}/resume"), "resumeArchive", "Looks at it again")
        .query(&[DRY]),
    call(
        ("POST", "/api/v1/archives/{archive}/accept"),
        "acceptHistory",
        "Goes on with a stopped archive, with the history its repository has now",
    )
    .query(&[DRY])
    .takes::<archive::Accept>()
    .gives::<archive::Accepted>(200, "How it goes on."),
    call(("POST", "/api/v1/archives/{archive}/skip"), "skipRevision", "Passes over a revision")
        .query(&[DRY])
        .takes::<archive::Skip>(),
    call(("POST", "/api/v1/archives/{archive}/notices"), "notice", "Says: there is a revision")
        .takes::<archive::Notice>(),
    call(("POST", "/api/v1/archives/{archive}/start"), "startFlow", "Starts a flow at a revision")
        .query(&[DRY])
        .takes::<archive::Start>()
        .gives::<archive::Started>(200, "What was started."),
    call(("GET", "/api/v1/archives/{archive}/log"), "archiveLog", "Revisions, newest first")
        .query(&PAGE)
        .gives::<Page<archive::Revision>>(200, "Revisions with their tasks."),
    call(
        ("GET", "/api/v1/archives/{archive}/revisions/{revision}"),
        "showRevision",
        "One revision",
    )
    .gives::<archive::Revision>(200, "The revision with its tasks."),
    Call {
        gives: Some(("text/plain", text)),
        status: 200,
        answers: "One path per line, after `A`, `M` or `D` and a space.",
        ..call(
            ("GET", "/api/v1/archives/{archive}/revisions/{revision}/paths"),
            "revisionPaths",
            "The paths a revision changed",
        )
    },
    Call {
        gives: Some(("application/x-tar", text)),
        status: 200,
        answers: "A tar file.",
        ..call(
            ("GET", "/api/v1/archives/{archive}/revisions/{revision}/export"),
            "exportRevision",
            "Everything at a revision",
        )
    },
    call(
        ("GET", "/api/v1/items"),
        "listItems",
        "Items of a collection, in the order they were first seen",
    )
    .query(&[("collection", "which"), PAGE[0], PAGE[1]])
    .gives::<Page<item::Item>>(200, "One page."),
    call(("POST", "/api/v1/items"), "putItems", "Puts many items")
        .takes::<Vec<item::PutOne>>()
        .gives::<Vec<item::Placed>>(200, "What came of each, in order."),
    call(("GET", "/api/v1/items/{*item}"), "showItem", "One item and its newest tasks")
        .gives::<item::Item>(200, "The item."),
    call(
        ("PUT", "/api/v1/items/{*item}"),
        "putItem",
        "Makes an item, or changes what is said about it",
    )
    .query(&[DRY])
    .takes::<item::Put>()
    .gives::<item::PutReply>(201, "The item; 200 when it was there."),
    call(
        ("DELETE", "/api/v1/items/{*item}"),
        "deleteItem",
        "Deletes an item: its work is cancelled, its history stays",
    )
    .query(&[DRY]),
    call(
        ("GET", "/api/v1/robots"),
        "listRobots",
        "The assembly line: robots, and who waits for whom",
    )
    .query(&[("collection", "only this one")])
    .gives::<robot::Line>(200, "All of them, and whose events they look at."),
    call(("GET", "/api/v1/robots/{collection}/{robot}"), "showRobot", "One robot")
        .gives::<robot::Robot>(200, "What wakes it, and how it stands."),
    call(
        ("POST", "/api/v1/items/find"),
        "findItems",
        "Items by what happened to them, as a robot's trigger finds them",
    )
    .takes::<item::Find>()
    .gives::<Page<item::Item>>(200, "A page; it may be short and still have a next one."),
    call(
        ("POST", "/api/v1/items/rewind"),
        "rewindItem",
        "Makes an item's events from one on invisible to robots; nothing is erased",
    )
    .query(&[DRY])
    .takes::<item::Rewind>()
    .gives::<item::Rewound>(200, "The event that says so, and what is invisible now."),
    call(("POST", "/api/v1/items/touch"), "touchItem", "An item's content changed")
        .query(&[DRY])
        .takes::<item::Touch>()
        .gives::<event::Added>(200, "The event's number."),
    call(
        ("POST", "/api/v1/items/priority"),
        "prioritiseItem",
        "Changes the priority of an item and of its queued tasks",
    )
    .query(&[DRY])
    .takes::<item::Priority>(),
    call(("GET", "/api/v1/events"), "listEvents", "An item's history, oldest first")
        .query(&[("item", "whose"), PAGE[0], PAGE[1]])
        .gives::<Page<event::Event>>(200, "One page."),
    call(("POST", "/api/v1/events"), "addEvents", "Appends events to items")
        .takes::<Vec<event::Add>>()
        .gives::<Vec<event::Added>>(200, "What came of each, in order."),
    // Work.
    call(("POST", "/api/v1/rounds"), "submit", "Submits work: opens rounds of flows on items")
        .takes::<Vec<round::Submit>>()
        .gives::<Vec<round::Submitted>>(200, "What came of each, in order."),
    call(
        ("GET", "/api/v1/tasks"),
        "listTasks",
        "Tasks, newest first. A page may have fewer entries than asked for, and still a `next`",
    )
    .query(&[
        ("state", "states, separated by commas"),
        ("collection", "only this one"),
        ("flow", "only this one"),
        ("step", "only this one"),
        ("item", "only of this item"),
        ("batch", "only of this batch"),
        ("since", "only those in their state since this moment or later"),
        ("before", "only those in their state since before this moment"),
        ("address", "one task by its address"),
        PAGE[0],
        PAGE[1],
    ])
    .gives::<Page<task::Task>>(200, "One page."),
    call(("GET", "/api/v1/tasks/{task}"), "showTask", "One task")
        .gives::<task::Task>(200, "The task."),
    Call {
        gives: Some(("text/plain", text)),
        status: 200,
        answers: "Bytes, with headers that say of which attempt, from where, and what was left \
                  out; as server-sent events `output` when it is followed.",
        ..call(("GET", "/api/v1/tasks/{task}/output"), "readOutput", "What an attempt has written")
            .query(&[
                ("attempt", "which; the newest unless said"),
                ("from", "from which byte"),
                ("follow", "`true`: as a stream that goes on until the attempt is over"),
            ])
    },
    call(
        ("POST", "/api/v1/tasks/{task}/retry"),
        "retryTask",
        "Another attempt of a failed or cancelled task",
    )
    .query(&[DRY]),
    call(
        ("POST", "/api/v1/tasks/{task}/skip"),
        "skipTask",
        "Counts a task as unnecessary; its dependents go on",
    )
    .query(&[DRY])
    .takes::<task::Reason>(),
    call(
        ("POST", "/api/v1/tasks/{task}/cancel"),
        "cancelTask",
        "Ends a task; its dependents stay blocked",
    )
    .query(&[DRY])
    .takes::<task::Reason>(),
    call(
        ("POST", "/api/v1/tasks/{task}/priority"),
        "prioritiseTask",
        "Changes the priority of a task",
    )
    .query(&[DRY])
    .takes::<task::Priority>(),
    call(("GET", "/api/v1/batches"), "listBatches", "Batches, newest first")
        .query(&PAGE)
        .gives::<Page<batch::Batch>>(200, "One page."),
    call(("POST", "/api/v1/batches"), "openBatch", "Opens a batch")
        .query(&[DRY])
        .takes::<batch::Open>()
        .gives::<batch::Opened>(201, "The batch."),
    call(("GET", "/api/v1/batches/{batch}"), "showBatch", "One batch with its counters")
        .gives::<batch::Batch>(200, "The batch."),
    call(
        ("DELETE", "/api/v1/batches/{batch}"),
        "deleteBatch",
        "Deletes a batch: what is open is cancelled, history stays",
    )
    .query(&[DRY]),
    call(("POST", "/api/v1/batches/{batch}/seal"), "sealBatch", "The batch is complete in number")
        .query(&[DRY]),
    call(
        ("POST", "/api/v1/batches/{batch}/cancel"),
        "cancelBatch",
        "Cancels what is open in a batch",
    )
    .query(&[DRY]),
    call(
        ("POST", "/api/v1/batches/{batch}/retry"),
        "retryBatch",
        "Another attempt for every failed member",
    )
    .query(&[DRY]),
    call(
        ("POST", "/api/v1/batches/{batch}/report"),
        "reportBatch",
        "Composes another report of a failed batch",
    )
    .query(&[DRY]),
    call(("GET", "/api/v1/holds"), "listHolds", "Holds")
        .gives::<Page<hold::Hold>>(200, "All of them."),
    call(("POST", "/api/v1/holds"), "setHold", "Sets a hold")
        .query(&[DRY])
        .takes::<hold::Set>()
        .gives::<hold::IsSet>(201, "The hold."),
    call(("DELETE", "/api/v1/holds/{hold}"), "releaseHold", "Releases a hold").query(&[DRY]),
    call(("GET", "/api/v1/schedules"), "listSchedules", "What fires by itself, and when")
        .query(&[("collection", "only this one")])
        .gives::<Page<schedule::Schedule>>(200, "All of them."),
    call(("GET", "/api/v1/outbox"), "listOutbox", "Destinations that letters wait for")
        .gives::<Page<outbox::Destination>>(200, "Those that are due first."),
    call(("GET", "/api/v1/why"), "why", "What a task, item or batch waits for, as a tree")
        .query(&[
            ("task", "a task's number or address"),
            ("item", "an item's address"),
            ("batch", "a batch's number"),
        ])
        .gives::<why::Node>(200, "The tree."),
    // The server itself.
    Call {
        gives: Some(("text/event-stream", of::<feed::Entry>)),
        status: 200,
        answers: "Messages `event` with one entry each; the `id` of a message is the cursor \
            behind it.",
        ..call(
            ("GET", "/api/v1/feed"),
            "feed",
            "What happens, as server-sent events; resumes with the header `Last-Event-ID` and \
            misses nothing",
        )
        .query(&[
            ("collection", "only this one"),
            (
                "after",
                "a cursor; the newest commit unless said, 0 for the beginning of the \
                    embedded store",
            ),
            ("pulse", "`true`: only that something happened"),
        ])
    },
    call(("POST", "/api/v1/logins"), "login", "A link that signs a person in, once")
        .gives::<login::Link>(201, "The link's path."),
    Call {
        gives: Some(("application/json", |_| json!({ "type": "object" }))),
        status: 200,
        answers: "This document.",
        ..call(("GET", "/api/v1/openapi.json"), "describe", "The API's description")
    },
    call(("GET", "/api/v1/stats"), "stats", "What the server has done")
        .gives::<status::Stats>(200, "Figures."),
    call(("GET", "/api/v1/durability"), "durability", "What an acknowledged change survives")
        .gives::<status::Durability>(200, "The store and its promise."),
    call(("GET", "/api/v1/keys"), "listKeys", "Keys, without their secrets")
        .gives::<Page<key::Key>>(200, "All that open something."),
    call(("POST", "/api/v1/keys"), "addKey", "Makes a key")
        .query(&[DRY])
        .takes::<key::Add>()
        .gives::<key::Added>(201, "The key, shown once."),
    call(("PUT", "/api/v1/keys/{key}"), "changeKey", "Changes what a key is for")
        .query(&[DRY])
        .takes::<key::Change>(),
    call(("DELETE", "/api/v1/keys/{key}"), "revokeKey", "Ends a key, at once").query(&[DRY]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::RULES;
    use crate::openapi::is_described;

    #[test]
    fn every_call_is_described_and_every_description_has_its_call() {
        let routes: Vec<_> = RULES.iter().filter(|rule| is_described(rule)).collect();
        for rule in &routes {
            let found =
                CALLS.iter().any(|call| (call.method, call.path) == (rule.method, rule.path));
            assert!(found, "{} {} has no line in calls.rs", rule.method, rule.path);
        }
        for call in CALLS {
            let found =
                routes.iter().any(|rule| (rule.method, rule.path) == (call.method, call.path));
            assert!(found, "{} {} is no route", call.method, call.path);
            let same = CALLS.iter().filter(|other| other.id == call.id).count();
            assert_eq!(same, 1, "{} names two calls", call.id);
        }
    }
}
