//! Client for MCP servers.
//!
//! [`Client::connect`] takes the address of a server and finds out what it speaks: streamable HTTP of the modern
//! revision (2026-07-28) or of the older ones, HTTP+SSE (2024-11-05), or WebSocket. The resulting [`Connection`] is
//! the same for all of them.
//!
//! Servers are untrusted: [`net`] decides which addresses can be reached at all, and every wait, message and list is
//! bounded ([`ConnectionLimits`]). Error texts are written for users and contain neither header values nor addresses.
//! No other crate uses the protocol library.
//!
//! Inside, a request is a function over the `session`; `connection` composes the requests, and `client` makes
//! connections. Messages that a server sends on its own go through `server_messages` to the calls that wait for them.

mod answer_retry;
mod client;
mod connection;
mod elicitation;
mod elicitation_routing;
mod error;
mod icons;
mod input_required;
mod library_errors;
mod limits;
pub mod net;
pub mod oauth;
mod progress;
mod prompts_and_resources;
mod protocol_cache;
pub mod registry;
mod server_info;
mod server_messages;
mod session;
mod suspended_call;
mod target;
mod tasks;
mod tool_call;
mod tools;
mod transport;

pub use client::Client;
pub use connection::Connection;
pub use elicitation::form::{ElicitationForm, FieldKind, FieldOption, FormField};
pub use elicitation::validation::FieldError;
pub use elicitation::{Elicitation, ElicitationHandler, ElicitationResponse, FormContent, UrlElicitation};
pub use error::{CallError, Error};
pub use icons::{IconError, IconImage};
pub use limits::ConnectionLimits;
pub use progress::ProgressReport;
pub use prompts_and_resources::completion::{CompletionTarget, Completions};
pub use prompts_and_resources::listing::Listing;
pub use prompts_and_resources::prompts::{FilledPrompt, Prompt, PromptArgument};
pub use prompts_and_resources::resources::{Resource, ResourceTemplate};
pub use prompts_and_resources::subscription::ResourceSubscription;
pub use server_info::{ProtocolFamily, ServerInfo};
pub use server_messages::APP_MIME_TYPE;
pub use suspended_call::{ResumedCall, SuspendedCall};
pub use target::ConnectionTarget;
pub use tasks::{Task, TaskProtocol, TaskStatus};
pub use tool_call::options::CallOptions;
pub use transport::TransportKind;

/// Log directive that silences the protocol library, which would log the contents of messages.
pub const LOG_DIRECTIVE: &str = "rmcp=off";
