//! Which route is for whom: one table.
//!
//! Every request is checked against it before anything of its body is read; a route that does not
//! stand here is refused. The tests make their matrix of routes and roles from it.

use armarius_wire::v1::key::Role;

/// One route.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The method.
    pub method: &'static str,
    /// The path, as the router writes it.
    pub path: &'static str,
    /// Who may use it.
    pub who: Who,
    /// How large its body may be.
    pub body: Body,
}

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Anyone, without a key: says nothing about any data.
    Anyone,
    /// Holders of a key with one of these roles.
    Roles(&'static [Role]),
    /// Holders of an admin key that is not limited to collections.
    WholeAdmin,
}

/// How large a body may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// There is none.
    Nothing,
    /// One thing.
    Small,
    /// Many things.
    Bulk,
}

impl Body {
    /// The limit in bytes.
    #[must_use]
    pub fn bytes_max(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Small => 1024 * 1024,
            Self::Bulk => 16 * 1024 * 1024,
        }
    }
}

use Body::{Bulk, Nothing, Small};
use Role::{Admin, Auditor, Notifier, Operator, Submitter, Worker};

const READS: Who = Who::Roles(&[Submitter, Operator, Admin, Auditor]);
const SUBMITS: Who = Who::Roles(&[Submitter, Operator, Admin]);
const WORKS: Who = Who::Roles(&[Worker, Admin]);
const READS_OR_WORKS: Who = Who::Roles(&[Submitter, Worker, Operator, Admin, Auditor]);
const NOTIFIES: Who = Who::Roles(&[Notifier, Submitter, Operator, Admin]);
const STEERS: Who = Who::Roles(&[Operator, Admin]);
const RULES_ALL: Who = Who::Roles(&[Admin]);

/// The table.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule("GET",    "/healthz",                               Who::Anyone,     Nothing),
    rule("GET",    "/readyz",                                Who::Anyone,     Nothing),

    rule("GET",    "/api/v1/leases",                         READS,           Nothing),
    rule("GET",    "/api/v1/workers",                        READS,           Nothing),
    rule("POST",   "/api/v1/claims",                         WORKS,           Small),
    rule("POST",   "/api/v1/leases/stops",                   WORKS,           Small),
    rule("POST",   "/api/v1/leases/{lease}/heartbeat",       WORKS,           Small),
    rule("POST",   "/api/v1/leases/{lease}/give-back",       WORKS,           Small),
    rule("POST",   "/api/v1/leases/{lease}/output",          WORKS,           Small),
    rule("POST",   "/api/v1/reports",                        WORKS,           Bulk),

    rule("GET",    "/api/v1/collections",                    READS,           Nothing),
    rule("GET",    "/api/v1/collections/{collection}",       READS,           Nothing),
    rule("PUT",    "/api/v1/collections/{collection}",       RULES_ALL,       Small),

    rule("GET",    "/api/v1/flows",                          READS,           Nothing),
    rule("GET",    "/api/v1/flows/{collection}/{flow}",      READS,           Nothing),
    rule("PUT",    "/api/v1/flows/{collection}/{flow}",      RULES_ALL,       Small),
    rule("DELETE", "/api/v1/flows/{collection}/{flow}",      RULES_ALL,       Nothing),

    rule("GET",    "/api/v1/robots",                         READS,           Nothing),
    rule("GET",    "/api/v1/robots/{collection}/{robot}",    READS,           Nothing),
    rule("GET",    "/api/v1/archives",                       READS,           Nothing),
    rule("GET",    "/api/v1/archives/{archive}",             READS,           Nothing),
    rule("PUT",    "/api/v1/archives/{archive}",             RULES_ALL,       Small),
    rule("DELETE", "/api/v1/archives/{archive}",             RULES_ALL,       Nothing),
    rule("POST",   "/api/v1/archives/{archive}/resume",      STEERS,          Small),
    rule("POST",   "/api/v1/archives/{archive}/accept",      STEERS,          Small),
    rule("POST",   "/api/v1/archives/{archive}/skip",        STEERS,          Small),
    rule("POST",   "/api/v1/archives/{archive}/notices",     NOTIFIES,        Small),
    rule("POST",   "/api/v1/archives/{archive}/start",       SUBMITS,         Small),
    rule("GET",    "/api/v1/archives/{archive}/log",         READS,           Nothing),
    rule("GET",    "/api/v1/archives/{archive}/revisions/{revision}",        READS,         Nothing),
    rule("GET",    "/api/v1/archives/{archive}/revisions/{revision}/paths",  READS_OR_WORKS, Nothing),
    rule("GET",    "/api/v1/archives/{archive}/revisions/{revision}/export", READS_OR_WORKS, Nothing),

    rule("GET",    "/api/v1/items",                          READS,           Nothing),
    rule("POST",   "/api/v1/items",                          SUBMITS,         Bulk),
    rule("GET",    "/api/v1/items/{*item}",                  READS,           Nothing),
    rule("PUT",    "/api/v1/items/{*item}",                  SUBMITS,         Small),
    rule("DELETE", "/api/v1/items/{*item}",                  STEERS,          Nothing),
    rule("POST",   "/api/v1/items/find",                     READS,           Small),
    rule("POST",   "/api/v1/items/rewind",                   STEERS,          Small),
    rule("POST",   "/api/v1/items/touch",                    SUBMITS,         Small),
    rule("POST",   "/api/v1/items/priority",                 STEERS,          Small),

    rule("GET",    "/api/v1/events",                         READS,           Nothing),
    rule("POST",   "/api/v1/events",                         SUBMITS,         Bulk),
    rule("POST",   "/api/v1/rounds",                         SUBMITS,         Bulk),

    rule("GET",    "/api/v1/tasks",                          READS,           Nothing),
    rule("GET",    "/api/v1/tasks/{task}",                   READS,           Nothing),
    rule("GET",    "/api/v1/tasks/{task}/output",            READS,           Nothing),
    rule("POST",   "/api/v1/tasks/{task}/retry",             STEERS,          Small),
    rule("POST",   "/api/v1/tasks/{task}/skip",              STEERS,          Small),
    rule("POST",   "/api/v1/tasks/{task}/cancel",            STEERS,          Small),
    rule("POST",   "/api/v1/tasks/{task}/priority",          STEERS,          Small),

    rule("GET",    "/api/v1/batches",                        READS,           Nothing),
    rule("POST",   "/api/v1/batches",                        SUBMITS,         Small),
    rule("GET",    "/api/v1/batches/{batch}",                READS,           Nothing),
    rule("DELETE", "/api/v1/batches/{batch}",                STEERS,          Nothing),
    rule("POST",   "/api/v1/batches/{batch}/seal",           SUBMITS,         Small),
    rule("POST",   "/api/v1/batches/{batch}/cancel",         STEERS,          Small),
    rule("POST",   "/api/v1/batches/{batch}/retry",          STEERS,          Small),
    rule("POST",   "/api/v1/batches/{batch}/report",         STEERS,          Small),

    rule("GET",    "/api/v1/holds",                          READS,           Nothing),
    rule("POST",   "/api/v1/holds",                          STEERS,          Small),
    rule("DELETE", "/api/v1/holds/{hold}",                   STEERS,          Nothing),

    rule("GET",    "/api/v1/schedules",                      READS,           Nothing),
    rule("GET",    "/api/v1/outbox",                         STEERS,          Nothing),
    rule("GET",    "/api/v1/why",                            READS,           Nothing),
    rule("GET",    "/api/v1/stats",                          READS,           Nothing),
    rule("GET",    "/api/v1/durability",                     READS,           Nothing),

    rule("GET",    "/api/v1/feed",                           READS,           Nothing),
    rule("POST",   "/api/v1/logins",                         READS,           Nothing),
    rule("GET",    "/api/v1/openapi.json",                   READS,           Nothing),
    rule("GET",    "/metrics",                               READS,           Nothing),

    rule("GET",    "/api/v1/keys",                           Who::WholeAdmin, Nothing),
    rule("POST",   "/api/v1/keys",                           Who::WholeAdmin, Small),
    rule("PUT",    "/api/v1/keys/{key}",                     Who::WholeAdmin, Small),
    rule("DELETE", "/api/v1/keys/{key}",                     Who::WholeAdmin, Nothing),

    // Pages, and what their forms send.
    rule("GET",    "/assets/{name}",                         Who::Anyone,     Nothing),
    rule("GET",    "/login",                                 Who::Anyone,     Nothing),
    rule("POST",   "/login",                                 Who::Anyone,     Small),
    rule("POST",   "/logout",                                Who::Anyone,     Small),
    rule("GET",    "/",                                      READS,           Nothing),
    rule("GET",    "/board",                                 READS,           Nothing),
    rule("GET",    "/collections",                           READS,           Nothing),
    rule("GET",    "/collection",                            READS,           Nothing),
    rule("GET",    "/items",                                 READS,           Nothing),
    rule("GET",    "/item",                                  READS,           Nothing),
    rule("GET",    "/tasks",                                 READS,           Nothing),
    rule("GET",    "/task",                                  READS,           Nothing),
    rule("GET",    "/flows",                                 READS,           Nothing),
    rule("GET",    "/flow",                                  READS,           Nothing),
    rule("GET",    "/workers",                               READS,           Nothing),
    rule("GET",    "/holds",                                 READS,           Nothing),
    rule("GET",    "/batches",                               READS,           Nothing),
    rule("GET",    "/batch",                                 READS,           Nothing),
    rule("GET",    "/line",                                  READS,           Nothing),
    rule("GET",    "/archives",                              READS,           Nothing),
    rule("GET",    "/archive",                               READS,           Nothing),
    rule("GET",    "/revision",                              READS,           Nothing),
    rule("GET",    "/keys",                                  Who::WholeAdmin, Nothing),
    rule("GET",    "/search",                                READS,           Nothing),
    rule("POST",   "/task/act",                              STEERS,          Small),
    rule("POST",   "/item/act",                              STEERS,          Small),
    rule("POST",   "/batch/act",                             STEERS,          Small),
    rule("POST",   "/hold/set",                              STEERS,          Small),
    rule("POST",   "/hold/release",                          STEERS,          Small),
    rule("POST",   "/line/act",                              STEERS,          Small),
    rule("POST",   "/archive/skip",                          STEERS,          Small),
    rule("POST",   "/archive/resume",                        STEERS,          Small),
    rule("POST",   "/archive/accept",                        STEERS,          Small),
    rule("POST",   "/archive/start",                         STEERS,          Small),
    rule("POST",   "/archive/trust",                         RULES_ALL,       Small),
    rule("POST",   "/key/act",                               Who::WholeAdmin, Small),
];

/// Changes that can be asked for with `?dry_run=true`: each is one command. A worker's calls and
/// those with many elements are not.
const REHEARSED: &[&str] = &[
    "/api/v1/collections/",
    "/api/v1/archives/",
    "/api/v1/flows/",
    "/api/v1/items/",
    "/api/v1/tasks/",
    "/api/v1/batches",
    "/api/v1/holds",
    "/api/v1/keys",
];

impl Rule {
    /// Whether what this route would do can be told without doing it.
    #[must_use]
    pub fn can_be_rehearsed(&self) -> bool {
        // A notice changes nothing by itself.
        let is_change = self.method != "GET" && !self.path.ends_with("/notices");
        is_change && REHEARSED.iter().any(|path| self.path.starts_with(path))
    }
}

/// Whether a path is for people, so that they are told in a page when the answer is no.
#[must_use]
pub fn is_page(path: &str) -> bool {
    let for_programs = ["/api/", "/assets/", "/healthz", "/readyz", "/metrics"];
    !for_programs.iter().any(|begin| path.starts_with(begin))
}

const fn rule(method: &'static str, path: &'static str, who: Who, body: Body) -> Rule {
    Rule { method, path, who, body }
}

/// What the table says about a request.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// This rule.
    Rule(&'static Rule),
    /// The path is known, but not with this method.
    OtherMethod,
    /// The path is not known.
    Nothing,
}

/// Looks a route up. A `HEAD` is a `GET` whose answer has no body.
#[must_use]
pub fn find(method: &str, path: &str) -> Found {
    let method = if method == "HEAD" { "GET" } else { method };
    let mut found = Found::Nothing;
    for rule in RULES.iter().filter(|rule| rule.path == path) {
        if rule.method == method {
            return Found::Rule(rule);
        }
        found = Found::OtherMethod;
    }
    found
}
