//! Every base list: order, stretches, entries that are pending.

use std::fmt::Debug;

use armarius_core::view::{Ranged, View};

use super::sample;
use super::trial::Trial;

pub(super) fn exercise(trial: &mut Trial) {
    macro_rules! each {
        ($($list:ident: $sample:ident;)*) => {$(
            let reach: Reach<_, _, _> = (|v| &v.$list, |v| &mut v.$list);
            Lists { name: stringify!($list), reach, sample: sample::$sample }.exercise(trial);
        )*};
    }
    each! {
        ready: ready;
        lines: line;
        timers: timer;
        dependents: dependent;
        instances: instance;
        held: held;
        members: member;
        errands: errand;
        letters: letter;
    }
}

type Reach<P, K, R> = (fn(&View) -> &Ranged<P, K, R>, fn(&mut View) -> &mut Ranged<P, K, R>);

struct Lists<P, K, R> {
    name: &'static str,
    reach: Reach<P, K, R>,
    sample: fn(i64, i64, i64) -> (P, K, R),
}

impl<P, K, R> Lists<P, K, R>
where
    P: Ord + Clone + Debug,
    K: Ord + Clone + Debug,
    R: Clone + PartialEq + Debug,
{
    fn exercise(&self, trial: &mut Trial) {
        self.order(trial);
        self.pending(trial);
        self.changes(trial);
    }

    fn order(&self, trial: &mut Trial) {
        self.check(trial, 1, None, 3, &[]);
        trial.reopen();
        for key in [5, 1, 7, 3, 2, 6, 4] {
            self.put(trial, 1, key, 0);
        }
        self.put(trial, 2, 8, 0);
        trial.commit();
        let all: Vec<_> = (1..=7).map(|key| (key, 0)).collect();
        let others = if self.is_shared() { vec![(8, 0)] } else { Vec::new() };
        let all = [all, others].concat();
        for n in [1, 2, 7, 8, 100] {
            trial.reopen();
            self.check(trial, 1, None, n, &all);
            self.check(trial, 1, Some(2), n, all.get(2..).unwrap_or_default());
        }
        trial.reopen();
        self.check(trial, 1, Some(8), 1, &[]);
        if !self.is_shared() {
            self.check(trial, 2, None, 2, &[(8, 0)]);
            self.check(trial, 3, None, 2, &[]);
        }
    }

    /// What is pending in the view is read past, or read with the rest, wherever the stretch ends.
    fn pending(&self, trial: &mut Trial) {
        trial.reopen();
        for key in [1, 2, 4] {
            self.delete(trial, 1, key);
        }
        self.put(trial, 1, 0, 1);
        self.put(trial, 1, 9, 1);
        let shared = if self.is_shared() { vec![(8, 0)] } else { Vec::new() };
        let rest = [vec![(0, 1), (3, 0), (5, 0), (6, 0), (7, 0)], shared, vec![(9, 1)]].concat();
        for n in [1, 2, 3, 50] {
            self.check(trial, 1, None, n, &rest);
        }
        self.check(trial, 1, Some(4), 2, rest.get(2..).unwrap_or_default());
        trial.reopen();
        self.check(trial, 1, None, 1, &[(1, 0)]);
    }

    fn changes(&self, trial: &mut Trial) {
        trial.reopen();
        for variant in 0..14 {
            self.put(trial, 1, 1, variant);
            trial.commit();
            self.check(trial, 1, None, 1, &[(1, variant)]);
        }
        (1..=7).for_each(|key| self.delete(trial, 1, key));
        self.delete(trial, 2, 8);
        trial.commit();
        self.check(trial, 1, None, 3, &[]);
        self.check(trial, 2, None, 3, &[]);
    }

    /// Whether all owners are one.
    fn is_shared(&self) -> bool {
        (self.sample)(1, 1, 0).0 == (self.sample)(2, 1, 0).0
    }

    /// The entries after a key begin with `wanted`, as far as `n` goes.
    fn check(
        &self,
        trial: &mut Trial,
        owner: i64,
        after: Option<i64>,
        n: usize,
        wanted: &[(i64, i64)],
    ) {
        let list = (self.sample)(owner, 0, 0).0;
        let from = after.map(|key| (self.sample)(owner, key, 0).1);
        let found: Vec<(K, R)> = trial.ask(|view| {
            let rows = (self.reach.0)(view).after(&list, from.as_ref(), n)?;
            Ok(rows.take(n).map(|(k, r)| (k.clone(), r.clone())).collect())
        });
        let wanted: Vec<(K, R)> = wanted
            .iter()
            .take(n)
            .map(|(key, variant)| (self.sample)(owner, *key, *variant))
            .map(|(_, key, row)| (key, row))
            .collect();
        let name = self.name;
        assert_eq!(found, wanted, "{name} of {owner} after {after:?}, first {n}");
    }

    fn put(&self, trial: &mut Trial, owner: i64, key: i64, variant: i64) {
        let (list, key, row) = (self.sample)(owner, key, variant);
        (self.reach.1)(&mut trial.view).put(list, key, row);
    }

    fn delete(&self, trial: &mut Trial, owner: i64, key: i64) {
        let (list, key, _) = (self.sample)(owner, key, 0);
        (self.reach.1)(&mut trial.view).delete(list, key);
    }
}
