//! Every refusal is documented.

use armarius_core::Code;

#[test]
fn the_page_of_errors_has_every_code_and_no_other() {
    let page = include_str!("../../../../docs/errors/README.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let mut documented: Vec<&str> = rows.map(|(code, _)| code).collect();
    let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    documented.sort_unstable();
    codes.sort_unstable();
    assert_eq!(documented, codes);
}
