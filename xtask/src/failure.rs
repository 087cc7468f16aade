//! The error type of all commands: a message for the developer who ran the command.

use std::fmt;

/// An error message, which says what went wrong and what to do about it, in one line.
#[derive(Debug)]
pub struct Failure(String);

/// Result of every function that can fail, with a [`Failure`] as its error.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Creates an error with a complete message.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Conversion of other errors to [`Failure`].
pub trait Context<T> {
    /// Prefixes an error with what was being done: "cannot read web/package.json: permission denied".
    fn context(self, doing: impl fmt::Display) -> Outcome<T>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Outcome<T> {
        self.map_err(|error| Failure(format!("{doing}: {error}")))
    }
}
