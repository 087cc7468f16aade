//! Interactions: what a tool call of a turn asks its user.

use schemars::JsonSchema;
use serde::Serialize;

/// The kind of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InteractionKind {
    /// The user is asked to allow the call.
    Approval,
    /// The server asks for input.
    Elicitation,
    /// The user is asked to sign in to the server.
    SignIn,
}

/// The interaction that a turn waits for. Of several, it is the oldest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AwaitedInteraction {
    /// Its kind.
    pub kind: InteractionKind,
    /// Name of the tool whose call waits.
    pub tool: String,
}

impl InteractionKind {
    /// Returns the word that the database and the wire formats use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Elicitation => "elicitation",
            Self::SignIn => "sign-in",
        }
    }

    /// Parses a word that [`Self::as_str`] returned.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Approval, Self::Elicitation, Self::SignIn].into_iter().find(|kind| kind.as_str() == word)
    }
}
