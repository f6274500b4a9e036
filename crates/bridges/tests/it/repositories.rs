//! Real repositories, read by their own programs: the same questions, the same answers.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use armarius_bridges::archive::{
    Content, File, Limits, Place, Point, Repository, Trouble, branch_of, files_in, guess_kind,
    open, read_definitions,
};
use armarius_core::rows::ArchiveKind;

/// A repository with a place to commit from.
struct Lab {
    folder: tempfile::TempDir,
    kind: ArchiveKind,
}

impl Lab {
    fn new(kind: ArchiveKind) -> Self {
        let lab = Self { folder: tempfile::tempdir().unwrap(), kind };
        let (repo, work) = (lab.repo(), lab.work());
        match kind {
            ArchiveKind::Svn => {
                run("svnadmin", &["create", text(&repo)], lab.folder.path());
                run("svn", &["checkout", "-q", &lab.url(), text(&work)], lab.folder.path());
            }
            ArchiveKind::Git => {
                let main = ["init", "-q", "--bare", "-b", "main", text(&repo)];
                run("git", &main, lab.folder.path());
                run("git", &["clone", "-q", text(&repo), text(&work)], lab.folder.path());
                run("git", &["checkout", "-q", "-b", "main"], &work);
            }
        }
        lab
    }

    fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn url(&self) -> String {
        format!("file://{}", self.repo().display())
    }

    /// Writes files, removes those without content, and commits.
    fn commit(&self, message: &str, files: &[(&str, Option<&str>)]) {
        let work = self.work();
        for (name, content) in files {
            let path = work.join(name);
            match content {
                Some(content) => {
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(&path, content).unwrap();
                }
                None if self.kind == ArchiveKind::Svn => {
                    run("svn", &["rm", "-q", "--", text(&path)], &work);
                }
                None => std::fs::remove_file(&path).unwrap(),
            }
        }
        match self.kind {
            ArchiveKind::Svn => {
                run("svn", &["add", "-q", "--force", "."], &work);
                run("svn", &["commit", "-q", "--username", "ada", "-m", message], &work);
                run("svn", &["update", "-q"], &work);
            }
            ArchiveKind::Git => {
                run("git", &["add", "-A"], &work);
                let who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
                run("git", &[&who[..], &["commit", "-q", "-m", message]].concat(), &work);
                run("git", &["push", "-q", "origin", "main"], &work);
            }
        }
    }

    fn open(&self) -> Box<dyn Repository> {
        self.open_at(self.repo().display().to_string())
    }

    fn open_at(&self, place: String) -> Box<dyn Repository> {
        let branch = match self.kind {
            ArchiveKind::Svn => String::new(),
            ArchiveKind::Git => "main".to_owned(),
        };
        let mirrors = Some(self.folder.path().join("mirrors"));
        let limits = Limits { mirrors, ..Limits::default() };
        open(&Place { kind: self.kind, place, branch }, &limits).unwrap()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn run(program: &str, arguments: &[&str], folder: &Path) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    let output = command.stderr(Stdio::piped()).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {complaint}");
}

const FLOW: &str = "- name: index\n  command: [true]\n";

fn start() -> Point {
    Point::default()
}

#[test]
fn a_repository_is_read_at_any_revision() {
    for kind in ArchiveKind::ALL {
        let lab = Lab::new(kind);
        for place in [lab.repo().display().to_string(), lab.url()] {
            assert_eq!(guess_kind(&place), Some(kind), "{place}");
        }
        assert_eq!(lab.open().look(&start(), 9).unwrap().youngest, 0, "{kind:?}");
        lab.commit("one", &[("a.txt", Some("1"))]);
        lab.commit(
            "two\n\nArmarius-Cause: 2:f.a@c/revision/1",
            &[("_workflows/main.yaml", Some(FLOW)), ("_workflows/README", Some("no"))],
        );
        lab.commit("three", &[("docs/b c.txt", Some("3")), ("_workflows/main.yaml", None)]);
        for place in [lab.repo().display().to_string(), lab.url()] {
            look_at(&lab, &place);
        }
    }
}

fn look_at(lab: &Lab, place: &str) {
    let repository = lab.open_at(place.to_owned());
    let seen = repository.look(&start(), 9).unwrap();
    assert_eq!(seen.youngest, 3, "{place}");
    assert_eq!(seen.next.iter().map(|p| p.number).collect::<Vec<_>>(), [1, 2, 3], "{place}");
    let two = repository.look(&start(), 2).unwrap();
    assert_eq!(two.next, seen.next[..2], "{place}");
    assert_eq!(repository.look(&seen.next[0], 9).unwrap().next, seen.next[1..], "{place}");
    assert!(repository.look(&seen.next[2], 9).unwrap().next.is_empty(), "{place}");
    for point in &seen.next {
        assert_eq!(repository.point(point.number).unwrap(), *point, "{place}");
    }

    let (about, changes) = repository.about(&seen.next[1]).unwrap();
    assert!(about.message.starts_with("two"), "{place}: {about:?}");
    assert!(about.at.is_some_and(|at| at.0 > 1_000_000_000_000_000), "{place}: {about:?}");
    assert_eq!(about.cause.as_ref().map(|c| c.depth), Some(2), "{place}: {about:?}");
    if lab.kind == ArchiveKind::Git || !place.contains("://") {
        assert_eq!(&*about.author, if place.contains("://") { "ada" } else { &*about.author });
    }
    let paths: Vec<String> = changes.paths.iter().map(|c| c.path.clone()).collect();
    assert!(paths.contains(&"_workflows/main.yaml".to_owned()), "{place}: {paths:?}");
    let (_, changes) = repository.about(&seen.next[2]).unwrap();
    let told: Vec<String> = changes.paths.iter().map(|c| format!("{} {}", c.how, c.path)).collect();
    assert!(told.contains(&"A docs/b c.txt".to_owned()), "{place}: {told:?}");
    assert!(told.contains(&"D _workflows/main.yaml".to_owned()), "{place}: {told:?}");

    // Only at the second revision there is a definition; a file deleted since is still read.
    let files = |i: usize| repository.files(&seen.next[i], "_workflows").unwrap();
    assert!(files(0).is_empty() && files(2).is_empty(), "{place}");
    let second = files(1);
    assert_eq!(second.len(), 1, "{place}: {second:?}");
    assert_eq!(second[0].name, "_workflows/main.yaml");
    assert_eq!(second[0].content, Content::Bytes(FLOW.into()));

    let into = tempfile::tempdir().unwrap();
    let out = into.path().join("export");
    repository.export(&seen.next[1], &out).unwrap();
    assert_eq!(std::fs::read_to_string(out.join("a.txt")).unwrap(), "1", "{place}");
    assert!(out.join("_workflows/main.yaml").exists() && !out.join("docs").exists(), "{place}");
}

/// In a repository and in the folder somebody works in: a link is seen as one and never followed.
#[test]
fn a_link_among_the_definitions_is_refused_everywhere() {
    for kind in ArchiveKind::ALL {
        let lab = Lab::new(kind);
        let link = |to: &str, at: &str| {
            std::os::unix::fs::symlink(to, lab.work().join(at)).unwrap();
        };
        let remove = |at: &str| match kind {
            ArchiveKind::Svn => run("svn", &["rm", "-q", "--force", at], &lab.work()),
            ArchiveKind::Git => run("git", &["rm", "-q", "-r", at], &lab.work()),
        };
        let mut seen = Vec::new();
        lab.commit("one", &[("_workflows/main.yaml", Some(FLOW)), ("other/main.yaml", Some(FLOW))]);
        std::fs::create_dir(lab.work().join("_workflows/folder.yaml")).unwrap();
        link("../other/main.yaml", "_workflows/linked.yaml");
        lab.commit("two", &[("_workflows/folder.yaml/x", Some("x"))]);
        seen.push((2, vec!["_workflows/linked.yaml Link", "_workflows/main.yaml Bytes"]));
        check_seen(&lab, &seen);
        remove("_workflows");
        lab.commit("three", &[("a.txt", Some("3"))]);
        link("other", "_workflows");
        lab.commit("four", &[("a.txt", Some("4"))]);
        seen.extend([(3, vec![]), (4, vec!["_workflows Link"])]);
        check_seen(&lab, &seen);
        remove("_workflows");
        lab.commit("five", &[("a.txt", Some("5"))]);
        lab.commit("six", &[("_workflows", Some("no folder"))]);
        seen.push((6, vec!["_workflows NoFolder"]));
        check_seen(&lab, &seen);
    }
}

/// The last of the revisions is also the one that is worked on.
fn check_seen(lab: &Lab, wanted: &[(usize, Vec<&str>)]) {
    let told = |files: &[File]| {
        let one = |file: &File| {
            let content = format!("{:?}", file.content);
            let (name, _) = content.split_once('(').unwrap_or((&content, ""));
            format!("{} {name}", file.name)
        };
        let mut told: Vec<String> = files.iter().map(one).collect();
        told.sort();
        told
    };
    for place in [lab.repo().display().to_string(), lab.url()] {
        let repository = lab.open_at(place.clone());
        let points = repository.look(&start(), 9).unwrap().next;
        for (number, wanted) in wanted {
            let files = repository.files(&points[number - 1], "_workflows").unwrap();
            assert_eq!(told(&files), *wanted, "{place} {number}");
            let told = format!("{:?}", read_definitions(&files));
            assert_eq!(told.contains("Invalid"), !wanted.is_empty(), "{place} {number}: {told}");
        }
    }
    let files = files_in(&lab.work()).unwrap().unwrap_or_default();
    let root = format!("{}/", lab.work().display());
    let told: Vec<String> = told(&files).iter().map(|text| text.replace(&root, "")).collect();
    assert_eq!(told, wanted.last().unwrap().1);
}

/// A folder to work in gets all of it, as it was committed.
#[test]
fn an_export_of_git_heeds_no_attributes() {
    let lab = Lab::new(ArchiveKind::Git);
    std::os::unix::fs::symlink("nowhere", lab.work().join("link")).unwrap();
    std::fs::write(lab.work().join("tool.sh"), "").unwrap();
    run("chmod", &["+x", "tool.sh"], &lab.work());
    lab.commit(
        "one",
        &[
            (
                ".gitattributes",
                Some("tests export-ignore\nversion export-subst ident\n*.txt text eol=crlf\n"),
            ),
            ("tests/a.txt", Some("a\n")),
            ("version", Some("$Format:%H$ $Id$\n")),
        ],
    );
    for place in
        [lab.repo(), lab.work()].map(|at| at.display().to_string()).into_iter().chain([lab.url()])
    {
        let repository = lab.open_at(place.clone());
        let one = repository.look(&start(), 9).unwrap().next.pop().unwrap();
        let into = tempfile::tempdir().unwrap();
        let out = into.path().join("export");
        repository.export(&one, &out).unwrap();
        let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap_or_default();
        assert_eq!(read("tests/a.txt"), "a\n", "{place}");
        assert_eq!(read("version"), "$Format:%H$ $Id$\n", "{place}");
        assert_eq!(text(&out.join("link").read_link().unwrap()), "nowhere", "{place}");
        let mode = std::fs::metadata(out.join("tool.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o100, 0o100, "{place}");
        // Nothing lies about, here or there.
        assert_eq!(std::fs::read_dir(into.path()).unwrap().count(), 1, "{place}");
    }
    run("git", &["diff", "--quiet", "HEAD"], &lab.work());
}

/// The cheap sign stays while nothing happens and differs after every commit.
#[test]
fn a_stamp_differs_after_every_commit() {
    for kind in ArchiveKind::ALL {
        let lab = Lab::new(kind);
        let repository = lab.open();
        for n in 0..3 {
            let before = repository.stamp();
            assert!(before.is_some());
            assert_eq!(before, repository.stamp(), "{kind:?}");
            lab.commit("next", &[("a.txt", Some(&n.to_string()))]);
            assert_ne!(before, repository.stamp(), "{kind:?}");
        }
        if kind == ArchiveKind::Git {
            let before = repository.stamp();
            run("git", &["pack-refs", "--all"], &lab.repo());
            assert_ne!(before, repository.stamp());
            lab.commit("packed", &[("a.txt", Some("x"))]);
            assert_ne!(before, repository.stamp());
        }
    }
    assert!(Lab::new(ArchiveKind::Svn).open_at("svn://127.0.0.1/x".to_owned()).stamp().is_none());
}

#[test]
fn a_rewritten_branch_is_noticed() {
    let lab = Lab::new(ArchiveKind::Git);
    lab.commit("one", &[("a.txt", Some("1"))]);
    lab.commit("two", &[("a.txt", Some("2"))]);
    let repository = lab.open();
    let known = repository.look(&start(), 9).unwrap().next.pop().unwrap();
    let work = lab.work();
    run("git", &["reset", "-q", "--hard", "HEAD^"], &work);
    lab_force(&lab);
    let trouble = repository.look(&known, 9).unwrap_err();
    assert!(matches!(&trouble, Trouble::Rewritten(why) if why.contains("revision 2")), "{trouble}");
    lab.commit("another two", &[("a.txt", Some("x"))]);
    lab.commit("three", &[("a.txt", Some("y"))]);
    let trouble = repository.look(&known, 9).unwrap_err();
    assert!(matches!(trouble, Trouble::Rewritten(_)), "{trouble}");
}

fn lab_force(lab: &Lab) {
    run("git", &["push", "-q", "-f", "origin", "main"], &lab.work());
}

#[test]
fn only_first_parents_count() {
    let lab = Lab::new(ArchiveKind::Git);
    let work = lab.work();
    lab.commit("one", &[("a.txt", Some("1"))]);
    let who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
    run("git", &["checkout", "-q", "-b", "side"], &work);
    std::fs::write(work.join("side.txt"), "s").unwrap();
    run("git", &["add", "-A"], &work);
    run("git", &[&who[..], &["commit", "-q", "-m", "side"]].concat(), &work);
    run("git", &["checkout", "-q", "main"], &work);
    run("git", &[&who[..], &["merge", "-q", "--no-ff", "-m", "merge", "side"]].concat(), &work);
    lab_force(&lab);
    let repository = lab.open();
    let seen = repository.look(&start(), 9).unwrap();
    assert_eq!(seen.youngest, 2);
    let (_, changes) = repository.about(&seen.next[1]).unwrap();
    assert_eq!(changes.paths.iter().map(|c| c.path.as_str()).collect::<Vec<_>>(), ["side.txt"]);
    assert_eq!(branch_of(text(&lab.repo()), &Limits::default()).as_deref(), Some("main"));
}

/// Nothing would ever come of it, and nobody would know.
#[test]
fn a_branch_that_is_not_there_is_told_with_those_that_are() {
    let lab = Lab::new(ArchiveKind::Git);
    let limits = Limits { mirrors: Some(lab.folder.path().join("mirrors")), ..Limits::default() };
    let look = |place: &str, branch: &str| {
        let (kind, place, branch) = (ArchiveKind::Git, place.to_owned(), branch.to_owned());
        open(&Place { kind, place, branch }, &limits).and_then(|r| r.look(&start(), 9))
    };
    let (repo, url) = (lab.repo().display().to_string(), lab.url());
    assert_eq!(look(&repo, "mian").unwrap().youngest, 0);
    lab.commit("one", &[("a.txt", Some("1"))]);
    lab.commit("two", &[("a.txt", Some("2"))]);
    run("git", &["push", "-q", "origin", "main:next"], &lab.work());
    let trouble = look(&repo, "mian").unwrap_err().to_string();
    assert_eq!(trouble, "there is no branch mian, but there are: main, next");
    assert!(look(&url, "mian").is_err());
    for place in [&repo, &url] {
        assert!(std::fs::read_dir(lab.folder.path().join("mirrors")).unwrap().next().is_none());
        for branch in ["main~1", "*", "a b", "main:next", "main@{1}", "../x", "a..b"] {
            let trouble = look(place, branch).unwrap_err().to_string();
            assert!(trouble.contains("cannot be the name of a branch"), "{place}: {trouble}");
        }
        assert_eq!(look(place, "next").unwrap().youngest, 2, "{place}");
        drop(std::fs::remove_dir_all(lab.folder.path().join("mirrors")));
        std::fs::create_dir(lab.folder.path().join("mirrors")).unwrap();
    }
}

#[test]
fn what_is_no_repository_is_told_apart_from_what_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ArchiveKind::ALL {
        for place in [text(folder.path()), "/no/such/folder", "-oProxyCommand=x", "a\nb", ""] {
            let place = Place { kind, place: place.to_owned(), branch: String::new() };
            let looked = open(&place, &Limits::default()).and_then(|r| r.look(&start(), 9));
            assert!(matches!(looked, Err(Trouble::Unreachable(_))), "{place:?}: {looked:?}");
        }
    }
}

#[test]
fn hostile_names_stay_names() {
    for kind in ArchiveKind::ALL {
        let lab = Lab::new(kind);
        let names = ["-rf", "a @ b.txt", "$(touch pwned)", "_workflows/x y@7.yaml", "é/ü.txt"];
        let files: Vec<(&str, Option<&str>)> =
            names.iter().map(|name| (*name, Some(FLOW))).collect();
        if kind == ArchiveKind::Svn {
            // The client takes `@` for a peg; a folder is added whole.
            lab.commit("names", &files);
        } else {
            lab.commit("names", &files);
        }
        for place in [lab.repo().display().to_string(), lab.url()] {
            let repository = lab.open_at(place.clone());
            let one = repository.look(&start(), 9).unwrap().next.pop().unwrap();
            let (_, changes) = repository.about(&one).unwrap();
            for name in names {
                assert!(
                    changes.paths.iter().any(|c| c.path == name),
                    "{place} {name}: {changes:?}"
                );
            }
            let files = repository.files(&one, "_workflows").unwrap();
            assert_eq!(files.len(), 1, "{place}: {files:?}");
            assert_eq!(files[0].content, Content::Bytes(FLOW.into()), "{place}");
        }
    }
}
