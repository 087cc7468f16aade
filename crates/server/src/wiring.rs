//! Adapters between services: implementations of the traits by which lower crates call services above them.

use std::time::Duration;

use accounts::deletion::{AccountDeletionHandler, DeletionCleanup};
use accounts::{AccountService, Audience};
use builtin_servers::{GoogleDrive, google_drive};
use connections::{FallbackTools, TokenIssuer};
use domain::tool::{ToolDefinition, ToolResult};
use domain::{ChatId, RunId, ServerId, UserId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use platform::ClusterHandler;
use serde_json::{Map, Value};
use store::runs::UnfinishedRun;

use crate::app::App;

/// Issues the tokens with which connections call the built-in MCP servers.
#[derive(Debug)]
pub struct McpTokenIssuer(pub AccountService);

impl TokenIssuer for McpTokenIssuer {
    fn issue_token(&self, user: UserId, lifetime: Duration) -> Option<String> {
        self.0.issue_internal(user, Audience::Mcp, lifetime).ok()
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

impl ClusterHandler for App {
    fn abandon_turns(&self) {
        self.runs.lose_all();
    }

    fn take_over<'a>(&'a self, turn: &'a UnfinishedRun) -> BoxFuture<'a, Result<(), store::Error>> {
        Box::pin(self.runs.take_over(turn))
    }

    fn follow_commands(&self) -> BoxFuture<'_, Result<(), store::Error>> {
        Box::pin(self.runs.follow_orders())
    }

    fn wake_follower(&self, turn: RunId) {
        self.runs.wake(turn);
    }

    fn wake_all_followers(&self) {
        self.runs.wake_all();
    }

    fn chat_deleted(&self, user: UserId, chat: ChatId) {
        self.runs.end_here(user, chat);
    }

    fn signed_in(&self, user: UserId, server: ServerId) {
        self.connections.handle_remote_sign_in(user, server);
    }
}

/// What an account has beyond its own rows ends with it.
impl AccountDeletionHandler for App {
    fn stop_turns(&self, user: UserId) -> BoxFuture<'_, ()> {
        self.runs.stop_all(user).boxed()
    }

    fn before_deletion(&self, user: UserId) -> BoxFuture<'_, Result<DeletionCleanup, store::Error>> {
        async move {
            let authorization = self.builtin_servers.google_drive().take_authorisation(user).await?;
            let sign_ins = self.connections.take_sign_ins(user).await?;
            let app = self.clone();
            let cleanup = async move {
                app.runs.close_temporary_chats(user);
                let inner = app.clone();
                // In the background, because servers of others are called and may take long to answer.
                app.tasks.spawn("leave others", async move {
                    if let Err(error) = inner.connections.reconcile(user).await {
                        tracing::error!(%error, "connections of a deleted account could not be closed");
                    }
                    inner.builtin_servers.google_drive().revoke_authorisation(user, authorization).await;
                    inner.connections.revoke_sign_ins(user, sign_ins).await;
                });
            };
            Ok(cleanup.boxed())
        }
        .boxed()
    }
}
