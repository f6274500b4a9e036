//! Revisions: commits to a real repository, each running the workflow it carries.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use armarius_wire::v1::Page;
use armarius_wire::v1::archive::{Archive, Notice, Put, Revision};

use super::Story;
use super::stage::{Stage, Told};

pub(super) const STORY: Story =
    Story { name: "revisions", title: "Commits to an archive that carries its own workflow", play };

const ARCHIVE: &str = "editions";
/// Texts and what they say, one commit each.
const TEXTS: [(&str, &str); 5] = [
    ("alice.txt", "Alice was beginning to get very tired of sitting by her sister on the bank."),
    ("moby.txt", "Call me Ishmael. The whale comes later, a white whale."),
    ("walden.txt", "I went to the woods because I wished to live deliberately."),
    ("jane.txt", "There was no possibility of taking a walk that day."),
    ("whales.txt", "The whale is a fish, said the sailors; the whale is none, said the book."),
];
/// The revision whose workflow is broken on purpose, and the one that mends it.
const BROKEN: i64 = 3;
const BROKEN_LINE: &str = "- name: indexing\n  dependz: [PREV]\n  command: [true]\n";

/// An index in revision order, and a book of the newest revision alone.
fn workflow(index: &Path) -> anyhow::Result<String> {
    let index = serde_json::to_string(index)?;
    Ok(format!(
        r#"- name: indexing
  depends: [PREV]
  source: true
  env: {{ INDEX: {index} }}
  shell: sh
  script: |
    set -eu
    for text in texts/*.txt; do
      tr -cs '[:alnum:]' '\n' < "$text" | tr '[:upper:]' '[:lower:]' | sort | uniq -c |
        awk -v file="$text" '$2 != "" {{ printf "%s\t%s\t%s\n", $2, $1, file }}'
    done | sort > "$INDEX/index-$ARMARIUS_REVISION.$ARMARIUS_TOKEN"
    mv "$INDEX/index-$ARMARIUS_REVISION.$ARMARIUS_TOKEN" "$INDEX/index-$ARMARIUS_REVISION"
    wc -l < "$INDEX/index-$ARMARIUS_REVISION"
- name: book
  depends: [indexing]
  cancels: [PREV]
  source: true
  shell: sh
  script: |
    sleep 3
    cat texts/*.txt | wc -w
"#
    ))
}

fn play(stage: &Stage) -> anyhow::Result<Told> {
    let index = stage.folder().join("index");
    std::fs::create_dir(&index)?;
    std::fs::set_permissions(&index, std::fs::Permissions::from_mode(0o777))?;
    let repo = Repo::new(stage.folder())?;
    let put = Put {
        repo: repo.place.display().to_string(),
        kind: Some(repo.kind().to_owned()),
        trust: true,
        ..Put::default()
    };
    eprintln!("{} revisions are committed to a real {} repository", TEXTS.len(), repo.kind());
    let workflow = workflow(&index)?;
    for (n, (name, text)) in (1_i64..).zip(TEXTS) {
        let rules = if n == BROKEN { BROKEN_LINE } else { &workflow };
        let files = [(format!("texts/{name}"), text), ("_workflows/main.yaml".into(), rules)];
        repo.commit(&files, &format!("add {name}"))?;
        if n == 1 {
            stage.client.put_done(&format!("archives/{ARCHIVE}"), &put)?;
        }
        let notice = Notice { revision: Some(n), txn: None };
        stage.client.tell(&format!("archives/{ARCHIVE}/notices"), &notice)?;
    }
    let last = i64::try_from(TEXTS.len())?;
    stage.wait("the revisions are planned", || {
        let archive: Archive = stage.client.get(&format!("archives/{ARCHIVE}"), &[])?;
        Ok((archive.planned == last).then_some(()))
    })?;
    // Every revision has its COMMIT, and all but the broken one two tasks.
    stage.settle(ARCHIVE, last + 2 * (last - 1))?;
    let log: Page<Revision> = stage.client.get(&format!("archives/{ARCHIVE}/log"), &[])?;
    Ok(Told {
        happened: happened(&repo, &index, &log.entries)?,
        look: vec![
            format!("archive log {ARCHIVE}"),
            format!("revision show {ARCHIVE} {BROKEN}"),
            format!("archive show {ARCHIVE}"),
        ],
        pages: vec![
            format!("/archive?name={ARCHIVE}"),
            format!("/revision?archive={ARCHIVE}&n={last}"),
        ],
    })
}

fn happened(repo: &Repo, index: &Path, log: &[Revision]) -> anyhow::Result<Vec<String>> {
    let tasks = || log.iter().flat_map(|revision| &revision.tasks);
    let of = |name: &'static str, state: &'static str| {
        tasks().filter(move |task| task.name == name && task.state == state).count()
    };
    let newest = index.join(format!("index-{}", TEXTS.len()));
    let words = std::fs::read_to_string(&newest).context("the newest index is not there")?;
    let whales = words.lines().filter(|line| line.starts_with("whale\t")).count();
    let broken = log.iter().find(|revision| revision.revision == BROKEN);
    let why = broken.and_then(|revision| revision.remarks.first().cloned()).unwrap_or_default();
    Ok(vec![
        format!(
            "{} commits to a real {} repository: {} revisions were indexed in order; by the \
             newest index {whales} texts speak of a whale",
            TEXTS.len(),
            repo.kind(),
            of("indexing", "done"),
        ),
        format!(
            "of {} books {} were superseded by a newer revision's before they were done",
            TEXTS.len() - 1,
            of("book", "cancelled"),
        ),
        format!("r{BROKEN} ran nothing, and delayed nobody: {why}"),
    ])
}

/// A repository and a copy to work in.
struct Repo {
    svn: bool,
    place: std::path::PathBuf,
    work: std::path::PathBuf,
}

impl Repo {
    /// Subversion where it is installed, else git.
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let svn = ["svn", "svnadmin", "svnlook"].iter().all(|program| is_there(program));
        if !svn && !is_there("git") {
            bail!("neither svn nor git is installed; the other stories need none");
        }
        let repo = Self { svn, place: folder.join("repository"), work: folder.join("work") };
        let (place, work) = (text(&repo.place)?, text(&repo.work)?);
        if svn {
            run(folder, &["svnadmin", "create", place])?;
            run(folder, &["svn", "checkout", "-q", &format!("file://{place}"), work])?;
        } else {
            run(folder, &["git", "init", "-q", "--bare", "-b", "main", place])?;
            run(folder, &["git", "clone", "-q", place, work])?;
            run(&repo.work, &["git", "checkout", "-q", "-b", "main"])?;
        }
        Ok(repo)
    }

    fn kind(&self) -> &'static str {
        if self.svn { "svn" } else { "git" }
    }

    fn commit(&self, files: &[(String, &str)], message: &str) -> anyhow::Result<()> {
        for (name, content) in files {
            let path = self.work.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&self.work))?;
            std::fs::write(path, content)?;
        }
        if self.svn {
            run(&self.work, &["svn", "add", "-q", "--force", "."])?;
            return run(&self.work, &["svn", "commit", "-q", "--username", "ada", "-m", message]);
        }
        run(&self.work, &["git", "add", "-A"])?;
        run(&self.work, &["git", "commit", "-q", "-m", message])?;
        run(&self.work, &["git", "push", "-q", "origin", "main"])
    }
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("the folder for temporary files has a name that is no text")
}

fn is_there(program: &str) -> bool {
    let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    asked.is_ok_and(|output| output.status.success())
}

fn run(folder: &Path, words: &[&str]) -> anyhow::Result<()> {
    let [program, arguments @ ..] = words else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "ada");
        command.env(format!("GIT_{who}_EMAIL"), "ada@example.org");
    }
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
