//! Options of a tool call.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::elicitation::ElicitationHandler;
use crate::progress::ProgressReport;
use crate::suspended_call::ResumedCall;
use crate::tasks::Task;

/// Options of a tool call.
#[derive(Debug, Clone)]
pub struct CallOptions {
    /// Longest time without a message of the server; each progress report restarts it. Default 60 s.
    pub idle_timeout: Duration,
    /// Longest time in all. Default 10 minutes.
    pub total_timeout: Duration,
    /// Channel for progress. If it is full, reports are lost; the call never waits for it.
    pub on_progress: Option<mpsc::Sender<ProgressReport>>,
    /// Channel for the latest state of a call that runs as a task at the server, for callers that can
    /// [resume](crate::Connection::resume_task) it. With it, dropping the future leaves the task running; only
    /// [`cancel`](Self::cancel) stops it.
    pub on_task: Option<watch::Sender<Option<Task>>>,
    /// Longest time for a task, in place of the other two. Default 24 hours; a server may allow less.
    pub task_timeout: Duration,
    /// Handler of the server's elicitations. Needs a client
    /// [with elicitation](crate::Client::with_elicitation).
    pub elicitation_handler: Option<Arc<dyn ElicitationHandler>>,
    /// Collected input, if the server has answered the call with a request for input before.
    pub resume: Option<ResumedCall>,
    /// Cancels the call and informs the server.
    pub cancel: CancellationToken,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_mins(1),
            total_timeout: Duration::from_mins(10),
            on_progress: None,
            on_task: None,
            task_timeout: Duration::from_hours(24),
            elicitation_handler: None,
            resume: None,
            cancel: CancellationToken::new(),
        }
    }
}
