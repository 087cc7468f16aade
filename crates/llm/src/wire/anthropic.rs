//! Anthropic messages, as Anthropic and those that imitate it really send them.
//!
//! Blocks are known by their index. A thought keeps its signature, or the cipher that stands in its place, as a seal,
//! because the model refuses to go on after a tool call without it.

mod encode;
mod event;

use domain::model::{FinishReason, ModelError, ModelEvent, PartKind, Request, Seal, Usage};
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::sse;
use crate::wire::leaf::{arguments_in, number_in, read_in, text_in};
use crate::wire::parts::Parts;
use crate::wire::{Head, Progress};

pub(crate) use encode::concede;
pub use encode::encode;

use event::{Block, Delta, Event};

/// The name of this wire on a seal.
const WIRE: &str = "anthropic";

/// The head of every request.
pub(super) const HEAD: Head =
    Head { key_name: "x-api-key", key_prefix: "", others: &[("anthropic-version", "2023-06-01")] };

/// The path of the list of models, all of them on one page.
pub(super) const MODELS_PATH: &str = "v1/models?limit=1000";

/// Reads one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    model: String,
    parts: Parts,
    open: Vec<Open>,
    usage: Usage,
    told: Usage,
    reason: Option<FinishReason>,
    has_begun: bool,
    closed: bool,
}

/// A block that has begun and not ended.
#[derive(Debug)]
struct Open {
    index: u64,
    part: u32,
    /// What will be kept of a thought.
    signature: String,
    redacted: Option<String>,
    /// The arguments that came with the beginning of a call; they count when no pieces follow.
    arguments: String,
}

impl Decoder {
    /// A decoder for the answer to `request`.
    pub fn new(request: &Request) -> Self {
        Self { model: request.model.clone(), parts: Parts::new(request), ..Self::default() }
    }

    fn start(&mut self, index: u64, block: &Block<'_>, out: &mut Vec<ModelEvent>) {
        // Some imitators never end a block and give the next one the same index.
        self.stop(index, out);
        let kind = text_in(block.r#type).unwrap_or_default();
        let mut open = Open { index, part: 0, signature: String::new(), redacted: None, arguments: String::new() };
        let words = match kind.as_ref() {
            "text" => {
                open.part = self.parts.start(PartKind::Text, out);
                text_in(block.text)
            }
            "thinking" => {
                open.part = self.parts.start(PartKind::Reasoning, out);
                open.signature.extend(text_in(block.signature));
                text_in(block.thinking)
            }
            "redacted_thinking" => {
                open.part = self.parts.start(PartKind::Reasoning, out);
                open.redacted = text_in(block.data).map(std::borrow::Cow::into_owned);
                None
            }
            "tool_use" => {
                let id = text_in(block.id);
                let name = text_in(block.name).unwrap_or_default().into_owned();
                open.part = self.parts.start_call(id.as_deref(), name, out);
                open.arguments.push_str(&arguments_in(block.input));
                None
            }
            // What tools of the provider's own say is not for us.
            _ => return,
        };
        self.parts.grow(open.part, words.unwrap_or_default(), out);
        self.open.push(open);
    }

    fn grow(&mut self, index: Option<u64>, delta: &Delta<'_>, out: &mut Vec<ModelEvent>) {
        let kind = text_in(delta.r#type).unwrap_or_default();
        let index = index.or_else(|| self.open.last().map(|open| open.index)).unwrap_or(0);
        // Some imitators do not say when a block begins; words are not thrown away for that.
        let missing = match kind.as_ref() {
            "text_delta" => Some(PartKind::Text),
            "thinking_delta" => Some(PartKind::Reasoning),
            _ => None,
        };
        if let Some(kind) = missing
            && !self.open.iter().any(|open| open.index == index)
        {
            let part = self.parts.start(kind, out);
            let (signature, arguments) = (String::new(), String::new());
            self.open.push(Open { index, part, signature, redacted: None, arguments });
        }
        let Some(open) = self.open.iter_mut().find(|open| open.index == index) else { return };
        let words = match kind.as_ref() {
            "text_delta" => text_in(delta.text),
            "thinking_delta" => text_in(delta.thinking),
            "input_json_delta" => text_in(delta.partial_json),
            "signature_delta" => {
                open.signature.extend(text_in(delta.signature));
                None
            }
            _ => None,
        };
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            open.arguments.clear();
            self.parts.grow(open.part, words, out);
        }
    }

    fn stop(&mut self, index: u64, out: &mut Vec<ModelEvent>) {
        let Some(at) = self.open.iter().position(|open| open.index == index) else { return };
        let open = self.open.remove(at);
        if open.arguments != "{}" {
            self.parts.grow(open.part, open.arguments, out);
        }
        let data = match open.redacted {
            Some(redacted) => Some(json!({ "redacted": redacted })),
            None => (!open.signature.is_empty()).then(|| json!({ "signature": open.signature })),
        };
        if let Some(data) = data {
            self.parts.seal(open.part, Seal { wire: WIRE.to_owned(), model: self.model.clone(), data }, out);
        }
        self.parts.end(open.part, out);
    }

    fn take_usage(&mut self, event: &Event<'_>) {
        for usage in [event.usage, event.message.as_ref().and_then(|message| message.usage)] {
            event::add_usage(usage, &mut self.usage);
        }
    }

    fn tell_usage(&mut self, out: &mut Vec<ModelEvent>) {
        if self.usage != self.told {
            self.told = self.usage;
            out.push(ModelEvent::Usage(self.usage));
        }
    }

    fn take_reason(&mut self, word: Option<&str>) {
        if let Some(word) = word.filter(|word| !word.is_empty()) {
            self.reason.get_or_insert_with(|| finish_reason(word));
        }
    }

    /// A whole message in place of a stream.
    fn take_document(&mut self, event: &Event<'_>, out: &mut Vec<ModelEvent>) {
        for (index, block) in (0..).zip(event.content.iter().flatten()) {
            self.start(index, block, out);
            self.stop(index, out);
        }
        self.take_reason(text_in(event.stop_reason).as_deref());
        self.tell_usage(out);
        self.closed = true;
    }
}

impl crate::wire::Decoder for Decoder {
    fn push(&mut self, event: &sse::Event<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.closed = true;
        }
        if data.is_empty() || self.closed {
            return Ok(());
        }
        let told: Event<'_> = match serde_json::from_str(data) {
            Ok(told) => told,
            Err(_) if event.name == "error" => {
                return Err(Fault::from_value(&Value::String(data.to_owned())).into_error_in_stream());
            }
            Err(_) if !event::NAMES.contains(&event.name) => return Ok(()),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                return Err(ModelError::Malformed(format!("not a message, line {line}, column {column}")));
            }
        };
        let kind = text_in(told.r#type).unwrap_or_default();
        if event.name == "error" || kind == "error" || (kind.is_empty() && told.error.is_some()) {
            return Err(Fault::from_value(&serde_json::from_str(data).unwrap_or_default()).into_error_in_stream());
        }
        let index = number_in(told.index);
        self.take_usage(&told);
        match kind.as_ref() {
            "message_start" => self.has_begun = true,
            "content_block_start" => {
                self.has_begun = true;
                let index = index.unwrap_or_else(|| u64::from(self.parts.count()));
                self.start(index, &told.content_block.unwrap_or_default(), out);
                self.tell_usage(out);
            }
            "content_block_delta" => {
                self.has_begun = true;
                self.grow(index, &read_in(told.delta), out);
            }
            "content_block_stop" => {
                if let Some(index) = index.or_else(|| self.open.last().map(|open| open.index)) {
                    self.stop(index, out);
                }
            }
            "message_delta" => {
                self.has_begun = true;
                let delta: Delta<'_> = read_in(told.delta);
                self.take_reason(text_in(delta.stop_reason).as_deref());
                self.tell_usage(out);
            }
            "message_stop" => self.closed = true,
            "message" => {
                self.has_begun = true;
                self.take_document(&told, out);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.has_begun {
            return Err(ModelError::Malformed("it ended before the answer began".to_owned()));
        }
        let is_whole = self.reason.is_some() || self.closed;
        while let Some(open) = self.open.first() {
            let (index, part) = (open.index, open.part);
            if is_whole {
                self.stop(index, out);
            } else {
                // Half of a signature is worth nothing.
                self.open.remove(0);
                self.parts.end(part, out);
            }
        }
        self.tell_usage(out);
        let unsaid = if self.closed { FinishReason::Stop } else { FinishReason::Truncated };
        let reason = self.reason.take().unwrap_or(unsaid);
        let called = self.parts.has_calls();
        out.push(ModelEvent::Finish(match reason {
            FinishReason::Stop | FinishReason::Other(_) if called => FinishReason::ToolCalls,
            FinishReason::ToolCalls if !called => FinishReason::Stop,
            reason => reason,
        }));
        Ok(())
    }

    fn progress(&self) -> Progress {
        match &self.reason {
            _ if self.closed => Progress::Closed,
            Some(_) => Progress::Answered,
            None => Progress::Open,
        }
    }
}

fn finish_reason(word: &str) -> FinishReason {
    match word {
        "end_turn" | "stop_sequence" | "stop" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}
