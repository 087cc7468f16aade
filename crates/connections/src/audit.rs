//! Entries of tool calls in the user's audit log.

use std::sync::Arc;

use domain::permission::AllowedBy;
use domain::tool::Outcome;
use domain::{Clock, UserId};
use platform::BackgroundTasks;
use storage::Storage;
use storage::permissions::AuditEntry;

use super::ConnectionService;

/// The audit entry of a tool call. It is stored when it is dropped, so that an abandoned call is listed too, with an
/// unknown outcome.
pub struct AuditedCall {
    storage: Storage,
    tasks: BackgroundTasks,
    owner: UserId,
    entry: AuditEntry,
    /// Whether the call continues after a shutdown of this process.
    is_resumable: bool,
}

impl AuditedCall {
    /// Creates the entry of a call that is about to be made, or was rejected.
    pub fn new(
        connections: &ConnectionService,
        owner: UserId,
        server_name: &str,
        tool: &str,
        allowed_by: AllowedBy,
    ) -> Self {
        let ConnectionService { storage, tasks, clock, .. } = connections;
        let clock: &Arc<dyn Clock> = clock;
        let entry = AuditEntry {
            id: domain::ids::fresh(),
            server_name: server_name.to_owned(),
            tool: tool.to_owned(),
            allowed_by,
            outcome: Outcome::Unknown,
            created_at: clock.now(),
        };
        Self { storage: storage.clone(), tasks: tasks.clone(), owner, entry, is_resumable: false }
    }

    /// Marks the call as one that continues after a shutdown. The process that completes it stores the entry.
    pub fn mark_resumable(&mut self) {
        self.is_resumable = true;
    }

    /// Stores the entry with the outcome of the call.
    pub fn finish(mut self, outcome: Outcome) {
        self.is_resumable = false;
        self.entry.outcome = outcome;
    }
}

impl Drop for AuditedCall {
    fn drop(&mut self) {
        if self.is_resumable && self.tasks.shutdown_token().is_cancelled() {
            return;
        }
        let (storage, owner, entry) = (self.storage.clone(), self.owner, self.entry.clone());
        self.tasks.spawn("audit", async move {
            if let Err(error) = storage.permissions().insert_audit(owner, &entry).await {
                tracing::error!(%error, "could not store an audit entry");
            }
        });
    }
}
