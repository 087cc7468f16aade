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

use super::asker::{Bound, CallAsker};
use super::call::{Caller, Ended};
use super::event::{ProgressData, RunEvent, TaskData};

/// Minimum interval between two events about one task.
const NEWS: Duration = Duration::from_secs(1);
/// Maximum number of events about one task. After that, clients only see its duration grow.
const MOST_NEWS: usize = 2_000;

/// Tool calls of a turn that are in progress, by their ids.
#[derive(Debug, Default)]
pub struct LiveCalls(Mutex<HashMap<String, Live>>);

#[derive(Debug)]
/// A tool call in progress.
struct Live {
    cancel: CancellationToken,
    /// Whether it runs as a task, so that it can be resumed after a restart.
    is_task: bool,
}

impl LiveCalls {
    /// Registers a call with the token that cancels it.
    fn enter(&self, id: &str, cancel: CancellationToken) {
        self.calls().insert(id.to_owned(), Live { cancel, is_task: false });
    }

    /// Deregisters a call that has ended.
    fn leave(&self, id: &str) {
        self.calls().remove(id);
    }

    /// Marks a call as running as a task.
    fn runs_as_task(&self, id: &str) {
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
    pub fn is_any_task(&self) -> bool {
        self.calls().values().any(|live| live.is_task)
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Live>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool call that is made, with the state that is stored as [`ToolTask`] to resume it.
pub struct Made<'a> {
    /// The call.
    pub record: &'a ToolCall,
    /// Connection of the tool.
    pub server: domain::ServerId,
    /// Address of the server when the call was made.
    pub url: &'a str,
    /// Permission or decision that allowed the call.
    pub by: AllowedBy,
    /// Start of the call.
    pub began: Timestamp,
}

impl Caller<'_> {
    /// Tracks a call while `make` runs it: publishes its progress, makes it cancellable, records it in the audit log,
    /// and stores it if it becomes a task.
    pub async fn attend<'c, C: Future<Output = CallOutcome>>(
        &'c self,
        made: Made<'c>,
        make: impl FnOnce(CallContext<'c>) -> C,
    ) -> Ended {
        let (turns, run, record) = (self.turns, self.run, made.record);
        let mut audited = AuditedCall::new(&turns.connections, run.owner, &record.server_name, &record.name, made.by);
        let cancel = run.stop.child_token();
        run.calls.enter(&record.id, cancel.clone());
        let on_progress = |progress: ProgressReport| {
            let data = ProgressData { progress: progress.progress, total: progress.total, message: progress.message };
            self.recorder.emit(&RunEvent::DataMcpProgress { id: record.id.clone(), data, transient: true });
        };
        let (sender, task) = watch::channel(None);
        let context =
            CallContext { on_progress: Box::new(on_progress), on_task: Some(sender), ..CallContext::new(cancel) };
        // Biased: a call that has ended must not lose its result to a report about its task.
        let end = tokio::select! {
            biased;
            end = make(context) => end,
            end = self.tell_of_task(&made, task, &mut audited) => end,
        };
        run.calls.leave(&record.id);
        audited.finish(end.outcome());
        Ended { end, duration_ms: turns.clock.now().millis_since(made.began), declined: false }
    }

    /// Resumes a call that ran as a task when the previous process stopped.
    pub async fn take_up(&self, row: &ToolTask, record: ToolCall) {
        let ended = match TaskProtocol::from_name(&row.form) {
            Some(form) => {
                let task = Task::from_stored(row.task.clone(), form, row.ttl_ms.map(Duration::from_millis));
                let (by, began) = (row.allowed_by, row.created_at);
                let made = Made { record: &record, server: row.server, url: &row.url, by, began };
                let running = RunningTask { server: row.server, url: &row.url, task, started_at: began };
                let bound = Bound::of_task(row, &record.name);
                let asker = CallAsker::new(self.turns, self.recorder, &record, bound, Vec::new());
                self.attend(made, |context| {
                    let context = CallContext { interactions: Some(Arc::new(asker)), ..context };
                    self.turns.connections.resume_task(self.run.owner, running, context)
                })
                .await
            }
            // Stored by another version with an unknown protocol.
            None => return self.give_up(record).await,
        };
        self.tell(record, ended).await;
    }

    /// Stores that a call runs as a task, and publishes the task's status. Never returns.
    async fn tell_of_task(
        &self,
        made: &Made<'_>,
        mut known: watch::Receiver<Option<Task>>,
        audited: &mut AuditedCall,
    ) -> CallOutcome {
        for number in 0..MOST_NEWS {
            let Ok(()) = known.changed().await else { break };
            let Some(task) = known.borrow_and_update().clone() else { continue };
            let data = TaskData {
                started_at: made.began,
                asks: task.status == TaskStatus::InputRequired,
                message: task.message.clone(),
            };
            let event = RunEvent::DataMcpTask { id: made.record.id.clone(), data, transient: number > 0 };
            if number == 0 && self.write_down(made, &task).await {
                self.run.calls.runs_as_task(&made.record.id);
                audited.mark_resumable();
                // The result does not matter here: the task continues at its server either way, and subscribers see
                // it.
                let _ = self.recorder.emit_durably(&event).await;
            } else {
                self.recorder.emit(&event);
            }
            // Throttled. The channel holds only the newest status, so intermediate ones are skipped.
            tokio::time::sleep(NEWS).await;
        }
        std::future::pending().await
    }

    /// Stores a task so that it can be resumed after a restart. Returns whether that succeeded.
    async fn write_down(&self, made: &Made<'_>, task: &Task) -> bool {
        let row = ToolTask {
            tool_call: made.record.id.clone(),
            server: made.server,
            url: made.url.to_owned(),
            allowed_by: made.by,
            task: task.id.clone(),
            form: task.protocol.as_str().to_owned(),
            ttl_ms: task.ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)),
            created_at: made.began,
        };
        let written = self.run.home.tool_tasks().insert(self.run.owner, self.run.id, &row).await;
        if let Err(error) = &written {
            tracing::error!(%error, run = %self.run.id, "a task could not be written down");
        }
        written.is_ok()
    }
}
