//! What this process tells the others, gathered: while one notification is on its way, what comes waits for the next.
//!
//! It is told behind the transactions that it speaks of, and not in them: PostgreSQL commits those that notify one after
//! the other, each with its wait for the disk.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::RunId;

use crate::dispatch::lent;
use crate::{Db, Store, news};

/// Between two notifications. One that comes alone does not wait; of a crowd's, none can see so little.
const PAUSE: Duration = Duration::from_millis(25);
/// Maximum number of messages, beside those about runs, that wait to be sent.
const MAX_WAITING_MESSAGES: usize = 4_096;

/// What waits to be told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    /// Those that said something.
    runs: BTreeSet<RunId>,
    /// Everything else, as it is told.
    others: Vec<String>,
    /// Somebody tells it.
    is_served: bool,
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// One notification after the other.
    fn take(&mut self) -> Vec<String> {
        let mut payloads = std::mem::take(&mut self.others);
        payloads.extend(news::of_runs(&std::mem::take(&mut self.runs)));
        payloads
    }
}

impl Store {
    /// Tells the other processes that these runs said something.
    pub(crate) fn tell_of_runs(&self, runs: impl IntoIterator<Item = RunId>) {
        self.tell(|waiting| waiting.runs.extend(runs));
    }

    /// Sends the other processes one line. Returns whether it waits to be sent: `false` when too many do.
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
        if !is_served {
            let service = Service { store: self.clone(), has_ended: false };
            #[expect(clippy::disallowed_methods, reason = "it ends as soon as nothing waits, and nobody waits for it")]
            drop(tokio::spawn(service.run()));
        }
    }
}

/// Tells what waits for as long as something does.
struct Service {
    store: Store,
    has_ended: bool,
}

impl Drop for Service {
    fn drop(&mut self) {
        // The runtime may end first. Whoever comes then begins anew.
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
            let telling = lent!(connections, |c| sqlx::query(news::NOTIFY_ALL).bind(&all).execute(c).await);
            // What could not be told the others find out by themselves.
            drop(self.store.presence.attend(telling).await);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// What waits; when there is nothing, nobody tells it any more.
    fn next(&mut self) -> Option<Vec<String>> {
        let mut waiting = self.store.outbox.waiting();
        let payloads = waiting.take();
        self.has_ended = payloads.is_empty();
        waiting.is_served = !self.has_ended;
        (!self.has_ended).then_some(payloads)
    }
}
