//! What a tool call reports to its caller, and what it may ask the user.

use std::sync::Arc;

use domain::tool::ToolResult;
use mcp::{CallError, CallOptions, ElicitationHandler, ProgressReport, ResumedCall, Task};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::InteractionHandler;

/// Maximum number of progress reports that wait to be handled.
const MAX_WAITING_REPORTS: usize = 16;

/// Context of a tool call.
pub struct CallContext<'a> {
    /// Handles progress reports.
    pub on_progress: Box<dyn FnMut(ProgressReport) + Send + 'a>,
    /// Receives the task that the call runs as at its server, if the caller can resume it. Without a receiver, the task
    /// ends with the call.
    pub on_task: Option<watch::Sender<Option<Task>>>,
    /// Handles interactions. Without a handler, a call that needs one fails.
    pub interactions: Option<Arc<dyn InteractionHandler>>,
    /// State to resume from, if the server has requested an elicitation before.
    pub resume: Option<ResumedCall>,
    /// Cancels the call.
    pub cancel: CancellationToken,
}

impl CallContext<'_> {
    /// Creates the context of a caller that only waits for the outcome.
    pub fn new(cancel: CancellationToken) -> Self {
        Self { on_progress: Box::new(|_| {}), on_task: None, interactions: None, resume: None, cancel }
    }

    /// Runs a call with the options of this context, and handles its progress reports.
    pub(crate) async fn run<C>(&mut self, call: impl FnOnce(CallOptions) -> C) -> Result<ToolResult, CallError>
    where
        C: Future<Output = Result<ToolResult, CallError>>,
    {
        let (sender, mut reports) = mpsc::channel(MAX_WAITING_REPORTS);
        let options = CallOptions {
            on_progress: Some(sender),
            on_task: self.on_task.clone(),
            elicitation_handler: self.interactions.clone().map(|handler| handler as Arc<dyn ElicitationHandler>),
            cancel: self.cancel.child_token(),
            ..CallOptions::default()
        };
        let mut call = std::pin::pin!(call(options));
        loop {
            // The result first: reports that still wait when it arrives are of no interest any more.
            tokio::select! {
                biased;
                result = &mut call => return result,
                Some(progress) = reports.recv() => (self.on_progress)(progress),
            }
        }
    }

    /// Returns the task that the call runs as at its server, if it does.
    pub(crate) fn task(&self) -> Option<Task> {
        self.on_task.as_ref().and_then(|task| task.borrow().clone())
    }
}
