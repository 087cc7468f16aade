//! Turns of the assistant, and everything that an answer is made of.
//!
//! [`agent_loop`] is the loop of model and tool calls; [`turns`] runs it for chats and [`openai_api`] for the
//! OpenAI-compatible API. [`tool_selection`] and [`tool_search`] decide which tools a model sees, [`models`] selects and
//! calls a model and records its usage, [`files`] stores files and prepares them for models, [`chats`] imports, exports,
//! shares and maintains conversations, [`push`] tells users' browsers that a turn has ended or waits for them.

pub mod agent_loop;
pub mod chats;
pub mod files;
pub mod models;
pub mod openai_api;
pub mod push;
pub mod tool_search;
pub mod tool_selection;
pub mod turns;
