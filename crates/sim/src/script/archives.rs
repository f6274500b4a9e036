//! An archive in the life of a script: revisions noticed, planned, passed over, started again, and
//! a repository that is away or another one.

use std::collections::VecDeque;

use armarius_core::command::{
    About, AcceptHistory, CausedBy, Command, Complaint, Definitions, PlanRevision, PutArchive,
    Sight, StartFlow,
};
use armarius_core::flow::{Flow, codec};
use armarius_core::reply::Reply;
use armarius_core::rows::ArchiveKind;
use armarius_core::text::{Name, Text};

use super::Script;
use super::deck::Card;

/// Files of definitions. A revision has one of the lists below.
const FILES: [&str; 6] = [
    r#"{"name":"main","on":"commit","tasks":[{"name":"index","run":"outside","depends":["PREV"]},
        {"name":"pdf","run":"outside","depends":["index"],"cancels":["PREV"]},
        {"name":"send","run":"outside","depends":["pdf"],"retries":1}]}"#,
    r#"{"name":"main","on":"commit","tasks":[{"name":"index","run":"outside","depends":["PREV"]},
        {"name":"check","run":"outside","depends":["PREV:pdf"]}]}"#,
    r#"{"name":"lock","on":"commit","tasks":[{"name":"publish","run":"outside","exclusive":true},
        {"name":"COMMIT","run":"outside","depends":["PREV:send"]}]}"#,
    r#"{"name":"docs","on":{"commit":{"paths":["docs/**"],"ignore_authors":["robot"]}},
        "tasks":[{"name":"pdf","run":"outside","depends":["index"],"cancels":["PREV","PREV:index"]},
        {"name":"draft","run":"outside","cancels":["pdf"]},
        {"name":"tidy","run":"outside","depends":[{"task":"pdf","on":"settled"}]}]}"#,
    r#"{"name":"nightly","on":{"schedule":{"cron":"* * * * *","tz":"UTC","overlap":"skip"}},
        "tasks":[{"name":"sweep","run":"outside"}]}"#,
    r#"{"name":"hand","tasks":[{"name":"sweep","run":"outside"}]}"#,
];

/// Which files a revision may have together: tasks move between them, vanish and come back.
const REVISIONS: [&[usize]; 6] = [&[0], &[0, 2, 4], &[1, 3], &[1, 3, 5], &[2], &[]];

fn name() -> Name {
    Name::trusted("books")
}

fn file(index: usize) -> Option<Flow> {
    codec::from_text(FILES.get(index)?).ok()
}

/// The archive is there from the beginning.
pub(super) fn opening() -> VecDeque<Command> {
    VecDeque::from([put(true)])
}

fn put(trusted: bool) -> Command {
    Command::PutArchive(PutArchive {
        archive: name(),
        kind: ArchiveKind::Svn,
        place: "/somewhere".into(),
        branch: "".into(),
        first: 1,
        trusted,
        depth_max: None,
    })
}

impl Script {
    pub(super) fn of_archive(&mut self, card: Card) -> Command {
        let archive = name();
        match card {
            Card::Notice => {
                let revision = self.planned + self.dice.between(0, 4);
                Command::NoticeRevision { archive, revision }
            }
            Card::Look => Command::LookedAt { archive, sight: self.sight() },
            Card::PassOver => {
                let revision = self.planned + self.dice.between(1, 2);
                Command::SkipRevision { archive, revision, reason: "cannot be read".into() }
            }
            Card::StartFlow => self.started(),
            Card::Watch => match self.dice.below(6) {
                0 => Command::RemoveArchive { archive },
                1 => put(false),
                2 => Command::ResumeArchive { archive },
                3 => self.accepted(),
                _ => put(true),
            },
            _ => self.plan(),
        }
    }

    fn plan(&mut self) -> Command {
        // Others may have been quicker, and some come too early.
        let ahead = [1, 1, 1, 1, 1, 1, 0, 2][self.dice.below(8)];
        let definitions = match self.dice.below(9) {
            0 => Definitions::Invalid(vec![Complaint {
                file: "_workflows/main.yaml".into(),
                line: 3,
                reason: "a list of tasks is wanted".into(),
            }]),
            // Two files with a task of the same name.
            1 => Definitions::Flows([0, 3].into_iter().filter_map(file).collect()),
            _ => {
                let files = REVISIONS[self.dice.below(REVISIONS.len())];
                Definitions::Flows(files.iter().copied().filter_map(file).collect())
            }
        };
        let path = ["docs/a.txt", "src/b.txt"][self.dice.below(2)];
        let depth = u32::try_from(self.dice.between(0, 9)).unwrap_or_default();
        let task = Text::from("main.index@books/revision/1");
        let about = About {
            author: ["ada", "robot"][self.dice.below(2)].into(),
            paths: vec![path.into()],
            cause: self.dice.once_in(3).then_some(CausedBy { depth, task }),
            ..About::default()
        };
        let revision = self.planned + ahead;
        Command::PlanRevision(Box::new(PlanRevision {
            archive: name(),
            revision,
            about,
            definitions,
        }))
    }

    fn sight(&mut self) -> Sight {
        let revision = self.planned + self.dice.between(0, 3);
        match self.dice.below(12) {
            0 => Sight::Unreachable("no such folder".into()),
            1 => Sight::Rewritten("revision 1 is another one".into()),
            2 => Sight::Youngest { revision, identity: "another".into() },
            _ => Sight::Youngest { revision, identity: "one".into() },
        }
    }

    /// The history as it is now, perhaps a shorter one.
    fn accepted(&mut self) -> Command {
        let youngest = self.planned + self.dice.between(-2, 3);
        let id = if youngest < self.planned { "" } else { "f00d" };
        Command::AcceptHistory(AcceptHistory {
            archive: name(),
            reason: "looked at it".into(),
            planned: self.planned,
            youngest,
            identity: ["one", "another"][self.dice.below(2)].into(),
            id: id.into(),
        })
    }

    fn started(&mut self) -> Command {
        let revision = self.dice.between(1, self.planned.max(1) + 1);
        let flow = file([0, 1, 2, 5][self.dice.below(4)]).unwrap_or_else(|| Flow::manual(name()));
        let (archive, payload) = (name(), Text::from(""));
        Command::StartFlow(Box::new(StartFlow { archive, revision, flow, payload }))
    }

    /// How far the archive is planned.
    pub(super) fn learn_revision(&mut self, asked: &Command, reply: &Reply) {
        if !matches!(reply, Reply::Item { .. }) {
            return;
        }
        if let Command::PlanRevision(plan) = asked {
            self.planned = self.planned.max(plan.revision);
        }
        if let Command::SkipRevision { revision, .. } = asked {
            self.planned = self.planned.max(*revision);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_read() {
        for (n, text) in FILES.iter().enumerate() {
            assert!(file(n).is_some(), "{:?}", codec::from_text(text));
        }
    }
}
