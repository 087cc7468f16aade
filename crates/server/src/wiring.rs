//! Adapters between services: implementations of the traits by which lower crates call services above them.

use std::time::Duration;

use accounts::deletion::{AccountDeletionHandler, DeletionCleanup};
use accounts::{AccountService, Audience};
use agent::turns::TurnService;
use builtin_servers::{BuiltinServers, GoogleDrive, google_drive};
use connections::{ConnectionService, FallbackTools, TokenIssuer};
use domain::tool::{ToolDefinition, ToolResult};
use domain::{ChatId, ServerId, TurnId, UserId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use platform::{BackgroundTasks, ClusterHandler};
use serde_json::{Map, Value};
use storage::turns::UnfinishedTurn;

/// Issues the tokens with which connections call the built-in MCP servers.
#[derive(Debug)]
pub struct McpTokenIssuer(pub AccountService);

impl TokenIssuer for McpTokenIssuer {
    fn issue_token(&self, user: UserId, lifetime: Duration) -> Option<String> {
        self.0.issue_internal(user, Audience::Mcp, lifetime).ok()
    }
}

/// The Google Drive tools as [`FallbackTools`] of a server without tools.
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

/// The reactions of turns and connections to messages and losses of the cluster.
#[derive(Debug)]
pub struct ClusterEvents {
    pub turns: TurnService,
    pub connections: ConnectionService,
}

impl ClusterHandler for ClusterEvents {
    fn abandon_turns(&self) {
        self.turns.abandon_all();
    }

    fn take_over<'a>(&'a self, turn: &'a UnfinishedTurn) -> BoxFuture<'a, Result<(), storage::Error>> {
        Box::pin(self.turns.take_over(turn))
    }

    fn release_lost_turns(&self) -> BoxFuture<'_, Result<(), storage::Error>> {
        Box::pin(self.turns.release_lost())
    }

    fn follow_commands(&self) -> BoxFuture<'_, Result<(), storage::Error>> {
        Box::pin(self.turns.execute_commands())
    }

    fn wake_follower(&self, turn: TurnId) {
        self.turns.wake(turn);
    }

    fn wake_all_followers(&self) {
        self.turns.wake_all();
    }

    fn chat_deleted(&self, user: UserId, chat: ChatId) {
        self.turns.stop_here(user, chat);
    }

    fn signed_in(&self, user: UserId, server: ServerId) {
        self.connections.handle_remote_sign_in(user, server);
    }
}

/// The cleanup of an account in the other services: turns, connections, and access that the user granted elsewhere.
#[derive(Debug, Clone)]
pub struct AccountCleanup {
    pub turns: TurnService,
    pub connections: ConnectionService,
    pub builtin_servers: BuiltinServers,
    pub tasks: BackgroundTasks,
}

impl AccountDeletionHandler for AccountCleanup {
    fn stop_turns(&self, user: UserId) -> BoxFuture<'_, ()> {
        self.turns.stop_all(user).boxed()
    }

    fn before_deletion(&self, user: UserId) -> BoxFuture<'_, Result<DeletionCleanup, storage::Error>> {
        async move {
            let authorization = self.builtin_servers.google_drive().take_authorisation(user).await?;
            let sign_ins = self.connections.take_sign_ins(user).await?;
            let services = self.clone();
            let cleanup = async move {
                services.turns.close_temporary_chats(user);
                let inner = services.clone();
                // In the background, because servers of others are called and may take long to answer.
                services.tasks.spawn("leave others", async move {
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
