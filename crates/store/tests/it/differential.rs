//! The same commands, decided by the rule-book, leave the same world in every store.

use armarius_core::address::{ItemAddress, TaskAddress};
use armarius_core::command::{Claim, Ending, HoldOn, PutItem, Report, Submit};
use armarius_core::event::{self, Outcome};
use armarius_core::flow::{Class, Depend, Flow, Late, Limit, On, Query, Reference, Step, When};
use armarius_core::ids::{BatchId, ErrandId, HoldId, LeaseId, TaskId, Time, Token};
use armarius_core::rows::ManifestState;
use armarius_core::text::{Name, Text};
use armarius_core::view::{CommitHead, Stop, View};
use armarius_core::{Call, Command, Reply, decide};
use armarius_engine::seam::Store;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::postgres;
use armarius_store::world::Derived;
use armarius_store::{Memory, Options, Postgres, Sqlite};
use proptest::prelude::*;

/// One step of a story: what is done, and three numbers that choose the details.
type Move = (u8, u8, u8, u8);

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn the_same_commands_leave_the_same_world(
        moves in prop::collection::vec((0..24_u8, 0..6_u8, 0..6_u8, 0..6_u8), 1..80),
    ) {
        let calls = compose(&moves);
        let folder = tempfile::tempdir().unwrap();
        let mut memory = Memory::new();
        let mut sqlite = Sqlite::open(&folder.path().join("a.db"), Options::small()).unwrap();
        // One view lives from call to call, the other is new each time.
        let left = run(&mut memory, &calls, false);
        let right = run(&mut sqlite, &calls, true);
        prop_assert_eq!(left, right);
        let (left, right) = (memory.dump(), sqlite.dump().unwrap());
        prop_assert_eq!(left.differences(&right), Vec::<String>::new());
        prop_assert_eq!(memory.derived(), Derived::of(&left));
        let verified = sqlite.verify_everything().unwrap();
        prop_assert_eq!(verified.events, left.events.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Two servers on one database and shard take turns; each keeps its view.
    #[test]
    fn the_same_commands_leave_the_same_world_in_a_shared_database(
        moves in prop::collection::vec((0..24_u8, 0..6_u8, 0..6_u8, 0..6_u8), 1..60),
        turns in prop::collection::vec(any::<bool>(), 64),
    ) {
        let calls = compose(&moves);
        let mut memory = Memory::new();
        let wanted = run(&mut memory, &calls, false);
        let url = Cluster::shared().fresh_url();
        let open = || Postgres::open(&url, 0, postgres::Options::default()).unwrap();
        let mut servers = [(open(), View::new(0)), (open(), View::new(0))];
        let mut found = Vec::new();
        for (call, turn) in calls.iter().zip(turns.iter().cycle()) {
            let (store, view) = &mut servers[usize::from(*turn)];
            found.push(format!("{:?}", answer(store, view, call)));
        }
        prop_assert_eq!(wanted, found);
        let (left, right) = (memory.dump(), servers[0].0.dump().unwrap());
        prop_assert_eq!(left.differences(&right), Vec::<String>::new());
        let verified = servers[1].0.verify_everything().unwrap();
        prop_assert_eq!(verified.events, left.events.len() as u64);
    }
}

/// The comparison means something only while the stories it compares get somewhere.
#[test]
fn stories_are_about_work() {
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u8::try_from((random >> 33) % below).unwrap()
    };
    let moves: Vec<Move> = (0..600).map(|_| (next(24), next(6), next(6), next(6))).collect();
    let answers = run(&mut Memory::new(), &compose(&moves), true);
    for word in ["Claimed(Some", "Applied", "RecordedStale", "Round {", "Duty {", "Hold(", "Batch("]
    {
        let found = answers.iter().filter(|a| a.contains(word)).count();
        assert!(found > 3, "only {found} answers say {word}");
    }
}

/// Runs calls through the rule-book on one store, each in a commit of its own, and returns the
/// answers as text.
fn run(store: &mut dyn Store, calls: &[Call], fresh: bool) -> Vec<String> {
    let mut view = View::new(0);
    let mut answers = Vec::new();
    for call in calls {
        if fresh {
            view = View::new(0);
        }
        answers.push(format!("{:?}", answer(store, &mut view, call)));
    }
    answers
}

fn answer(store: &mut dyn Store, view: &mut View, call: &Call) -> Result<Reply, String> {
    store.begin(view).unwrap();
    let answer = loop {
        match decide(view, call) {
            Ok(reply) => break Ok(reply),
            Err(Stop::Need(needs)) => store.load(&needs, view).unwrap(),
            Err(Stop::Refuse(refusal)) => break Err(format!("{refusal:?}")),
        }
    };
    view.keep();
    let commit = event::seal(view.head.n + 1, call.now, view.head.seal, &view.events);
    store.commit(view, &commit).unwrap();
    view.committed(CommitHead { n: commit.n, seal: commit.seal });
    answer
}

/// Makes a list of calls out of moves: some name what earlier ones made, so the story is told once,
/// to a store of its own.
fn compose(moves: &[Move]) -> Vec<Call> {
    let mut story = Story::new();
    story.tell(Command::PutCollection { name: name("c"), notify: vec![Text::from("post")] });
    for flow in flows() {
        story.tell(Command::ApplyFlow { collection: name("c"), flow: Box::new(flow) });
    }
    for moved in moves {
        story.now += 1 + i64::from(moved.3) * 5_000_000;
        if let Some(command) = story.command(*moved) {
            story.tell(command);
        }
    }
    story.calls
}

fn name(text: &str) -> Name {
    Name::trusted(text)
}

fn flows() -> Vec<Flow> {
    let depend = |on: Reference, when| Depend { on, when };
    let mut one = Flow::manual(name("one"));
    one.records = Some(name("one"));
    one.tasks = vec![Step { retries: 1, late: Late::Accept, ..Step::outside(name("s")) }];
    let mut chain = Flow::manual(name("chain"));
    let (first, second) = (Step::outside(name("a")), Step::outside(name("b.#é")));
    let after = depend(Reference::Task(name("a")), When::Done);
    let limit = Some(Limit { key: Text::from("host"), max: 1 });
    chain.tasks = vec![first, Step { depends: vec![after], limit, ..second }];
    let mut robot = Flow::manual(name("robot"));
    robot.on = On::Items(Query { success: vec![name("one")], ..Query::default() });
    robot.records = Some(name("robot"));
    robot.touches = true;
    robot.tasks = vec![Step::outside(name("r"))];
    vec![one, chain, robot]
}

struct Story {
    store: Memory,
    view: View,
    now: i64,
    calls: Vec<Call>,
    grants: Vec<(LeaseId, TaskId, Token)>,
    tasks: Vec<TaskId>,
    batches: Vec<BatchId>,
    holds: Vec<HoldId>,
}

impl Story {
    fn new() -> Self {
        Self {
            store: Memory::new(),
            view: View::new(0),
            now: 0,
            calls: Vec::new(),
            grants: Vec::new(),
            tasks: Vec::new(),
            batches: Vec::new(),
            holds: Vec::new(),
        }
    }

    fn tell(&mut self, command: Command) {
        let chance = self.calls.len() as u128 + 1;
        // Every seventh call carries a key that some other one may have used before.
        let idem = chance.is_multiple_of(7).then(|| Text::from(format!("key {}", chance % 3)));
        let (now, actor) = (Time(1_700_000_000_000_000 + self.now), name("ada"));
        let call = Call { now, actor, chance, idem, command };
        match answer(&mut self.store, &mut self.view, &call) {
            Ok(Reply::Claimed(Some(granted))) => {
                let grants = granted.tasks.iter().map(|t| (granted.lease, t.task, t.token));
                self.grants.extend(grants);
            }
            Ok(Reply::Round { task, .. }) => self.tasks.push(task),
            Ok(Reply::Batch(batch)) => self.batches.push(batch),
            Ok(Reply::Hold(hold)) => self.holds.push(hold),
            Ok(_) | Err(_) => {}
        }
        self.calls.push(call);
    }

    #[rustfmt::skip]
    fn command(&mut self, (what, a, b, c): Move) -> Option<Command> {
        let reason = Text::from("because");
        Some(match what {
            0..=3 => Command::Submit(self.submit(a, b, c)),
            4..=6 => Command::Claim(Claim {
                worker: name(&format!("worker {}", a % 2)), labels: Vec::new(), ways: Vec::new(), steps: Vec::new(),
                collections: Vec::new(), max: u32::from(b) + 1,
            }),
            7..=11 => Command::Report(self.report(a, b, c)?),
            12 => Command::Heartbeat { lease: pick(&self.grants, a)?.0, progress: Vec::new() },
            13 => Command::GiveBack { lease: pick(&self.grants, a)?.0 },
            14 => Command::PutItem(PutItem {
                item: item(a), priority: Some(i32::from(b)), ordinal: Some(i64::from(c)),
                types: Some(vec![name("type")]), attributes: Some(Text::from("{\"x\":1}")),
            }),
            15 => Command::AddEvent {
                item: item(a), name: name(["one", "seen"][usize::from(b) % 2]),
                outcome: [Outcome::Success, Outcome::Failure][usize::from(c) % 2],
                detail: Some(Text::from("détail")),
            },
            16 => match b % 3 {
                0 => Command::TouchItem { item: item(a), detail: None },
                1 => Command::DeleteItem { item: item(a) },
                _ => Command::PrioritiseItem { item: item(a), priority: i32::from(c) },
            },
            17 => {
                let until = (c == 0).then_some(Time(9));
                Command::Hold { on: self.hold_on(a, b)?, reason, until }
            }
            18 => Command::Release { hold: pick(&self.holds, a)? },
            19 => {
                let key = Text::from(format!("batch {a}"));
                Command::OpenBatch { collection: name("c"), key }
            }
            20 => self.on_batch(pick(&self.batches, a)?, b),
            21 => self.on_task(pick(&self.tasks, a)?, b, reason),
            22 => [Command::Expire, Command::Wake, Command::ExpireHolds, Command::Refresh,
                   Command::RaiseEpoch][usize::from(a) % 5].clone(),
            _ => Command::RunErrand { errand: ErrandId(i64::from(a) + 1) },
        })
    }

    fn submit(&self, a: u8, b: u8, c: u8) -> Submit {
        let flow = name(["one", "chain"][usize::from(b) % 2]);
        let earlier = TaskAddress {
            flow: name("one"),
            step: name("s"),
            item: item(c),
            part: Text::from(""),
            round: 1,
        };
        Submit {
            item: item(a),
            flow,
            payload: Text::from(format!("{{\"host\":\"h{}\"}}", c % 2)),
            priority: c.is_multiple_of(2).then_some(i32::from(c)),
            not_before: (c == 5).then(|| Time(1_700_000_000_000_000 + self.now + 9_000_000)),
            parts: if b == 4 { vec![Text::from("p 1"), Text::from("p/2")] } else { Vec::new() },
            depends: if b == 5 { vec![earlier] } else { Vec::new() },
            batch: if b == 3 { pick(&self.batches, c) } else { None },
        }
    }

    fn report(&self, a: u8, b: u8, c: u8) -> Option<Report> {
        let (lease, task, token) = pick(&self.grants, a)?;
        let endings = [
            Ending::Class(Class::Success),
            Ending::Class(Class::Success),
            Ending::Class(Class::Permanent),
            Ending::Class(Class::Transient),
            Ending::Exit(99),
            Ending::Stopped,
        ];
        let manifest = (c == 1).then(|| (ManifestState::Complete, Text::from("a b c")));
        let detail = (c == 2).then(|| Text::from("{\"result\":\"書\"}"));
        let outcome = endings[usize::from(b) % endings.len()];
        Some(Report { lease, task, token, outcome, detail, manifest, last: c == 0 })
    }

    fn hold_on(&self, a: u8, b: u8) -> Option<HoldOn> {
        Some(match b {
            0 => HoldOn::Collection(name("c")),
            1 => HoldOn::Flow(name("c"), name("one")),
            2 => HoldOn::Step(name("c"), name("chain"), name("a")),
            3 => HoldOn::Batch(pick(&self.batches, a)?),
            4 => HoldOn::Item(item(a)),
            _ => HoldOn::Task(pick(&self.tasks, a)?),
        })
    }

    fn on_batch(&self, batch: BatchId, b: u8) -> Command {
        match b {
            0 => Command::SealBatch { batch },
            1 => Command::CancelBatch { batch },
            2 => Command::RetryBatch { batch },
            3 => Command::ReportBatch { batch },
            4 => Command::DeleteBatch { batch },
            _ => Command::Post { to: Text::from("post"), body: Text::from("hello") },
        }
    }

    fn on_task(&self, task: TaskId, b: u8, reason: Text) -> Command {
        match b {
            0 | 1 => Command::Retry { task },
            2 => Command::Skip { task, reason },
            3 => Command::Cancel { task, reason },
            _ => Command::Prioritise { task, priority: i32::from(b) },
        }
    }
}

fn item(n: u8) -> ItemAddress {
    let key = Text::from(format!("{n}/a b#~%"));
    ItemAddress { collection: name("c"), kind: name(["page", "map.x"][usize::from(n) % 2]), key }
}

/// One of the newest of a list.
fn pick<T: Copy>(list: &[T], n: u8) -> Option<T> {
    list.iter().rev().nth(usize::from(n)).or(list.last()).copied()
}
