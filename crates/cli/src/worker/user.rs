//! As whom tasks run.

use crate::exit::Failure;

/// Looked for in this order, when the worker is root and nobody is named.
const DEFAULTS: [&str; 2] = ["armarius", "nobody"];
/// Who nobody is where no such user is known.
const NOBODY: (u32, u32) = (65534, 65534);

/// User and group of tasks; `None` for the worker's own.
pub(super) fn choose(
    wanted: Option<&str>,
    allow_root: bool,
    is_root: bool,
    users: &str,
) -> Result<Option<(u32, u32)>, Failure> {
    match (wanted, is_root) {
        (None, false) => Ok(None),
        (Some(_), false) => Err(Failure::new(
            "only a worker that is started as root can run tasks as another user",
            "leave out --user, or start the worker as root",
        )),
        (None, true) if allow_root => Ok(None),
        (None, true) => {
            let known = DEFAULTS.iter().find_map(|name| find(name, users));
            Ok(Some(known.unwrap_or(NOBODY)))
        }
        (Some(name), true) => {
            let user = parse(name).or_else(|| find(name, users)).ok_or_else(|| {
                Failure::new(
                    format!("there is no user {name:?} in /etc/passwd"),
                    "name one that is there, or give numbers: --user 1000:1000",
                )
            })?;
            if user.0 == 0 && !allow_root {
                return Err(Failure::new(
                    "tasks are not run as root",
                    "choose another --user, or say --allow-root if they really need it",
                ));
            }
            Ok(Some(user))
        }
    }
}

/// `1000` or `1000:100`.
fn parse(text: &str) -> Option<(u32, u32)> {
    let (user, group) = text.split_once(':').unwrap_or((text, text));
    Some((user.parse().ok()?, group.parse().ok()?))
}

/// A name in the text of `/etc/passwd`.
fn find(name: &str, users: &str) -> Option<(u32, u32)> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let is_it = fields.next() == Some(name);
        let (user, group) = (fields.nth(1)?, fields.next()?);
        is_it.then_some((user.parse().ok()?, group.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n";

    /// Who is wanted, whether root is allowed and is there → user and group, or what is said.
    fn check(wanted: Option<&str>, allow_root: bool, is_root: bool) -> String {
        match choose(wanted, allow_root, is_root, USERS) {
            Ok(None) => "own".to_owned(),
            Ok(Some((user, group))) => format!("{user}:{group}"),
            Err(failure) => failure.to_string(),
        }
    }

    #[test]
    fn root_runs_tasks_as_somebody_else() {
        assert_eq!(check(None, false, false), "own");
        assert_eq!(check(None, false, true), "65534:65533");
        assert_eq!(check(None, true, true), "own");
        assert_eq!(check(Some("7"), false, true), "7:7");
        assert_eq!(check(Some("7:8"), false, true), "7:8");
        assert_eq!(check(Some("root"), false, true), "tasks are not run as root");
        assert_eq!(check(Some("root"), true, true), "0:0");
        assert!(check(Some("x"), false, true).starts_with("there is no user"));
        assert!(check(Some("nobody"), false, false).starts_with("only a worker"));
        let known = format!("armarius:x:900:901::/:/bin/false\n{USERS}");
        assert_eq!(choose(None, false, true, &known).unwrap(), Some((900, 901)));
    }
}
