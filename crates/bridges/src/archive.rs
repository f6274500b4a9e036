//! Repositories of archives: what they hold, read with their own programs.
//!
//! Subversion is read with `svnlook` where the repository is a folder and with `svn` where it is a
//! URL, git with its plumbing commands. Every program is started with fixed arguments and never
//! through a shell, in an environment of its own, with a limit on its time and its output. Nothing
//! here changes a repository, and nothing here decides: what is read becomes commands.
//!
//! Reading order: `repository` (what can be asked) · `program` (how programs are run) · `svn`,
//! `git` (with `export`) · `working` (the same of a folder somebody works in) · `definitions`
//! (from files to flows) · `watch` (who looks when).

mod definitions;
mod export;
mod git;
mod program;
mod repository;
mod svn;
mod watch;
mod working;

pub use definitions::{
    FOLDER, is_definition, read as read_definitions, read_files, sketch_files, wrong_calendar,
};
pub use git::branch_of;
pub use repository::{
    Change, Changes, Content, File, Limits, Place, Point, Repository, Seen, Stamp, Trouble,
    guess_kind, open,
};
pub use watch::{Options, Ring, Watcher};
pub use working::files_in;
