//! Keys: who may do what, and who said so.

use armarius_core::command::{ChangeKey, Command, MakeKey};
use armarius_core::event::digest;
use armarius_core::flow::{Flow, Step};
use armarius_core::rows::Role;
use armarius_core::text::Name;

use crate::lab::Lab;

/// Plays lines like `make k1 ada admin`, `change k1 worker c`, `revoke k1`, each with its answer
/// behind an arrow.
fn check(script: &str) -> Lab {
    let mut lab = Lab::new();
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (said, wanted) = line.split_once(" -> ").unwrap_or((line, "ok"));
        let words: Vec<&str> = said.split_whitespace().collect();
        let answer = match lab.call("root", command(&words)) {
            Ok(_) => "ok".to_owned(),
            Err(refusal) => format!("no: {}", refusal.code),
        };
        assert_eq!(answer, wanted, "{line}");
    }
    lab.check_history();
    lab
}

fn command(words: &[&str]) -> Command {
    let name = |at: usize| Name::trusted(words[at]);
    let role = |at: usize| Role::parse(words[at]).expect("a role");
    let only = |at: usize| words[at..].iter().map(|c| Name::trusted(c)).collect();
    match words[0] {
        "make" => Command::MakeKey(MakeKey {
            id: name(1),
            name: name(2),
            role: role(3),
            collections: only(4),
            digest: digest("secret"),
        }),
        "change" => Command::ChangeKey(ChangeKey {
            id: name(1),
            role: Some(role(2)),
            collections: Some(only(3)),
        }),
        "revoke" => Command::RevokeKey { id: name(1) },
        "collection" => Command::PutCollection { name: name(1), notify: Vec::new() },
        "batch" => Command::OpenBatch { collection: name(1), key: "b".into() },
        "flow" => {
            let mut flow = Flow::manual(Name::trusted("f"));
            flow.tasks.push(Step::outside(Name::trusted("s")));
            Command::ApplyFlow { collection: name(1), flow: Box::new(flow) }
        }
        other => panic!("what is {other}?"),
    }
}

#[test]
fn a_key_is_made_changed_and_revoked_and_its_item_tells_who_did_it() {
    let lab = check(
        "make k1 ada admin
         make k2 bob worker maps
         change k2 operator maps books
         revoke k2
         revoke k2 -> no: no-such-key
         change k2 worker -> no: no-such-key
         revoke k9 -> no: no-such-key",
    );
    let of_k2 = lab.world.keys.get(&Name::trusted("k2")).unwrap().unwrap().item;
    let told = lab.events.iter().filter(|event| event.item == of_k2);
    let told: Vec<String> = told.map(|e| format!("{} {} {}", e.n, e.name, e.actor)).collect();
    assert_eq!(told, ["1 key.made root", "2 key.changed root", "3 key.revoked root"]);
    let detail = lab.events.iter().rev().find(|e| e.item == of_k2).unwrap().detail.clone();
    let wanted = r#"{"collections":["maps","books"],"name":"bob","role":"operator"}"#;
    assert_eq!(detail.as_deref(), Some(wanted));
}

#[test]
fn ids_and_living_names_are_unique() {
    check(
        "make k1 ada admin
         make k1 bob worker -> no: already-exists
         make k2 ada worker -> no: already-exists
         make k2 bob worker
         revoke k2
         make k3 bob worker
         make k2 eve worker -> no: already-exists",
    );
}

#[test]
fn the_last_key_for_everything_stays() {
    check(
        "make k1 ada admin
         make k2 bob admin maps
         revoke k1 -> no: wrong-state
         change k1 operator -> no: wrong-state
         change k1 admin maps -> no: wrong-state
         make k3 eve admin
         revoke k1
         revoke k3 -> no: wrong-state
         change k2 admin
         revoke k3",
    );
}

#[test]
fn the_collection_of_the_house_takes_nothing_else() {
    check(
        "collection armarius -> no: bad-name
         make k1 ada admin
         collection armarius -> no: bad-name
         flow armarius -> no: bad-name
         batch armarius -> no: bad-name",
    );
}
