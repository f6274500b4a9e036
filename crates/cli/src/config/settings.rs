//! Every setting: its key in the file, its flag, its variable, what it means.

use std::net::SocketAddr;

/// One setting.
pub(crate) struct Setting {
    /// Its key in the file, with the section before the point.
    pub(crate) key: &'static str,
    /// Its flag.
    pub(crate) arg: &'static str,
    /// The commands that have the flag.
    pub(crate) commands: &'static [&'static str],
    /// Its variable.
    pub(crate) env: &'static str,
    /// What may stand there.
    pub(crate) kind: Kind,
    /// How the example shows it.
    pub(crate) example: Example,
    /// What it means.
    pub(crate) about: &'static str,
}

/// What may stand as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// An address that may hold a password, which is not shown.
    Secret,
    /// An address with a port.
    Address,
    /// A whole number within limits.
    Number(i64, i64),
    /// `true` or `false`.
    Flag,
    /// One of these.
    Choice(&'static [&'static str]),
    /// Texts.
    List,
}

/// How the example file shows a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Example {
    /// With its default.
    Default(&'static str),
    /// It has none, or one that depends on where it is asked for: with a likely value.
    Such(&'static str),
}

use Example::{Default, Such};

const SERVERS: &[&str] = &["up", "serve"];
/// The commands that run a worker.
const WORKERS: &[&str] = &["up", "work"];

/// The table. The order is that of the example and of `config show`.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        key: "data",
        arg: "data",
        commands: &["up", "serve", "doctor", "backup"],
        env: "ARMARIUS_DATA",
        kind: Kind::Text,
        example: Such(r#""/var/lib/armarius""#),
        about: "The folder for everything that is kept. Only in a file named by --config.",
    },
    Setting {
        key: "store",
        arg: "store",
        commands: &["up", "serve", "doctor", "backup"],
        env: "ARMARIUS_STORE",
        kind: Kind::Secret,
        example: Such(r#""postgres://armarius@db.example/armarius""#),
        about: "Where everything is kept: sqlite:PATH, memory, or postgres://USER@HOST/DATABASE. \
                Without it a file in the data folder.",
    },
    Setting {
        key: "server.listen",
        arg: "listen",
        commands: SERVERS,
        env: "ARMARIUS_LISTEN",
        kind: Kind::Address,
        example: Default(r#""127.0.0.1:7700""#),
        about: "Where the server listens.",
    },
    Setting {
        key: "server.behind_proxy",
        arg: "behind_proxy",
        commands: SERVERS,
        env: "ARMARIUS_BEHIND_PROXY",
        kind: Kind::Flag,
        example: Default("false"),
        about: "Listen beyond this machine without encryption, because a proxy in front encrypts.",
    },
    Setting {
        key: "server.output_max",
        arg: "output_max",
        commands: SERVERS,
        env: "ARMARIUS_OUTPUT_MAX",
        kind: Kind::Text,
        example: Default(r#""16M""#),
        about: "What a task writes is kept whole up to this size; of more, both ends are.",
    },
    Setting {
        key: "server.tls_cert",
        arg: "tls_cert",
        commands: SERVERS,
        env: "ARMARIUS_TLS_CERT",
        kind: Kind::Text,
        example: Such(r#""/etc/armarius/cert.pem""#),
        about: "The certificate the server encrypts with, and its chain (PEM); with tls_key.",
    },
    Setting {
        key: "server.tls_key",
        arg: "tls_key",
        commands: SERVERS,
        env: "ARMARIUS_TLS_KEY",
        kind: Kind::Text,
        example: Such(r#""/etc/armarius/key.pem""#),
        about: "The certificate's private key (PEM).",
    },
    Setting {
        key: "server.log",
        arg: "level",
        commands: SERVERS,
        env: "ARMARIUS_LOG",
        kind: Kind::Text,
        example: Default(r#""info""#),
        about: "What is written to the log: error, warn, info or debug.",
    },
    Setting {
        key: "server.log_format",
        arg: "format",
        commands: SERVERS,
        env: "ARMARIUS_LOG_FORMAT",
        kind: Kind::Text,
        example: Default(r#""text""#),
        about: "How the log is written: text, or json with one object a line.",
    },
    Setting {
        key: "worker.slots",
        arg: "slots",
        commands: WORKERS,
        env: "ARMARIUS_SLOTS",
        kind: Kind::Number(1, 1_000),
        example: Default("2"),
        about: "Tasks a worker runs at once.",
    },
    Setting {
        key: "worker.labels",
        arg: "labels",
        commands: WORKERS,
        env: "ARMARIUS_LABELS",
        kind: Kind::List,
        example: Default("[]"),
        about: "What a worker can do: steps that ask for labels go to workers that have them.",
    },
    Setting {
        key: "worker.folder",
        arg: "folder",
        commands: WORKERS,
        env: "ARMARIUS_WORK_DIR",
        kind: Kind::Text,
        example: Such(r#""/var/lib/armarius/work""#),
        about: "The folder in which tasks get folders of their own.",
    },
    Setting {
        key: "worker.state",
        arg: "state",
        commands: WORKERS,
        env: "ARMARIUS_WORK_STATE",
        kind: Kind::Text,
        example: Such(r#""/var/lib/armarius/results""#),
        about: "The folder in which results wait until the server has taken them.",
    },
    Setting {
        key: "worker.isolation",
        arg: "isolation",
        commands: WORKERS,
        env: "ARMARIUS_ISOLATION",
        kind: Kind::Choice(&["basic", "strict"]),
        example: Default(r#""basic""#),
        about: "basic: own folder, process group and limits; strict: also no network, a \
                read-only system and no other files.",
    },
    Setting {
        key: "worker.share",
        arg: "share",
        commands: WORKERS,
        env: "ARMARIUS_SHARE",
        kind: Kind::List,
        example: Default("[]"),
        about: "Folders that strictly isolated tasks may read.",
    },
    Setting {
        key: "worker.user",
        arg: "user",
        commands: WORKERS,
        env: "ARMARIUS_TASK_USER",
        kind: Kind::Text,
        example: Such(r#""nobody""#),
        about: "As whom tasks run when the worker is root: a name or UID:GID.",
    },
    Setting {
        key: "worker.memory",
        arg: "memory",
        commands: WORKERS,
        env: "ARMARIUS_TASK_MEMORY",
        kind: Kind::Text,
        example: Such(r#""4G""#),
        about: "Memory of one process of a task, such as 512M or 4G.",
    },
    Setting {
        key: "worker.processes",
        arg: "processes",
        commands: WORKERS,
        env: "ARMARIUS_TASK_PROCESSES",
        kind: Kind::Number(1, 1_000_000),
        example: Default("4096"),
        about: "Processes and threads of a task.",
    },
    Setting {
        key: "worker.open_files",
        arg: "open_files",
        commands: WORKERS,
        env: "ARMARIUS_TASK_OPEN_FILES",
        kind: Kind::Number(16, 1_000_000),
        example: Default("4096"),
        about: "Files a process of a task has open.",
    },
    Setting {
        key: "worker.file_size",
        arg: "file_size",
        commands: WORKERS,
        env: "ARMARIUS_TASK_FILE_SIZE",
        kind: Kind::Text,
        example: Such(r#""20G""#),
        about: "Largest file a task may write, such as 20G.",
    },
    Setting {
        key: "worker.container_tool",
        arg: "container_tool",
        commands: WORKERS,
        env: "ARMARIUS_CONTAINER_TOOL",
        kind: Kind::Text,
        example: Such(r#""podman""#),
        about: "The program that runs steps with an image: podman, docker, or one with \
                words of its own.",
    },
    Setting {
        key: "worker.container_args",
        arg: "container_arg",
        commands: WORKERS,
        env: "ARMARIUS_CONTAINER_ARGS",
        kind: Kind::List,
        example: Default("[]"),
        about: "Words for its run, such as --network=none.",
    },
    Setting {
        key: "worker.default_image",
        arg: "default_image",
        commands: WORKERS,
        env: "ARMARIUS_DEFAULT_IMAGE",
        kind: Kind::Text,
        example: Such(r#""docker.io/library/debian:13""#),
        about: "The image of steps that name none.",
    },
    Setting {
        key: "worker.finish_within_s",
        arg: "finish_within",
        commands: &["work"],
        env: "ARMARIUS_FINISH_WITHIN_S",
        kind: Kind::Number(0, 86_400),
        example: Default("10"),
        about: "Seconds running tasks may go on after SIGTERM; then they are given back.",
    },
    Setting {
        key: "outbox.allow",
        arg: "outbox_allow",
        commands: SERVERS,
        env: "ARMARIUS_OUTBOX_ALLOW",
        kind: Kind::List,
        example: Default("[]"),
        about: "Hosts, each HOST or HOST:PORT, that letters may go to although their addresses are \
                private. All others in private networks are refused.",
    },
    Setting {
        key: "outbox.folder",
        arg: "outbox_folder",
        commands: SERVERS,
        env: "ARMARIUS_OUTBOX_FOLDER",
        kind: Kind::Text,
        example: Such(r#""/var/lib/armarius/letters""#),
        about: "The folder of letters to `file:NAME`. They are refused without it.",
    },
];

impl Kind {
    /// Why a text cannot be this, for people.
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Text | Self::Secret | Self::List | Self::Flag => Ok(()),
            Self::Choice(all) if all.contains(&text) => Ok(()),
            Self::Choice(all) => Err(format!("write one of: {}", all.join(", "))),
            Self::Address => match text.parse::<SocketAddr>() {
                Ok(_) => Ok(()),
                Err(_) => {
                    Err("write an address with a port, such as \"127.0.0.1:7700\"".to_owned())
                }
            },
            Self::Number(min, max) => match text.parse::<i64>() {
                Ok(n) if (min..=max).contains(&n) => Ok(()),
                Ok(_) | Err(_) => Err(format!("write a number from {min} to {max}")),
            },
        }
    }

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text | Self::Secret => "a text",
            Self::Address => "an address",
            Self::Number(..) => "a number",
            Self::Flag => "true or false",
            Self::Choice(_) => "one of its choices",
            Self::List => "a list of texts",
        }
    }
}

/// A documented file in which every setting stands as a comment, behind `#= `.
pub(crate) fn example() -> String {
    let mut text = String::from(
        "# Settings of Armarius. A flag goes before the environment, that before this file.\n\
         # Lines that begin with #= show the defaults; take the sign away to change one.\n",
    );
    // A section may stand in a file only once, wherever its settings stand in the table.
    let section_of = |setting: &Setting| setting.key.split_once('.').map_or("", |(home, _)| home);
    let mut sections: Vec<&str> = Vec::new();
    for setting in SETTINGS {
        if !sections.contains(&section_of(setting)) {
            sections.push(section_of(setting));
        }
    }
    let place = |setting: &&Setting| sections.iter().position(|s| *s == section_of(setting));
    let mut all: Vec<&Setting> = SETTINGS.iter().collect();
    all.sort_by_key(place);
    let mut section = "";
    for setting in all {
        let (home, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
        if home != section {
            text.push_str(&format!("\n[{home}]\n"));
            section = home;
        }
        text.push('\n');
        for line in wrapped(setting.about, 94) {
            text.push_str(&format!("# {line}\n"));
        }
        text.push_str(&format!("# Variable: {}\n", setting.env));
        text.push_str(&match setting.example {
            Default(value) => format!("#= {name} = {value}\n"),
            Such(value) => format!("# {name} = {value}\n"),
        });
    }
    text
}

/// A text in lines of at most so many characters.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() || line.chars().count() + 1 + word.chars().count() <= columns {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
