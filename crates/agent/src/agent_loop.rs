//! The agent loop: model → tool calls → model, until the model ends its answer.
//!
//! A turn of a chat and a request of the OpenAI-compatible API run the same [`Agent`]. They differ in what becomes of
//! the model's output, an [`EventSink`], and in how tool calls are made, a [`ToolExecutor`].

mod context_trimming;
mod step_output;
mod tool_executor;

use std::sync::Arc;

use domain::SPAN_TARGET;
use domain::model::{FinishReason, ModelError, ModelEvent, ModelMessage, Request, Usage};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::models::usage_recording::UsageTracker;
use crate::models::{ModelId, ModelService};
use context_trimming::MAX_TRIMS;

pub use step_output::{OpenPart, StepCollector, StepOutput};
pub use tool_executor::{ResolvedCall, ToolExecutionError, ToolExecutor, resolve};

/// Maximum number of model calls in one answer.
pub const MAX_STEPS: usize = 25;

/// Output of a model while it is generated.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// Receiver of an answer while it is made.
pub trait EventSink: Send {
    /// Begins a step: the model is about to be called.
    fn start_step(&mut self);

    /// Reads the output of one model call to its end and passes it on. `step` is the number of the step in the answer.
    fn read<'a>(
        &'a mut self,
        step: usize,
        request: &'a Request,
        events: ModelStream,
    ) -> BoxFuture<'a, Result<StepOutput, StreamError>>;

    /// Takes a notice for the user.
    fn notify(&mut self, text: String);

    /// Prepares for `count` tool calls, which follow the output of the step.
    fn start_calls(&mut self, count: usize) -> BoxFuture<'_, ()>;

    /// Ends a step, after its tool calls if it has any.
    fn finish_step(&mut self);
}

/// Failure of a model call, returned by [`EventSink::read`].
#[derive(Debug)]
pub struct StreamError {
    /// Error of the provider.
    pub error: ModelError,
    /// Whether output had been passed on before, so that the call cannot be repeated unnoticed.
    pub has_begun: bool,
}

/// Caller of the model in one answer.
#[derive(Debug, Clone, Copy)]
pub struct Agent<'a> {
    /// Service that calls the model.
    pub models: &'a Arc<ModelService>,
    /// Model that answers.
    pub model: &'a ModelId,
    /// Usage of the answer.
    pub usage: &'a UsageTracker,
    /// Ends the current model call when it is cancelled.
    pub cancel: &'a CancellationToken,
    /// Whether a request that is too long for the model is shortened. If not, the answer fails.
    pub trims_context: bool,
}

/// Result of an answer that the model ended.
#[derive(Debug)]
pub struct AgentOutcome {
    /// Reason the model gave for its last step.
    pub reason: FinishReason,
    /// Total tokens of all steps.
    pub usage: Usage,
}

/// Reason for which an answer ended before the model was done.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A tool call cannot be made here.
    #[error(transparent)]
    Tools(#[from] ToolExecutionError),
    /// The model kept calling tools up to the limit.
    #[error("the assistant called tools {MAX_STEPS} times in a row and was stopped")]
    TooManySteps,
}

impl Agent<'_> {
    /// Answers a request from step number `first_step` on, at most [`MAX_STEPS`] steps in total. Without `tools`, tool
    /// calls of the model end the answer: the caller of the API makes them.
    ///
    /// # Errors
    ///
    /// See [`AgentError`]. What the sink has passed on by then stays part of the answer.
    pub async fn run(
        &self,
        mut request: Request,
        first_step: usize,
        tools: Option<&dyn ToolExecutor>,
        sink: &mut dyn EventSink,
    ) -> Result<AgentOutcome, AgentError> {
        let mut usage = Usage::default();
        for step in first_step..MAX_STEPS {
            let span = tracing::info_span!(target: SPAN_TARGET, "step", ai_chat_mcp.step = step as i64);
            let last = self.run_step(step, &mut request, &mut usage, tools, sink).instrument(span).await?;
            if let Some(reason) = last {
                return Ok(AgentOutcome { reason, usage });
            }
        }
        Err(AgentError::TooManySteps)
    }

    /// Runs one step, and adds its messages to the request. Returns the model's reason if the answer ends with it.
    async fn run_step(
        &self,
        step: usize,
        request: &mut Request,
        usage: &mut Usage,
        tools: Option<&dyn ToolExecutor>,
        sink: &mut dyn EventSink,
    ) -> Result<Option<FinishReason>, AgentError> {
        if let Some(tools) = tools {
            // A tool search in the step before may have added tools.
            request.tools = tools.specs();
        }
        sink.start_step();
        let output = self.call_model(step, request, sink).await?;
        *usage += output.usage;
        let Some(tools) = tools.filter(|_| !output.calls.is_empty()) else {
            sink.finish_step();
            return Ok(Some(output.finish.unwrap_or(FinishReason::Truncated)));
        };
        sink.start_calls(output.calls.len()).await;
        let results = tools.execute(&output.calls).await?;
        sink.finish_step();
        request.messages.push(output.into_message());
        request.messages.extend(results);
        Ok(None)
    }

    /// Calls the model for one step, shortening the request if it is too long.
    async fn call_model(
        &self,
        step: usize,
        request: &mut Request,
        sink: &mut dyn EventSink,
    ) -> Result<StepOutput, ModelError> {
        let mut trims = 0;
        loop {
            let cancel = self.cancel.child_token();
            let events = self.models.stream_recorded(self.usage, self.model, request.clone(), cancel);
            let error = match sink.read(step, request, events).await {
                Ok(output) => return Ok(output),
                // Only while nothing of the answer has been passed on: nobody may see its beginning twice.
                Err(StreamError { error: error @ ModelError::ContextOverflow(_), has_begun: false })
                    if self.trims_context && trims < MAX_TRIMS =>
                {
                    error
                }
                Err(StreamError { error, .. }) => return Err(error),
            };
            trims += 1;
            let Some(notice) = context_trimming::trim(&mut request.messages) else { return Err(error) };
            sink.notify(notice);
        }
    }
}

/// Returns the text of the last message that the user wrote in a conversation; empty if there is none.
pub fn last_user_text(conversation: &[ModelMessage]) -> &str {
    let texts = conversation.iter().rev().find_map(|message| match message {
        ModelMessage::User { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.unwrap_or_default()
}
