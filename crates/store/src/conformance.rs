//! What every store must do, as a test any store can be put to.
//!
//! [`exercise`] writes, overwrites, removes and reads back every table and every list, row by row,
//! and panics with a sentence when a store answers wrongly. [`scribble`] writes arbitrary rows, so
//! that two stores can be compared by what they hold afterwards.

pub mod cluster;
mod derived;
mod history;
mod lists;
mod needs;
pub mod sample;
mod scribble;
mod tables;
mod trial;

pub use needs::everything_near;
pub use scribble::{Stroke, scribble, tables_len};
pub use trial::Trial;

use armarius_engine::seam::Store;

/// Puts a store to the whole test. `make` gives a new, empty store each time.
pub fn exercise(make: &mut dyn FnMut() -> Box<dyn Store>) {
    tables::exercise(&mut Trial::new(make()));
    lists::exercise(&mut Trial::new(make()));
    derived::exercise(&mut Trial::new(make()));
    history::exercise(&mut Trial::new(make()));
    history::refuses_what_does_not_follow(&mut Trial::new(make()));
}
