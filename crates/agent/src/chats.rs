//! Chats apart from their turns: import, export, shares, temporary chats and maintenance.

pub mod chatgpt;
pub mod file;
pub mod link;
pub mod maintenance;
pub mod markdown;
pub mod snapshot;
pub mod temporary;
