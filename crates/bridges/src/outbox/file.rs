//! Letters to `file:NAME`: one JSON object per line, appended and synced. For small sites.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use armarius_core::rows::Letter;

use super::delivery::Missed;

/// Appends a letter to a file of the folder. The name must be plain: it comes from a collection's
/// settings and must not lead elsewhere.
pub(super) fn append(
    folder: Option<&Path>,
    name: &str,
    n: i64,
    letter: &Letter,
) -> Result<(), Missed> {
    let Some(folder) = folder else {
        return Err(Missed::new("letters to files are refused; set outbox.folder to allow them"));
    };
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    if !is_plain {
        return Err(Missed::new("the name of a file must be plain, without folders"));
    }
    let body: serde_json::Value =
        serde_json::from_str(&letter.body).unwrap_or_else(|_| (&*letter.body).into());
    let line = format!("{}\n", serde_json::json!({ "n": n, "body": body }));
    let write = || {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(folder.join(name))?;
        file.write_all(line.as_bytes())?;
        file.sync_data()
    };
    write().map_err(|e: std::io::Error| Missed::new(e.to_string()))
}
