//! Concurrency limits and size limits, and the errors beyond them.

mod turns;
mod users;
