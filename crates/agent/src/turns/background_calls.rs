//! Tool calls in progress: each can be cancelled separately, and those that run as tasks at their servers survive a
//! restart.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use connections::{AuditedCall, CallContext, CallOutcome, RunningTask};
use domain::Timestamp;
use domain::permission::AllowedBy;
use domain::tool::ToolCall;
use mcp::{ProgressReport, Task, TaskProtocol, TaskStatus};
use storage::tool_tasks::ToolTask;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::elicitation_handler::{ToolFingerprint, TurnInteractionHandler};
use super::event::{ProgressData, TaskData, TurnEvent};
use super::tool_call::{FinishedCall, ToolRunner};

/// Minimum interval between two events about one task.
const TASK_EVENT_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of events about one task. After that, clients only see its duration grow.
const MAX_TASK_EVENTS: usize = 2_000;

/// Tool calls of a turn that are in progress, by their ids.
#[derive(Debug, Default)]
pub struct ActiveCalls(Mutex<HashMap<String, ActiveCall>>);

#[derive(Debug)]
/// A tool call in progress.
struct ActiveCall {
    cancel: CancellationToken,
    /// Whether it runs as a task, so that it can be resumed after a restart.
    is_task: bool,
}

impl ActiveCalls {
    /// Registers a call with the token that cancels it.
    fn insert(&self, id: &str, cancel: CancellationToken) {
        self.calls().insert(id.to_owned(), ActiveCall { cancel, is_task: false });
    }

    /// Deregisters a call that has finished.
    fn remove(&self, id: &str) {
        self.calls().remove(id);
    }

    /// Marks a call as running as a task.
    fn mark_as_task(&self, id: &str) {
        if let Some(live) = self.calls().get_mut(id) {
            live.is_task = true;
        }
    }

    /// Cancels one call. Returns whether it was in progress.
    pub fn cancel(&self, id: &str) -> bool {
        let calls = self.calls();
        let live = calls.get(id);
        if let Some(live) = live {
            live.cancel.cancel();
        }
        live.is_some()
    }

    /// Returns whether a call runs as a task.
    pub fn has_task(&self) -> bool {
        self.calls().values().any(|live| live.is_task)
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, ActiveCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool call that is tracked, with the state that is stored as [`ToolTask`] to resume it.
pub struct TrackedCall<'a> {
    /// The call.
    pub record: &'a ToolCall,
    /// Connection of the tool.
    pub server: domain::ServerId,
    /// Address of the server when the call was tracked.
    pub url: &'a str,
    /// Permission or decision that allowed the call.
    pub allowed_by: AllowedBy,
    /// Start of the call.
    pub started_at: Timestamp,
}

impl ToolRunner<'_> {
    /// Tracks a call while `make` runs it: publishes its progress, makes it cancellable, records it in the audit log,
    /// and stores it if it becomes a task.
    pub async fn track_call<'c, C: Future<Output = CallOutcome>>(
        &'c self,
        tracked: TrackedCall<'c>,
        make: impl FnOnce(CallContext<'c>) -> C,
    ) -> FinishedCall {
        let (turns, turn, record) = (self.turns, self.turn, tracked.record);
        let mut audited =
            AuditedCall::new(&turns.connections, turn.owner, &record.server_name, &record.name, tracked.allowed_by);
        let cancel = turn.stop.child_token();
        turn.calls.insert(&record.id, cancel.clone());
        let on_progress = |progress: ProgressReport| {
            let data = ProgressData { progress: progress.progress, total: progress.total, message: progress.message };
            self.recorder.emit(&TurnEvent::DataMcpProgress { id: record.id.clone(), data, transient: true });
        };
        let (sender, task) = watch::channel(None);
        let context =
            CallContext { on_progress: Box::new(on_progress), on_task: Some(sender), ..CallContext::new(cancel) };
        // Biased: a call that has finished must not lose its result to a report about its task.
        let end = tokio::select! {
            biased;
            end = make(context) => end,
            end = self.follow_task(&tracked, task, &mut audited) => end,
        };
        // If this future is dropped instead, the call stays in the list until the turn's end; `AuditedCall` then
        // records it as unknown.
        turn.calls.remove(&record.id);
        audited.finish(end.outcome());
        FinishedCall {
            outcome: end,
            duration_ms: turns.clock.now().millis_since(tracked.started_at),
            is_declined: false,
        }
    }

    /// Resumes a call that ran as a task when the previous process stopped.
    pub async fn resume_task_call(&self, row: &ToolTask, record: ToolCall) {
        let finished = match TaskProtocol::from_name(&row.form) {
            Some(form) => {
                let task = Task::from_stored(row.task.clone(), form, row.ttl_ms.map(Duration::from_millis));
                let (allowed_by, started_at) = (row.allowed_by, row.created_at);
                let tracked =
                    TrackedCall { record: &record, server: row.server, url: &row.url, allowed_by, started_at };
                let running = RunningTask { server: row.server, url: &row.url, task, started_at };
                let fingerprint = ToolFingerprint::of_task(row, &record.name);
                let handler = TurnInteractionHandler::new(self.turns, self.recorder, &record, fingerprint, Vec::new());
                self.track_call(tracked, |context| {
                    let context = CallContext { interactions: Some(Arc::new(handler)), ..context };
                    self.turns.connections.resume_task(self.turn.owner, &record, running, context)
                })
                .await
            }
            // Stored by another version with an unknown protocol.
            None => return self.mark_unknown(record).await,
        };
        self.finish_call(record, finished).await;
    }

    /// Stores that a call runs as a task, and publishes the task's status. Never returns.
    async fn follow_task(
        &self,
        tracked: &TrackedCall<'_>,
        mut known: watch::Receiver<Option<Task>>,
        audited: &mut AuditedCall,
    ) -> CallOutcome {
        for number in 0..MAX_TASK_EVENTS {
            let Ok(()) = known.changed().await else { break };
            let Some(task) = known.borrow_and_update().clone() else { continue };
            let data = TaskData {
                started_at: tracked.started_at,
                asks: task.status == TaskStatus::InputRequired,
                message: task.message.clone(),
            };
            let event = TurnEvent::DataMcpTask { id: tracked.record.id.clone(), data, transient: number > 0 };
            // Marked only after it is stored: a turn is detached at shutdown only if the next process can resume the
            // task.
            if number == 0 && self.store_task(tracked, &task).await {
                self.turn.calls.mark_as_task(&tracked.record.id);
                audited.mark_resumable();
                // The result does not matter here: the task continues at its server either way, and subscribers see
                // it.
                let _ = self.recorder.emit_synced(&event).await;
            } else {
                self.recorder.emit(&event);
            }
            // Throttled. The channel holds only the newest status, so intermediate ones are skipped.
            tokio::time::sleep(TASK_EVENT_INTERVAL).await;
        }
        std::future::pending().await
    }

    /// Stores a task so that it can be resumed after a restart. Returns whether that succeeded.
    async fn store_task(&self, tracked: &TrackedCall<'_>, task: &Task) -> bool {
        let row = ToolTask {
            tool_call: tracked.record.id.clone(),
            server: tracked.server,
            url: tracked.url.to_owned(),
            allowed_by: tracked.allowed_by,
            task: task.id.clone(),
            form: task.protocol.as_str().to_owned(),
            ttl_ms: task.ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)),
            created_at: tracked.started_at,
        };
        let written = self.turn.storage.tool_tasks().insert(self.turn.owner, self.turn.id, &row).await;
        if let Err(error) = &written {
            tracing::error!(%error, turn_id = %self.turn.id, "a task could not be stored");
        }
        written.is_ok()
    }
}
