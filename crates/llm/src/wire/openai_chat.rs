//! OpenAI chat completions, as OpenAI and the many others that speak this wire really send it.
//!
//! The decoder trusts as little as it can: every field may be missing or of another type, unknown ones are passed
//! over, and a tool call is known by its index and, when that changes, its id (see `calls`).

mod calls;
mod chunk;
mod encode;
mod models;

use std::borrow::Cow;

use domain::model::{FinishReason, ModelError, ModelEvent, PartKind, Request, Usage};
use serde_json::Value;

use crate::fault::Fault;
use crate::sse::Event;
use crate::wire::Progress;
use crate::wire::files::Pictures;
use crate::wire::leaf::{number_in, text_in};
use crate::wire::parts::ids_in;

pub(crate) use encode::concede;
pub use encode::encode;
pub(crate) use models::{MODELS_PATH, model_names};

use calls::Calls;
use chunk::{Choice, Chunk, Delta};

/// Reads one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The choice that is followed; one is asked for, so another one is a server's mistake.
    choice: Option<u64>,
    /// How many parts have opened.
    parts: u32,
    /// The text or reasoning that grows now.
    open: Option<(u32, PartKind)>,
    calls: Calls,
    pictures: Pictures,
    usage: Usage,
    reason: Option<FinishReason>,
    closed: bool,
}

impl Decoder {
    /// A decoder for the answer to `request`, whose calls' ids it will not use again.
    pub fn new(request: &Request) -> Self {
        Self { calls: Calls::new(ids_in(request)), ..Self::default() }
    }

    fn take_choice(&mut self, choice: &Choice<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let index = number_in(choice.index).unwrap_or(0);
        if *self.choice.get_or_insert(index) != index {
            return Ok(());
        }
        if let Some(delta) = &choice.delta {
            self.take_delta(delta, out);
        }
        // The whole message: from a server that does not stream, or repeated at the end by one that does.
        if let Some(message) = &choice.message
            && self.parts == 0
            && self.calls.is_empty()
            && self.pictures.is_empty()
        {
            self.take_delta(message, out);
        }
        if let Some(reason) = text_in(choice.finish_reason).filter(|reason| !reason.is_empty()) {
            if reason == "error" {
                return Err(ModelError::Provider("the answer ended with an error".to_owned()));
            }
            self.reason.get_or_insert_with(|| finish_reason(&reason));
        }
        if let Some(usage) = choice.usage {
            self.take_usage(chunk::usage(usage), out);
        }
        Ok(())
    }

    fn take_delta(&mut self, delta: &Delta<'_>, out: &mut Vec<ModelEvent>) {
        // Some send the same thought under both names.
        let mut reasoning = [delta.reasoning_content, delta.reasoning].into_iter().filter_map(text_in);
        if let Some(text) = reasoning.find(|text| !text.is_empty()) {
            self.say(PartKind::Reasoning, text, out);
        }
        if let Some(content) = delta.content {
            for (kind, text) in chunk::content(content) {
                self.say(kind, text, out);
            }
        }
        if let Some(text) = text_in(delta.refusal) {
            self.say(PartKind::Text, text, out);
        }
        for address in [delta.content, delta.images].into_iter().flat_map(chunk::picture_addresses) {
            if let Some(picture) = self.pictures.read_url(&address) {
                self.close_text(out);
                picture.tell(out);
            } else if address.starts_with("https://") {
                // Decoders fetch nothing. The page shows a picture of another site when the person asks for it.
                self.say(PartKind::Text, format!("\n\n![]({address})\n\n").into(), out);
            }
        }
        for piece in delta.tool_calls.iter().flatten() {
            self.close_text(out);
            self.calls.take(piece, &mut self.parts, out);
        }
    }

    fn say(&mut self, kind: PartKind, text: Cow<'_, str>, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        let part = match &self.open {
            Some((part, open)) if *open == kind => *part,
            _ => {
                self.close_text(out);
                let part = self.parts;
                self.parts += 1;
                self.open = Some((part, kind.clone()));
                out.push(ModelEvent::PartStart { part, kind });
                part
            }
        };
        out.push(ModelEvent::Delta { part, text: text.into_owned() });
    }

    fn close_text(&mut self, out: &mut Vec<ModelEvent>) {
        if let Some((part, _)) = self.open.take() {
            out.push(ModelEvent::PartEnd { part });
        }
    }

    fn take_usage(&mut self, usage: Usage, out: &mut Vec<ModelEvent>) {
        if usage != Usage::default() && usage != self.usage {
            self.usage = usage;
            out.push(ModelEvent::Usage(usage));
        }
    }
}

impl crate::wire::Decoder for Decoder {
    fn push(&mut self, event: &Event<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.closed = true;
        }
        if data.is_empty() || self.closed {
            return Ok(());
        }
        if event.name == "error" {
            let fault = serde_json::from_str::<Value>(data).unwrap_or_else(|_| Value::String(data.to_owned()));
            return Err(Fault::from_value(&fault).into_error_in_stream());
        }
        let chunk: Chunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            // An event of a kind that this wire does not know, such as a ping.
            Err(_) if !matches!(event.name, "" | "message") => return Ok(()),
            // The words of the parser are left out: they may quote the answer.
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                return Err(ModelError::Malformed(format!("not a chat completion, line {line}, column {column}")));
            }
        };
        if let Some(error) = chunk.error(data) {
            return Err(Fault::from_value(&error).into_error_in_stream());
        }
        for choice in chunk.choices.iter().flatten() {
            self.take_choice(choice, out)?;
        }
        for usage in chunk.usages() {
            self.take_usage(chunk::usage(usage), out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.choice.is_none() {
            return Err(ModelError::Malformed("it ended before the answer began".to_owned()));
        }
        self.close_text(out);
        self.calls.close(&mut self.parts, out);
        let reason = match self.reason.take() {
            Some(reason) => reason,
            None if self.closed => FinishReason::Stop,
            None => FinishReason::Truncated,
        };
        let called = !self.calls.is_empty();
        out.push(ModelEvent::Finish(match reason {
            // Many servers say "stop" although calls wait to be run, some the reverse.
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
        "stop" | "eos" | "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}
