//! One type per kind of id, so that the compiler notices when two are mixed up.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A new id. Version 7: ids made later sort later, so they are good keys and keep insertion order.
#[expect(clippy::disallowed_methods, reason = "this is the one place that makes ids")]
pub fn fresh() -> Uuid {
    Uuid::now_v7()
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id, later than every one before it.
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
    /// Something that a person attached to a message, or is about to.
    AttachmentId,
    /// Something whose bytes are kept beside a chat.
    FileId,
    /// A person with an account.
    UserId,
    /// One sign-in of a person on one device (`session_id` in the access token).
    AuthSessionId,
    /// A second factor of a person.
    FactorId,
    /// An invitation to send the code of a factor.
    ChallengeId,
    /// A chat: a row of `ai_chat_sessions`, called `sessionId` on the wire.
    ChatId,
    /// A row of `ai_chat_messages`.
    MessageId,
    /// A message that waits until the answer before it is done.
    QueuedId,
    /// A connection: a row of `mcp_servers`.
    ServerId,
    /// One turn of the assistant.
    RunId,
    /// A process among those that share a database.
    NodeId,
    /// A call that waits for its person's consent.
    ApprovalId,
    /// A chat that its person shares as it was.
    ShareId,
    /// A question to the person that a call waits with.
    ElicitationId,
    /// A key with which programs ask in a person's name.
    ApiKeyId,
    /// A place that serves models, as a person added it.
    ModelProviderId,
}
