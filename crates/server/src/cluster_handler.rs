//! Reactions of turns and connections to the other nodes.

use domain::{ChatId, RunId, ServerId, UserId};
use futures_util::future::BoxFuture;
use platform::ClusterHandler;
use store::runs::UnfinishedRun;

use crate::app::App;
use crate::runs::Runs;

/// [`ClusterHandler`] of the application.
pub struct AppClusterHandler(pub App);

impl ClusterHandler for AppClusterHandler {
    fn abandon_turns(&self) {
        self.0.runs.lose_all();
    }

    fn take_over<'a>(&'a self, turn: &'a UnfinishedRun) -> BoxFuture<'a, Result<(), store::Error>> {
        Box::pin(Runs::take_over(&self.0, turn))
    }

    fn follow_commands(&self) -> BoxFuture<'_, Result<(), store::Error>> {
        Box::pin(self.0.runs.follow_orders(&self.0))
    }

    fn wake_follower(&self, turn: RunId) {
        self.0.runs.wake(turn);
    }

    fn wake_all_followers(&self) {
        self.0.runs.wake_all();
    }

    fn chat_deleted(&self, user: UserId, chat: ChatId) {
        self.0.runs.end_here(user, chat);
    }

    fn signed_in(&self, user: UserId, server: ServerId) {
        self.0.connections.handle_remote_sign_in(user, server);
    }
}
