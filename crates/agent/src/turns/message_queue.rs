//! Queued messages: a user can send messages while an answer is being written, and a turn that ends well begins the
//! next.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::{ChatId, QueuedId, UserId};
use storage::queue::QueuedMessage;
use storage::turns::TurnCommand;

use super::{BeginError, Turn, TurnPosition, TurnRequest, TurnService};
use crate::tool_selection::ToolSelection;
use platform::UserEvent;

/// Pause between attempts to begin the turn of a queued message.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Reason for which a message could not be queued.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The chat does not exist or belongs to another user.
    #[error("session not found")]
    NoChat,
    /// The limit of queued messages is reached.
    #[error("too many messages are queued in this chat or in all your chats; remove some or wait until they are sent")]
    Full,
    /// The database failed.
    #[error(transparent)]
    Storage(storage::Error),
}

/// Begins the turn of the first queued message of a chat, of any message or only of `due`, and retries while the database
/// is unavailable. The future is boxed because the end of a turn begins the next, which would make its type infinite.
pub fn begin_next_turn(
    turns: TurnService,
    owner: UserId,
    chat: ChatId,
    due: Option<QueuedId>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let mut is_logged = false;
        while let Err(error) = turns.send_first(owner, chat, due).await {
            if !error.is_outage() {
                tracing::error!(%error, "the message queue could not be read");
                return;
            }
            if !std::mem::replace(&mut is_logged, true) {
                tracing::warn!(session_id = %chat, %error, "the message queue could not be read; retrying");
            }
            let pause = tokio::time::sleep(RETRY_INTERVAL);
            if turns.tasks.shutdown_token().run_until_cancelled(pause).await.is_none() {
                return;
            }
        }
    })
}

impl TurnService {
    /// Queues a message in a chat. If no turn is in progress and no other message waits, its turn begins at once.
    ///
    /// # Errors
    ///
    /// See [`QueueError`].
    pub async fn queue_message(&self, owner: UserId, chat: ChatId, message: QueuedMessage) -> Result<(), QueueError> {
        let most = self.limits.queued_per_user;
        let inserted = self
            .temporary
            .store_for(owner, chat)
            .queued_messages()
            .insert(owner, chat, &message, most, self.clock.now())
            .await;
        inserted.map_err(|error| match error {
            storage::Error::NotFound => QueueError::NoChat,
            storage::Error::Conflict(_) => QueueError::Full,
            other => QueueError::Storage(other),
        })?;
        self.events.publish(owner, &UserEvent::Queue { session_id: chat });
        // A turn that ends from here on finds the message itself. If none is running, the message is sent now, unless
        // earlier ones wait: those were held back by a turn that was stopped or failed. The queue is read after the
        // message is in it, because an earlier message can be removed in the same moment.
        if self.find(owner, chat).is_none() && self.send_first(owner, chat, Some(message.id)).await.is_err() {
            // The message is stored: the caller does not wait for the database.
            self.tasks.spawn("queue", begin_next_turn(self.clone(), owner, chat, Some(message.id)));
        }
        Ok(())
    }

    /// Sends a queued message before all others, and stops the turn in progress for it. Returns whether the message
    /// was still in the queue.
    pub async fn send_now(&self, owner: UserId, chat: ChatId, id: QueuedId) -> Result<bool, storage::Error> {
        if !self.temporary.store_for(owner, chat).queued_messages().put_first(owner, chat, id).await? {
            return Ok(false);
        }
        self.events.publish(owner, &UserEvent::Queue { session_id: chat });
        match self.find(owner, chat) {
            Some(turn) => turn.preempt(),
            // The node that runs the turn begins the next one as well.
            None if self.storage.is_shared()
                && self.storage.turns().send_command(owner, chat, &TurnCommand::Preempt).await? => {}
            None => self.send_first(owner, chat, None).await?,
        }
        Ok(true)
    }

    /// Begins the turn of the first queued message, if there is one and it is `due`, or any is. A message whose turn cannot
    /// begin stays queued.
    ///
    /// # Errors
    ///
    /// The queue cannot be read, or the database is unavailable.
    async fn send_first(&self, owner: UserId, chat: ChatId, due: Option<QueuedId>) -> Result<(), storage::Error> {
        loop {
            let waiting = self.temporary.store_for(owner, chat).queued_messages().list(owner, chat).await?;
            let is_due = |first: &QueuedMessage| due.is_none_or(|due| first.id == due);
            let Some(next) = waiting.into_iter().next().filter(is_due) else { return Ok(()) };
            match self.begin_queued(owner, chat, next).await {
                Ok(_) => {
                    self.events.publish(owner, &UserEvent::Queue { session_id: chat });
                    return Ok(());
                }
                // The message was removed or edited meanwhile.
                Err(BeginError::NoMessage) => {}
                Err(BeginError::Storage(error)) if error.is_outage() => return Err(error),
                Err(error) => {
                    tracing::info!(%error, "a queued message could not be sent yet");
                    // Clients read the reason together with the queue.
                    self.events.publish(owner, &UserEvent::Queue { session_id: chat });
                    return Ok(());
                }
            }
        }
    }

    /// Begins the turn of a queued message, with the tools that were selected when it was queued.
    async fn begin_queued(&self, owner: UserId, chat: ChatId, next: QueuedMessage) -> Result<Arc<Turn>, BeginError> {
        let servers = self.storage.connections().list(owner).await.map_err(BeginError::Storage)?;
        let request = TurnRequest {
            chat,
            message: Some(next.content),
            message_id: None,
            position: TurnPosition::End,
            tools: ToolSelection::restore(&next.tools, &servers),
            parts: next.parts,
            model: None,
            queued: Some(next.id),
        };
        self.begin(owner, request).await
    }
}
