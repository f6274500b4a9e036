//! What is wrong with a flow file, told like a good compiler does.

use std::fmt;

use super::node::Place;

/// Problems told of one file; a file with more has usually one cause.
const PROBLEMS_MAX: usize = 50;

/// Everything that is wrong with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFileError {
    /// The file's name, as it was given.
    pub file: String,
    /// What is wrong, in the order of the file; never empty.
    pub problems: Vec<Located>,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    /// What, as a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl FlowFileError {
    /// Something is wrong with a file as a whole.
    #[must_use]
    pub fn of_file(file: &str, message: &str, hint: &str) -> Self {
        let mut found = Findings::default();
        found.add(Place::START, message, hint);
        found.into_error(file)
    }
}

impl fmt::Display for FlowFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            let Located { line, column, message, hint } = problem;
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}:{line}:{column}: {message}", self.file)?;
            if !hint.is_empty() {
                write!(f, "\n  hint: {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for FlowFileError {}

/// What was found so far.
#[derive(Default)]
pub(super) struct Findings {
    problems: Vec<Located>,
    incomplete: bool,
    is_sketch: bool,
}

impl Findings {
    /// For a picture, in which tasks need not say what they run.
    pub(super) fn of_sketch() -> Self {
        Self { is_sketch: true, ..Self::default() }
    }

    /// A task that does not say what to run.
    pub(super) fn idle(&mut self, place: Place, message: &str, hint: &str) {
        if !self.is_sketch {
            self.add(place, message, hint);
        }
    }

    /// Something is wrong, and a default stands in its place.
    pub(super) fn add(
        &mut self,
        place: Place,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let Place { line, column } = place;
        self.push(Located { line, column, message: message.into(), hint: hint.into() });
    }

    /// Something is wrong that was located already.
    pub(super) fn push(&mut self, problem: Located) {
        self.problems.push(problem);
    }

    /// Something others may refer to could not be read: the rest cannot be judged.
    pub(super) fn lost(&mut self) {
        self.incomplete = true;
    }

    /// Whether all that others may refer to was read.
    pub(super) fn is_whole(&self) -> bool {
        !self.incomplete
    }

    pub(super) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn into_error(mut self, file: &str) -> FlowFileError {
        self.problems.sort_by_key(|problem| (problem.line, problem.column));
        self.problems.dedup();
        let more = self.problems.len().saturating_sub(PROBLEMS_MAX);
        if more > 0 {
            self.problems.truncate(PROBLEMS_MAX);
            if let Some(last) = self.problems.last().cloned() {
                self.problems.push(Located {
                    message: format!("{more} more problems follow"),
                    hint: "correct those above first".to_owned(),
                    ..last
                });
            }
        }
        FlowFileError { file: file.to_owned(), problems: self.problems }
    }
}
