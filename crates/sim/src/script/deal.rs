//! What a card means, given what the script knows.

use std::collections::VecDeque;

use armarius_core::address::{ItemAddress, TaskAddress};
use armarius_core::command::{
    AddSaid, ChangeKey, Claim, Command, Ending, HoldOn, MakeKey, Opener, PutItem, Report,
    RewindFrom, Submit,
};
use armarius_core::event::{Outcome as Mark, Said, digest};
use armarius_core::flow::{Class, codec};
use armarius_core::ids::{BatchId, ErrandId, HoldId, ScheduleId, Span, TaskId, Time, Token};
use armarius_core::rows::{ManifestState, Role};
use armarius_core::text::{Name, Text};

use super::archives;
use super::deck::Card;
use super::flows::{BY_HAND, BY_REVISION, FLOWS, ONE_AGAIN, STEPS};
use super::{Held, Script, Step};

const ITEMS: usize = 7;
const WORKERS: usize = 3;
const CROWD_PARTS: usize = 130;
const DESTINATIONS: [&str; 2] = ["post", "bell"];
const MINUTE: i64 = 60_000_000;

/// Collections, flows and items: what everything else is about.
pub(super) fn opening() -> VecDeque<Command> {
    let mut commands = VecDeque::new();
    for (name, notify) in [("c", vec![Text::from("post")]), ("d", Vec::new())] {
        commands.push_back(Command::PutCollection { name: Name::trusted(name), notify });
    }
    // Keys can be revoked and changed only while another one may do everything.
    let (id, name) = (Name::trusted("k0"), Name::trusted("root"));
    let (collections, digest) = (Vec::new(), digest(&id));
    commands.push_back(Command::MakeKey(MakeKey {
        id,
        name,
        role: Role::Admin,
        collections,
        digest,
    }));
    commands.extend(FLOWS.iter().filter_map(|text| apply("c", text)));
    commands.extend(FLOWS.iter().take(2).filter_map(|text| apply("d", text)));
    commands.extend(archives::opening());
    commands
}

fn apply(collection: &str, text: &str) -> Option<Command> {
    let flow = Box::new(codec::from_text(text).ok()?);
    Some(Command::ApplyFlow { collection: Name::trusted(collection), flow })
}

fn address(kind: &str, key: String) -> ItemAddress {
    ItemAddress { collection: Name::trusted("c"), kind: Name::trusted(kind), key: key.into() }
}

impl Script {
    pub(super) fn operator(&self, command: Command) -> Step {
        Step { at: self.now, actor: Name::trusted("op"), idem: None, command }
    }

    /// The step of a card; nothing when there is no occasion for it.
    // tidy: long because every card has its line
    pub(super) fn play(&mut self, card: Card) -> Option<Step> {
        let command = match card {
            Card::Submit | Card::Parts | Card::After | Card::Member | Card::Delayed => {
                return self.submission(card);
            }
            Card::Repeat => return self.repeat(),
            Card::Revision => self.next_revision(),
            Card::Crowd => self.crowd()?,
            Card::Claim | Card::ClaimStep => return Some(self.claim(card)),
            Card::Report | Card::Stale | Card::Last => return self.report(card),
            Card::Beat => return self.beat(),
            Card::GiveBack => return self.give_back(),
            Card::Event => return Some(self.event()),
            Card::Import => self.imported(),
            Card::Rewind => self.rewind(),
            Card::Touch => {
                let detail = self.dice.once_in(2).then(|| Text::from("new scan"));
                Command::TouchItem { item: self.item(), detail }
            }
            Card::Put => self.put(),
            Card::DeleteItem => Command::DeleteItem { item: self.item() },
            Card::PrioritiseItem => {
                let priority = self.priority();
                Command::PrioritiseItem { item: self.any_item(), priority }
            }
            Card::Retry => Command::Retry { task: self.task()? },
            Card::Skip => Command::Skip { task: self.task()?, reason: "because".into() },
            Card::Cancel => Command::Cancel { task: self.task()?, reason: "because".into() },
            Card::Prioritise => {
                let priority = self.priority();
                Command::Prioritise { task: self.task()?, priority }
            }
            Card::Hold => self.hold()?,
            Card::Release => Command::Release { hold: self.some_hold() },
            Card::OpenBatch => return Some(self.open_batch()),
            Card::SealBatch => Command::SealBatch { batch: self.open_batch.or(self.batch())? },
            Card::CancelBatch => Command::CancelBatch { batch: self.batch()? },
            Card::RetryBatch => Command::RetryBatch { batch: self.batch()? },
            Card::ReportBatch => Command::ReportBatch { batch: self.batch()? },
            Card::DeleteBatch => Command::DeleteBatch { batch: self.batch()? },
            Card::Key => self.door_key(),
            Card::Post => {
                let body = format!("news {}", self.left).into();
                Command::Post { to: self.destination().into(), body }
            }
            Card::Delivered => self.delivery(),
            Card::Collection => self.collection(),
            Card::Apply => self.flow_again()?,
            Card::Remove => {
                let flow = Name::trusted(["cron", "bot", "press"][self.dice.below(3)]);
                Command::RemoveFlow { collection: Name::trusted("c"), flow }
            }
            Card::Tick => return self.tick(),
            Card::Fire => {
                let fire = self.fire();
                return Some(self.duty(fire));
            }
            Card::Expire => return Some(self.duty(Command::Expire)),
            Card::Wake => return Some(self.duty(Command::Wake)),
            Card::ExpireHolds => return Some(self.duty(Command::ExpireHolds)),
            Card::Refresh => return Some(self.duty(Command::Refresh)),
            Card::Errand => {
                let errand = ErrandId(self.errand.0);
                return Some(self.duty(Command::RunErrand { errand }));
            }
            Card::Epoch => Command::RaiseEpoch,
            Card::Recall => Command::Recall,
            Card::Plan
            | Card::Notice
            | Card::Look
            | Card::PassOver
            | Card::StartFlow
            | Card::Watch => self.of_archive(card),
        };
        Some(self.operator(command))
    }

    fn item(&mut self) -> ItemAddress {
        let n = self.dice.below(ITEMS);
        address("page", format!("i{n}"))
    }

    fn any_item(&mut self) -> ItemAddress {
        match self.dice.below(3) {
            0 => address("page", "crowd".to_owned()),
            1 => address("revision", self.dice.between(1, self.revision.max(1) + 1).to_string()),
            _ => self.item(),
        }
    }

    /// Few ids and names, so that some are taken, revoked or the last.
    fn door_key(&mut self) -> Command {
        let id = Name::trusted(["k1", "k2", "k3"][self.dice.below(3)]);
        let role = Role::ALL[self.dice.below(Role::ALL.len())];
        let only = (0..self.dice.below(2)).map(|_| Name::trusted("c")).collect();
        match self.dice.below(8) {
            0 => Command::RevokeKey { id },
            1 => Command::ChangeKey(ChangeKey { id, role: Some(role), collections: None }),
            2 | 3 => {
                let name = Name::trusted(["ada", "bob"][self.dice.below(2)]);
                let digest = digest(&id);
                Command::MakeKey(MakeKey { id, name, role, collections: only, digest })
            }
            _ => self.session(id),
        }
    }

    /// Few secrets, so that some were used up, and some are in use.
    fn session(&mut self, key: Name) -> Command {
        let secret = digest(["s1", "s2", "s3"][self.dice.below(3)]);
        let code = digest(["c1", "c2", "c3"][self.dice.below(3)]);
        match self.dice.below(10) {
            0 | 1 => Command::OfferSession { key, code },
            2..=4 => Command::OpenSession { by: Opener::Key(key), secret },
            5 => Command::OpenSession { by: Opener::Code(code), secret },
            6..=8 => Command::NoteSession { secret },
            _ => Command::EndSession { secret },
        }
    }

    fn priority(&mut self) -> i32 {
        i32::try_from(self.dice.between(-2, 4)).unwrap_or_default()
    }

    fn worker(&mut self) -> Name {
        Name::trusted(&format!("w{}", self.dice.below(WORKERS)))
    }

    fn task(&mut self) -> Option<TaskId> {
        self.dice.pick(&self.tasks).copied()
    }

    fn key(&mut self, times: usize) -> Option<Text> {
        let wanted = self.dice.once_in(times);
        self.keys += usize::from(wanted);
        wanted.then(|| format!("key-{}", self.keys).into())
    }

    fn submission(&mut self, card: Card) -> Option<Step> {
        let batch = if card == Card::Member { Some(self.open_batch?) } else { None };
        let flow = Name::trusted(self.dice.pick(BY_HAND)?);
        let item = self.item();
        let host = ["x", "y"][self.dice.below(2)];
        let submit = Submit {
            item,
            flow,
            payload: if self.dice.once_in(2) {
                format!(r#"{{"h":"{host}"}}"#).into()
            } else {
                "".into()
            },
            priority: self
                .dice
                .once_in(2)
                .then(|| self.dice.between(-1, 3).unsigned_abs())
                .and_then(|p| i32::try_from(p).ok()),
            not_before: (card == Card::Delayed)
                .then(|| self.now.plus(Span::seconds(self.dice.between(1, 30)))),
            parts: (0..if card == Card::Parts { 1 + self.dice.below(3) } else { 0 })
                .map(|n| format!("p{n}").into())
                .collect(),
            depends: (0..if card == Card::After { 1 + self.dice.below(2) } else { 0 })
                .map(|_| self.dependency())
                .collect(),
            batch,
        };
        let idem = self.key(3);
        Some(Step { idem, ..self.operator(Command::Submit(submit)) })
    }

    fn dependency(&mut self) -> TaskAddress {
        let round = u32::try_from(self.dice.between(1, 4)).unwrap_or(1);
        let (flow, step) = [("one", "s"), ("chain", "a"), ("chain", "c")][self.dice.below(3)];
        TaskAddress {
            flow: Name::trusted(flow),
            step: Name::trusted(step),
            item: self.item(),
            part: "".into(),
            round,
        }
    }

    fn repeat(&mut self) -> Option<Step> {
        let again = self.dice.pick(&self.keyed)?.clone();
        Some(Step { at: self.now, ..again })
    }

    /// An item with an ordinal must be put before it is submitted.
    fn next_revision(&mut self) -> Command {
        // Revisions come twice, and a put counts as the first time.
        let known = self.revision > 0 && !self.dice.once_in(3);
        if known {
            let n = self.dice.between((self.revision - 2).max(1), self.revision + 1);
            let flow = BY_REVISION[self.dice.below(BY_REVISION.len())];
            return Command::Submit(Submit {
                item: address("revision", n.to_string()),
                flow: Name::trusted(flow),
                payload: "".into(),
                priority: None,
                not_before: None,
                parts: Vec::new(),
                depends: Vec::new(),
                batch: None,
            });
        }
        self.revision += 1;
        Command::PutItem(PutItem {
            item: address("revision", self.revision.to_string()),
            priority: None,
            ordinal: Some(self.revision),
            types: None,
            attributes: Some(format!(r#"{{"author":"a{}"}}"#, self.revision % 2).into()),
        })
    }

    fn crowd(&mut self) -> Option<Command> {
        self.crowds_left = self.crowds_left.checked_sub(1)?;
        Some(Command::Submit(Submit {
            item: address("page", "crowd".to_owned()),
            flow: Name::trusted("one"),
            payload: "".into(),
            priority: None,
            not_before: None,
            parts: (0..CROWD_PARTS).map(|n| format!("p{n}").into()).collect(),
            depends: Vec::new(),
            batch: self.open_batch,
        }))
    }

    fn claim(&mut self, card: Card) -> Step {
        let worker = self.worker();
        let steps = self.dice.pick(STEPS).filter(|_| card == Card::ClaimStep).into_iter();
        let steps = steps.map(|(f, s)| (Name::trusted(f), Name::trusted(s))).collect();
        let claim = Claim {
            worker: worker.clone(),
            ways: Vec::new(),
            labels: if self.dice.once_in(2) { vec![Name::trusted("gpu")] } else { Vec::new() },
            steps,
            collections: if self.dice.once_in(6) { vec![Name::trusted("c")] } else { Vec::new() },
            max: u32::try_from(self.dice.between(1, 7)).unwrap_or(1),
        };
        Step { actor: worker, ..self.operator(Command::Claim(claim)) }
    }

    fn report(&mut self, card: Card) -> Option<Step> {
        let from = if card == Card::Stale { &self.past } else { &self.leases };
        let held = self.dice.pick(from)?.clone();
        let Held { worker, lease, tasks } = held;
        let (task, token) = *self.dice.pick(&tasks)?;
        let outcome = match self.dice.below(14) {
            0..=6 => Ending::Class(Class::Success),
            7 => Ending::Class(Class::Permanent),
            8 => Ending::Class(Class::Transient),
            9 => Ending::Class(Class::NotYet),
            10 => Ending::Exit(0),
            11 => Ending::Exit(7),
            12 => Ending::Exit(75),
            _ => Ending::Stopped,
        };
        let manifest = self.dice.once_in(4).then(|| {
            let state = ManifestState::ALL[self.dice.below(ManifestState::ALL.len())];
            (state, Text::from("a.tif 17 sha256:00"))
        });
        // A wrong token now and then.
        let token = if self.dice.once_in(12) { Token(token.0 + 1) } else { token };
        let report = Report {
            lease,
            task,
            token,
            outcome,
            detail: self.dice.once_in(2).then(|| r#"{"lines":42}"#.into()),
            manifest,
            last: card == Card::Last,
        };
        Some(Step { actor: worker, ..self.operator(Command::Report(report)) })
    }

    fn beat(&mut self) -> Option<Step> {
        let Held { worker, lease, tasks } = self.dice.pick(&self.leases)?.clone();
        let progress = tasks.into_iter().map(|(task, _)| task).take(self.dice.below(3)).collect();
        Some(Step { actor: worker, ..self.operator(Command::Heartbeat { lease, progress }) })
    }

    fn give_back(&mut self) -> Option<Step> {
        let Held { worker, lease, .. } = self.dice.pick(&self.leases)?.clone();
        Some(Step { actor: worker, ..self.operator(Command::GiveBack { lease }) })
    }

    fn event(&mut self) -> Step {
        let command = Command::AddEvent {
            item: self.item(),
            name: Name::trusted(["one", "bot", "x"][self.dice.below(3)]),
            outcome: if self.dice.once_in(3) { Mark::Failure } else { Mark::Success },
            detail: self.dice.once_in(3).then(|| "seen".into()),
        };
        Step { idem: self.key(2), ..self.operator(command) }
    }

    fn imported(&mut self) -> Command {
        let id = Some(format!("old {}", self.dice.below(6)).into());
        Command::AddSaid(AddSaid {
            item: self.item(),
            name: Name::trusted(["one", "bot", "x"][self.dice.below(3)]),
            outcome: if self.dice.once_in(3) { Mark::Failure } else { Mark::Success },
            detail: None,
            said: Said { at: Some("1999".into()), agent: None, id, imported: true },
        })
    }

    fn rewind(&mut self) -> Command {
        let from = match self.dice.below(5) {
            0 => RewindFrom::FirstFailure,
            1 => RewindFrom::Number(2),
            n => RewindFrom::Event(Name::trusted(["one", "bot", "x"][n - 2])),
        };
        Command::Rewind { item: self.item(), from, reason: "once more".into() }
    }

    fn put(&mut self) -> Command {
        Command::PutItem(PutItem {
            item: self.item(),
            priority: Some(self.priority()),
            ordinal: None,
            types: self.dice.once_in(2).then(|| vec![Name::trusted("map"), Name::trusted("ink")]),
            attributes: self.dice.once_in(2).then(|| r#"{"sheet":1}"#.into()),
        })
    }

    fn hold(&mut self) -> Option<Command> {
        let c = || Name::trusted("c");
        let on = match self.dice.below(6) {
            0 => HoldOn::Collection(Name::trusted("d")),
            1 => HoldOn::Flow(c(), Name::trusted("one")),
            2 => HoldOn::Step(c(), Name::trusted("chain"), Name::trusted("b")),
            3 => HoldOn::Item(self.any_item()),
            4 => HoldOn::Batch(*self.dice.pick(&self.batches)?),
            _ => HoldOn::Task(self.task()?),
        };
        let until = self.dice.once_in(2).then(|| self.now.plus(Span::seconds(20)));
        Some(Command::Hold { on, reason: "because".into(), until })
    }

    fn some_hold(&mut self) -> HoldId {
        self.dice.pick(&self.holds).copied().unwrap_or(HoldId(1))
    }

    fn open_batch(&mut self) -> Step {
        let key =
            if self.dice.once_in(2) { format!("b{}", self.batches.len()) } else { String::new() };
        let command = Command::OpenBatch { collection: Name::trusted("c"), key: key.into() };
        Step { idem: self.key(2), ..self.operator(command) }
    }

    fn batch(&mut self) -> Option<BatchId> {
        self.dice.pick(&self.batches).copied()
    }

    fn destination(&mut self) -> &'static str {
        DESTINATIONS[self.dice.below(DESTINATIONS.len())]
    }

    fn delivery(&mut self) -> Command {
        let to = self.destination();
        let n = *self.letters.entry(to).or_insert(1);
        let (ok, retry_at) = (!self.dice.once_in(3), self.now.plus(Span::seconds(5)));
        Command::Delivered { to: to.into(), n, ok, retry_at }
    }

    fn collection(&mut self) -> Command {
        let mut notify = vec![Text::from("post")];
        notify.extend(self.dice.once_in(2).then(|| Text::from("bell")));
        Command::PutCollection { name: Name::trusted("c"), notify }
    }

    fn flow_again(&mut self) -> Option<Command> {
        let text = match self.dice.below(3) {
            0 => ONE_AGAIN,
            _ => self.dice.pick(FLOWS)?,
        };
        apply("c", text)
    }

    /// Time passes. Whoever comes next sees it; here somebody only looks after timers.
    fn tick(&mut self) -> Option<Step> {
        self.now = self.now.plus(Span::seconds(self.dice.between(1, 25)));
        self.past.append(&mut self.leases.split_off(self.leases.len().min(WORKERS)));
        None
    }

    fn duty(&self, command: Command) -> Step {
        Step { actor: Name::trusted("armarius"), ..self.operator(command) }
    }

    fn fire(&mut self) -> Command {
        let minute = self.now.0 - self.now.0 % MINUTE;
        let slots = vec![Time(minute - MINUTE), Time(minute)];
        Command::Fire { schedule: ScheduleId(self.dice.between(1, 3)), slots }
    }
}
