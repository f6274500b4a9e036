//! `cargo xtask setup`: brings a Debian machine that has only Rust to where the tests can run.
//!
//! Quick and silent about the network when nothing is missing.

use anyhow::Context;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A program that building or testing calls.
struct Tool {
    /// What is looked for on the path.
    binary: &'static str,
    /// What brings it.
    source: Source,
    /// Who needs it.
    why: &'static str,
}

/// Where a program comes from.
#[derive(Clone, Copy)]
enum Source {
    /// Packages of Debian.
    Apt(&'static [&'static str]),
    /// A component of the Rust toolchain.
    Rustup(&'static str),
}

#[rustfmt::skip]
const TOOLS: &[Tool] = &[
    Tool { binary: "cc",           source: Source::Apt(&["gcc", "libc6-dev"]), why: "compiles the bundled SQLite and links every binary" },
    Tool { binary: "strace",       source: Source::Apt(&["strace"]),           why: "the crash tests stop the program at chosen system calls" },
    Tool { binary: "pg_ctlcluster", source: Source::Apt(&["postgresql"]),      why: "the tests of the shared store run a server of their own" },
    Tool { binary: "pgbouncer",    source: Source::Apt(&["pgbouncer"]),        why: "the shared store is tested behind a pooler" },
    Tool { binary: "python3",      source: Source::Apt(&["python3"]),          why: "the guide's worker in Python is run" },
    Tool { binary: "curl",         source: Source::Apt(&["curl"]),             why: "the guide's worker in curl is run" },
    Tool { binary: "jq",           source: Source::Apt(&["jq"]),               why: "the guide's worker in curl reads JSON with it" },
    Tool { binary: "setsid",       source: Source::Apt(&["util-linux"]),       why: "tests start daemons that try to outlive their task" },
    Tool { binary: "bwrap",        source: Source::Apt(&["bubblewrap"]),       why: "strictly isolated tasks run below it" },
    Tool { binary: "podman",       source: Source::Apt(&["podman"]),           why: "tasks with an image run by it" },
    Tool { binary: "runc",         source: Source::Apt(&["runc"]),             why: "containers run where podman's own runtime cannot" },
    Tool { binary: "busybox",      source: Source::Apt(&["busybox-static"]),   why: "the image of the container tests is made of it" },
    Tool { binary: "chromedriver", source: Source::Apt(&["chromium", "chromium-driver"]), why: "the pages are tested in a real browser" },
    Tool { binary: "xmllint",      source: Source::Apt(&["libxml2-utils"]),    why: "PREMIS records are held against the official schemas" },
    Tool { binary: "file",         source: Source::Apt(&["file"]),             why: "a robot of the assembly line identifies formats with it" },
    Tool { binary: "git",          source: Source::Apt(&["git"]),              why: "archives are read from real repositories" },
    Tool { binary: "svnlook",      source: Source::Apt(&["subversion"]),       why: "archives are read from real repositories" },
    Tool { binary: "cargo-fmt",    source: Source::Rustup("rustfmt"),          why: "the format is checked" },
    Tool { binary: "cargo-clippy", source: Source::Rustup("clippy"),           why: "the lints are checked" },
];

/// What this machine can do about a missing program.
struct Machine {
    is_root: bool,
    has_apt: bool,
    has_rustup: bool,
}

/// Installs what is missing, or says plainly what a person has to install.
pub(crate) fn run() -> anyhow::Result<()> {
    let missing: Vec<&Tool> = TOOLS.iter().filter(|tool| !on_path(tool.binary)).collect();
    if missing.is_empty() {
        println!("nothing to install: {}", names(&TOOLS.iter().collect::<Vec<_>>()));
        return Ok(());
    }
    for tool in &missing {
        println!("missing: {} ({})", tool.binary, tool.why);
    }
    let commands = plan(&missing, &machine())?;
    for words in &commands {
        println!("running: {}", words.join(" "));
        call(words)?;
    }
    let still: Vec<&Tool> = missing.into_iter().filter(|tool| !on_path(tool.binary)).collect();
    anyhow::ensure!(
        still.is_empty(),
        "installed everything, yet these are not on the path: {}",
        names(&still)
    );
    Ok(())
}

/// The commands that bring what is missing; an error tells a person what to do instead.
fn plan(missing: &[&Tool], machine: &Machine) -> anyhow::Result<Vec<Vec<&'static str>>> {
    let mut packages = Vec::new();
    let mut components = Vec::new();
    for tool in missing {
        match tool.source {
            Source::Apt(names) => packages.extend_from_slice(names),
            Source::Rustup(name) => components.push(name),
        }
    }
    let mut commands = Vec::new();
    if !packages.is_empty() {
        let list = packages.join(" ");
        anyhow::ensure!(
            machine.has_apt,
            "this machine has no apt-get; install what Debian calls {list} by its own means"
        );
        anyhow::ensure!(
            machine.is_root,
            "installing takes root; run: sudo apt-get install --no-install-recommends {list}"
        );
        commands.push(vec!["apt-get", "update", "-q"]);
        let mut install = vec!["apt-get", "install", "-q", "-y", "--no-install-recommends"];
        install.append(&mut packages);
        commands.push(install);
    }
    if !components.is_empty() {
        let list = components.join(" ");
        anyhow::ensure!(
            machine.has_rustup,
            "this toolchain was not installed by rustup; add its {list} the way Rust was installed"
        );
        let mut add = vec!["rustup", "component", "add"];
        add.append(&mut components);
        commands.push(add);
    }
    Ok(commands)
}

fn machine() -> Machine {
    let user = Command::new("id").arg("-u").output();
    Machine {
        is_root: user.is_ok_and(|output| output.stdout.trim_ascii() == b"0"),
        has_apt: on_path("apt-get"),
        has_rustup: on_path("rustup"),
    }
}

fn call(words: &[&str]) -> anyhow::Result<()> {
    let (program, rest) = words.split_first().context("a command needs a program")?;
    let status = Command::new(program)
        .args(rest)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .with_context(|| format!("starting {program}"))?;
    anyhow::ensure!(status.success(), "`{}` ended with {status}", words.join(" "));
    Ok(())
}

fn on_path(binary: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_executable(&folder.join(binary)))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn names(tools: &[&Tool]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.binary).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Machine = Machine { is_root: true, has_apt: true, has_rustup: true };

    /// The plan for the named missing programs, one command per line.
    fn check(missing: &[&str], machine: &Machine) -> String {
        let missing: Vec<&Tool> =
            TOOLS.iter().filter(|tool| missing.contains(&tool.binary)).collect();
        match plan(&missing, machine) {
            Ok(commands) => {
                commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("\n")
            }
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn nothing_missing_runs_nothing() {
        assert_eq!(check(&[], &ROOT), "");
    }

    #[test]
    fn all_packages_go_into_one_install_after_one_update() {
        assert_eq!(
            check(&["cc", "strace"], &ROOT),
            "apt-get update -q\n\
             apt-get install -q -y --no-install-recommends gcc libc6-dev strace"
        );
    }

    #[test]
    fn components_come_from_rustup_without_apt() {
        let machine = Machine { is_root: false, has_apt: false, has_rustup: true };
        assert_eq!(check(&["cargo-fmt"], &machine), "rustup component add rustfmt");
    }

    #[test]
    fn whoever_is_not_root_gets_the_command_to_run() {
        let machine = Machine { is_root: false, ..ROOT };
        assert_eq!(
            check(&["strace"], &machine),
            "error: installing takes root; \
             run: sudo apt-get install --no-install-recommends strace"
        );
    }

    #[test]
    fn without_apt_get_the_packages_are_named() {
        let machine = Machine { has_apt: false, ..ROOT };
        assert_eq!(
            check(&["strace"], &machine),
            "error: this machine has no apt-get; \
             install what Debian calls strace by its own means"
        );
    }

    #[test]
    fn path_knows_a_shell_and_no_nonsense() {
        assert!(on_path("sh"));
        assert!(!on_path("no-such-program-anywhere"));
    }
}
