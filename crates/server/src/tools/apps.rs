//! Apps: the pages that servers bring for their tools (MCP Apps, 2026-01-26). A page is read from its server, is shown in a
//! sandbox whose rules it cannot change, and reaches its own server through the person's permissions, and nothing else.

mod consent;
mod domains;
mod frame;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::UserId;
use domain::resource::ResourceContents;
use domain::tool::ToolDefinition;
use mcp::APP_MIME_TYPE;
use store::servers::Server;

use super::pool::Origin;
use super::{BoundTool, Tools};
use crate::app::App;

pub use consent::{AppCall, AppConsent, Asked, Instructions};
pub use frame::{Feature, Frame};

/// Bytes of a page, at most. Pages bring their scripts with them; those of the protocol's own examples have 0.2 to 1.2 MB.
const PAGE: usize = 8 * 1024 * 1024;
/// Bytes of a resource that an app reads, as JSON, at most.
const RESOURCE: usize = 8 * 1024 * 1024;

/// A page, ready to be shown.
#[derive(Debug, Clone)]
pub struct Page {
    /// The tool that it belongs to.
    pub tool: ToolDefinition,
    /// The page itself.
    pub html: String,
    /// What it may do.
    pub frame: Frame,
}

/// Why there is no page, or nothing for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppError {
    /// The server offers no such tool.
    #[error("{0} offers no such tool")]
    NoTool(String),
    /// The tool has no page.
    #[error("the tool has no app")]
    NoApp,
    /// The tool is not for apps.
    #[error("{0} is not a tool for apps")]
    NotForApps(String),
    /// The server answered that it has no such resource, or does not give it away; a whole sentence.
    #[error("{0}")]
    NoResource(String),
    /// What the server gave is no page that can be shown; reads on from "the app".
    #[error("The app {0}.")]
    Unusable(String),
    /// The server failed; a whole sentence.
    #[error("{0}")]
    Server(String),
}

impl AppError {
    fn of_server(server: &Server, reason: &dyn fmt::Display) -> Self {
        Self::Server(format!("The server {} {reason}.", server.name))
    }
}

impl Tools {
    /// The page of a tool, as its server has it now.
    pub async fn page(&self, app: &App, user: UserId, server: &Server, tool: &str) -> Result<Page, AppError> {
        let tool = self.find(app, user, server, tool).await?.definition;
        let uri = tool.meta.app().ok_or(AppError::NoApp)?.to_owned();
        let pieces = self.pieces(app, user, server, &uri).await?;
        let piece = pieces.iter().find(|piece| piece.uri == uri).or(pieces.first());
        let piece = piece.ok_or_else(|| AppError::Unusable("is empty".to_owned()))?;
        let mime_type = piece.mime_type.as_deref().unwrap_or_default();
        if !is_page(mime_type) {
            return Err(AppError::Unusable(format!("is no page, but {mime_type:?}")));
        }
        let html = text_of(piece).ok_or_else(|| AppError::Unusable("is no text".to_owned()))?;
        if html.len() > PAGE {
            return Err(AppError::Unusable(format!("is larger than {} MiB", PAGE / (1024 * 1024))));
        }
        let about = piece.meta.as_ref().and_then(|meta| meta.get("ui")).cloned().unwrap_or_default();
        let frame = Frame::of(&about, |url, and_below| self.may_be_reached_by_apps(url, and_below));
        Ok(Page { tool, html, frame })
    }

    /// A resource of the server, for an app of the same server.
    pub async fn read_for_app(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, AppError> {
        let pieces = self.pieces(app, user, server, uri).await?;
        if serde_json::to_string(&pieces).map_or(usize::MAX, |text| text.len()) > RESOURCE {
            return Err(AppError::Server(format!("The resource is larger than {} MiB.", RESOURCE / (1024 * 1024))));
        }
        Ok(pieces)
    }

    /// A tool of a connection, as its server describes it now.
    async fn find(&self, app: &App, user: UserId, server: &Server, name: &str) -> Result<BoundTool, AppError> {
        let opened = self.pool.open(app, user, server).await;
        let opened = opened.map_err(|reason| AppError::of_server(server, &reason))?;
        let definition = opened.tools.iter().find(|tool| tool.name == name);
        let definition = definition.ok_or_else(|| AppError::NoTool(server.name.clone()))?.clone();
        Ok(BoundTool {
            model_name: name.to_owned(),
            definition,
            server: server.clone().into(),
            origin: opened.origin,
            instructions: opened.instructions().into(),
        })
    }

    async fn pieces(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, AppError> {
        let opened = self.pool.open(app, user, server).await;
        let opened = opened.map_err(|reason| AppError::of_server(server, &reason))?;
        let Some(connection) = opened.connection.filter(|_| opened.origin == Origin::Server) else {
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

/// The text of a page, whichever way it came; `None` where it is no text.
fn text_of(piece: &ResourceContents) -> Option<String> {
    piece.text.clone().or_else(|| String::from_utf8(STANDARD.decode(piece.blob.as_ref()?).ok()?).ok())
}

/// Whether a page is of the kind that is shown; case and spaces do not count.
fn is_page(mime_type: &str) -> bool {
    let plain: String = mime_type.chars().filter(|character| !character.is_whitespace()).collect();
    plain.eq_ignore_ascii_case(APP_MIME_TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kind_of_page_is_shown() {
        assert!(is_page("text/html;profile=mcp-app") && is_page("text/html; profile=mcp-app"));
        for other in ["", "text/html", "text/html;profile=other", "text/html;profile=mcp-app;x=1", "image/svg+xml"] {
            assert!(!is_page(other), "{other}");
        }
    }
}
