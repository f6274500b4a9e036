//! The text of a hook: a script with one line for each archive of its repository.

/// Begins the line by which a hook of ours is known.
const MADE: &str = "# Made by `armarius archive hook`";

/// A line that tells the server about a commit and is not waited for. `more` is what the hook
/// knows.
pub(super) fn call(program: &str, key_file: &str, archive: &str, more: &str) -> String {
    let words = [
        &quoted(program),
        "commit --hook",
        &quoted(key_file),
        "--",
        &quoted(archive),
        more,
        "</dev/null >/dev/null 2>&1 &",
    ];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// A hook without any line yet.
pub(super) fn fresh(is_told_by_input: bool) -> String {
    let input = if is_told_by_input { "cat >/dev/null\n" } else { "" };
    format!("#!/bin/sh\n{MADE}; every archive of this repository has a line.\n{input}exit 0\n")
}

/// Whether a hook was made here.
pub(super) fn is_ours(hook: &str) -> bool {
    hook.lines().any(|line| line.starts_with(MADE))
}

/// The line of an archive in a hook, whoever made that.
pub(super) fn line_of<'h>(hook: &'h str, archive: &str) -> Option<&'h str> {
    hook.lines().find(|line| is_of(line, archive))
}

/// Whether no archive has a line.
pub(super) fn is_idle(hook: &str) -> bool {
    !hook.lines().any(is_call)
}

/// The hook with this line of an archive instead of the one it had. All else stays as it is.
pub(super) fn with(hook: &str, archive: &str, call: &str) -> String {
    let mut lines: Vec<&str> = hook.lines().filter(|line| !is_of(line, archive)).collect();
    let end = lines.iter().rposition(|line| line.starts_with("exit")).unwrap_or(lines.len());
    lines.insert(end, call);
    whole(&lines)
}

/// The hook without the line of an archive.
pub(super) fn without(hook: &str, archive: &str) -> String {
    whole(&hook.lines().filter(|line| !is_of(line, archive)).collect::<Vec<_>>())
}

fn whole(lines: &[&str]) -> String {
    format!("{}\n", lines.join("\n"))
}

fn is_call(line: &str) -> bool {
    line.contains(" commit --hook '") && !line.trim_start().starts_with('#')
}

fn is_of(line: &str, archive: &str) -> bool {
    is_call(line) && line.contains(&format!(" -- {} ", quoted(archive)))
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_whatever_it_holds() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn each_archive_has_one_line_and_the_rest_stays() {
        let line = |archive: &str, key: &str| call("/bin/armarius", key, archive, "");
        let one = with(&fresh(true), "main", &line("main", "/k/main"));
        let both = with(&one.replace("cat ", "date; cat "), "it's", &line("it's", "/k/its"));
        let again = with(&both, "main", &line("main", "/k/new"));
        assert_eq!(
            again,
            "#!/bin/sh\n\
             # Made by `armarius archive hook`; every archive of this repository has a line.\n\
             date; cat >/dev/null\n\
             '/bin/armarius' commit --hook '/k/its' -- 'it'\\''s' </dev/null >/dev/null 2>&1 &\n\
             '/bin/armarius' commit --hook '/k/new' -- 'main' </dev/null >/dev/null 2>&1 &\n\
             exit 0\n"
        );
        assert!(line_of(&again, "it's").is_some() && line_of(&again, "it").is_none());
        let none = without(&without(&again, "main"), "it's");
        assert!(!is_idle(&again) && is_idle(&none) && is_ours(&none), "{none}");
        // One without an end of its own.
        let foreign = with("#!/bin/sh\ntrue\n", "a", &line("a", "/k/a"));
        assert!(foreign.starts_with("#!/bin/sh\ntrue\n'/bin/armarius'"), "{foreign}");
        assert!(!is_ours(&foreign));
    }
}
