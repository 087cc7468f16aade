//! Scopes of API keys, with which API clients act for a user.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A permission of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Call models.
    Chat,
    /// Let models use the tools of the user's connections, as far as the user's tool permissions allow.
    Tools,
}

impl Scope {
    /// Returns the word that the database and the wire formats use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Tools => "tools",
        }
    }

    /// Parses a word that [`Self::as_str`] returned.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Chat, Self::Tools].into_iter().find(|scope| scope.as_str() == word)
    }
}
