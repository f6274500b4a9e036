//! Strict isolation: a task in namespaces of its own, made by bubblewrap.
//!
//! It sees the system read-only and of everything else only its own folder and what is shared with
//! it. It has no network, an empty `/tmp`, and no other process in sight.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::keeper::Charge;
use super::launch::Bounds;
use super::process::{self, End, Patience, Run};
use crate::exit::Failure;

/// The program that makes the namespaces.
const WRAPPER: &str = "bwrap";
/// The system, where it is there.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt"];
/// How long the trial may take.
const TRIAL_MAX: Duration = Duration::from_secs(20);

/// A command that runs another one isolated. `place` is what it may write to.
pub(super) fn wrap(
    argv: &[String],
    place: &Path,
    folder: &Path,
    shared: &[PathBuf],
) -> Vec<String> {
    let text = |path: &Path| path.display().to_string();
    let mut words: Vec<String> =
        [WRAPPER, "--unshare-all", "--die-with-parent"].map(Into::into).into();
    for path in SYSTEM {
        words.extend(["--ro-bind-try", path, path].map(Into::into));
    }
    words.extend(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"].map(Into::into));
    for path in shared {
        words.extend(["--ro-bind".to_owned(), text(path), text(path)]);
    }
    words.extend(["--bind".to_owned(), text(place), text(place)]);
    words.extend(["--chdir".to_owned(), text(folder), "--".to_owned()]);
    words.extend_from_slice(argv);
    words
}

/// Tries it, so that a worker that cannot isolate says so before it takes any task.
pub(super) fn try_out(place: &Path, shared: &[PathBuf], bounds: &Bounds) -> Result<(), Failure> {
    let charge = Charge {
        argv: wrap(&["true".to_owned()], place, place, shared),
        env: std::env::var("PATH")
            .map(|path| ("PATH".to_owned(), path))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        folder: PathBuf::from("/"),
        bounds: bounds.clone(),
        is_wrapped: false,
        linger: Duration::ZERO,
        own_failure: None,
        after: Vec::new(),
    };
    let run = Run::new(Vec::new());
    let patience = Patience { timeout: TRIAL_MAX, silence: None };
    let why = match process::run(&charge, patience, &run) {
        Ok(End::Exited(0)) => return Ok(()),
        Ok(End::NotRun(reason)) => reason.why,
        Ok(_) => run.output.excerpt().text.trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Failure::new(
        format!("strict isolation is not possible here: {why}"),
        "install bubblewrap and allow unprivileged user namespaces, or use --isolation basic",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_folder_can_be_written() {
        let words =
            wrap(&["x".into()], Path::new("/w/1"), Path::new("/w/1/run"), &["/data".into()]);
        let line = words.join(" ");
        assert!(line.starts_with("bwrap --unshare-all --die-with-parent --ro-bind-try /usr /usr"));
        assert!(line.ends_with(
            "--tmpfs /tmp --ro-bind /data /data --bind /w/1 /w/1 --chdir /w/1/run -- x"
        ));
    }
}
