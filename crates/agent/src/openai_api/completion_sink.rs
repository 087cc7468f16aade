//! Answer for a client of the API: the model's output is sent as it comes, its text cut at stop sequences.

use std::time::Duration;

use domain::model::{FinishReason, ModelError, ModelEvent, ModelStatus, PartKind, Request, Usage};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::StreamItem;
use super::answer_text::AnswerText;
use crate::agent_loop::{EventSink, ModelStream, StepCollector, StepOutput, StreamError};
use crate::models::usage_recording::{UsageTracker, estimate_usage};

/// Longest wait for a provider that is overloaded, before the first output. A client can wait itself, and then knows
/// the reason.
const MAX_FIRST_RETRY_WAIT: Duration = Duration::from_secs(5);

/// Sender of an answer: the [`EventSink`] of the API.
pub struct CompletionSink<'a> {
    /// Usage of the answer.
    pub usage: &'a UsageTracker,
    /// Receives the items of the answer. It is closed when the client has disconnected.
    pub sender: &'a mpsc::Sender<StreamItem>,
    /// Text of the answer.
    pub text: AnswerText,
    /// Whether tool calls are sent to the client, because the tools are its own.
    pub sends_calls: bool,
}

/// Position of a part among the tool calls of its step; of other parts, that of the next call.
struct CallIndex(u32);

impl EventSink for CompletionSink<'_> {
    fn start_step(&mut self) {}

    fn read<'a>(
        &'a mut self,
        step: usize,
        request: &'a Request,
        events: ModelStream,
    ) -> BoxFuture<'a, Result<StepOutput, StreamError>> {
        Box::pin(async move {
            // After tools have run, a client must not repeat the request, because that would run them twice. So every
            // wait is accepted.
            let patience = if step == 0 { MAX_FIRST_RETRY_WAIT } else { Duration::MAX };
            // The client is told of an error, so whether it has received output makes no difference.
            let failed = |error| StreamError { error, has_begun: true };
            let output = self.read_output(request, events, patience).await.map_err(failed)?;
            // Recorded before the next step or the end, so that the quota of the client's next request includes it.
            self.usage.flushed().await;
            Ok(output)
        })
    }

    fn notify(&mut self, _: String) {}

    fn start_calls(&mut self, _: usize) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let rest = self.text.end_step();
            self.send_text(rest).await;
        })
    }

    fn finish_step(&mut self) {}
}

impl CompletionSink<'_> {
    /// Sends the rest of the text at the end of the answer.
    pub async fn finish(&mut self) {
        let rest = self.text.finish();
        self.send_text(rest).await;
    }

    /// Reads the output of one model call, and ends it at a stop sequence. `patience` is the longest wait for an
    /// overloaded provider.
    async fn read_output(
        &mut self,
        request: &Request,
        mut events: ModelStream,
        patience: Duration,
    ) -> Result<StepOutput, ModelError> {
        let mut collector = StepCollector::default();
        let mut waited = Duration::ZERO;
        while let Some(event) = events.next().await {
            match event? {
                ModelEvent::PartStart { part, kind } => self.start_part(&mut collector, part, kind).await,
                ModelEvent::Delta { part, text } => {
                    if self.send_delta(&mut collector, part, text).await {
                        let written = collector.part(part).map_or(0, |part| part.text.len() as u64);
                        return Ok(stopped_output(request, written, collector.output.usage));
                    }
                }
                ModelEvent::Signature { part, signature } => collector.signature(part, signature),
                ModelEvent::Usage(usage) => collector.output.usage = usage,
                ModelEvent::Finish(reason) => collector.output.finish = Some(reason),
                ModelEvent::Status(ModelStatus::Retrying { after_ms }) => {
                    let wait = Duration::from_millis(after_ms);
                    waited += wait;
                    // A client that is told to wait can decide itself, and may use another model.
                    if waited > patience {
                        let message = "it asks for a pause".to_owned();
                        return Err(ModelError::RateLimited { message, retry_after: Some(wait) });
                    }
                }
                ModelEvent::Status(_)
                | ModelEvent::Notice(_)
                | ModelEvent::ReplyOptions(_)
                | ModelEvent::File { .. }
                | ModelEvent::PartEnd { .. } => {}
            }
        }
        for part in std::mem::take(&mut collector.open) {
            collector.finish(part);
        }
        Ok(collector.output)
    }

    /// Begins a part, and sends the start of a call of one of the client's tools.
    async fn start_part(&mut self, collector: &mut StepCollector<CallIndex>, part: u32, kind: PartKind) {
        let is_call = |kind: &PartKind| matches!(kind, PartKind::ToolCall { .. });
        let index = collector.open.iter().filter(|open| is_call(&open.kind)).count();
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let started = match &kind {
            PartKind::ToolCall { id, name } if self.sends_calls => Some((id.clone(), name.clone())),
            _ => None,
        };
        collector.start(part, kind, CallIndex(index));
        if let Some((id, name)) = started {
            // The text before a tool call is complete.
            let rest = self.text.flush();
            self.send_text(rest).await;
            self.send(StreamItem::Call { index, id, name }).await;
        }
    }

    /// Sends a piece of a part. Returns whether the text of the answer has reached a stop sequence.
    async fn send_delta(&mut self, collector: &mut StepCollector<CallIndex>, part: u32, text: String) -> bool {
        let Some(open) = collector.part(part) else { return false };
        open.text.push_str(&text);
        match open.kind {
            PartKind::Text => {
                let certain = self.text.push(&text);
                self.send_text(certain).await;
            }
            PartKind::Reasoning => self.send(StreamItem::Reasoning(text)).await,
            PartKind::ToolCall { .. } if self.sends_calls => {
                self.send(StreamItem::Arguments { index: open.state.0, text }).await;
            }
            PartKind::ToolCall { .. } => {}
        }
        self.text.is_stopped()
    }

    /// Sends text, if there is any.
    async fn send_text(&self, text: String) {
        if !text.is_empty() {
            self.send(StreamItem::Text(text)).await;
        }
    }

    /// Sends an item of the answer. If the client has disconnected, the answer is cancelled elsewhere.
    async fn send(&self, item: StreamItem) {
        drop(self.sender.send(item).await);
    }
}

/// Returns the end of an answer that was cut at a stop sequence after `written` bytes. The usage is estimated, because
/// an aborted stream reports none.
fn stopped_output(request: &Request, written: u64, reported: Usage) -> StepOutput {
    let usage = estimate_usage(request, written, reported);
    StepOutput { finish: Some(FinishReason::Stop), usage, ..StepOutput::default() }
}
