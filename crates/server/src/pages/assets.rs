//! The style, the script and the icon: part of the program, named by their content.

use std::sync::LazyLock;

use armarius_core::event::digest;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};

struct Asset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const ASSETS: [Asset; 3] = [
    Asset {
        name: "armarius.css",
        kind: "text/css; charset=utf-8",
        text: include_str!("assets/armarius.css"),
    },
    Asset {
        name: "armarius.js",
        kind: "text/javascript; charset=utf-8",
        text: include_str!("assets/armarius.js"),
    },
    Asset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") },
];

/// One word for the content of all of them: a new program is never served with an old style.
static CONTENT: LazyLock<String> = LazyLock::new(|| {
    let all: String = ASSETS.iter().map(|asset| asset.text).collect();
    digest(&all).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
});

/// Where a page finds one.
pub(super) fn href(name: &str) -> String {
    format!("/assets/{name}?{}", *CONTENT)
}

/// `GET /assets/{name}`
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kept = "public, max-age=31536000, immutable";
    ([(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, kept)], asset.text).into_response()
}
