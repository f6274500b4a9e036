//! Tasks in containers, by the command line of podman or docker.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use super::launch::Bounds;

/// Where a task finds its folder inside its container.
pub(super) const INSIDE: &str = "/armarius";
/// The file in an attempt's folder that names its container.
const NAME_FILE: &str = "container";
/// The file in an attempt's folder that tells the tool the secrets.
const SECRETS_FILE: &str = "secrets.env";
/// What podman and docker end with when they could not run the container: an image that cannot be
/// fetched, a word they do not know.
pub(super) const OWN_FAILURE: i32 = 125;
/// What the tool itself needs of the worker's environment.
const FOR_THE_TOOL: [&str; 8] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
];
/// Variables of this kind no tool heeds, so that they can be in its environment.
const OURS: &str = "ARMARIUS_";
/// More rights are not needed, and no network.
const STRICT: [&str; 4] =
    ["--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"];

/// How containers are run.
#[derive(Clone, Debug)]
pub(crate) struct Containers {
    /// The program and the words that stand before `run`.
    pub(crate) tool: Vec<String>,
    /// Words that stand behind `run`.
    pub(crate) args: Vec<String>,
    /// The image of steps that name none; without one they run outside of containers.
    pub(crate) default_image: Option<String>,
}

/// One container.
pub(super) struct Container<'c> {
    pub(super) name: String,
    pub(super) image: &'c str,
    /// The attempt's folder.
    pub(super) place: &'c Path,
    /// Where in it the task runs.
    pub(super) folder: &'c Path,
    pub(super) bounds: &'c Bounds,
    pub(super) is_strict: bool,
}

impl Containers {
    /// The command that runs another one in a container. `env` is the task's, without its secrets.
    /// It must not become the tool's own: a variable may change what a program does.
    pub(super) fn run(
        &self,
        container: &Container<'_>,
        env: &BTreeMap<String, String>,
        argv: &[String],
    ) -> Vec<String> {
        let Container { name, image, place, folder, bounds, is_strict } = container;
        let mut words = self.tool.clone();
        words.extend(["run", "--rm", "--log-driver=none", "--entrypoint="].map(Into::into));
        words.push(format!("--name={name}"));
        words.push(format!("--volume={}:{INSIDE}", place.display()));
        words.push(format!("--workdir={INSIDE}/{}", folder.display()));
        for (limit, max) in [("nofile", bounds.open_files_max), ("nproc", bounds.processes_max)] {
            words.extend(max.map(|max| format!("--ulimit={limit}={max}:{max}")));
        }
        words.extend(bounds.user.map(|(user, group)| format!("--user={user}:{group}")));
        if *is_strict {
            words.extend(STRICT.map(Into::into));
        }
        for (variable, value) in env {
            words.push(match variable.starts_with(OURS) {
                true => format!("--env={variable}"),
                false => format!("--env={variable}={value}"),
            });
        }
        let secrets = place.join(SECRETS_FILE);
        if secrets.exists() {
            words.push(format!("--env-file={}", secrets.display()));
        }
        words.extend_from_slice(&self.args);
        words.push((*image).to_owned());
        words.extend_from_slice(argv);
        words
    }

    /// The environment of the tool itself.
    pub(super) fn env(&self, task: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let ours = task.iter().filter(|(name, _)| name.starts_with(OURS));
        let needed = FOR_THE_TOOL
            .iter()
            .filter_map(|name| std::env::var(name).ok().map(|value| ((*name).to_owned(), value)));
        ours.map(|(name, value)| (name.clone(), value.clone())).chain(needed).collect()
    }

    /// The command that ends a container and removes it.
    pub(super) fn remove(&self, name: &str) -> Vec<String> {
        let mut words = self.tool.clone();
        words.extend(["rm", "--force", name].map(Into::into));
        words
    }

    /// Removes the container of an attempt whose worker is gone.
    pub(super) fn remove_left(&self, place: &Path) {
        let Ok(name) = std::fs::read_to_string(place.join(NAME_FILE)) else { return };
        let words = self.remove(&name);
        if let Some((program, arguments)) = words.split_first() {
            let mut command = Command::new(program);
            command.args(arguments).stdin(Stdio::null());
            // One that is gone already is as good as one that is removed.
            drop(command.stdout(Stdio::null()).stderr(Stdio::null()).status());
        }
    }
}

/// Writes down the secrets for the tool, out of sight of other users of the machine. Says which one
/// cannot be told that way.
pub(super) fn tell_secrets<'s>(
    place: &Path,
    secrets: impl Iterator<Item = (&'s str, &'s str)>,
) -> std::io::Result<Result<(), &'s str>> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut text = String::new();
    for (name, value) in secrets {
        if value.contains(['\n', '\r']) {
            return Ok(Err(name));
        }
        text.push_str(&format!("{name}={value}\n"));
    }
    if !text.is_empty() {
        let mut file = std::fs::OpenOptions::new();
        let mut file =
            file.write(true).create_new(true).mode(0o600).open(place.join(SECRETS_FILE))?;
        file.write_all(text.as_bytes())?;
    }
    Ok(Ok(()))
}

/// Notes which container belongs to an attempt.
pub(super) fn note(place: &Path, name: &str) -> std::io::Result<()> {
    std::fs::write(place.join(NAME_FILE), name)
}

/// Whether a text can be the name of an image, and nothing else.
pub(super) fn is_image(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@+".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_cannot_reach_the_tool() {
        let containers = Containers {
            tool: vec!["podman".into(), "--runtime=runc".into()],
            args: vec!["--cpus=1".into()],
            default_image: None,
        };
        let bounds = Bounds { user: Some((7, 8)), open_files_max: Some(64), ..Bounds::default() };
        let container = Container {
            name: "armarius-1".into(),
            image: "busybox",
            place: Path::new("/w/1"),
            folder: Path::new("run/a"),
            bounds: &bounds,
            is_strict: false,
        };
        let env = [("HOME", "/armarius/run"), ("ARMARIUS_PAYLOAD", "{}"), ("LD_PRELOAD", "x")];
        let env: BTreeMap<_, _> = env.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let words = containers.run(&container, &env, &["echo".into(), "--x".into()]);
        assert_eq!(
            words.join(" "),
            "podman --runtime=runc run --rm --log-driver=none --entrypoint= --name=armarius-1 \
             --volume=/w/1:/armarius --workdir=/armarius/run/a --ulimit=nofile=64:64 --user=7:8 \
             --env=ARMARIUS_PAYLOAD --env=HOME=/armarius/run --env=LD_PRELOAD=x --cpus=1 \
             busybox echo --x"
        );
        let own: Vec<String> = containers.env(&env).into_keys().collect();
        assert!(own.contains(&"ARMARIUS_PAYLOAD".into()) && !own.contains(&"LD_PRELOAD".into()));
    }

    #[test]
    fn an_image_is_no_option() {
        for (text, expected) in [
            ("busybox", true),
            ("localhost:5000/a/b@sha256:0f", true),
            ("--privileged", false),
            ("a b", false),
            ("", false),
        ] {
            assert_eq!(is_image(text), expected, "{text}");
        }
    }
}
