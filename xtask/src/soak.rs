//! `cargo xtask soak`: the long versions of some tests, each within a limit of time.

use crate::repo;
use std::process::Command;
use std::time::Instant;

/// A soak: the name of its tests, what it tries, and how many minutes it may take.
struct Soak {
    name: &'static str,
    package: &'static str,
    tries: &'static str,
    minutes_max: u64,
    /// Whether it measures: then what is shipped is what runs.
    release: bool,
}

/// The package of most soaks.
const SIM: &str = "armarius-sim";

const SOAKS: &[Soak] = &[
    Soak {
        name: "chaos",
        package: SIM,
        tries: "three servers and ten workers while PostgreSQL, servers and connections are killed",
        minutes_max: 60,
        release: false,
    },
    Soak {
        name: "crash",
        package: SIM,
        tries: "a kill at every write and sync, hundreds of kills under load",
        minutes_max: 60,
        release: false,
    },
    Soak {
        name: "differential",
        package: SIM,
        tries: "hundreds of seeds on every store, grouped, restarted, forgetting",
        minutes_max: 60,
        release: false,
    },
    Soak {
        name: "faults",
        package: SIM,
        tries: "every failed sync and write, flipped bits, power cuts (as root)",
        minutes_max: 60,
        release: false,
    },
    Soak {
        name: "revisions",
        package: SIM,
        tries: "an archive of 100,000 revisions of five tasks: what the next commit costs; \
                1,000 archives at once",
        minutes_max: 120,
        release: true,
    },
    Soak {
        name: "archives",
        package: "armarius",
        tries: "four clients of Subversion and of git, a hundred commits each, while servers and \
                workers are killed, on a file and on a database",
        minutes_max: 60,
        release: true,
    },
    Soak {
        name: "named",
        package: SIM,
        tries: "a million tasks, 100,000 dependents, a batch of a million",
        minutes_max: 60,
        release: false,
    },
];

/// What there is to run.
pub(crate) fn list() {
    println!("cargo xtask soak NAME, or all:\n");
    for Soak { name, tries, minutes_max, .. } in SOAKS {
        println!("  {name:<14} {tries} (at most {minutes_max} min)");
    }
}

/// Runs one soak, or all.
pub(crate) fn run(wanted: &str) -> anyhow::Result<()> {
    let chosen: Vec<&Soak> =
        SOAKS.iter().filter(|soak| wanted == "all" || wanted == soak.name).collect();
    anyhow::ensure!(
        !chosen.is_empty(),
        "there is no soak `{wanted}`; `cargo xtask soak` lists them"
    );
    for soak in chosen {
        println!("soak {}: {}", soak.name, soak.tries);
        let began = Instant::now();
        let profile = if soak.release { "release" } else { "test" };
        let test = ["test", "--profile", profile, "--package", soak.package, "--test", "it", "--"];
        // `timeout` ends the whole group of processes, the tests and what they started included.
        let status = Command::new("timeout")
            .args(["--kill-after=10", &format!("{}m", soak.minutes_max)])
            .arg(repo::cargo().get_program())
            .args(test)
            .args([&format!("{}::", soak.name), "--nocapture"])
            .env("ARMARIUS_SOAK", "1")
            .current_dir(repo::root())
            .status()?;
        anyhow::ensure!(status.success(), "soak {} ended with {status}", soak.name);
        println!("soak {}: ok in {} s", soak.name, began.elapsed().as_secs());
    }
    Ok(())
}
