//! What a person says to a question of a server, in a word.

use serde::{Deserialize, Serialize};

/// What a person does with a question of a server. The three mean different things to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// They agree, and send what was filled in.
    Accept,
    /// They say no.
    Decline,
    /// They close the question without an answer.
    Cancel,
}

impl Action {
    /// The word in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }

    /// What [`Self::as_str`] has written.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Accept, Self::Decline, Self::Cancel].into_iter().find(|action| action.as_str() == word)
    }
}
