//! Keys with which programs ask in a person's name.

use serde::{Deserialize, Serialize};

/// What a key opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Asking the models.
    Chat,
    /// Letting the models use the tools of the person's connections, as far as the person allows each.
    Tools,
}

impl Scope {
    /// The word in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Tools => "tools",
        }
    }

    /// What [`Self::as_str`] has written.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Chat, Self::Tools].into_iter().find(|scope| scope.as_str() == word)
    }
}
