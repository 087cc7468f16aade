//! The words of the house: ids, time, messages, what a model says and what a run tells its viewers.
//!
//! Everything here is plain data. There is no I/O and no async in this crate, and nothing that needs them: the
//! model wires, the MCP client and the store all speak these types and never meet each other.

pub mod api_key;
pub mod attachment;
pub mod clock;
pub mod elicitation;
pub mod file;
pub mod icon;
pub mod ids;
pub mod json_shape;
pub mod message;
pub mod model;
pub mod permission;
pub mod resource;
pub mod server_url;
pub mod text;
pub mod tool;

pub use clock::{Clock, SystemClock, Timestamp};
pub use ids::{
    ApiKeyId, ApprovalId, AttachmentId, AuthSessionId, ChallengeId, ChatId, ElicitationId, FactorId, FileId, MessageId,
    ModelProviderId, NodeId, QueuedId, RunId, ServerId, ShareId, UserId,
};
