//! Messages that a person sends while an answer is being written: the turn that ends well begins the next.

use std::pin::Pin;
use std::sync::Arc;

use domain::{ChatId, QueuedId, UserId};
use store::queue::QueuedMessage;
use store::runs::Order;

use super::{BeginError, Place, Question, Run, Runs};
use crate::app::App;
use crate::events::Event;
use crate::tools::Selection;

/// Why a message did not get into the queue.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The chat is not there, or not the caller's.
    #[error("session not found")]
    NoChat,
    /// Too many wait already.
    #[error("too many messages wait in this chat, or in all your chats; remove some, or wait until they are sent")]
    Full,
    /// The database.
    #[error(transparent)]
    Store(store::Error),
}

/// Begins the turn of what waits first in a chat. Boxed: the end of a turn begins the next.
pub fn next_turn(app: App, owner: UserId, chat: ChatId) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move { app.runs.send_next(&app, owner, chat).await })
}

impl Runs {
    /// Puts a message into the queue of a chat. Where nothing is being written and nothing else waits, its turn begins.
    pub async fn queue(
        &self,
        app: &App,
        owner: UserId,
        chat: ChatId,
        message: QueuedMessage,
    ) -> Result<(), QueueError> {
        let most = self.limits.queued_per_user;
        let store = app.home(owner, chat);
        store.insert_queued(owner, chat, &message, most, app.clock.now()).await.map_err(|error| match error {
            store::Error::NotFound => QueueError::NoChat,
            store::Error::Conflict(_) => QueueError::Full,
            other => QueueError::Store(other),
        })?;
        app.events.publish(owner, &Event::Queue { session_id: chat });
        // A turn that ends from here on finds the message itself. If none is running, the message is sent now, unless
        // earlier ones wait: those were held back by a turn that was stopped or failed. The queue is read after the
        // message is in it, because an earlier message can be removed in the same moment.
        if self.get(owner, chat).is_none() {
            let queued = store.list_queued(owner, chat).await.map_err(QueueError::Store)?;
            if queued.first().is_some_and(|first| first.id == message.id) {
                self.send_next(app, owner, chat).await;
            }
        }
        Ok(())
    }

    /// Sends a message that waits before all others, and ends what is being written. Says whether it still waited.
    pub async fn send_now(&self, app: &App, owner: UserId, chat: ChatId, id: QueuedId) -> Result<bool, store::Error> {
        if !app.home(owner, chat).put_queued_first(owner, chat, id).await? {
            return Ok(false);
        }
        app.events.publish(owner, &Event::Queue { session_id: chat });
        match self.get(owner, chat) {
            Some(run) => run.give_way(),
            // The node that drives it begins the next turn, too.
            None if app.store.is_shared() && app.store.order(owner, chat, &Order::GiveWay).await? => {}
            None => self.send_next(app, owner, chat).await,
        }
        Ok(true)
    }

    /// Begins the turn of the message that waits first, if one does. What cannot begin goes on waiting.
    pub async fn send_next(&self, app: &App, owner: UserId, chat: ChatId) {
        loop {
            let next = match app.home(owner, chat).list_queued(owner, chat).await {
                Ok(waiting) => waiting.into_iter().next(),
                Err(error) => {
                    tracing::error!(%error, "what waits in a chat could not be read");
                    return;
                }
            };
            let Some(next) = next else { return };
            match self.begin_queued(app, owner, chat, next).await {
                Ok(_) => {
                    app.events.publish(owner, &Event::Queue { session_id: chat });
                    return;
                }
                // It was removed or reworded meanwhile.
                Err(BeginError::NoMessage) => {}
                Err(error) => {
                    tracing::info!(%error, "a message that waits could not be sent yet");
                    // What hinders it is told with what waits.
                    app.events.publish(owner, &Event::Queue { session_id: chat });
                    return;
                }
            }
        }
    }

    async fn begin_queued(
        &self,
        app: &App,
        owner: UserId,
        chat: ChatId,
        next: QueuedMessage,
    ) -> Result<Arc<Run>, BeginError> {
        let servers = app.store.list_servers(owner).await.map_err(BeginError::Store)?;
        let question = Question {
            chat,
            message: Some(next.content),
            message_id: None,
            place: Place::End,
            tools: Selection::restore(&next.tools, &servers),
            parts: next.parts,
            queued: Some(next.id),
        };
        self.begin(app, owner, question).await
    }
}
