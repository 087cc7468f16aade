//! Chats apart from their turns: import, export, sharing, temporary chats and maintenance.

pub mod chatgpt;
pub mod file;
pub mod link;
pub mod markdown;
pub mod snapshot;
pub mod temporary;
pub mod upkeep;
