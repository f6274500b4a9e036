//! A laboratory: a whole world on one sheet, driven by a script.
//!
//! Each line of a script is a command; behind ` -> ` stands what it must answer. After every line
//! the invariants are checked, and the same command is decided a second time on a slice of the
//! world that holds only what was asked for: both must agree.

use std::collections::BTreeMap;

use armarius_core::address::{ItemAddress, TaskAddress};
use armarius_core::command::{AddSaid, Claim, Ending, HoldOn, PutItem, Report, RewindFrom, Submit};
use armarius_core::event::{Event, Outcome, Said, seal};
use armarius_core::flow::{Class, Flow};
use armarius_core::ids::{BatchId, HoldId, ItemId, LeaseId, ScheduleId, TaskId, Time, Token};
use armarius_core::reply::Reported;
use armarius_core::rows::{Counter, ItemKey, TaskKey};
use armarius_core::text::{Name, Text};
use armarius_core::view::CommitHead;
use armarius_core::{Call, Command, Refusal, Reply, Stop, View, decide, invariants};

use crate::notation;

/// Most loads one decision may ask for.
const LOADS_MAX: usize = 200;

pub(crate) struct Lab {
    pub(crate) world: View,
    pub(crate) events: Vec<Event>,
    now: i64,
    chance: u128,
    /// Newest lease of each worker, and the tokens it was granted.
    leases: BTreeMap<String, (LeaseId, BTreeMap<TaskId, Token>)>,
    /// Definitions that the revisions planned from now on have.
    pub(crate) definitions: Vec<Flow>,
    /// Whether each decision is repeated on a slice.
    pub(crate) slices: bool,
}

/// Runs a script and compares what it answers.
#[track_caller]
pub(crate) fn check(script: &str) -> Lab {
    let mut lab = Lab::new();
    lab.run(script);
    lab
}

impl Lab {
    pub(crate) fn new() -> Self {
        let mut lab = Self {
            world: View::world(0),
            events: Vec::new(),
            now: 1_000_000_000,
            chance: 0,
            leases: BTreeMap::new(),
            definitions: Vec::new(),
            slices: true,
        };
        let name = Name::trusted("c");
        lab.must(Command::PutCollection { name, notify: vec![Text::from("post")] });
        lab
    }

    #[track_caller]
    pub(crate) fn run(&mut self, script: &str) {
        for line in lines(script) {
            let line = line.as_str();
            let (command, wanted) = line.split_once(" -> ").unwrap_or((line, ""));
            let got = self.line(command.trim());
            let wanted = wanted.trim();
            // A line without an answer must merely not be refused.
            let fine = if wanted.is_empty() { !got.starts_with("no:") } else { got == wanted };
            assert!(fine, "{command}\n  wanted: {wanted}\n  got:    {got}");
        }
    }

    pub(crate) fn must(&mut self, command: Command) -> Reply {
        self.call("op", command).expect("refused")
    }

    /// Decides a command on the world, and on a slice of it.
    pub(crate) fn call(&mut self, actor: &str, command: Command) -> Result<Reply, Refusal> {
        self.call_with(actor, None, command)
    }

    pub(crate) fn call_with(
        &mut self,
        actor: &str,
        idem: Option<&str>,
        command: Command,
    ) -> Result<Reply, Refusal> {
        self.chance += 1;
        let call = Call {
            now: Time(self.now),
            actor: Name::trusted(actor),
            chance: self.chance,
            idem: idem.map(Text::from),
            command,
        };
        let sliced = self.slices.then(|| self.on_a_slice(&call));
        let result = match decide(&mut self.world, &call) {
            Ok(reply) => Ok(reply),
            Err(Stop::Refuse(refusal)) => Err(*refusal),
            Err(Stop::Need(needs)) => panic!("the whole world lacks {needs:?}"),
        };
        if let Some((sliced, changes)) = sliced {
            assert_eq!(sliced, result, "slice and world answer differently to {call:?}");
            let wanted = self.world.changes_text();
            for (a, b) in changes.iter().zip(&wanted) {
                assert_eq!(a, b, "slice and world change differently by {call:?}");
            }
            assert_eq!(changes.len(), wanted.len(), "by {call:?}: {changes:#?} {wanted:#?}");
        }
        self.commit();
        result
    }

    fn on_a_slice(&self, call: &Call) -> (Result<Reply, Refusal>, Vec<String>) {
        let mut slice = View::new(0);
        self.world.lend_whole(&mut slice);
        for _ in 0..LOADS_MAX {
            match decide(&mut slice, call) {
                Ok(reply) => return (Ok(reply), slice.changes_text()),
                Err(Stop::Refuse(refusal)) => return (Err(*refusal), slice.changes_text()),
                Err(Stop::Need(needs)) => self.world.lend(&needs, &mut slice),
            }
        }
        panic!("more than {LOADS_MAX} loads for {call:?}");
    }

    fn commit(&mut self) {
        let head = self.world.head;
        let commit = seal(head.n + 1, Time(self.now), head.seal, &self.world.events);
        self.events.append(&mut self.world.events);
        self.world.committed(CommitHead { n: commit.n, seal: commit.seal });
        let wrong = invariants::check(&self.world);
        assert!(wrong.is_empty(), "broken: {wrong:#?}");
    }

    /// Rows must equal a fold of the events.
    pub(crate) fn check_history(&self) {
        let mut streams: BTreeMap<ItemId, Vec<&Event>> = BTreeMap::new();
        for event in &self.events {
            streams.entry(event.item).or_default().push(event);
        }
        let wrong = invariants::check_history(&self.world, streams.into_iter());
        assert!(wrong.is_empty(), "history differs: {wrong:#?}");
    }

    /// Moves the clock and lets the duties do what is due.
    pub(crate) fn tick(&mut self, seconds: i64) {
        self.now += seconds * 1_000_000;
        for duty in [Command::Expire, Command::Wake, Command::ExpireHolds] {
            for _ in 0..10_000 {
                match self.call("duty", duty.clone()) {
                    Ok(Reply::Duty { more: true, .. }) => {}
                    Ok(_) => break,
                    Err(refusal) => panic!("duty refused: {refusal}"),
                }
            }
        }
        self.errands();
    }

    /// Runs errands until none is left. Answers how many pieces there were.
    pub(crate) fn errands(&mut self) -> usize {
        let mut pieces = 0;
        loop {
            let next = self.world.errands.first(&(), 1).expect("whole").next().map(|(id, _)| *id);
            let Some(errand) = next else { return pieces };
            self.must(Command::RunErrand { errand });
            pieces += 1;
            assert!(pieces < 100_000, "errands without end");
        }
    }

    /// What one line answers.
    pub(crate) fn answer(&mut self, line: &str) -> String {
        self.line(line)
    }

    /// What one line answers, unless a worker is meant who never claimed.
    pub(crate) fn answer_if_possible(&mut self, line: &str) -> Option<String> {
        let mut words = line.split(' ');
        let by_worker = matches!(words.next(), Some("report" | "give-back" | "beat"));
        let unknown = words.next().is_none_or(|worker| !self.leases.contains_key(worker));
        (!by_worker || !unknown).then(|| self.line(line))
    }

    fn line(&mut self, line: &str) -> String {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        let result = match verb {
            "flow" => self.flow(rest),
            "item" => self.item(&words),
            "submit" => self.submit(&words),
            "claim" => self.claim(&words),
            "report" => self.report(&words),
            "beat" => self.beat(&words),
            "give-back" => self.give_back(&words),
            "event" => self.event(&words),
            "touch" => self.touch(&words),
            "say" => self.say(&words),
            "rewind" => self.rewind(&words),
            "marks" => Ok(self.marks(words[0])),
            "holds" => Ok(self.holds()),
            "task" => Ok(self.describe(words[0])),
            "counts" => Ok(self.counts(words[0])),
            "batch" => self.batch(&words),
            "hold" => self.hold(&words),
            "fire" => self.fire(&words),
            "tick" => {
                self.tick(words[0].parse().expect("seconds"));
                Ok("ok".into())
            }
            "later" => {
                self.pass(words[0].parse().expect("seconds"));
                Ok("ok".into())
            }
            "errands" => {
                self.errands();
                Ok("ok".into())
            }
            "history" => Ok(self.history(words[0], words.get(1).copied())),
            "states" => Ok(self.states(words[0])),
            "why" => Ok(self.why(words[0])),
            "letters" => Ok(self.letters()),
            "elsewhere" => self.elsewhere(&words),
            "archive" | "define" | "notice" | "look" | "plan" | "invalid" | "pass-over"
            | "start" | "awaiting" | "stands" | "told" | "accept" | "resume" | "unwatch" => {
                self.revise(verb, rest, &words)
            }
            _ => self.operate(verb, &words),
        };
        result.unwrap_or_else(|refusal| format!("no: {}", refusal.code))
    }

    fn flow(&mut self, text: &str) -> Result<String, Refusal> {
        let flow = notation::flow(text);
        let collection = Name::trusted("c");
        self.call("op", Command::ApplyFlow { collection, flow: Box::new(flow) })?;
        Ok("ok".into())
    }

    fn item(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let put = PutItem {
            item: item(words[0]),
            priority: option(words, "priority").map(|p| p.parse().expect("priority")),
            ordinal: option(words, "ordinal").map(|p| p.parse().expect("ordinal")),
            types: option(words, "types").map(|t| t.split(',').map(Name::trusted).collect()),
            attributes: None,
        };
        self.call("op", Command::PutItem(put))?;
        Ok("ok".into())
    }

    fn submit(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let submit = Submit {
            item: item(words[0]),
            flow: Name::trusted(words[1]),
            payload: option(words, "payload").unwrap_or("").into(),
            priority: option(words, "priority").map(|p| p.parse().expect("priority")),
            not_before: option(words, "in")
                .map(|s| Time(self.now + s.parse::<i64>().expect("seconds") * 1_000_000)),
            parts: option(words, "parts")
                .map(|p| p.split(',').map(Text::from).collect())
                .unwrap_or_default(),
            depends: option(words, "after")
                .map(|a| a.split(',').map(task).collect())
                .unwrap_or_default(),
            batch: option(words, "batch").map(|b| BatchId(b.parse().expect("batch"))),
        };
        let reply = self.call_with("op", option(words, "id"), Command::Submit(submit))?;
        let Reply::Round { round, repeated, .. } = reply else { panic!("{reply:?}") };
        Ok(format!("round {round}{}", if repeated { " again" } else { "" }))
    }

    /// Submits to a second collection: after a task of the first, into its batch, or under a key.
    fn elsewhere(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let home = Name::trusted("other");
        if self.world.collection_names.get(&home).is_ok_and(|id| id.is_none()) {
            self.call("op", Command::PutCollection { name: home.clone(), notify: vec![] })?;
            let flow = Box::new(notation::flow("g: s"));
            self.call("op", Command::ApplyFlow { collection: home.clone(), flow })?;
        }
        let id = option(words, "id");
        let (batch, after) = match words[0] {
            "batch" => {
                let open = Command::OpenBatch { collection: Name::trusted("c"), key: "".into() };
                let Reply::Batch(batch) = self.call("op", open)? else { panic!("no batch") };
                (Some(batch), vec![])
            }
            _ if id.is_some() => (None, vec![]),
            at => (None, vec![task(at)]),
        };
        let submit = Submit {
            item: ItemAddress { collection: home, ..item("x") },
            flow: Name::trusted("g"),
            payload: "".into(),
            priority: None,
            not_before: None,
            parts: vec![],
            depends: after,
            batch,
        };
        let reply = self.call_with("op", id, Command::Submit(submit))?;
        let Reply::Round { round, repeated, .. } = reply else { panic!("{reply:?}") };
        Ok(format!("round {round}{}", if repeated { " again" } else { "" }))
    }

    fn claim(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let claim = Claim {
            worker: Name::trusted(words[0]),
            labels: option(words, "labels")
                .map(|l| l.split(',').map(Name::trusted).collect())
                .unwrap_or_default(),
            steps: option(words, "step")
                .map(|s| {
                    let (flow, step) = s.split_once('.').expect("flow.step");
                    vec![(Name::trusted(flow), Name::trusted(step))]
                })
                .unwrap_or_default(),
            collections: Vec::new(),
            ways: option(words, "ways")
                .map(|w| w.split(',').map(crate::notation::way).collect())
                .unwrap_or_default(),
            max: option(words, "max").map_or(1, |m| m.parse().expect("max")),
        };
        let reply = self.call(words[0], Command::Claim(claim))?;
        let Reply::Claimed(granted) = reply else { panic!("{reply:?}") };
        let Some(granted) = granted else { return Ok("nothing".into()) };
        let tokens = granted.tasks.iter().map(|t| (t.task, t.token)).collect();
        self.leases.insert(words[0].to_owned(), (granted.lease, tokens));
        let names: Vec<String> = granted.tasks.iter().map(|t| self.name_of(t.task)).collect();
        Ok(names.join(" "))
    }

    fn report(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let task = self.task_id(words[1]);
        let (lease, tokens) = self.leases.get(words[0]).cloned().expect("a lease");
        let outcome = match words[2] {
            "ok" => Ending::Class(Class::Success),
            "fail" => Ending::Class(Class::Permanent),
            "transient" => Ending::Class(Class::Transient),
            "not-yet" => Ending::Class(Class::NotYet),
            "stopped" => Ending::Stopped,
            code => Ending::Exit(code.parse().expect("an exit code")),
        };
        let report = Report {
            lease,
            task,
            token: tokens.get(&task).copied().unwrap_or(Token(99)),
            outcome,
            detail: None,
            manifest: None,
            last: words.contains(&"last"),
        };
        let reply = self.call(words[0], Command::Report(report))?;
        let Reply::Reported(reported) = reply else { panic!("{reply:?}") };
        Ok(match reported {
            Reported::Applied => "applied",
            Reported::RecordedStale => "stale",
            Reported::AcceptedLate => "late",
            Reported::Stopped => "stopped",
        }
        .to_owned())
    }

    fn beat(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let lease = self.leases.get(words[0]).expect("a lease").0;
        let progress = words.iter().skip(1).map(|w| self.task_id(w)).collect();
        let reply = self.call(words[0], Command::Heartbeat { lease, progress })?;
        let Reply::Renewed { stop, .. } = reply else { panic!("{reply:?}") };
        let names: Vec<String> = stop.iter().map(|(task, _)| self.name_of(*task)).collect();
        Ok(if names.is_empty() { "ok".into() } else { format!("stop {}", names.join(" ")) })
    }

    fn give_back(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let lease = self.leases.get(words[0]).expect("a lease").0;
        self.call(words[0], Command::GiveBack { lease })?;
        Ok("ok".into())
    }

    fn event(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let command = Command::AddEvent {
            item: item(words[0]),
            name: Name::trusted(words[1]),
            outcome: if words[2] == "ok" { Outcome::Success } else { Outcome::Failure },
            detail: None,
        };
        let reply = self.call_with("op", option(words, "id"), command)?;
        let Reply::Event { n, repeated, .. } = reply else { panic!("{reply:?}") };
        Ok(format!("{n}{}", if repeated { " again" } else { "" }))
    }

    /// `say ITEM NAME ok|bad [at=…] [by=…] [import=ID]`
    fn say(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let imported = option(words, "import");
        let said = Said {
            at: option(words, "at").map(Text::from),
            agent: option(words, "by").map(Text::from),
            id: imported.map(Text::from),
            imported: imported.is_some(),
        };
        let command = Command::AddSaid(AddSaid {
            item: item(words[0]),
            name: Name::trusted(words[1]),
            outcome: if words[2] == "ok" { Outcome::Success } else { Outcome::Failure },
            detail: None,
            said,
        });
        let reply = self.call_with("op", option(words, "id"), command)?;
        let Reply::Event { n, repeated, .. } = reply else { panic!("{reply:?}") };
        Ok(format!("{n}{}", if repeated { " again" } else { "" }))
    }

    /// `rewind ITEM from=NAME|NUMBER|failure`
    fn rewind(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let from = match option(words, "from").expect("from") {
            "failure" => RewindFrom::FirstFailure,
            text => match text.parse() {
                Ok(n) => RewindFrom::Number(n),
                Err(_) => RewindFrom::Event(Name::trusted(text)),
            },
        };
        let command = Command::Rewind { item: item(words[0]), from, reason: "because".into() };
        let Reply::Rewound { marks, .. } = self.call("op", command)? else { panic!("a rewind") };
        Ok(marks.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" "))
    }

    /// An item's marks: name, outcome, and whether they are hidden, imported or outdated.
    fn marks(&self, name: &str) -> String {
        let id = self.item_id(name);
        let item = self.world.items.get(&id).expect("whole").expect("an item");
        let mut marks: Vec<String> = Vec::new();
        for ((_, name), mark) in self.world.marks.iter().filter(|((i, _), _)| *i == id) {
            let mut text = format!("{name} {}", mark.outcome.as_str());
            let words = [("hidden", mark.hidden), ("imported", mark.imported)];
            for (word, _) in words.iter().filter(|(_, is)| *is) {
                text += &format!(" {word}");
            }
            if mark.based_on < item.changed_seq {
                text += " old";
            }
            marks.push(text);
        }
        marks.join(", ")
    }

    fn holds(&self) -> String {
        let holds = self.world.holds.iter().map(|(id, hold)| format!("{id} {:?}", hold.scope));
        holds.collect::<Vec<_>>().join(", ")
    }

    fn touch(&mut self, words: &[&str]) -> Result<String, Refusal> {
        self.call("op", Command::TouchItem { item: item(words[0]), detail: None })?;
        Ok("ok".into())
    }

    fn batch(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let id = || BatchId(words[1].parse().expect("batch"));
        let command = match words[0] {
            "open" => Command::OpenBatch { collection: Name::trusted("c"), key: "".into() },
            "seal" => Command::SealBatch { batch: id() },
            "cancel" => Command::CancelBatch { batch: id() },
            "retry" => Command::RetryBatch { batch: id() },
            "report" => Command::ReportBatch { batch: id() },
            "delete" => Command::DeleteBatch { batch: id() },
            "show" => {
                let row = self.world.batches.get(&id()).expect("whole").expect("a batch");
                return Ok(format!(
                    "{} {} open {} done {} failed {} cancelled",
                    row.state.as_str(),
                    row.open,
                    row.done,
                    row.failed,
                    row.cancelled
                ));
            }
            other => panic!("batch {other}"),
        };
        match self.call("op", command)? {
            Reply::Batch(id) => Ok(format!("batch {id}")),
            _ => Ok("ok".into()),
        }
    }

    fn hold(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let c = || Name::trusted("c");
        let on = match words[0] {
            "collection" => HoldOn::Collection(c()),
            "flow" => HoldOn::Flow(c(), Name::trusted(words[1])),
            "batch" => HoldOn::Batch(BatchId(words[1].parse().expect("batch"))),
            "item" => HoldOn::Item(item(words[1])),
            "task" => HoldOn::Task(self.task_id(words[1])),
            "step" => {
                let (flow, step) = words[1].split_once('.').expect("flow.step");
                HoldOn::Step(c(), Name::trusted(flow), Name::trusted(step))
            }
            other => panic!("hold {other}"),
        };
        let until = option(words, "for")
            .map(|s| Time(self.now + s.parse::<i64>().expect("seconds") * 1_000_000));
        let reason = "because".into();
        match self.call("op", Command::Hold { on, reason, until })? {
            Reply::Hold(id) => Ok(format!("hold {id}")),
            other => panic!("{other:?}"),
        }
    }

    fn fire(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let slots = words.iter().map(|s| Time(s.parse::<i64>().expect("slot") * 1_000_000));
        let command = Command::Fire { schedule: ScheduleId(1), slots: slots.collect() };
        match self.call("duty", command)? {
            Reply::Duty { did, .. } => Ok(format!("fired {did}")),
            other => panic!("{other:?}"),
        }
    }

    fn operate(&mut self, verb: &str, words: &[&str]) -> Result<String, Refusal> {
        let reason = Text::from("");
        let command = match verb {
            "retry" => Command::Retry { task: self.task_id(words[0]) },
            "skip" => Command::Skip { task: self.task_id(words[0]), reason },
            "cancel" => Command::Cancel { task: self.task_id(words[0]), reason },
            "priority" => Command::Prioritise {
                task: self.task_id(words[0]),
                priority: words[1].parse().expect("priority"),
            },
            "item-priority" => Command::PrioritiseItem {
                item: item(words[0]),
                priority: words[1].parse().expect("priority"),
            },
            "delete" => Command::DeleteItem { item: item(words[0]) },
            "release" => Command::Release { hold: HoldId(words[0].parse().expect("hold")) },
            "remove-flow" => Command::RemoveFlow {
                collection: Name::trusted("c"),
                flow: Name::trusted(words[0]),
            },
            "restart" => Command::Refresh,
            "raise-epoch" => Command::RaiseEpoch,
            "recall" => Command::Recall,
            other => panic!("what is {other}?"),
        };
        self.call("op", command)?;
        Ok("ok".into())
    }

    /// State and cause of a task.
    fn describe(&self, name: &str) -> String {
        let id = self.task_id(name);
        let task = self.world.tasks.get(&id).expect("whole").expect("a task");
        match task.cause.as_str() {
            "" => task.state.to_string(),
            cause => format!("{} {cause}", task.state),
        }
    }

    fn counts(&self, step: &str) -> String {
        let (_, queue) = self.world.queues.iter().find(|(_, q)| &*q.step == step).expect("a queue");
        let names = armarius_core::task::State::ALL;
        let parts = names.iter().zip(queue.counts).filter(|(_, n)| *n > 0);
        parts.map(|(s, n)| format!("{n} {s}")).collect::<Vec<_>>().join(", ")
    }

    /// Names of an item's events, oldest first; only one name if it is given.
    fn history(&self, item: &str, only: Option<&str>) -> String {
        let id = self.item_id(item);
        let events = self.events.iter().filter(|e| e.item == id);
        let events = events.filter(|e| only.is_none_or(|name| *e.name == *name));
        events.map(|e| e.name.to_string()).collect::<Vec<_>>().join(" ")
    }

    /// The states an item's tasks went into, in order.
    fn states(&self, item: &str) -> String {
        let id = self.item_id(item);
        let moves = self.events.iter().filter(|e| e.item == id).filter_map(|e| e.to);
        moves.map(|state| state.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn why(&self, name: &str) -> String {
        armarius_core::why::why_task(&self.world, self.task_id(name), Time(self.now))
            .expect("whole")
            .to_string()
            .replace('\n', " | ")
    }

    /// Letters about batches and archives: to whom, number, and what they say.
    fn letters(&self) -> String {
        let say = |body: &str| {
            let report: serde_json::Value = serde_json::from_str(body).expect("JSON");
            if let Some(event) = report["event"].as_str() {
                let about = [&report["revision"], &report["name"], &report["cause"]];
                let about = about.iter().filter(|v| !v.is_null()).map(|v| format!(" {v}"));
                return format!("{event}{}", about.collect::<String>().replace('"', ""));
            }
            let state = report["state"].as_str().expect("a state").to_owned();
            format!("{state} {} of {}", report["failed"], report["total"])
        };
        let letters = self.world.letters.iter();
        let lines = letters.map(|(to, n, l)| format!("{to} {n} {}", say(&l.body)));
        lines.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn task_id(&self, name: &str) -> TaskId {
        let at = task(name);
        let item = self.item_key(&at.item);
        let flow = self.world.flow_names.get(&(item.0, at.flow.clone())).expect("whole");
        let flow = flow.expect("a flow");
        let queue = self.world.queue_names.get(&(*flow, at.step.clone())).expect("whole");
        let key = TaskKey {
            item: item.1,
            queue: *queue.expect("a step"),
            part: at.part,
            round: at.round,
        };
        *self.world.task_keys.get(&key).expect("whole").unwrap_or_else(|| panic!("no {name}"))
    }

    fn item_id(&self, name: &str) -> ItemId {
        self.item_key(&item(name)).1
    }

    fn item_key(&self, at: &ItemAddress) -> (armarius_core::ids::CollectionId, ItemId) {
        let home = self.world.collection_names.get(&at.collection).expect("whole");
        let collection = *home.expect("a collection");
        let key = ItemKey { collection, kind: at.kind.clone(), key: at.key.clone() };
        let id = self.world.item_keys.get(&key).expect("whole");
        (collection, *id.unwrap_or_else(|| panic!("no item {at}")))
    }

    /// A task as scripts write it.
    pub(crate) fn name_of(&self, task: TaskId) -> String {
        let body = self.world.bodies.get(&task).expect("whole").expect("a body");
        let queue = self.world.queues.get(&body.queue).expect("whole").expect("a queue");
        let flow = self.world.flows.get(&body.flow).expect("whole").expect("a flow");
        let item = self.world.items.get(&body.item).expect("whole").expect("an item");
        let rev = if item.kind.as_str() == "revision" { "rev-" } else { "" };
        let mut text = format!("{}.{}@{rev}{}", flow.name, queue.step, item.key);
        if !body.part.is_empty() {
            text += &format!("#{}", body.part);
        }
        if body.round != 1 {
            text += &format!("~{}", body.round);
        }
        text
    }

    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Time passes without any duty noticing.
    pub(crate) fn pass(&mut self, seconds: i64) {
        self.now += seconds * 1_000_000;
    }

    pub(crate) fn count(&self, counter: Counter) -> i64 {
        self.world.counters.get(&counter).expect("whole").copied().unwrap_or(0)
    }
}

/// The lines of a script; one that begins with `|` goes on with the one before.
fn lines(script: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        match lines.last_mut() {
            Some(last) if line.starts_with('|') => *last = format!("{last} {line}"),
            Some(_) | None => lines.push(line.to_owned()),
        }
    }
    lines
}

/// `key` → `c/k/key`, `rev-N` → `c/revision/N`.
pub(crate) fn item(name: &str) -> ItemAddress {
    let (kind, key) = place(name);
    ItemAddress { collection: Name::trusted("c"), kind: Name::trusted(kind), key: key.into() }
}

fn place(name: &str) -> (&str, &str) {
    name.strip_prefix("rev-").map_or(("k", name), |key| ("revision", key))
}

/// `flow.step@key#part~round` → a task of item `c/k/key`.
fn task(name: &str) -> TaskAddress {
    let (work, place) = name.split_once('@').unwrap_or_else(|| panic!("{name}: no @"));
    let (kind, key) = self::place(place);
    TaskAddress::parse(&format!("{work}@c/{kind}/{key}")).expect("an address")
}

/// The value of `name=value` among words.
pub(crate) fn option<'w>(words: &[&'w str], name: &str) -> Option<&'w str> {
    words.iter().find_map(|w| w.strip_prefix(name)?.strip_prefix('='))
}
