//! Chats apart from their turns: import, export, shares and temporary chats.

pub mod chatgpt;
pub mod file;
pub mod link;
pub mod markdown;
pub mod snapshot;
pub mod temporary;
