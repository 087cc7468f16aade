//! Anthropic's messages API, as Anthropic and its imitators really implement it.
//!
//! Content blocks are identified by their index. The signature of a reasoning block, or its encrypted form, is kept
//! as a [`Signature`], because the model refuses to continue after a tool call without it.

mod encode;
mod event;

use domain::model::{FinishReason, ModelError, ModelEvent, PartKind, Request, Signature, Usage};
use serde_json::{Value, json};

use crate::error_mapping::ProviderErrorBody;
use crate::providers::lenient_json::{arguments_text, as_number, as_text, parse_or_default};
use crate::providers::part_tracker::PartTracker;
use crate::providers::{RequestHeaders, StreamProgress};
use crate::sse::SseEvent;

pub(crate) use encode::adjust_after_refusal;
pub use encode::encode;

use event::{BlockDelta, ContentBlock, MessageEvent};

/// Name of this API in a [`Signature`].
const API_NAME: &str = "anthropic";

/// Headers of every request.
pub(super) const REQUEST_HEADERS: RequestHeaders =
    RequestHeaders { key_name: "x-api-key", key_prefix: "", others: &[("anthropic-version", "2023-06-01")] };

/// Path of the model list, with all models on one page.
pub(super) const MODELS_PATH: &str = "v1/models?limit=1000";

/// Decoder for one response.
#[derive(Debug, Default)]
pub struct AnthropicDecoder {
    model: String,
    parts: PartTracker,
    open_blocks: Vec<OpenBlock>,
    usage: Usage,
    /// The usage that was sent last; events repeat the same counts.
    sent_usage: Usage,
    reason: Option<FinishReason>,
    has_begun: bool,
    closed: bool,
}

/// A content block that has started and not ended.
#[derive(Debug)]
struct OpenBlock {
    index: u64,
    part: u32,
    /// Signature of a reasoning block.
    signature: String,
    /// Encrypted text of a reasoning block that the provider does not show.
    redacted: Option<String>,
    /// Arguments at the start of a tool call; they apply when no deltas follow.
    arguments: String,
}

impl AnthropicDecoder {
    /// Creates a decoder for the response to `request`.
    pub fn new(request: &Request) -> Self {
        Self { model: request.model.clone(), parts: PartTracker::new(request), ..Self::default() }
    }

    /// Starts the part of a content block, which [`Self::end_block`] ends.
    fn start_block(&mut self, index: u64, block: &ContentBlock<'_>, out: &mut Vec<ModelEvent>) {
        // Some imitators never end a block and give the next one the same index.
        self.end_block(index, out);
        let kind = as_text(block.r#type).unwrap_or_default();
        let mut open = OpenBlock { index, part: 0, signature: String::new(), redacted: None, arguments: String::new() };
        let text = match kind.as_ref() {
            "text" => {
                open.part = self.parts.start_part(PartKind::Text, out);
                as_text(block.text)
            }
            "thinking" => {
                open.part = self.parts.start_part(PartKind::Reasoning, out);
                open.signature.extend(as_text(block.signature));
                as_text(block.thinking)
            }
            "redacted_thinking" => {
                open.part = self.parts.start_part(PartKind::Reasoning, out);
                open.redacted = as_text(block.data).map(std::borrow::Cow::into_owned);
                None
            }
            "tool_use" => {
                let id = as_text(block.id);
                let name = as_text(block.name).unwrap_or_default().into_owned();
                open.part = self.parts.start_call(id.as_deref(), name, out);
                open.arguments.push_str(&arguments_text(block.input));
                None
            }
            // Blocks of the provider's own server tools, which are not enabled.
            _ => return,
        };
        self.parts.append(open.part, text.unwrap_or_default(), out);
        self.open_blocks.push(open);
    }

    /// Appends a delta to its content block.
    fn append_delta(&mut self, index: Option<u64>, delta: &BlockDelta<'_>, out: &mut Vec<ModelEvent>) {
        let kind = as_text(delta.r#type).unwrap_or_default();
        let index = index.or_else(|| self.open_blocks.last().map(|open| open.index)).unwrap_or(0);
        // Some imitators omit `content_block_start`; their text is kept.
        let missing = match kind.as_ref() {
            "text_delta" => Some(PartKind::Text),
            "thinking_delta" => Some(PartKind::Reasoning),
            _ => None,
        };
        if let Some(kind) = missing
            && !self.open_blocks.iter().any(|open| open.index == index)
        {
            let part = self.parts.start_part(kind, out);
            let (signature, arguments) = (String::new(), String::new());
            self.open_blocks.push(OpenBlock { index, part, signature, redacted: None, arguments });
        }
        let Some(open) = self.open_blocks.iter_mut().find(|open| open.index == index) else { return };
        let text = match kind.as_ref() {
            "text_delta" => as_text(delta.text),
            "thinking_delta" => as_text(delta.thinking),
            "input_json_delta" => as_text(delta.partial_json),
            "signature_delta" => {
                open.signature.extend(as_text(delta.signature));
                None
            }
            _ => None,
        };
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            // Deltas replace the arguments at the start, which are an empty object in Anthropic's own stream.
            open.arguments.clear();
            self.parts.append(open.part, text, out);
        }
    }

    /// Ends a content block: sends its signature as a [`Signature`], and arguments that came only at its start.
    fn end_block(&mut self, index: u64, out: &mut Vec<ModelEvent>) {
        let Some(position) = self.open_blocks.iter().position(|open| open.index == index) else { return };
        let open = self.open_blocks.remove(position);
        // An empty object says nothing; it is the placeholder before the deltas of a call.
        if open.arguments != "{}" {
            self.parts.append(open.part, open.arguments, out);
        }
        let data = match open.redacted {
            Some(redacted) => Some(json!({ "redacted": redacted })),
            None => (!open.signature.is_empty()).then(|| json!({ "signature": open.signature })),
        };
        if let Some(data) = data {
            self.parts.signature(
                open.part,
                Signature { wire: API_NAME.to_owned(), model: self.model.clone(), data },
                out,
            );
        }
        self.parts.end_part(open.part, out);
    }

    fn read_usage(&mut self, event: &MessageEvent<'_>) {
        // `message_start` has the usage inside the message, `message_delta` beside the delta.
        for usage in [event.usage, event.message.as_ref().and_then(|message| message.usage)] {
            event::merge_usage(usage, &mut self.usage);
        }
    }

    fn send_usage(&mut self, out: &mut Vec<ModelEvent>) {
        if self.usage != self.sent_usage {
            self.sent_usage = self.usage;
            out.push(ModelEvent::Usage(self.usage));
        }
    }

    fn set_finish_reason(&mut self, name: Option<&str>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.reason.get_or_insert_with(|| parse_finish_reason(name));
        }
    }

    /// Decodes a whole message, from a server that does not stream.
    fn read_message(&mut self, event: &MessageEvent<'_>, out: &mut Vec<ModelEvent>) {
        for (index, block) in (0..).zip(event.content.iter().flatten()) {
            self.start_block(index, block, out);
            self.end_block(index, out);
        }
        self.set_finish_reason(as_text(event.stop_reason).as_deref());
        self.send_usage(out);
        self.closed = true;
    }
}

impl crate::providers::EventDecoder for AnthropicDecoder {
    fn push(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.closed = true;
        }
        if data.is_empty() || self.closed {
            return Ok(());
        }
        let payload: MessageEvent<'_> = match serde_json::from_str(data) {
            Ok(payload) => payload,
            Err(_) if event.name == "error" => {
                return Err(ProviderErrorBody::from_json(&Value::String(data.to_owned())).into_stream_error());
            }
            Err(_) if !event::EVENT_NAMES.contains(&event.name) => return Ok(()),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                return Err(ModelError::Malformed(format!("not a message (line {line}, column {column})")));
            }
        };
        let kind = as_text(payload.r#type).unwrap_or_default();
        if event.name == "error" || kind == "error" || (kind.is_empty() && payload.error.is_some()) {
            return Err(
                ProviderErrorBody::from_json(&serde_json::from_str(data).unwrap_or_default()).into_stream_error()
            );
        }
        let index = as_number(payload.index);
        self.read_usage(&payload);
        match kind.as_ref() {
            "message_start" => self.has_begun = true,
            "content_block_start" => {
                self.has_begun = true;
                let index = index.unwrap_or_else(|| u64::from(self.parts.count()));
                self.start_block(index, &payload.content_block.unwrap_or_default(), out);
                self.send_usage(out);
            }
            "content_block_delta" => {
                self.has_begun = true;
                self.append_delta(index, &parse_or_default(payload.delta), out);
            }
            "content_block_stop" => {
                if let Some(index) = index.or_else(|| self.open_blocks.last().map(|open| open.index)) {
                    self.end_block(index, out);
                }
            }
            "message_delta" => {
                self.has_begun = true;
                let delta: BlockDelta<'_> = parse_or_default(payload.delta);
                self.set_finish_reason(as_text(delta.stop_reason).as_deref());
                self.send_usage(out);
            }
            "message_stop" => self.closed = true,
            "message" => {
                self.has_begun = true;
                self.read_message(&payload, out);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.has_begun {
            return Err(ModelError::Malformed("the stream ended before the response began".to_owned()));
        }
        let is_complete = self.reason.is_some() || self.closed;
        while let Some(open) = self.open_blocks.first() {
            let (index, part) = (open.index, open.part);
            if is_complete {
                self.end_block(index, out);
            } else {
                // An incomplete signature is invalid, so it is dropped.
                self.open_blocks.remove(0);
                self.parts.end_part(part, out);
            }
        }
        self.send_usage(out);
        // Imitators that end the stream properly but give no reason have finished.
        let default = if self.closed { FinishReason::Stop } else { FinishReason::Truncated };
        let reason = self.reason.take().unwrap_or(default);
        let has_calls = self.parts.has_calls();
        out.push(ModelEvent::Finish(match reason {
            // Imitators report a plain end after tool calls, and tool calls where there are none.
            FinishReason::Stop | FinishReason::Other(_) if has_calls => FinishReason::ToolCalls,
            FinishReason::ToolCalls if !has_calls => FinishReason::Stop,
            reason => reason,
        }));
        Ok(())
    }

    fn progress(&self) -> StreamProgress {
        match &self.reason {
            _ if self.closed => StreamProgress::Closed,
            Some(_) => StreamProgress::Finished,
            None => StreamProgress::Generating,
        }
    }
}

fn parse_finish_reason(name: &str) -> FinishReason {
    match name {
        "end_turn" | "stop_sequence" | "stop" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}
