//! Long lists: read in three forms, sent in bulk, and sent again without harm.

use crate::lab::Lab;

#[test]
fn a_list_in_csv_is_submitted_once_however_often_it_is_sent() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow("ocr.yaml", "tasks: [{ name: scan, run: outside }]");
    let mut text = String::from("item,priority,payload.dpi\n");
    for n in 1..=1_200 {
        text.push_str(&format!("maps/page/{n},{},300\n", n % 5));
    }
    lab.write("list.csv", &text);
    let send = ["submit", "ocr", "--from", "list.csv", "--id", "delivery 7"];
    let first = lab.json(&send);
    assert_eq!((&first["sent"], &first["known"]), (&1_200.into(), &0.into()), "{first}");
    let again = lab.json(&send);
    assert_eq!((&again["sent"], &again["known"]), (&1_200.into(), &1_200.into()), "{again}");
    assert_eq!(lab.json(&["status"])["stats"]["tasks"]["ready"], 1_200);
    let task = lab.json(&["task", "show", "ocr.scan@maps/page/4"]);
    assert_eq!((&task["priority"], &task["payload"]["dpi"]), (&4.into(), &"300".into()));
}

#[test]
fn json_lines_carry_items_and_events() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow("ocr.yaml", "tasks: [{ name: scan, run: outside }]");
    lab.write(
        "items.jsonl",
        "{\"item\":\"maps/page/1\",\"attributes\":{\"n\":1.50}}\n\n{\"item\":\"maps/page/2\"}\n",
    );
    assert_eq!(lab.ok(&["item", "put", "--from", "items.jsonl"]), "2 sent, 0 refused\n");
    assert!(lab.ok(&["item", "put", "--from", "items.jsonl"]).contains("2 known already"));
    let shown = lab.ok(&["item", "show", "maps/page/1"]);
    assert!(shown.contains("{\"n\":1.50}"), "{shown}");
    lab.write("events.csv", "item,name\nmaps/page/1,scanned\nmaps/page/2,scanned\n");
    assert_eq!(lab.ok(&["event", "add", "--from", "events.csv"]), "2 sent, 0 refused\n");
    assert!(lab.ok(&["item", "events", "maps/page/2"]).contains("scanned"));
}

#[test]
fn what_is_refused_is_named_by_line_and_the_rest_is_taken() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow("ocr.yaml", "tasks: [{ name: scan, run: outside }]");
    lab.write("list", "maps/page/1\nnowhere/page/1\nmaps/page/2\n");
    let said = lab.say(&["submit", "ocr", "--from", "list"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("line 2: there is no collection nowhere"), "{}", said.err);
    assert!(said.out.contains("3 sent, 1 refused"), "{}", said.out);
    assert_eq!(lab.json(&["status"])["stats"]["tasks"]["ready"], 2);
    lab.write("odd.jsonl", "{\"item\":\"maps/page/3\",\"prioritty\":1}\n");
    let said = lab.say(&["submit", "ocr", "--from", "odd.jsonl"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("line 1: unknown field `prioritty`"), "{}", said.err);
    assert!(said.err.contains("--id cli-"), "{}", said.err);
}
