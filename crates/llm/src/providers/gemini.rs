//! Gemini's API, as Google really implements it.
//!
//! A stream is a sequence of whole responses, each with further parts; a tool call arrives in one piece. A signature
//! belongs to the part that carries it (a call, a text or a picture) and must be sent back with that part. It is kept
//! as a [`Signature`] on a reasoning part before it, which identifies a picture by its content hash.

mod encode;
mod event;

use std::collections::HashSet;

use domain::model::{FinishReason, ModelError, ModelEvent, PartKind, Request, Signature, Usage};
use serde_json::{Value, json};

use crate::error_mapping::ProviderErrorBody;
use crate::providers::files::GeneratedPictures;
use crate::providers::lenient_json::{arguments_text, as_text, parse_or_default};
use crate::providers::part_tracker::PartTracker;
use crate::providers::{RequestHeaders, StreamProgress};
use crate::sse::SseEvent;

pub(crate) use encode::adjust_after_refusal;
pub use encode::encode;
pub(super) use event::parse_model_names;

use event::{Candidate, ResponseChunk, ResponsePart};

/// Name of this API in a [`Signature`].
const API_NAME: &str = "gemini";

/// Headers of every request.
pub(super) const REQUEST_HEADERS: RequestHeaders =
    RequestHeaders { key_name: "x-goog-api-key", key_prefix: "", others: &[] };

/// Path of the model list, with all models on one page.
pub(super) const MODELS_PATH: &str = "v1beta/models?pageSize=1000";

/// Decoder for one response.
#[derive(Debug, Default)]
pub struct GeminiDecoder {
    model: String,
    parts: PartTracker,
    /// Names of the tools in the request.
    tools: HashSet<String>,
    /// Number and kind of the text or reasoning part that is open.
    open_part: Option<(u32, PartKind)>,
    /// Signature of the open text part, sent once the text has ended.
    text_signature: Option<String>,
    pictures: GeneratedPictures,
    usage: Usage,
    reason: Option<FinishReason>,
    has_begun: bool,
}

impl GeminiDecoder {
    /// Creates a decoder for the response to `request`.
    pub fn new(request: &Request) -> Self {
        let tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
        Self { model: request.model.clone(), parts: PartTracker::new(request), tools, ..Self::default() }
    }

    fn read_response(&mut self, response: &ResponseChunk<'_>, out: &mut Vec<ModelEvent>) {
        self.has_begun |= response.is_response();
        // The request asks for one candidate, so any other one is a server error.
        if let Some(candidate) = response.candidates.iter().flatten().next() {
            self.read_candidate(candidate, out);
        }
        let block_reason = response.prompt_feedback.as_ref().and_then(|feedback| as_text(feedback.block_reason));
        if block_reason.is_some_and(|reason| !reason.is_empty() && reason != "BLOCK_REASON_UNSPECIFIED") {
            self.reason.get_or_insert(FinishReason::ContentFilter);
        }
        let usage = event::parse_usage(response.usage_metadata);
        if usage != Usage::default() && usage != self.usage {
            self.usage = usage;
            out.push(ModelEvent::Usage(usage));
        }
    }

    fn read_candidate(&mut self, candidate: &Candidate<'_>, out: &mut Vec<ModelEvent>) {
        for part in candidate.content.iter().flat_map(|content| content.parts.iter().flatten()) {
            self.read_part(part, out);
        }
        let reason = as_text(candidate.finish_reason).filter(|name| !name.is_empty());
        if let Some(reason) = reason.filter(|name| name != "FINISH_REASON_UNSPECIFIED") {
            // Some versions send "STOP" with every response and the real reason with the last one.
            self.reason = Some(parse_finish_reason(&reason));
        }
    }

    fn read_part(&mut self, part: &ResponsePart<'_>, out: &mut Vec<ModelEvent>) {
        let signature = as_text(part.thought_signature).filter(|signature| !signature.is_empty());
        if let Some(call) = &part.function_call {
            // A signed call after reasoning keeps that part open, because the signature is attached to it.
            if signature.is_none() || !self.is_thinking() {
                self.end_open_part(out);
            }
            if let Some(signature) = signature {
                self.add_signature(json!({ "call": signature }), out);
            }
            let name = as_text(call.name).unwrap_or_default().into_owned();
            // The encoder prefixes names that this API does not accept with an underscore.
            let original =
                name.strip_prefix('_').filter(|original| !self.tools.contains(&name) && self.tools.contains(*original));
            let name = original.map_or_else(|| name.clone(), str::to_owned);
            let number = self.parts.start_call(as_text(call.id).as_deref(), name, out);
            self.parts.append(number, arguments_text(call.args), out);
            self.parts.end_part(number, out);
            return;
        }
        let is_thought = part.thought.is_some_and(|raw| raw.get() == "true");
        if let Some(inline) = &part.inline_data {
            // A picture in the reasoning is a draft; it is not part of the response and need not be sent back.
            let data = as_text(inline.data).filter(|_| !is_thought);
            let Some(picture) = data.and_then(|data| self.pictures.decode_base64(&data)) else { return };
            self.end_open_part(out);
            if let Some(signature) = signature {
                self.add_signature(json!({ "picture": picture.content_hash(), "signature": signature }), out);
            }
            picture.emit(out);
            return;
        }
        let kind = if is_thought { PartKind::Reasoning } else { PartKind::Text };
        if let Some(text) = as_text(part.text).filter(|text| !text.is_empty()) {
            let number = match &self.open_part {
                Some((number, open)) if *open == kind => *number,
                _ => {
                    self.end_open_part(out);
                    let number = self.parts.start_part(kind.clone(), out);
                    self.open_part = Some((number, kind));
                    number
                }
            };
            self.parts.append(number, text, out);
        }
        match signature {
            // The text may continue, so its signature is sent when it ends.
            Some(signature) if self.open_part.is_some() && !self.is_thinking() => {
                self.text_signature = Some(signature.into_owned());
            }
            Some(signature) => self.add_signature(json!({ "text": signature }), out),
            None => {}
        }
    }

    fn is_thinking(&self) -> bool {
        matches!(self.open_part, Some((_, PartKind::Reasoning)))
    }

    /// Attaches a signature to the open reasoning part, or else to a new, empty one.
    fn add_signature(&mut self, data: Value, out: &mut Vec<ModelEvent>) {
        let number = match self.open_part.take() {
            Some((number, PartKind::Reasoning)) => number,
            other => {
                self.open_part = other;
                self.end_open_part(out);
                self.parts.start_part(PartKind::Reasoning, out)
            }
        };
        self.parts.signature(number, Signature { wire: API_NAME.to_owned(), model: self.model.clone(), data }, out);
        self.parts.end_part(number, out);
    }

    /// Ends the open part, and attaches the signature of its text.
    fn end_open_part(&mut self, out: &mut Vec<ModelEvent>) {
        if let Some((number, _)) = self.open_part.take() {
            self.parts.end_part(number, out);
        }
        if let Some(signature) = self.text_signature.take() {
            self.add_signature(json!({ "text": signature }), out);
        }
    }
}

impl crate::providers::EventDecoder for GeminiDecoder {
    fn push(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if event.name == "error" {
            let error = serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned()));
            return Err(ProviderErrorBody::from_json(&error).into_stream_error());
        }
        // A server that ignores `alt=sse` sends a JSON array of responses.
        let responses: Result<Vec<ResponseChunk<'_>>, _> = if data.starts_with('[') {
            serde_json::from_str(data)
        } else {
            serde_json::from_str(data).map(|response| vec![response])
        };
        let responses = match responses {
            Ok(responses) => responses,
            Err(_) if !matches!(event.name, "" | "message") => return Ok(()),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                return Err(ModelError::Malformed(format!("not a response (line {line}, column {column})")));
            }
        };
        for response in responses {
            if response.error.is_some() {
                let error: Value = parse_or_default(response.error);
                return Err(ProviderErrorBody::from_json(&error).into_stream_error());
            }
            self.read_response(&response, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.has_begun {
            return Err(ModelError::Malformed("the stream ended before the response began".to_owned()));
        }
        self.end_open_part(out);
        // Reasons such as `MALFORMED_FUNCTION_CALL` come with an empty response, which is a failure of the model.
        if let (0, true, Some(FinishReason::Other(name))) = (self.parts.count(), self.pictures.is_empty(), &self.reason)
        {
            return Err(ModelError::Provider(format!("the response is empty: {name}")));
        }
        let has_calls = self.parts.has_calls();
        out.push(ModelEvent::Finish(match self.reason.take().unwrap_or(FinishReason::Truncated) {
            // This API has no reason of its own for tool calls and reports `STOP`.
            FinishReason::Stop | FinishReason::Other(_) if has_calls => FinishReason::ToolCalls,
            reason => reason,
        }));
        Ok(())
    }

    fn progress(&self) -> StreamProgress {
        // Never `Closed`: this API has no end marker, and parts may follow a first reason.
        if self.reason.is_some() { StreamProgress::Finished } else { StreamProgress::Generating }
    }
}

fn parse_finish_reason(name: &str) -> FinishReason {
    match name {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" => {
            FinishReason::ContentFilter
        }
        other => FinishReason::Other(other.to_owned()),
    }
}
