//! Definitions of the built-in MCP servers.

use domain::UserId;
use domain::tool::{ToolDefinition, ToolResult};
use serde_json::{Map, Value};

use crate::app::App;
use crate::tools::{google_drive, toolbox};

/// A built-in MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnServer {
    /// Small tools without side effects, such as time, calculation and conversion.
    Toolbox,
    /// The Google Drive of the calling user.
    GoogleDrive,
}

impl OwnServer {
    pub const ALL: [Self; 2] = [Self::Toolbox, Self::GoogleDrive];

    /// Returns the path below `/mcp`.
    pub fn path(self) -> &'static str {
        match self {
            Self::Toolbox => "/toolbox",
            Self::GoogleDrive => "/google-drive",
        }
    }

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

    pub fn tools(self) -> Vec<ToolDefinition> {
        match self {
            Self::Toolbox => toolbox::definitions(),
            Self::GoogleDrive => google_drive::definitions(),
        }
    }

    /// Runs a tool. Returns `None` if the server has no such tool. An error of the tool is part of its result.
    pub async fn call(
        self,
        app: &App,
        caller: Option<UserId>,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Option<ToolResult> {
        match self {
            Self::Toolbox => toolbox::call(name, arguments, app.clock.now()),
            Self::GoogleDrive => {
                // Checked first: an unknown tool is an error of the request, whoever calls.
                let is_known = self.tools().iter().any(|tool| tool.name == name);
                let caller = caller.filter(|_| is_known)?;
                Some(google_drive::call(app, caller, name, arguments).await)
            }
        }
    }
}
