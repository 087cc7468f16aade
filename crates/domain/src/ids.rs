//! One type per kind of id, so that the compiler rejects mixed-up ids.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Returns a new UUID of version 7. Later ids sort after earlier ones, so that primary keys follow the order of
/// insertion.
#[expect(clippy::disallowed_methods, reason = "this is the one place that makes ids")]
pub fn fresh() -> Uuid {
    Uuid::now_v7()
}

// All ids share the same form on the wire and in the database: a UUID without a prefix.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Returns a new id that sorts after all earlier ones.
            pub fn fresh() -> Self {
                Self(fresh())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(s: &str) -> Result<Self, Self::Err> {
                s.parse().map(Self)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    )+};
}

ids! {
    /// An attachment of a message, or of one that is still being written.
    AttachmentId,
    /// A stored file that belongs to a chat.
    FileId,
    /// A user account.
    UserId,
    /// A sign-in of a user on one device (`session_id` in the access token).
    AuthSessionId,
    /// A second authentication factor of a user.
    FactorId,
    /// A passkey of a user.
    PasskeyId,
    /// A challenge: a request to enter the code of a factor, or to sign with a passkey.
    ChallengeId,
    /// A chat: a row of `ai_chat_sessions`, called `sessionId` on the wire.
    ChatId,
    /// A message: a row of `ai_chat_messages`.
    MessageId,
    /// A queued message: it is sent when the chat's current turn has ended.
    QueuedId,
    /// A connection to an MCP server: a row of `mcp_servers`.
    ServerId,
    /// An MCP server that the operator offers to users.
    SharedServerId,
    /// A turn of the assistant.
    TurnId,
    /// A node: one of the processes that share a database.
    NodeId,
    /// An interaction: an approval, an elicitation or a sign-in that a tool call waits for.
    InteractionId,
    /// A shared snapshot of a chat.
    ShareId,
    /// A registration token, with which users sign up.
    RegistrationTokenId,
    /// An API key of a user.
    ApiKeyId,
    /// A model provider that a user configured.
    ModelProviderId,
    /// A browser that receives push messages.
    PushSubscriptionId,
}
