//! People's chats beside their turns: what of them goes out, what comes in, and what happens to them by itself.

pub mod chatgpt;
pub mod file;
pub mod link;
pub mod markdown;
pub mod snapshot;
pub mod temporary;
pub mod upkeep;
