//! People who sign in: links that work once, sessions that end.

use armarius_core::command::{Command, MakeKey, Opener};
use armarius_core::decide::Session;
use armarius_core::event::digest;
use armarius_core::ids::Time;
use armarius_core::rows::Role;
use armarius_core::text::Name;

use crate::lab::Lab;

/// Plays lines like `key k1 ada`, `offer k1 code`, `open code code s1`, `open key k1 s1`,
/// `note s1`, `end s1`, `revoke k1` and `wait 60`, each with its answer behind an arrow; `who s1`
/// answers the key of a session.
fn check(script: &str) -> Lab {
    let mut lab = Lab::new();
    lab.call("root", make("k0", "root")).expect("an admin, so that others can be revoked");
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (said, wanted) = line.split_once(" -> ").unwrap_or((line, "ok"));
        assert_eq!(play(&mut lab, said), wanted, "{line}");
    }
    lab.check_history();
    lab
}

fn play(lab: &mut Lab, said: &str) -> String {
    let words: Vec<&str> = said.split_whitespace().collect();
    let command = match words[..] {
        ["wait", seconds] => {
            lab.tick(seconds.parse().expect("seconds"));
            return "ok".to_owned();
        }
        ["who", secret] => return who(lab, secret),
        ["key", id, name] => make(id, name),
        ["revoke", id] => Command::RevokeKey { id: Name::trusted(id) },
        ["offer", key, code] => {
            Command::OfferSession { key: Name::trusted(key), code: digest(code) }
        }
        ["open", "key", key, secret] => {
            let by = Opener::Key(Name::trusted(key));
            Command::OpenSession { by, secret: digest(secret) }
        }
        ["open", "code", code, secret] => {
            Command::OpenSession { by: Opener::Code(digest(code)), secret: digest(secret) }
        }
        ["note", secret] => Command::NoteSession { secret: digest(secret) },
        ["end", secret] => Command::EndSession { secret: digest(secret) },
        _ => panic!("what is {said}?"),
    };
    match lab.call("somebody", command) {
        Ok(_) => "ok".to_owned(),
        Err(refusal) => format!("no: {}", refusal.code),
    }
}

fn make(id: &str, name: &str) -> Command {
    let (id, name, digest) = (Name::trusted(id), Name::trusted(name), digest(id));
    Command::MakeKey(MakeKey { id, name, role: Role::Admin, collections: Vec::new(), digest })
}

fn who(lab: &Lab, secret: &str) -> String {
    let found = Session::find(&lab.world, &digest(secret)).expect("the whole world");
    let open = found.filter(|session| !session.is_over(Time(lab.now())));
    open.map_or_else(|| "nobody".to_owned(), |session| session.key.to_string())
}

/// Events of links and sessions, in order.
fn told(lab: &Lab) -> Vec<String> {
    let is_ours = |name: &str| name.starts_with("link.") || name.starts_with("session.");
    let ours = lab.events.iter().filter(|e| is_ours(&e.name));
    ours.map(|e| format!("{} {}", e.name, e.actor)).collect()
}

#[test]
fn a_link_opens_one_session_and_both_are_remembered() {
    let lab = check(
        "key k1 ada
         offer k1 code
         who s1 -> nobody
         open code code s1
         who s1 -> k1
         open code code s2 -> no: no-such-key
         who s2 -> nobody
         end s1
         who s1 -> nobody
         end s1
         end s9",
    );
    let wanted =
        ["link.made somebody", "link.used ada", "session.opened ada", "session.ended somebody"];
    assert_eq!(told(&lab), wanted);
}

#[test]
fn a_link_is_good_for_ten_minutes() {
    check(
        "offer k0 one
         offer k0 two
         wait 599
         open code one s1
         wait 1
         open code two s2 -> no: no-such-key
         open code never s3 -> no: no-such-key",
    );
}

#[test]
fn a_key_opens_as_many_as_it_likes_and_none_when_it_is_revoked() {
    check(
        "key k1 ada
         open key k1 s1
         open key k1 s2
         open key k1 s2 -> no: already-exists
         offer k1 code
         revoke k1
         open key k1 s3 -> no: no-such-key
         open code code s3 -> no: no-such-key
         offer k1 more -> no: no-such-key
         open key k9 s3 -> no: no-such-key",
    );
}

#[test]
fn a_secret_is_never_used_twice() {
    check(
        "open key k0 s1
         end s1
         open key k0 s1 -> no: already-exists
         offer k0 code
         offer k0 code -> no: already-exists
         open code code s1 -> no: already-exists
         open code code s2",
    );
}

#[test]
fn a_session_ends_when_it_is_not_used_and_at_last_in_any_case() {
    let lab = check(
        "open key k0 s1
         open key k0 s2
         note s1
         wait 3599
         note s1
         wait 1
         note s1
         note s1
         wait 39599
         who s2 -> k0
         wait 1
         who s2 -> nobody
         note s2 -> no: no-such-key
         who s1 -> k0",
    );
    // Only where it had not been noted for an hour.
    let noted = told(&lab).iter().filter(|line| line.starts_with("session.used")).count();
    assert_eq!(noted, 1);
    let mut script = "open key k0 s1\n".to_owned();
    for _ in 0..15 {
        script += "wait 40000\nnote s1\nwho s1 -> k0\n";
    }
    script += "wait 4800\nwho s1 -> nobody\nnote s1 -> no: no-such-key\n";
    check(&script);
}
