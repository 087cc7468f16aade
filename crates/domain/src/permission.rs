//! Who may call a tool: what a person said once, or says when they are asked.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            /// The word in the database and on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What [`Self::as_str`] has written.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

/// What a person allows a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// The person is asked each time.
    Ask,
    /// The tool runs unasked, as long as it is the one that the person saw.
    Always,
    /// The tool does not run.
    Never,
}

words!(Permission { Ask = "ask", Always = "always", Never = "never" });

/// What a person answers when they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// This call may run.
    Once,
    /// This call may run, and from now on the tool.
    Always,
    /// This call may not run.
    Deny,
}

words!(Decision { Once = "once", Always = "always", Deny = "deny" });

/// Who allowed a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AllowedBy {
    /// It only reads, and it is ours.
    Default,
    /// The person, earlier and for good.
    Rule,
    /// The person, for this call.
    Once,
    /// The person, with this call and for good.
    Always,
    /// The person, who ran the tool by hand.
    Form,
    /// Nobody: it did not run.
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
