//! `cargo xtask diagram`: the transition table of a task as a page of the documentation.

use crate::repo;
use anyhow::Context;
use std::path::PathBuf;

const PAGE: &str = "docs/task-states.md";

/// Writes the page when it differs.
pub(crate) fn write() -> anyhow::Result<()> {
    if is_current() {
        println!("{PAGE} is up to date");
        return Ok(());
    }
    let path = path();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    std::fs::write(&path, page()).with_context(|| format!("writing {PAGE}"))?;
    println!("wrote {PAGE}");
    Ok(())
}

/// Says whether the page shows the table as it is; writes nothing.
pub(crate) fn check() -> anyhow::Result<()> {
    anyhow::ensure!(
        is_current(),
        "{PAGE} does not show the transition table as it is; write it with: cargo xtask diagram"
    );
    println!("{PAGE} is up to date");
    Ok(())
}

fn is_current() -> bool {
    std::fs::read_to_string(path()).is_ok_and(|text| text == page())
}

fn path() -> PathBuf {
    repo::root().join(PAGE)
}

fn page() -> String {
    let diagram = armarius_core::task::diagram();
    format!(
        "# The states of a task\n\n\
         Every arrow a task can take. The page is written by `cargo xtask diagram` from the table\n\
         in `crates/core/src/task.rs`; change the table, not the page.\n\n\
         ```mermaid\n{}\n```\n",
        diagram.trim_end()
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn page_is_one_fenced_diagram() {
        let page = super::page();
        assert_eq!(page.matches("```").count(), 2);
        assert!(page.contains("\n    ready --> leased: grant\n"), "{page}");
        assert!(page.ends_with("\n```\n"));
    }
}
