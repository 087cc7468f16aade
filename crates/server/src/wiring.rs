//! Adapters between services: implementations of the traits of lower crates, and receivers of their events.

use std::time::Duration;

use builtin_servers::{GoogleDrive, google_drive};
use connections::{ConnectionReady, FallbackTools, TokenIssuer};
use domain::UserId;
use domain::tool::{ToolDefinition, ToolResult};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::app::App;
use crate::auth::{AccountService, Audience};
use agent::turns::readiness;

impl TokenIssuer for AccountService {
    fn issue_token(&self, user: UserId, lifetime: Duration) -> Option<String> {
        self.issue_internal(user, Audience::Mcp, lifetime).ok()
    }
}

/// The Google Drive tools as the tools that stand in for a server without tools.
#[derive(Debug)]
pub struct DriveFallback(pub GoogleDrive);

impl FallbackTools for DriveFallback {
    fn definitions(&self) -> Vec<ToolDefinition> {
        google_drive::definitions()
    }

    fn call<'a>(&'a self, user: UserId, name: &'a str, arguments: Map<String, Value>) -> BoxFuture<'a, ToolResult> {
        self.0.call_tool(user, name, arguments).boxed()
    }
}

/// Prewarms the built-in model for users whose connections become ready, until shutdown.
pub async fn prewarm_models(app: App, mut ready: mpsc::UnboundedReceiver<ConnectionReady>) {
    let shutdown = app.tasks.shutdown_token().clone();
    while let Some(Some(ConnectionReady { user })) = shutdown.run_until_cancelled(ready.recv()).await {
        let inner = app.clone();
        app.tasks.spawn("prewarm model", async move { readiness::prepare(&inner.runs, user).await });
    }
}
