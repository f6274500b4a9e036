//! From a granted task to what is run: its folder, its environment, its command.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use armarius_wire::v1::claim::Task;
use armarius_wire::v1::report::Outcome;

use super::Options;
use super::container::{self, Container, INSIDE};
use super::isolation;
use super::keeper::Charge;
use super::launch::Bounds;
use super::place::Place;
use super::source;

/// What a task sees of the worker's own environment, unless it runs in a container: what holds on
/// this machine, the image says for itself.
const PASSED_ON: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TZ", "USER"];
/// How long a container tool may clean up behind a container that ended by itself.
const LINGER: Duration = Duration::from_secs(20);

/// Why a task is not run.
#[derive(Debug)]
pub(super) struct No {
    pub(super) class: Outcome,
    pub(super) why: String,
}

impl No {
    pub(super) fn transient(why: impl Into<String>) -> Self {
        Self { class: Outcome::Transient, why: why.into() }
    }

    pub(super) fn permanent(why: impl Into<String>) -> Self {
        Self { class: Outcome::Permanent, why: why.into() }
    }

    pub(super) fn not_yet(why: impl Into<String>) -> Self {
        Self { class: Outcome::NotYet, why: why.into() }
    }
}

impl From<io::Error> for No {
    fn from(error: io::Error) -> Self {
        let why = format!("cannot prepare its folder: {error}");
        match error.kind() {
            io::ErrorKind::InvalidInput => Self::permanent(why),
            _ => Self { class: Outcome::Transient, why },
        }
    }
}

/// Prepares the folder and says what is to be run in it.
pub(super) fn prepare(options: &Options, task: &Task, place: &Place) -> Result<Charge, No> {
    let missing: Vec<&str> = task.secrets_missing.iter().map(String::as_str).collect();
    if !missing.is_empty() {
        return Err(No::permanent(format!(
            "the server has no secret {} for collection {}; put it there and try again",
            missing.join(", "),
            task.item.collection
        )));
    }
    let image = image(options, task)?;
    let root = image.map_or_else(|| place.path().to_owned(), |_| PathBuf::from(INSIDE));
    let folder = place.run_folder(task.workdir.as_deref())?;
    let passed_on: &[&str] = if image.is_some() { &[] } else { &PASSED_ON };
    let env = environment(options, task, &root, passed_on);
    place.give("in/payload.json", payload(task).as_bytes())?;
    if let Some(revision) = &task.revision {
        source::bring(&options.client, revision, task, place)?;
    }
    let argv = argv(task, &env, place, &root)?;
    match image {
        Some(image) => contained(options, task, place, image, &folder, &env, &argv),
        None => Ok(plain(options, place, &folder, env, argv)),
    }
}

fn image<'t>(options: &'t Options, task: &'t Task) -> Result<Option<&'t str>, No> {
    let default = options.containers.as_ref().and_then(|c| c.default_image.as_deref());
    let Some(image) = task.action.image.as_deref().or(default) else { return Ok(None) };
    if options.containers.is_none() {
        return Err(No::not_yet("this worker runs no containers"));
    }
    if !container::is_image(image) {
        return Err(No::permanent(format!("{image:?} is not the name of an image")));
    }
    Ok(Some(image))
}

fn plain(
    options: &Options,
    place: &Place,
    folder: &Path,
    env: BTreeMap<String, String>,
    argv: Vec<String>,
) -> Charge {
    let folder = place.path().join(folder);
    let argv = match &options.strict {
        Some(shared) => isolation::wrap(&argv, place.path(), &folder, shared),
        None => argv,
    };
    Charge {
        argv,
        env,
        folder,
        bounds: options.bounds.clone(),
        is_wrapped: options.strict.is_some(),
        linger: Duration::ZERO,
        own_failure: None,
        after: Vec::new(),
    }
}

fn contained(
    options: &Options,
    task: &Task,
    place: &Place,
    image: &str,
    folder: &Path,
    env: &BTreeMap<String, String>,
    argv: &[String],
) -> Result<Charge, No> {
    let Some(containers) = &options.containers else {
        return Err(No::not_yet("this worker runs no containers"));
    };
    let unique = place.path().parent().and_then(Path::file_name).unwrap_or_default();
    let name = format!("armarius-{}-{}-{}", task.task, task.token, unique.display());
    container::note(place.path(), &name)?;
    let secrets = task.secrets.iter().map(|(name, value)| (name.as_str(), value.reveal()));
    container::tell_secrets(place.path(), secrets)?.map_err(|name| {
        No::permanent(format!("secret {name} has several lines, which a container cannot be given"))
    })?;
    let mut env = env.clone();
    env.retain(|name, _| !task.secrets.contains_key(name));
    let after = containers.remove(&name);
    let bounds = &options.bounds;
    let is_strict = options.strict.is_some();
    let container = Container { name, image, place: place.path(), folder, bounds, is_strict };
    Ok(Charge {
        argv: containers.run(&container, &env, argv),
        env: containers.env(&env),
        folder: place.path().to_owned(),
        // The tool is trusted, and needs its rights; the limits are the container's.
        bounds: Bounds { may_rise: true, ..Bounds::default() },
        is_wrapped: false,
        linger: LINGER,
        own_failure: Some(container::OWN_FAILURE),
        after,
    })
}

fn payload(task: &Task) -> &str {
    task.payload.as_ref().map_or("{}", |payload| payload.get())
}

/// `root` is the attempt's folder as the task sees it.
fn environment(
    options: &Options,
    task: &Task,
    root: &Path,
    passed_on: &[&str],
) -> BTreeMap<String, String> {
    let passed = passed_on
        .iter()
        .filter_map(|name| std::env::var(name).ok().map(|value| ((*name).to_owned(), value)));
    let mut env: BTreeMap<String, String> = passed.collect();
    let at = |name: &str| root.join(name).display().to_string();
    env.insert("HOME".to_owned(), at("run"));
    env.insert("TMPDIR".to_owned(), at("tmp"));
    env.extend(task.env.clone());
    env.extend(task.secrets.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
    for (name, value) in [
        ("TASK", task.task.to_string()),
        ("ADDRESS", task.address.clone()),
        ("ITEM", task.item.address.clone()),
        ("COLLECTION", task.item.collection.clone()),
        ("KIND", task.item.kind.clone()),
        ("ITEM_KEY", task.item.key.clone()),
        ("FLOW", task.flow.clone()),
        ("STEP", task.step.clone()),
        ("PART", task.part.clone()),
        ("ROUND", task.round.to_string()),
        ("TOKEN", task.token.clone()),
        ("ATTEMPT", task.attempt.to_string()),
        ("PAYLOAD", payload(task).to_owned()),
        ("INPUT", at("in/payload.json")),
        ("RESULT", at("out/result.json")),
        ("MANIFEST", at("out/manifest.json")),
        ("FOLDER", root.display().to_string()),
        ("URL", options.client.url().to_owned()),
    ] {
        env.insert(format!("ARMARIUS_{name}"), value);
    }
    for (name, value) in task.revision.iter().flat_map(|r| source::variables(r, task, root)) {
        env.insert(format!("ARMARIUS_{name}"), value);
    }
    // One variable that is larger would keep the program from being started at all.
    if payload(task).len() > PAYLOAD_VARIABLE_BYTES_MAX {
        env.remove("ARMARIUS_PAYLOAD");
    }
    env
}

/// Bytes of parameters that fit into a variable; larger ones are in the file only.
const PAYLOAD_VARIABLE_BYTES_MAX: usize = 64 * 1024;

/// The program and its arguments.
fn argv(
    task: &Task,
    env: &BTreeMap<String, String>,
    place: &Place,
    root: &Path,
) -> Result<Vec<String>, No> {
    let action = &task.action;
    match (&action.command, &action.script, &action.shell) {
        (Some(command), _, _) => {
            let expanded: Result<Vec<String>, String> =
                command.iter().map(|word| expand(word, env)).collect();
            expanded.map_err(|name| No::permanent(format!("${name} is not set")))
        }
        (None, Some(script), Some(shell)) => {
            place.give("in/script", script.as_bytes())?;
            let mut argv: Vec<String> = shell.split_whitespace().map(str::to_owned).collect();
            argv.push(root.join("in/script").display().to_string());
            Ok(argv)
        }
        (None, _, _) => Err(No::not_yet("this worker cannot run this step")),
    }
}

/// A word that is wholly `$NAME` becomes that variable's value; nothing else is expanded.
fn expand(word: &str, env: &BTreeMap<String, String>) -> Result<String, String> {
    let is_name = |name: &str| {
        let mut chars = name.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match word.strip_prefix('$').filter(|name| is_name(name)) {
        Some(name) => env.get(name).cloned().ok_or_else(|| name.to_owned()),
        None => Ok(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_expanded() {
        let env = BTreeMap::from([("A".to_owned(), "x; rm *".to_owned())]);
        for (word, expected) in [("$A", "x; rm *"), ("a$A", "a$A"), ("$A.b", "$A.b"), ("$", "$")] {
            assert_eq!(expand(word, &env).unwrap(), expected);
        }
        assert_eq!(expand("$B", &env), Err("B".to_owned()));
    }
}
