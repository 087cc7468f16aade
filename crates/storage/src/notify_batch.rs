//! Queue of messages to the other nodes. While one notification is being sent, further messages wait and share the next
//! one.
//!
//! Messages are sent after the transactions they are about, not inside them: PostgreSQL serializes the commits of
//! transactions that notify, each with its wait for the disk.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::TurnId;

use crate::db_macros::on_connection;
use crate::{Db, Storage, notify};

/// Minimum interval between two notifications. A single message is sent without delay; the interval only bounds the
/// load of many.
const BATCH_INTERVAL: Duration = Duration::from_millis(25);
/// Maximum number of waiting messages, not counting those about turns.
const MAX_WAITING_MESSAGES: usize = 4_096;

/// The messages that wait to be sent, shared by all clones of a [`Storage`].
#[derive(Debug, Clone, Default)]
pub(crate) struct NotifyBatch(Arc<Mutex<WaitingMessages>>);

#[derive(Debug, Default)]
struct WaitingMessages {
    /// Turns with new events. A set, so that a turn with many events is named once.
    turns: BTreeSet<TurnId>,
    /// All other messages, ready to send.
    others: Vec<String>,
    /// Whether a task is sending.
    is_being_sent: bool,
}

impl NotifyBatch {
    fn waiting(&self) -> MutexGuard<'_, WaitingMessages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingMessages {
    /// Takes all waiting messages.
    fn take(&mut self) -> Vec<String> {
        let mut payloads = std::mem::take(&mut self.others);
        payloads.extend(notify::turn_messages(&std::mem::take(&mut self.turns)));
        payloads
    }
}

impl Storage {
    /// Tells the other nodes that these turns have new events.
    pub(crate) fn notify_of_turns(&self, turns: impl IntoIterator<Item = TurnId>) {
        self.add_to_batch(|waiting| waiting.turns.extend(turns));
    }

    /// Queues a message of one line for the other nodes. Returns whether it was queued: `false` if too many are
    /// waiting.
    #[must_use]
    pub(crate) fn queue_message(&self, payload: String) -> bool {
        let mut has_room = true;
        self.add_to_batch(|waiting| {
            has_room = waiting.others.len() < MAX_WAITING_MESSAGES;
            if has_room {
                waiting.others.push(payload);
            }
        });
        has_room
    }

    fn add_to_batch(&self, put: impl FnOnce(&mut WaitingMessages)) {
        if !self.is_shared() {
            return;
        }
        let is_being_sent = {
            let mut waiting = self.notify_batch.waiting();
            put(&mut waiting);
            std::mem::replace(&mut waiting.is_being_sent, true)
        };
        // Only the caller that finds no sender starts one. The flag changes under the same lock as the queue.
        if !is_being_sent {
            let sender = BatchSender { storage: self.clone(), has_ended: false };
            #[expect(clippy::disallowed_methods, reason = "it ends as soon as nothing waits, and nobody waits for it")]
            drop(tokio::spawn(sender.run()));
        }
    }
}

/// The task that sends waiting messages until there are none.
struct BatchSender {
    storage: Storage,
    has_ended: bool,
}

impl Drop for BatchSender {
    fn drop(&mut self) {
        // The runtime may end before the task does. The next message then starts a new task.
        if !self.has_ended {
            self.storage.notify_batch.waiting().is_being_sent = false;
        }
    }
}

impl BatchSender {
    async fn run(mut self) {
        while let Some(payloads) = self.next() {
            let Db::Postgres(connections) = &self.storage.db else { return };
            let all = payloads.join("\n");
            let notifying =
                on_connection!(connections, |c| sqlx::query(notify::NOTIFY_ALL_SQL).bind(&all).execute(c).await);
            // A failure is ignored: the other nodes find out by polling.
            drop(self.storage.availability.guard(notifying).await);
            // After the notification, so that a single message is not delayed.
            tokio::time::sleep(BATCH_INTERVAL).await;
        }
    }

    /// Takes the waiting messages. If there are none, marks the queue as unattended, in the same critical section, so
    /// that no new message is missed.
    fn next(&mut self) -> Option<Vec<String>> {
        let mut waiting = self.storage.notify_batch.waiting();
        let payloads = waiting.take();
        self.has_ended = payloads.is_empty();
        waiting.is_being_sent = !self.has_ended;
        (!self.has_ended).then_some(payloads)
    }
}
