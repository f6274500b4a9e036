//! The truth table of a trigger, every combination, in the real rules: an item is brought into a
//! state by events, a robot is registered, and either there is work or there is not.

use crate::lab::Lab;

/// How one event can stand for an item: what happened, in order.
const STANDS: [(&str, &str); 7] = [
    ("none", ""),
    ("ok new", "event a e ok"),
    ("ok old", "event a e ok\ntouch a"),
    ("bad new", "event a e bad"),
    ("bad old", "event a e bad\ntouch a"),
    ("ok rewound", "event a e ok\nrewind a from=e"),
    ("ok covered", "event a e bad\ntouch a\nevent a e ok"),
];

/// What each condition makes of them.
const CONDITIONS: [(&str, &str); 4] = [
    ("success", "ok new, ok old, ok covered"),
    ("failed", "bad new, bad old"),
    ("absent", "none, ok rewound"),
    ("stale", "none, ok old, bad old, ok rewound"),
];

/// Whether a robot with these conditions wakes for an item with this past, whether it was there
/// before the item or came after it.
fn wakes(conditions: &str, past: &str) -> bool {
    let robot = format!("flow r {conditions}: s");
    let early = work(&format!("{robot}\nitem a\n{past}"));
    let late = work(&format!("item a\n{past}\n{robot}"));
    assert_eq!(early, late, "{conditions}: registered early and late differ after {past}");
    early
}

fn work(script: &str) -> bool {
    let mut lab = Lab::new();
    lab.run(script);
    lab.errands();
    lab.check_history();
    let ready = lab.world.ready.iter().count();
    assert!(ready <= 1, "more than one task for one item");
    ready == 1
}

#[test]
fn one_condition_on_one_event() {
    for (condition, wanted) in CONDITIONS {
        let held = STANDS.iter().filter(|(_, past)| wakes(&format!("{condition}=e"), past));
        let held: Vec<&str> = held.map(|(name, _)| *name).collect();
        assert_eq!(held.join(", "), wanted, "{condition}");
    }
}

/// How each of two events can stand for one item, and what happened to bring it about: before the
/// content changed, after it, and last of all, to be rewound together.
const PAIRED: [(&str, [&str; 3]); 7] = [
    ("none", ["", "", ""]),
    ("ok new", ["", "ok", ""]),
    ("ok old", ["ok", "", ""]),
    ("bad new", ["ok", "bad", ""]),
    ("bad old", ["bad", "", ""]),
    ("ok rewound", ["", "bad", "ok"]),
    ("bad rewound", ["", "", "bad"]),
];

/// A past in which `e` and `f` come to stand as they should.
fn past(e: [&str; 3], f: [&str; 3]) -> String {
    let mut lines = String::new();
    for when in 0..3 {
        for (name, happened) in [("e", e[when]), ("f", f[when])] {
            if !happened.is_empty() {
                lines += &format!("event a {name} {happened}\n");
            }
        }
        lines += if when == 0 { "touch a\n" } else { "" };
    }
    match (e[2], f[2]) {
        ("", "") => lines,
        ("", _) => lines + "rewind a from=f\n",
        (_, _) => lines + "rewind a from=e\n",
    }
}

#[test]
fn all_conditions_must_hold_in_every_combination() {
    // A second event `f` stands in every way, too; the robot asks one thing of each.
    let meets = |condition: &str, stands: &str| match condition {
        "success" => stands == "ok new" || stands == "ok old",
        "failed" => stands == "bad new" || stands == "bad old",
        "absent" => stands == "none" || stands.ends_with("rewound"),
        _ => stands == "none" || stands.ends_with("rewound") || stands.ends_with("old"),
    };
    let (mut held, mut tried) = (0, 0);
    for (first, _) in CONDITIONS {
        for (second, _) in CONDITIONS {
            let conditions = if first == second {
                format!("{first}=e,f")
            } else {
                format!("{first}=e {second}=f")
            };
            for (e, e_past) in PAIRED {
                for (f, f_past) in PAIRED {
                    let wanted = meets(first, e) && meets(second, f);
                    let past = past(e_past, f_past);
                    assert_eq!(wakes(&conditions, &past), wanted, "{conditions}: {e}, {f}: {past}");
                    tried += 1;
                    held += usize::from(wanted);
                }
            }
        }
    }
    // 2 of 7 ways satisfy success, failed; 3 absent; 5 stale.
    assert_eq!((tried, held), (16 * 49, (2 + 2 + 3 + 5) * (2 + 2 + 3 + 5)));
}

#[test]
fn an_empty_list_is_no_condition() {
    assert!(wakes("success=", ""), "nothing is asked");
}

#[test]
fn kinds_types_and_items_narrow() {
    for (conditions, wanted) in [
        ("kinds=k", true),
        ("kinds=other", false),
        ("kinds=other,k", true),
        ("types=image", true),
        ("types=image,page", true),
        ("types=image,sound", false),
        ("items=a", true),
        ("items=b", false),
        ("items=b,a kinds=k types=page", true),
        ("items=a kinds=other", false),
    ] {
        let script = format!("flow r {conditions}: s\nitem a types=image,page");
        assert_eq!(work(&script), wanted, "{conditions}");
    }
}

#[test]
fn the_rules_own_items_are_meant_only_by_name() {
    // The collection's own item and a batch's are there, too, and have no work.
    assert!(!work("batch open\nflow r success=: s"));
    assert!(work("batch open\nflow r kinds=batch: s"));
}
