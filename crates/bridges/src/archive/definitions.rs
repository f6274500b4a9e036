//! From the files of a revision to its flows, or to what is wrong with them.

use armarius_core::command::{CausedBy, Complaint, Definitions};
use armarius_core::flow::check::PathPart;
use armarius_core::flow::{Flow, On};
use armarius_core::limits::{COMPLAINTS_MAX, KEY_BYTES_MAX};
use armarius_engine::calendar::{self, CalendarError};
use armarius_wire::flowfile::{self, FlowFileError, Home, Source};

use super::repository::{Content, File, shorten};

/// The folder of definitions at an archive's root.
pub const FOLDER: &str = "_workflows";
/// Files of definitions that are read.
pub(super) const FILES_MAX: usize = 100;
/// The line of a commit message by which a task says that it made the revision.
const TRAILER: &str = "Armarius-Cause:";

/// Whether a file directly in the folder is a definition, by its name.
#[must_use]
pub fn is_definition(name: &str) -> bool {
    let known = [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end));
    known && !name.contains('/') && !name.starts_with('.')
}

/// Reads all definitions of a revision together.
#[must_use]
pub fn read(files: &[File]) -> Definitions {
    match read_files(files) {
        Ok(flows) => Definitions::Flows(flows),
        Err(errors) => {
            let mut complaints: Vec<Complaint> = errors.iter().flat_map(told).collect();
            complaints.truncate(COMPLAINTS_MAX);
            Definitions::Invalid(complaints)
        }
    }
}

/// As [`read`], for somebody who has not committed them yet.
pub fn read_files(files: &[File]) -> Result<Vec<Flow>, Vec<FlowFileError>> {
    let sources = sources(files)?;
    let flows = flowfile::read_together(&sources, Home::Archive)?;
    let both = flows.iter().zip(&sources);
    let wrong: Vec<_> = both.filter_map(|(flow, source)| wrong_calendar(source, flow)).collect();
    if wrong.is_empty() { Ok(flows) } else { Err(wrong) }
}

/// As [`read_files`], for a picture: tasks need not say what they run.
pub fn sketch_files(files: &[File]) -> Result<Vec<Flow>, Vec<FlowFileError>> {
    flowfile::sketch_together(&sources(files)?, Home::Archive)
}

fn sources(files: &[File]) -> Result<Vec<Source<'_>>, Vec<FlowFileError>> {
    let mut sources = Vec::with_capacity(files.len());
    let mut errors = Vec::new();
    for file in files {
        let no = |message: &str, hint: &str| Err(FlowFileError::of_file(&file.name, message, hint));
        let source = match &file.content {
            Content::Bytes(bytes) => Source::from_bytes(&file.name, bytes),
            Content::Link => no("this is a symbolic link", "write the file itself"),
            Content::NoFolder => no("this is not a folder", "definitions are files in it"),
        };
        match source {
            Ok(source) => sources.push(source),
            Err(error) => errors.push(error),
        }
    }
    if files.len() >= FILES_MAX {
        let why = format!("more than {} files", FILES_MAX - 1);
        errors.push(FlowFileError::of_file(FOLDER, &why, "put several tasks into one file"));
    }
    if errors.is_empty() { Ok(sources) } else { Err(errors) }
}

/// What is wrong with the calendar of a flow, if it has one.
#[must_use]
pub fn wrong_calendar(source: &Source<'_>, flow: &Flow) -> Option<FlowFileError> {
    let On::Schedule(when) = &flow.on else { return None };
    let error = calendar::check(when).err()?;
    let field = match error {
        CalendarError::Zone(_) => "tz",
        CalendarError::Cron { .. } | CalendarError::Never(_) | CalendarError::Moment(_) => "cron",
    };
    let path = [PathPart::Field("on"), PathPart::Field(field)];
    Some(flowfile::complain(source, &path, error.to_string(), error.hint()))
}

fn told(error: &FlowFileError) -> Vec<Complaint> {
    let complaint = |problem: &flowfile::Located| Complaint {
        file: error.file.as_str().into(),
        line: problem.line,
        reason: format!("{}; {}", problem.message, problem.hint).into(),
    };
    error.problems.iter().map(complaint).collect()
}

/// The task that made a revision, if its message says so on a line of its own.
pub(super) fn cause_in(message: &str) -> Option<CausedBy> {
    message.lines().rev().find_map(|line| cause_of(line.trim().strip_prefix(TRAILER)?.trim()))
}

/// `DEPTH:TASK`, as a worker gives it to its tasks.
pub(super) fn cause_of(text: &str) -> Option<CausedBy> {
    let (depth, task) = text.split_once(':')?;
    Some(CausedBy { depth: depth.trim().parse().ok()?, task: shorten(task, KEY_BYTES_MAX).into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> File {
        let content = Content::Bytes(text.as_bytes().to_vec());
        File { name: format!("{FOLDER}/{name}"), content }
    }

    fn complaints(files: &[File]) -> Vec<String> {
        match read(files) {
            Definitions::Flows(flows) => panic!("{flows:?}"),
            Definitions::Invalid(list) => {
                list.iter().map(|c| format!("{}:{}: {}", c.file, c.line, c.reason)).collect()
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_file_and_line() {
        let one = file("a.yaml", "- name: index\n  command: [true]\n");
        let two = file("b.yaml", "- name: index\n  command: [true]\n");
        assert!(matches!(read(std::slice::from_ref(&one)), Definitions::Flows(f) if f.len() == 1));
        let told = complaints(&[one, two]);
        assert!(told[0].starts_with("_workflows/b.yaml:1: a second task named"), "{told:?}");
        let told = complaints(&[file("c.yml", "- name: a\n  comand: [true]\n")]);
        assert!(told.iter().any(|t| t.starts_with("_workflows/c.yml:2: ")), "{told:?}");
        let when = |cron, tz| {
            format!(
                "on:\n  schedule:\n    cron: '{cron}'\n    tz: {tz}\ntasks: [{{name: a, run: x}}]\n"
            )
        };
        let told = complaints(&[file("d.yaml", &when("61 * * * *", "UTC"))]);
        assert!(told[0].starts_with("_workflows/d.yaml:3: cron expression"), "{told:?}");
        let told = complaints(&[file("d.yaml", &when("1 * * * *", "Mars/Phobos"))]);
        assert!(told[0].starts_with("_workflows/d.yaml:4: time zone"), "{told:?}");
        let bad = |content| File { name: "_workflows/e.yaml".to_owned(), content };
        assert!(complaints(&[bad(Content::Bytes(vec![0xff, 0xfe]))])[0].contains("not UTF-8"));
        let told = complaints(&[bad(Content::Link)]);
        assert_eq!(told, ["_workflows/e.yaml:1: this is a symbolic link; write the file itself"]);
    }

    #[test]
    fn causes() {
        let cause = cause_in("fixes it\n\nArmarius-Cause: 3:f.a@c/revision/7~1\n").unwrap();
        assert_eq!((cause.depth, &*cause.task), (3, "f.a@c/revision/7~1"));
        assert!(cause_in("Armarius-Cause: many").is_none());
        assert!(cause_in("says Armarius-Cause: 3:x in a sentence").is_none());
    }

    #[test]
    fn names_of_definitions() {
        for (name, is) in [
            ("a.yaml", true),
            ("b.yml", true),
            ("c.json", true),
            ("README.md", false),
            (".hidden.yaml", false),
            ("sub/a.yaml", false),
            ("yaml", false),
        ] {
            assert_eq!(is_definition(name), is, "{name}");
        }
    }
}
