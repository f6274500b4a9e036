//! What superseding saved: how long the tasks that were stopped or never begun would have run, by
//! how long their like took that came to an end.

use std::collections::BTreeMap;

use armarius_wire::v1::archive::{Revision, Task};
use armarius_wire::v1::time;

/// Notes at each superseded task what that saved, as far as these revisions tell.
pub(crate) fn note(revisions: &mut [&mut Revision]) {
    let mut took: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for task in revisions.iter().flat_map(|revision| &revision.tasks) {
        if task.state == "done"
            && let Some(ran) = ran_ms(task)
        {
            took.entry(task.name.clone()).or_default().push(ran);
        }
    }
    took.values_mut().for_each(|times| times.sort_unstable());
    for task in revisions.iter_mut().flat_map(|revision| &mut revision.tasks) {
        if task.superseded_by.is_empty() {
            continue;
        }
        let times = took.get(&task.name);
        let usual = times.and_then(|times| times.get(times.len() / 2));
        task.saved_ms = usual.map(|usual| usual.saturating_sub(ran_ms(task).unwrap_or_default()));
    }
}

/// How long its last run took; none when it never began or has not ended.
fn ran_ms(task: &Task) -> Option<u64> {
    let (from, to) = (time::parse(&task.started_at)?, time::parse(&task.ended_at)?);
    u64::try_from((to.0 - from.0) / 1_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(state: &str, from: &str, to: &str) -> Task {
        let at = |second: &str| match second {
            "" => String::new(),
            second => format!("2026-01-01T00:00:{second}Z"),
        };
        let by = if state == "cancelled" { "pdf@9" } else { "" };
        Task {
            name: "pdf".to_owned(),
            state: state.to_owned(),
            superseded_by: by.to_owned(),
            started_at: at(from),
            ended_at: at(to),
            ..Task::default()
        }
    }

    fn saved(tasks: Vec<Task>) -> Vec<Option<u64>> {
        let mut revision = Revision { tasks, ..Revision::default() };
        note(&mut [&mut revision]);
        revision.tasks.iter().map(|task| task.saved_ms).collect()
    }

    #[test]
    fn what_was_stopped_and_what_never_ran() {
        let (stopped, never) = (task("cancelled", "10", "14"), task("cancelled", "", ""));
        let ends = [task("done", "00", "30"), task("done", "00", "10"), task("done", "00", "20")];
        let tasks = [&[stopped.clone(), never.clone()][..], &ends].concat();
        assert_eq!(saved(tasks), [Some(16_000), Some(20_000), None, None, None]);
        // Nothing is guessed where none came to its end.
        assert_eq!(saved(vec![stopped, never, task("failed", "00", "01")]), [None, None, None]);
        let long = task("cancelled", "00", "50");
        assert_eq!(saved(vec![long, task("done", "00", "30")]), [Some(0), None]);
    }
}
