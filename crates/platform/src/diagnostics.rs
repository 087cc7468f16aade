//! Findings about a server and what it depends on, for its operator.

use serde::Serialize;

/// Verdict of an examination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All is well.
    Pass,
    /// It works, but the operator should look at it.
    Warn,
    /// It does not work.
    Fail,
}

/// Result of an examination. It has no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was examined.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    /// Creates a finding that all is well.
    pub fn pass(name: &str, message: impl Into<String>) -> Self {
        Self { name: name.to_owned(), verdict: Verdict::Pass, message: message.into(), advice: None }
    }

    /// Creates a finding that the operator should look at.
    pub fn warn(name: &str, message: impl Into<String>, advice: &str) -> Self {
        Self { verdict: Verdict::Warn, advice: Some(advice.to_owned()), ..Self::pass(name, message) }
    }

    /// Creates a finding of a failure.
    pub fn fail(name: &str, message: impl Into<String>, advice: &str) -> Self {
        Self { verdict: Verdict::Fail, ..Self::warn(name, message, advice) }
    }
}
