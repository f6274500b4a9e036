//! The API's own description, OpenAPI 3.1: made from the table of routes and the types of the wire.
//!
//! Which routes there are, who may use them and how large their bodies may be comes from
//! [`crate::access`]; what is sent and answered, from the types themselves. What stands in `calls`
//! is a sentence for each call and which types belong to it.

mod calls;

use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse as _;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::access::{RULES, Rule, Who};
use crate::problem::Answer;
use armarius_wire::v1::Problem;
use armarius_wire::v1::key::Role;
use calls::{CALLS, Call};

static DOCUMENT: LazyLock<String> =
    LazyLock::new(|| serde_json::to_string_pretty(&make()).unwrap_or_default() + "\n");

/// `GET /api/v1/openapi.json`
pub(crate) async fn document() -> Answer {
    let kind = [(CONTENT_TYPE, "application/json")];
    Ok((StatusCode::OK, kind, DOCUMENT.as_str()).into_response())
}

fn make() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
        "/components/schemas".clone_into(s.definitions_path.to_mut());
    });
    let mut generator = settings.into_generator();
    let problem = generator.root_schema_for::<Problem>().to_value();
    let mut paths = Map::new();
    for rule in RULES.iter().filter(|rule| is_described(rule)) {
        let call = CALLS.iter().find(|call| (call.method, call.path) == (rule.method, rule.path));
        // In the notation of OpenAPI a rest of a path is a parameter like any other.
        let path = rule.path.replace("{*", "{");
        let operations = paths.entry(path).or_insert_with(|| json!({}));
        operations[rule.method.to_lowercase()] = operation(&mut generator, rule, call);
    }
    let mut schemas: Map<String, Value> = generator.take_definitions(true);
    schemas.insert("Problem".to_owned(), problem);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Armarius",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Durable work coordination. Errors are problem documents (RFC 9457) \
                with a code, a sentence and a hint.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": { "Problem": {
                "description": "No, and why. Nothing was changed.",
                "content": { "application/problem+json": { "schema":
                    { "$ref": "#/components/schemas/Problem" } } },
            } },
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer", "description":
                "A key, ark_…" } },
        },
        "security": [{ "key": [] }],
    })
}

/// Programs are told about what is made for them.
fn is_described(rule: &Rule) -> bool {
    rule.path.starts_with("/api/") || ["/healthz", "/readyz", "/metrics"].contains(&rule.path)
}

fn operation(generator: &mut SchemaGenerator, rule: &Rule, call: Option<&Call>) -> Value {
    let mut parameters: Vec<Value> = names_in(rule.path)
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "schema":
            { "type": "string" } })
        })
        .collect();
    let mut operation = json!({ "x-roles": roles(rule.who) });
    if rule.who == Who::Anyone {
        operation["security"] = json!([]);
    }
    let Some(call) = call else { return operation };
    operation["summary"] = call.about.into();
    operation["operationId"] = call.id.into();
    for (name, about) in call.query {
        parameters.push(json!({
            "name": name, "in": "query", "description": about, "schema": { "type": "string" },
        }));
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some((kind, schema)) = &call.takes {
        let schema = schema(generator);
        operation["requestBody"] = json!({
            "content": { *kind: { "schema": schema } }, "x-bytes-max": rule.body.bytes_max(),
        });
    }
    let mut answer = json!({ "description": call.answers });
    if let Some((kind, schema)) = &call.gives {
        answer["content"] = json!({ *kind: { "schema": schema(generator) } });
    }
    let mut answers = json!({ call.status.to_string(): answer });
    answers["default"] = json!({ "$ref": "#/components/responses/Problem" });
    operation["responses"] = answers;
    operation
}

fn names_in(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    parts.map(|name| name.trim_start_matches('*'))
}

fn roles(who: Who) -> Value {
    let names = |roles: &[Role]| roles.iter().map(|role| role.as_str()).collect::<Vec<_>>();
    match who {
        Who::Anyone => json!(["anyone"]),
        Who::Roles(roles) => json!(names(roles)),
        Who::WholeAdmin => json!(["admin of all collections"]),
    }
}
