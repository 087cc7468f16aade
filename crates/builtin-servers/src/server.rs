//! The servers, and what they call.

use std::sync::Arc;

use domain::tool::{ToolDefinition, ToolResult};
use domain::{Clock, UserId};
use serde_json::{Map, Value};

use crate::google_drive::{self, GoogleDrive};
use crate::toolbox;

/// A built-in MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltinServer {
    /// Small tools without side effects, such as time, calculation and conversion.
    Toolbox,
    /// The Google Drive of the calling user.
    GoogleDrive,
}

impl BuiltinServer {
    /// All built-in servers.
    pub const ALL: [Self; 2] = [Self::Toolbox, Self::GoogleDrive];

    /// Returns the path below `/mcp`.
    pub fn path(self) -> &'static str {
        match self {
            Self::Toolbox => "/toolbox",
            Self::GoogleDrive => "/google-drive",
        }
    }

    /// Returns the name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Toolbox => "toolbox",
            Self::GoogleDrive => "google-drive",
        }
    }

    /// Returns the title for users.
    pub fn title(self) -> &'static str {
        match self {
            Self::Toolbox => "Toolbox",
            Self::GoogleDrive => "Google Drive",
        }
    }

    /// Returns the instructions for models.
    pub fn instructions(self) -> &'static str {
        match self {
            Self::Toolbox => "Use these tools instead of guessing the time, a calculation, a conversion or a count.",
            Self::GoogleDrive => "List files first: reading a file takes its id.",
        }
    }

    /// Returns whether the tools act on a user's data, so that callers must authenticate.
    pub fn needs_sign_in(self) -> bool {
        self == Self::GoogleDrive
    }

    /// Returns the definitions of the tools.
    pub fn tools(self) -> Vec<ToolDefinition> {
        match self {
            Self::Toolbox => toolbox::definitions(),
            Self::GoogleDrive => google_drive::definitions(),
        }
    }
}

/// The service that runs the tools of the built-in servers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct BuiltinServers {
    google_drive: GoogleDrive,
    clock: Arc<dyn Clock>,
}

impl BuiltinServers {
    /// Creates the service that runs the tools.
    pub fn new(google_drive: GoogleDrive, clock: &Arc<dyn Clock>) -> Self {
        Self { google_drive, clock: Arc::clone(clock) }
    }

    /// Returns the Google Drives of the users.
    pub fn google_drive(&self) -> &GoogleDrive {
        &self.google_drive
    }

    /// Runs a tool of a server. Returns `None` if the server has no such tool, or needs a caller and there is none. An
    /// error of the tool is part of its result.
    pub async fn call_tool(
        &self,
        server: BuiltinServer,
        caller: Option<UserId>,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Option<ToolResult> {
        match server {
            BuiltinServer::Toolbox => toolbox::call(name, arguments, self.clock.now()),
            BuiltinServer::GoogleDrive => {
                // Checked first: an unknown tool is an error of the request, whoever calls.
                let is_known = server.tools().iter().any(|tool| tool.name == name);
                let caller = caller.filter(|_| is_known)?;
                Some(self.google_drive.call_tool(caller, name, arguments).await)
            }
        }
    }
}
