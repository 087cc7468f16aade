//! The tools of a turn: which of the tools of a user's connections it uses, and how the model gets to know them.

pub mod discovery;
mod selection;

pub use selection::{Selection, SelectionError, Toolset, Wanted};
