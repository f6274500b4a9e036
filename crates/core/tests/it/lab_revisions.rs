//! What scripts say about archives: the collection `c` is one, its revisions are `rev-1`, `rev-2` …
//!
//! ```text
//! archive [first=N] [untrusted] [depth-max=N]
//!                                     c is an archive
//! archive name=A                      … or another
//! define FLOW                         revisions planned from now on have this flow too
//! define                              … and none
//! notice N                            somebody says that there is a revision N
//! look N | look gone | look broken | look rewritten | look replaced
//!                                     what a look at the repository showed
//! plan N [author=A] [paths=P,…] [depth=D]
//! invalid N                           its definitions cannot be read
//! accept N [id=I]                     an operator takes the history as it is, N revisions long
//! pass-over N                         an operator skips it
//! start FLOW N
//! awaiting                            what the archive waits for
//! stands                              its state, since when, and why
//! told                                the events of the archive itself
//! ```

use armarius_core::command::{
    About, AcceptHistory, CausedBy, Complaint, Definitions, PlanRevision, PutArchive, Sight,
    StartFlow,
};
use armarius_core::rows::{Archive, ArchiveKind, ArchiveState};
use armarius_core::text::{Name, Text};
use armarius_core::{Command, Refusal, Reply};

use crate::lab::{Lab, option};
use crate::notation;

impl Lab {
    pub(crate) fn revise(
        &mut self,
        verb: &str,
        rest: &str,
        words: &[&str],
    ) -> Result<String, Refusal> {
        let archive = || Name::trusted("c");
        let number = |i: usize| words[i].parse::<i64>().expect("a revision");
        let command = match verb {
            "define" => {
                if rest.is_empty() {
                    self.definitions.clear();
                } else {
                    self.definitions.push(notation::flow(rest));
                }
                return Ok("ok".into());
            }
            "awaiting" => return Ok(awaiting(self.archive_row())),
            "stands" => return Ok(stands(self.archive_row())),
            "told" => return Ok(self.told_of_archive()),
            "archive" => Command::PutArchive(PutArchive {
                archive: option(words, "name").map_or_else(archive, Name::trusted),
                kind: ArchiveKind::Svn,
                place: "/somewhere".into(),
                branch: "".into(),
                first: option(words, "first").map_or(1, |n| n.parse().expect("a revision")),
                trusted: !words.contains(&"untrusted"),
                depth_max: option(words, "depth-max").map(|n| n.parse().expect("a number")),
            }),
            "notice" => Command::NoticeRevision { archive: archive(), revision: number(0) },
            "look" => Command::LookedAt { archive: archive(), sight: sight(words[0]) },
            "plan" => self.plan_of(number(0), words),
            "invalid" => {
                let reason = "a list of tasks is wanted".into();
                let complaint = Complaint { file: "main.yaml".into(), line: 3, reason };
                Command::PlanRevision(Box::new(PlanRevision {
                    archive: archive(),
                    revision: number(0),
                    about: About::default(),
                    definitions: Definitions::Invalid(vec![complaint]),
                }))
            }
            "pass-over" => Command::SkipRevision {
                archive: archive(),
                revision: number(0),
                reason: "lost".into(),
            },
            "start" => Command::StartFlow(Box::new(StartFlow {
                archive: archive(),
                revision: number(1),
                flow: {
                    let named = |f: &&armarius_core::flow::Flow| f.name.as_str() == words[0];
                    self.definitions.iter().find(named).expect("a flow").clone()
                },
                payload: "".into(),
            })),
            "accept" => self.accepted(number(0), option(words, "id").unwrap_or("")),
            "resume" => Command::ResumeArchive { archive: archive() },
            "unwatch" => Command::RemoveArchive { archive: archive() },
            other => panic!("what is {other}?"),
        };
        Ok(match self.call("op", command)? {
            Reply::Item { fresh: true, .. } => "new".into(),
            Reply::Item { fresh: false, .. } => "known".into(),
            Reply::Round { round, .. } => format!("round {round}"),
            _ => "ok".into(),
        })
    }

    fn accepted(&self, youngest: i64, id: &str) -> Command {
        Command::AcceptHistory(AcceptHistory {
            archive: Name::trusted("c"),
            reason: "the branch was tidied".into(),
            planned: self.archive_row().planned,
            youngest,
            identity: "one".into(),
            id: id.into(),
        })
    }

    pub(crate) fn plan_of(&self, revision: i64, words: &[&str]) -> Command {
        let depth = option(words, "depth").map(|d| d.parse().expect("a depth"));
        let paths = option(words, "paths").map_or("trunk/a.txt", |p| p);
        Command::PlanRevision(Box::new(PlanRevision {
            archive: Name::trusted("c"),
            revision,
            about: About {
                author: option(words, "author").unwrap_or("ada").into(),
                paths: paths.split(',').map(Text::from).collect(),
                cause: depth.map(|depth| CausedBy { depth, task: "f.a@c/revision/1".into() }),
                ..About::default()
            },
            definitions: Definitions::Flows(self.definitions.clone()),
        }))
    }

    fn told_of_archive(&self) -> String {
        let home = self.archive_row().collection;
        let item = self.world.collections.get(&home).expect("whole").expect("a collection").item;
        let names = self.events.iter().filter(|event| event.item == item).map(|e| e.name.as_str());
        names.filter_map(|n| n.strip_prefix("archive.")).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn archive_row(&self) -> &Archive {
        self.world.archives.iter().next().expect("an archive").1
    }
}

fn sight(word: &str) -> Sight {
    match word {
        "gone" => Sight::Unreachable("no such folder".into()),
        "broken" => Sight::Unreachable("revision 2 is broken".into()),
        "rewritten" => Sight::Rewritten("revision 1 is another one".into()),
        "replaced" => Sight::Youngest { revision: 1, identity: "other".into() },
        n => Sight::Youngest { revision: n.parse().expect("a revision"), identity: "one".into() },
    }
}

fn stands(row: &Archive) -> String {
    let since = row.since.0 / 1_000_000;
    let why = if row.reason.is_empty() { String::new() } else { format!(": {}", row.reason) };
    format!("{} since {since}{why}", row.state.as_str())
}

fn awaiting(row: &Archive) -> String {
    let state = match row.state {
        ArchiveState::Watched => String::new(),
        ArchiveState::Unreachable | ArchiveState::Stopped | ArchiveState::Removed => {
            format!(" {}: {}", row.state.as_str(), row.reason)
        }
    };
    match row.awaited() {
        Some((revision, since)) => {
            format!("revision {revision} since {}{state}", since.0 / 1_000_000)
        }
        None => format!("nothing{state}"),
    }
}
