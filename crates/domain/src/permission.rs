//! Permissions of tools and approvals of single tool calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// The words are stored and sent; the enums below differ in nothing else.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            /// Returns the word that the database and the wire formats use.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Parses a word that [`Self::as_str`] returned.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

/// A user's permission for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Every call needs the user's approval.
    Ask,
    /// Calls run without approval, as long as the tool's definition is the one that the user saw.
    Always,
    /// The tool is never called.
    Never,
}

words!(Permission { Ask = "ask", Always = "always", Never = "never" });

/// A user's response to an approval request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Allows this call.
    Once,
    /// Allows this call and sets the tool to [`Permission::Always`].
    Always,
    /// Denies this call.
    Deny,
}

words!(Decision { Once = "once", Always = "always", Deny = "deny" });

/// The rule or response that allowed a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllowedBy {
    /// A read-only tool of a built-in server; no approval needed.
    Default,
    /// The user's stored permission.
    Rule,
    /// The user's approval of this call ([`Decision::Once`]).
    Once,
    /// The user's approval of this call and all later ones ([`Decision::Always`]).
    Always,
    /// The user's own call from the tool's form (a manual tool call).
    Form,
    /// None; the call was not made.
    Nobody,
}

words!(AllowedBy {
    Default = "default",
    Rule = "rule",
    Once = "once",
    Always = "always",
    Form = "form",
    Nobody = "nobody",
});
