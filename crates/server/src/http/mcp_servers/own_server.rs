//! The servers themselves.

use domain::UserId;
use domain::tool::{ToolDefinition, ToolResult};
use serde_json::{Map, Value};

use crate::app::App;
use crate::tools::{google_drive, toolbox};

/// One of our own servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnServer {
    /// Small tools without side effects.
    Toolbox,
    /// A person's Google Drive.
    GoogleDrive,
}

impl OwnServer {
    pub const ALL: [Self; 2] = [Self::Toolbox, Self::GoogleDrive];

    /// Below `/mcp`.
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

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Toolbox => "Toolbox",
            Self::GoogleDrive => "Google Drive",
        }
    }

    /// For models.
    pub fn instructions(self) -> &'static str {
        match self {
            Self::Toolbox => "Use these tools instead of guessing the time, a calculation, a conversion or a count.",
            Self::GoogleDrive => "List files first: reading a file takes its id.",
        }
    }

    /// Whether its tools work with what belongs to a person.
    pub fn needs_sign_in(self) -> bool {
        self == Self::GoogleDrive
    }

    pub fn tools(self) -> Vec<ToolDefinition> {
        match self {
            Self::Toolbox => toolbox::definitions(),
            Self::GoogleDrive => google_drive::definitions(),
        }
    }

    /// Runs a tool; `None` when the server has no such tool. A failure of the tool stands in its result.
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
                let is_known = self.tools().iter().any(|tool| tool.name == name);
                let caller = caller.filter(|_| is_known)?;
                Some(google_drive::call(app, caller, name, arguments).await)
            }
        }
    }
}
