//! Lists that are read page by page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One page of a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Page<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// Ask again with `cursor` set to this for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
