//! Queue of messages to the other nodes. While one notification is being sent, further messages wait and share the next
//! one.
//!
//! Messages are sent after the transactions they are about, not inside them: PostgreSQL serializes the commits of
//! transactions that notify, each with its wait for the disk.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::RunId;

use crate::db_macros::on_connection;
use crate::{Db, Store, news};

/// Minimum interval between two notifications. A single message is sent without delay; the interval only bounds the
/// load of many.
const PAUSE: Duration = Duration::from_millis(25);
/// Maximum number of waiting messages, not counting those about turns.
const MAX_WAITING_MESSAGES: usize = 4_096;

/// The messages that wait to be sent, shared by all clones of a [`Store`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    /// Turns with new events. A set, so that a turn with many events is named once.
    runs: BTreeSet<RunId>,
    /// All other messages, ready to send.
    others: Vec<String>,
    /// Whether a task is sending.
    is_served: bool,
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Takes all waiting messages.
    fn take(&mut self) -> Vec<String> {
        let mut payloads = std::mem::take(&mut self.others);
        payloads.extend(news::of_runs(&std::mem::take(&mut self.runs)));
        payloads
    }
}

impl Store {
    /// Tells the other nodes that these turns have new events.
    pub(crate) fn tell_of_runs(&self, runs: impl IntoIterator<Item = RunId>) {
        self.tell(|waiting| waiting.runs.extend(runs));
    }

    /// Queues a message of one line for the other nodes. Returns whether it was queued: `false` if too many are
    /// waiting.
    #[must_use]
    pub(crate) fn tell_payload(&self, payload: String) -> bool {
        let mut has_room = true;
        self.tell(|waiting| {
            has_room = waiting.others.len() < MAX_WAITING_MESSAGES;
            if has_room {
                waiting.others.push(payload);
            }
        });
        has_room
    }

    fn tell(&self, put: impl FnOnce(&mut Waiting)) {
        if !self.is_shared() {
            return;
        }
        let is_served = {
            let mut waiting = self.outbox.waiting();
            put(&mut waiting);
            std::mem::replace(&mut waiting.is_served, true)
        };
        // Only the caller that finds no sender starts one. The flag changes under the same lock as the queue.
        if !is_served {
            let service = Service { store: self.clone(), has_ended: false };
            #[expect(clippy::disallowed_methods, reason = "it ends as soon as nothing waits, and nobody waits for it")]
            drop(tokio::spawn(service.run()));
        }
    }
}

/// The task that sends waiting messages until there are none.
struct Service {
    store: Store,
    has_ended: bool,
}

impl Drop for Service {
    fn drop(&mut self) {
        // The runtime may end before the task does. The next message then starts a new task.
        if !self.has_ended {
            self.store.outbox.waiting().is_served = false;
        }
    }
}

impl Service {
    async fn run(mut self) {
        while let Some(payloads) = self.next() {
            let Db::Postgres(connections) = &self.store.db else { return };
            let all = payloads.join("\n");
            let telling = on_connection!(connections, |c| sqlx::query(news::NOTIFY_ALL).bind(&all).execute(c).await);
            // A failure is ignored: the other nodes find out by polling.
            drop(self.store.availability.guard(telling).await);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Takes the waiting messages. If there are none, marks the queue as unattended, in the same critical section, so
    /// that no new message is missed.
    fn next(&mut self) -> Option<Vec<String>> {
        let mut waiting = self.store.outbox.waiting();
        let payloads = waiting.take();
        self.has_ended = payloads.is_empty();
        waiting.is_served = !self.has_ended;
        (!self.has_ended).then_some(payloads)
    }
}
