//! MCP Apps (2026-01-26): pages that servers provide for their tools. A page is read from its server, is shown in a sandbox
//! with a fixed policy, and can call tools and read resources of its own server only, through the user's permissions.

mod calls;
mod content_sources;
mod sandbox_policy;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::UserId;
use domain::resource::ResourceContents;
use domain::tool::ToolDefinition;
use mcp::APP_MIME_TYPE;
use serde_json::Value;
use storage::servers::Server;
use url::Url;

use super::{BoundTool, ConnectionService, ToolSource};

pub use calls::{AppCallOutcome, AppConsent, ChangedInstructions, ConsentRequest};
pub use sandbox_policy::{BrowserFeature, SandboxPolicy};

/// Bytes of one mebibyte.
const MEBIBYTE: usize = 1024 * 1024;
/// Maximum size of a page, in bytes. Pages contain their scripts; those of the protocol's examples have 0.2 to 1.2 MB.
const MAX_PAGE_BYTES: usize = 8 * MEBIBYTE;
/// Maximum size of a resource that an app reads, as JSON, in bytes.
const MAX_RESOURCE_BYTES: usize = 8 * MEBIBYTE;

/// The page of a tool.
#[derive(Debug, Clone)]
pub struct AppPage {
    /// The tool.
    pub tool: ToolDefinition,
    /// The page as HTML.
    pub html: String,
    /// Permissions of the page.
    pub policy: SandboxPolicy,
}

/// Error of a page, or of a request of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppError {
    /// The server has no such tool.
    #[error("{0} has no such tool")]
    NoTool(String),
    /// The tool has no page.
    #[error("the tool has no app")]
    NoApp,
    /// Apps may not call the tool.
    #[error("{0} is not a tool for apps")]
    NotForApps(String),
    /// The server has no such resource, or rejected the request.
    #[error("{0}")]
    NoResource(String),
    /// The resource is not a page that can be shown.
    #[error("The app {0}.")]
    Unusable(String),
    /// The server failed.
    #[error("{0}")]
    Server(String),
}

impl AppError {
    fn of_server(server: &Server, reason: &dyn fmt::Display) -> Self {
        Self::Server(format!("The server {} {reason}.", server.name))
    }
}

impl ConnectionService {
    /// Reads the page of a tool from its server.
    pub async fn read_app_page(&self, user: UserId, server: &Server, tool: &str) -> Result<AppPage, AppError> {
        let tool = self.find_tool(user, server, tool).await?.definition;
        let uri = tool.meta.app().ok_or(AppError::NoApp)?.to_owned();
        let contents = self.read_contents(user, server, &uri).await?;
        let content = contents.iter().find(|content| content.uri == uri).or(contents.first());
        let content = content.ok_or_else(|| AppError::Unusable("is empty".to_owned()))?;
        let mime_type = content.mime_type.as_deref().unwrap_or_default();
        if !is_app_page(mime_type) {
            return Err(AppError::Unusable(format!("is no page, but {mime_type:?}")));
        }
        let html = text_of(content).ok_or_else(|| AppError::Unusable("is no text".to_owned()))?;
        if html.len() > MAX_PAGE_BYTES {
            return Err(AppError::Unusable(format!("is larger than {} MiB", MAX_PAGE_BYTES / MEBIBYTE)));
        }
        let ui_meta: Value = content.meta.as_ref().and_then(|meta| meta.get("ui")).cloned().unwrap_or_default();
        let is_allowed = |url: &Url, and_subdomains| self.is_allowed_for_apps(url, and_subdomains);
        let policy = SandboxPolicy::from_ui_meta(&ui_meta, is_allowed);
        Ok(AppPage { tool, html, policy })
    }

    /// Reads a resource for an app of the same server.
    pub async fn read_resource_for_app(
        &self,
        user: UserId,
        server: &Server,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, AppError> {
        let contents = self.read_contents(user, server, uri).await?;
        if serde_json::to_string(&contents).map_or(usize::MAX, |text| text.len()) > MAX_RESOURCE_BYTES {
            let limit = MAX_RESOURCE_BYTES / MEBIBYTE;
            return Err(AppError::Server(format!("The resource is larger than {limit} MiB.")));
        }
        Ok(contents)
    }

    /// Returns a tool of a connection with its current definition.
    async fn find_tool(&self, user: UserId, server: &Server, name: &str) -> Result<BoundTool, AppError> {
        let opened = self.pool.open(user, server).await;
        let opened = opened.map_err(|reason| AppError::of_server(server, &reason))?;
        let definition = opened.tools.iter().find(|tool| tool.name == name);
        let definition = definition.ok_or_else(|| AppError::NoTool(server.name.clone()))?.clone();
        Ok(BoundTool {
            model_name: name.to_owned(),
            definition,
            server: server.clone().into(),
            source: opened.source,
            instructions: opened.instructions().into(),
        })
    }

    /// Reads a resource of a server that has tools of its own.
    async fn read_contents(&self, user: UserId, server: &Server, uri: &str) -> Result<Vec<ResourceContents>, AppError> {
        let opened = self.pool.open(user, server).await;
        let opened = opened.map_err(|reason| AppError::of_server(server, &reason))?;
        let Some(connection) = opened.connection.filter(|_| opened.source == ToolSource::Server) else {
            return Err(AppError::NoApp);
        };
        connection.read_resource(uri).await.map_err(|error| match error {
            mcp::Error::Server { .. } | mcp::Error::NotOffered(_) => {
                AppError::NoResource(format!("The server {} {error}.", server.name))
            }
            error => AppError::of_server(server, &error),
        })
    }
}

/// Returns the text of a resource, which may be encoded in base64. `None` if it is not a text.
fn text_of(content: &ResourceContents) -> Option<String> {
    content.text.clone().or_else(|| String::from_utf8(STANDARD.decode(content.blob.as_ref()?).ok()?).ok())
}

/// Returns whether a media type is that of an app's page, in any case and with any spaces.
fn is_app_page(mime_type: &str) -> bool {
    let plain: String = mime_type.chars().filter(|character| !character.is_whitespace()).collect();
    plain.eq_ignore_ascii_case(APP_MIME_TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_media_type_of_app_pages_only() {
        assert!(is_app_page("text/html;profile=mcp-app") && is_app_page("text/html; profile=mcp-app"));
        for other in ["", "text/html", "text/html;profile=other", "text/html;profile=mcp-app;x=1", "image/svg+xml"] {
            assert!(!is_app_page(other), "{other}");
        }
    }
}
