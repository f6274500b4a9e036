//! The house-keeping of this repository, one file per verb. Run it as `cargo xtask VERB`.

mod check;
mod diagram;
mod fix;
mod repo;
mod setup;
mod soak;
mod stage;
mod test;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
The house-keeping of this repository.

Usage: cargo xtask VERB

  setup            install what the tests need and this machine lacks (apt-get, as root)
  test             setup, then everything a change must pass: check, all tests, doc tests
  check            format, tidy, diagram, clippy; reads only
  fix              let clippy and rustfmt repair what they can; write the diagram
  soak             list the long tests; `soak NAME` runs one, `soak all` runs all
  tidy             the rules of the house that rustc and clippy do not know
  diagram          write docs/task-states.md from the transition table
  diagram --check  say whether that file is up to date
  help             this text

Every verb ends with 0 when all is well and with 1 when something needs a person.
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [] | ["help" | "--help" | "-h", ..] | [_, "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        ["setup"] => setup::run(),
        ["test"] => test::run(),
        ["check"] => check::run(),
        ["fix"] => fix::run(),
        ["soak"] => {
            soak::list();
            Ok(())
        }
        ["soak", name] => soak::run(name),
        ["tidy"] => tidy::run(),
        ["diagram"] => diagram::write(),
        ["diagram", "--check"] => diagram::check(),
        other => Err(anyhow::anyhow!(
            "cargo xtask does not know `{}`; `cargo xtask --help` lists the verbs",
            other.join(" ")
        )),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
