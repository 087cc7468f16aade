//! OpenAI's chat completions API, as OpenAI and its many imitators really implement it.
//!
//! The decoder trusts as little as possible: every field may be missing or of another type, unknown fields are ignored, and
//! `tool_calls` assembles tool calls from contradictory indexes and ids.

mod chunk;
mod encode;
mod models;
mod tool_calls;

use std::borrow::Cow;

use domain::model::{FinishReason, ModelError, ModelEvent, PartKind, Request, Usage};
use serde_json::Value;

use crate::error_mapping::ProviderErrorBody;
use crate::providers::StreamProgress;
use crate::providers::files::GeneratedPictures;
use crate::providers::lenient_json::{as_number, as_text};
use crate::providers::part_tracker::call_ids_in;
use crate::sse::SseEvent;

pub(crate) use encode::adjust_after_refusal;
pub use encode::encode;
pub(crate) use models::{MODELS_PATH, parse_model_names};

use chunk::{CompletionChoice, CompletionChunk, MessageDelta};
use tool_calls::ToolCallAssembler;

/// Decoder for one response.
#[derive(Debug, Default)]
pub struct ChatDecoder {
    /// Index of the decoded choice. The request asks for one, so any other one is a server error.
    choice: Option<u64>,
    /// Number of parts started so far.
    part_count: u32,
    /// Number and kind of the text or reasoning part that is open.
    open_part: Option<(u32, PartKind)>,
    calls: ToolCallAssembler,
    pictures: GeneratedPictures,
    usage: Usage,
    reason: Option<FinishReason>,
    closed: bool,
}

impl ChatDecoder {
    /// Creates a decoder for the response to `request`, whose call ids are not reused.
    pub fn new(request: &Request) -> Self {
        Self { calls: ToolCallAssembler::new(call_ids_in(request)), ..Self::default() }
    }

    fn read_choice(&mut self, choice: &CompletionChoice<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let index = as_number(choice.index).unwrap_or(0);
        if *self.choice.get_or_insert(index) != index {
            return Ok(());
        }
        if let Some(delta) = &choice.delta {
            self.read_delta(delta, out);
        }
        // A whole message comes from a server that does not stream, or repeats at the end what was streamed.
        if let Some(message) = &choice.message
            && self.part_count == 0
            && self.calls.is_empty()
            && self.pictures.is_empty()
        {
            self.read_delta(message, out);
        }
        if let Some(reason) = as_text(choice.finish_reason).filter(|reason| !reason.is_empty()) {
            if reason == "error" {
                return Err(ModelError::Provider("the response ended with an error".to_owned()));
            }
            self.reason.get_or_insert_with(|| parse_finish_reason(&reason));
        }
        if let Some(usage) = choice.usage {
            self.send_usage(chunk::parse_usage(usage), out);
        }
        Ok(())
    }

    fn read_delta(&mut self, delta: &MessageDelta<'_>, out: &mut Vec<ModelEvent>) {
        // Some servers send the same reasoning in both fields.
        let mut reasoning = [delta.reasoning_content, delta.reasoning].into_iter().filter_map(as_text);
        if let Some(text) = reasoning.find(|text| !text.is_empty()) {
            self.append_text(PartKind::Reasoning, text, out);
        }
        if let Some(content) = delta.content {
            for (kind, text) in chunk::parse_content(content) {
                self.append_text(kind, text, out);
            }
        }
        if let Some(text) = as_text(delta.refusal) {
            self.append_text(PartKind::Text, text, out);
        }
        for url in [delta.content, delta.images].into_iter().flat_map(chunk::picture_urls) {
            if let Some(picture) = self.pictures.decode_data_url(&url) {
                self.end_open_part(out);
                picture.emit(out);
            } else if url.starts_with("https://") {
                // Decoders do no I/O. The web app loads pictures of other sites when the user asks for it.
                self.append_text(PartKind::Text, format!("\n\n![]({url})\n\n").into(), out);
            }
        }
        for call_delta in delta.tool_calls.iter().flatten() {
            self.end_open_part(out);
            self.calls.push_delta(call_delta, &mut self.part_count, out);
        }
    }

    /// Appends to the open part if it is of this kind, or else to a new one.
    fn append_text(&mut self, kind: PartKind, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        let part = match &self.open_part {
            Some((part, open)) if *open == kind => *part,
            _ => {
                self.end_open_part(out);
                let part = self.part_count;
                self.part_count += 1;
                self.open_part = Some((part, kind.clone()));
                out.push(ModelEvent::PartStart { part, kind });
                part
            }
        };
        out.push(ModelEvent::Delta { part, text: text.into_owned() });
    }

    fn end_open_part(&mut self, out: &mut Vec<ModelEvent>) {
        if let Some((part, _)) = self.open_part.take() {
            out.push(ModelEvent::PartEnd { part });
        }
    }

    fn send_usage(&mut self, usage: Usage, out: &mut Vec<ModelEvent>) {
        if usage != Usage::default() && usage != self.usage {
            self.usage = usage;
            out.push(ModelEvent::Usage(usage));
        }
    }
}

impl crate::providers::EventDecoder for ChatDecoder {
    fn push(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.closed = true;
        }
        if data.is_empty() || self.closed {
            return Ok(());
        }
        if event.name == "error" {
            let error = serde_json::from_str::<Value>(data).unwrap_or_else(|_| Value::String(data.to_owned()));
            return Err(ProviderErrorBody::from_json(&error).into_stream_error());
        }
        let chunk: CompletionChunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            // An event that is not part of this API, such as a ping.
            Err(_) if !matches!(event.name, "" | "message") => return Ok(()),
            // The parser's message is omitted, because it may quote the response.
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                return Err(ModelError::Malformed(format!("not a chat completion (line {line}, column {column})")));
            }
        };
        if let Some(error) = chunk.error(data) {
            return Err(ProviderErrorBody::from_json(&error).into_stream_error());
        }
        for choice in chunk.choices.iter().flatten() {
            self.read_choice(choice, out)?;
        }
        for usage in chunk.usages() {
            self.send_usage(chunk::parse_usage(usage), out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.choice.is_none() {
            return Err(ModelError::Malformed("the stream ended before the response began".to_owned()));
        }
        self.end_open_part(out);
        self.calls.finish(&mut self.part_count, out);
        let reason = match self.reason.take() {
            Some(reason) => reason,
            // Servers that end the stream properly but give no reason have finished.
            None if self.closed => FinishReason::Stop,
            None => FinishReason::Truncated,
        };
        let has_calls = !self.calls.is_empty();
        out.push(ModelEvent::Finish(match reason {
            // Many servers send "stop" after tool calls, and some send "tool_calls" without any.
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
        "stop" | "eos" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}
