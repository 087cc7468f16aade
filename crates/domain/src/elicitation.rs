//! Responses of users to elicitations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A user's response to an elicitation. MCP servers treat the three differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The user agrees and submits the form.
    Accept,
    /// The user declines.
    Decline,
    /// The user dismisses the question without a response.
    Cancel,
}

impl Action {
    /// Returns the word that the database and the wire formats use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }

    /// Parses a word that [`Self::as_str`] returned.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Accept, Self::Decline, Self::Cancel].into_iter().find(|action| action.as_str() == word)
    }
}
