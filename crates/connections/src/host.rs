//! Interfaces to the services above this crate: traits that they implement, and events that they receive.

use std::fmt;
use std::time::Duration;

use domain::UserId;
use domain::tool::{ToolDefinition, ToolResult};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// Issues the tokens with which this server calls its own MCP servers.
pub trait TokenIssuer: fmt::Debug + Send + Sync {
    /// Returns a token that identifies a user to the built-in MCP servers, or `None` if none can be issued.
    fn issue_token(&self, user: UserId, lifetime: Duration) -> Option<String>;
}

/// Built-in tools that replace those of a server without tools.
pub trait FallbackTools: fmt::Debug + Send + Sync {
    /// Returns the definitions of the tools.
    fn definitions(&self) -> Vec<ToolDefinition>;

    /// Calls a tool for a user. Failures are part of the result.
    fn call<'a>(&'a self, user: UserId, name: &'a str, arguments: Map<String, Value>) -> BoxFuture<'a, ToolResult>;
}

/// Event: a connection of a user was opened, and its tools are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionReady {
    /// Owner of the connection.
    pub user: UserId,
}
