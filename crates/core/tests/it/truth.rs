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

#[test]
fn all_conditions_must_hold() {
    // A second event `f` stands in every way, too; the robot asks one thing of each.
    for (first, first_wanted) in CONDITIONS {
        for (second, second_wanted) in CONDITIONS {
            for (e, e_past) in STANDS {
                let (f, f_past) = STANDS[(e.len() * 5 + first.len()) % STANDS.len()];
                let f_past = f_past.replace(" e ", " f ").replace("from=e", "from=f");
                // Bringing `f` about must not change how `e` stands, so nothing is touched after.
                if f_past.contains("touch") || f_past.contains("rewind") {
                    continue;
                }
                let script = format!("{e_past}\n{f_past}");
                let conditions = if first == second {
                    format!("{first}=e,f")
                } else {
                    format!("{first}=e {second}=f")
                };
                let wanted = first_wanted.split(", ").any(|w| w == e)
                    && second_wanted.split(", ").any(|w| w == f);
                assert_eq!(wakes(&conditions, &script), wanted, "{conditions} after {script}");
            }
        }
    }
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
