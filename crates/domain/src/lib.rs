//! Domain types: ids, time, messages, tools, model requests and model events.
//!
//! Everything here is plain data. This crate does no I/O and has no async code. The model providers, the MCP client and
//! the storage use these types and do not depend on each other.

pub mod api_key;
pub mod attachment;
pub mod clock;
pub mod elicitation;
pub mod file;
pub mod icon;
pub mod ids;
pub mod interaction;
pub mod json;
pub mod json_shape;
pub mod message;
pub mod model;
pub mod network_allowlist;
pub mod permission;
pub mod provider;
pub mod resource;
pub mod server_url;
pub mod text;
pub mod tool;
pub mod tool_arguments;
pub mod trace;

pub use clock::{Clock, SystemClock, Timestamp};
pub use ids::{
    ApiKeyId, AttachmentId, AuthSessionId, ChallengeId, ChatId, FactorId, FileId, InteractionId, MessageId,
    ModelProviderId, NodeId, PasskeyId, PushSubscriptionId, QueuedId, RegistrationTokenId, ServerId, ShareId,
    SharedServerId, TurnId, UserId,
};
pub use interaction::{AwaitedInteraction, InteractionKind};
pub use trace::SPAN_TARGET;
