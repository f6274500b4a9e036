//! The transition table, whole.

use armarius_core::task::{State, TABLE, Verb, allowed, diagram};

#[test]
fn every_arrow_of_the_table() {
    let mut text = String::new();
    for (verb, froms, tos) in TABLE {
        let froms: Vec<&str> = froms.iter().map(|f| f.map_or("new", State::as_str)).collect();
        let tos: Vec<&str> = tos.iter().map(|t| t.as_str()).collect();
        text += &format!("{}: {} -> {}\n", verb.as_str(), froms.join(" "), tos.join(" "));
    }
    let wanted = "\
plan: new -> waiting ready
unblock: waiting -> ready
hold: ready -> held
release: held -> ready
grant: ready -> leased
succeed: leased -> done
fail: leased -> failed
again: leased -> ready
give-back: leased -> ready
lapse: leased -> ready failed
late: held ready failed -> done
retry: failed cancelled -> ready waiting
pass: waiting ready -> done
supersede: waiting held ready leased failed -> cancelled
withdraw: waiting held ready leased -> cancelled
skip: waiting held ready leased failed -> cancelled
cancel: waiting held ready leased failed -> cancelled
";
    assert_eq!(text, wanted);
}

#[test]
fn nothing_leaves_done() {
    for verb in Verb::ALL {
        for to in State::ALL {
            assert!(!allowed(Some(State::Done), verb, to), "{verb:?} -> {to}");
        }
    }
}

#[test]
fn every_verb_has_a_row() {
    for verb in Verb::ALL {
        assert!(TABLE.iter().any(|(v, _, _)| *v == verb), "{verb:?}");
    }
}

#[test]
fn the_diagram_shows_every_state() {
    let diagram = diagram();
    for state in State::ALL {
        assert!(diagram.contains(state.as_str()), "{state}");
    }
}
