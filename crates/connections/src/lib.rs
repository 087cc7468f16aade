//! The users' connections to MCP servers: the pool of live connections, permissions, tool calls, sign-in to servers,
//! prompts and resources, MCP Apps, and manual tool calls.
//!
//! [`ConnectionService`] is the entry point. It is built once and owns what it needs; what it calls of the services above
//! it are the traits [`TokenIssuer`] and [`FallbackTools`], and what it tells them is [`ConnectionReady`].

pub mod apps;
pub mod headers;
pub mod json_schema;
pub mod permissions;
pub mod registry;
pub mod shared_servers;
pub mod sign_in;
pub mod url_query;

mod audit;
mod call_context;
mod connection_dto;
mod host;
mod icon_cache;
mod manual_runs;
mod non_interactive;
mod output_validation;
mod pool;
mod prompts_and_resources;
mod resource_subscriptions;
mod secret_owner;
mod self_urls;
mod service;
mod sign_in_prompt;
mod task_calls;
mod tool_call;
mod tool_call_span;
mod update;

pub use audit::AuditedCall;
pub use call_context::CallContext;
pub use connection_dto::{ConnectionDto, ConnectionStatus};
pub use host::{ConnectionReady, FallbackTools, TokenIssuer};
pub use manual_runs::{InteractionUpdate, ManualHandler, ManualRuns};
pub use non_interactive::NonInteractive;
pub use pool::{ConnectionInUse, OpenedConnection, ToolSource, UnusableConnection};
pub use prompts_and_resources::{AttachRequest, ContextError};
pub use secret_owner::SecretOwner;
pub use service::{BoundTool, ConnectionService, ConnectionSettings, ProbeError, ServiceDependencies};
pub use sign_in_prompt::{InteractionHandler, InvalidForm, SignInPrompt, elicitation_response};
pub use task_calls::RunningTask;
pub use tool_call::CallOutcome;
pub use update::{ConnectionDetails, ConnectionUpdate, UpdateError};
