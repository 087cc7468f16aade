//! Models, files and chats: everything that an answer is made of.
//!
//! [`models`] selects and calls a model and records its usage, [`files`] stores files and prepares them for models,
//! [`chats`] imports, exports and shares conversations.

pub mod chats;
pub mod files;
pub mod models;
