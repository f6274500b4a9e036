//! What the check of an assembly line says, kept for as long as the line stays as it is.
//!
//! A robot is tried on paper together with all others of its collection. With a hundred of them
//! that takes far longer than a page may, and it depends on their definitions alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use armarius_core::flow::Flow;
use armarius_core::flow::check::check_line;
use armarius_core::ids::{FlowId, VersionId};
use armarius_core::text::Name;

/// Lines that are kept; when there are more, all are forgotten.
const LINES_MAX: usize = 1_000;

/// Warnings by robot; those without any are left out.
pub(crate) type Warnings = BTreeMap<FlowId, Vec<String>>;

/// A flow of a collection, as it is now.
pub(crate) type Member = (FlowId, VersionId, Arc<Flow>);

/// The warnings of all lines somebody asked about.
#[derive(Debug, Default)]
pub(crate) struct Verdicts(Mutex<BTreeMap<Name, Kept>>);

#[derive(Debug)]
struct Kept {
    versions: Vec<(FlowId, VersionId)>,
    warnings: Arc<Warnings>,
}

impl Verdicts {
    /// The warnings of a line; these are all of its members, in the same order every time.
    pub(crate) fn of(&self, collection: &Name, members: &[Member]) -> Arc<Warnings> {
        let versions: Vec<_> = members.iter().map(|(flow, version, _)| (*flow, *version)).collect();
        if let Some(kept) = self.kept(collection, &versions) {
            return kept;
        }
        // Two may find this out at the same time; that does no harm.
        let warnings = Arc::new(tried(members));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= LINES_MAX {
            kept.clear();
        }
        kept.insert(collection.clone(), Kept { versions, warnings: Arc::clone(&warnings) });
        warnings
    }

    fn kept(&self, collection: &Name, versions: &[(FlowId, VersionId)]) -> Option<Arc<Warnings>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get(collection).filter(|kept| kept.versions == versions)?;
        Some(Arc::clone(&kept.warnings))
    }
}

fn tried(members: &[Member]) -> Warnings {
    let mut warnings = Warnings::new();
    for (own, _, def) in members {
        let others = members.iter().filter(|(flow, ..)| flow != own);
        let others: Vec<&Flow> = others.map(|(_, _, def)| &**def).collect();
        let found = check_line(def, &others).warnings;
        if !found.is_empty() {
            warnings.insert(*own, found);
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use armarius_core::flow::{On, Query};

    use super::*;

    fn member(version: i64, waits_for: &str) -> Member {
        let mut flow = Flow::manual(Name::trusted("r"));
        let success = vec![Name::trusted(waits_for)];
        flow.on = On::Items(Query { success, ..Query::default() });
        (FlowId(1), VersionId(version), Arc::new(flow))
    }

    #[test]
    fn a_line_is_tried_again_when_it_changed() {
        let (verdicts, home) = (Verdicts::default(), Name::trusted("c"));
        let first = verdicts.of(&home, &[member(1, "scanned")]);
        assert!(first[&FlowId(1)][0].contains("scanned"), "{first:?}");
        assert!(Arc::ptr_eq(&first, &verdicts.of(&home, &[member(1, "scanned")])));
        let second = verdicts.of(&home, &[member(2, "bound")]);
        assert!(second[&FlowId(1)][0].contains("bound"), "{second:?}");
        assert!(verdicts.of(&home, &[]).is_empty());
    }
}
