//! Turns of the assistant, and everything that an answer is made of.
//!
//! [`turns`] runs the agent loop of chats and [`openai_api`] that of the OpenAI-compatible API; [`tool_selection`] and
//! [`tool_search`] decide which tools a model sees, [`models`] selects and calls a model and records its usage,
//! [`files`] stores files and prepares them for models, [`chats`] imports, exports, shares and maintains conversations.

pub mod chats;
pub mod files;
pub mod models;
pub mod openai_api;
pub mod tool_search;
pub mod tool_selection;
pub mod turns;
