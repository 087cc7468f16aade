//! Speaks to MCP servers, and to nothing else.
//!
//! [`Client::connect`] takes an address that a person gave and finds out what answers there: streamable HTTP of the
//! modern revision (2026-07-28) or of the older ones, HTTP+SSE (2024-11-05), or WebSocket. What comes back is a
//! [`Connection`], the same whatever the wire: list the tools, call one, close.
//!
//! Everything behind an address is taken for hostile: [`net`] decides which addresses may be reached at all, and every
//! wait, message and list has a bound ([`Limits`]). Errors are written for people and hold neither header values nor
//! addresses. Only this crate knows the protocol library.

mod asking;
mod call;
mod client;
mod connection;
mod elicitation;
mod eras;
mod error;
mod handler;
mod icons;
mod limits;
pub mod net;
pub mod oauth;
mod offers;
mod target;
mod tools;
mod transport;

pub use call::long::{Form as TaskForm, Status as TaskStatus, Task};
pub use call::{CallOptions, Progress, Resumed, Suspended};
pub use client::Client;
pub use connection::{Connection, Era, ServerInfo};
pub use elicitation::{Answer, Asker, Choice, Content, Field, Form, Kind, Problem, Question, Visit};
pub use error::{CallError, Error};
pub use handler::APP_MIME_TYPE;
pub use icons::{IconError, Picture};
pub use limits::Limits;
pub use offers::Listing;
pub use offers::completion::{Blank, Proposals};
pub use offers::prompts::{FilledPrompt, Prompt, PromptArgument};
pub use offers::resources::{Resource, ResourceTemplate};
pub use offers::watch::ResourceWatch;
pub use target::Target;
pub use transport::Transport;

/// The log directive for the protocol library, which would otherwise write down what servers and people say.
pub const LOG_DIRECTIVE: &str = "rmcp=off";
