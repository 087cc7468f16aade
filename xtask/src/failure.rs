//! The one error of these commands: a sentence for the person who typed the command.

use std::fmt;

/// What went wrong and what to do about it, in one line.
#[derive(Debug)]
pub struct Failure(String);

/// The result of everything that can fail here.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure with its whole sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Turns the errors of the standard library into sentences.
pub trait Context<T> {
    /// Puts what was being done in front of the error: "cannot read web/package.json: permission denied".
    fn context(self, doing: impl fmt::Display) -> Outcome<T>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Outcome<T> {
        self.map_err(|error| Failure(format!("{doing}: {error}")))
    }
}
