//! Gemini, as Google really sends it.
//!
//! A stream is a row of whole responses, each with some parts more; a call comes in one piece. A signature belongs to the
//! part that it stands on (a call, text or a picture) and must come back there: it is kept as a thought before that part,
//! which names a picture by its mark.

mod encode;
mod event;

use std::collections::HashSet;

use domain::model::{FinishReason, ModelError, ModelEvent, PartKind, Request, Seal, Usage};
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::sse;
use crate::wire::files::Pictures;
use crate::wire::leaf::{arguments_in, read_in, text_in};
use crate::wire::parts::Parts;
use crate::wire::{Head, Progress};

pub(crate) use encode::concede;
pub use encode::encode;
pub(super) use event::model_names;

use event::{Candidate, Part, Response};

/// The name of this wire on a seal.
const WIRE: &str = "gemini";

/// The head of every request.
pub(super) const HEAD: Head = Head { key_name: "x-goog-api-key", key_prefix: "", others: &[] };

/// The path of the list of models, all of them on one page.
pub(super) const MODELS_PATH: &str = "v1beta/models?pageSize=1000";

/// Reads one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    model: String,
    parts: Parts,
    /// The tools of the request, by the names that the model was given.
    tools: HashSet<String>,
    /// The text or thought that grows now.
    open: Option<(u32, PartKind)>,
    /// The signature of the text that grows now.
    signature: Option<String>,
    pictures: Pictures,
    usage: Usage,
    reason: Option<FinishReason>,
    has_begun: bool,
}

impl Decoder {
    /// A decoder for the answer to `request`.
    pub fn new(request: &Request) -> Self {
        let tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
        Self { model: request.model.clone(), parts: Parts::new(request), tools, ..Self::default() }
    }

    fn take_response(&mut self, response: &Response<'_>, out: &mut Vec<ModelEvent>) {
        self.has_begun |= response.is_one();
        // One candidate is asked for, so another one is a server's mistake.
        if let Some(candidate) = response.candidates.iter().flatten().next() {
            self.take_candidate(candidate, out);
        }
        let feedback = response.prompt_feedback.as_ref().and_then(|feedback| text_in(feedback.block_reason));
        if feedback.is_some_and(|reason| !reason.is_empty() && reason != "BLOCK_REASON_UNSPECIFIED") {
            self.reason.get_or_insert(FinishReason::ContentFilter);
        }
        let usage = event::usage(response.usage_metadata);
        if usage != Usage::default() && usage != self.usage {
            self.usage = usage;
            out.push(ModelEvent::Usage(usage));
        }
    }

    fn take_candidate(&mut self, candidate: &Candidate<'_>, out: &mut Vec<ModelEvent>) {
        for part in candidate.content.iter().flat_map(|content| content.parts.iter().flatten()) {
            self.take_part(part, out);
        }
        let reason = text_in(candidate.finish_reason).filter(|word| !word.is_empty());
        if let Some(reason) = reason.filter(|word| word != "FINISH_REASON_UNSPECIFIED") {
            // Some versions say "STOP" with every piece, and why it stopped with the last.
            self.reason = Some(finish_reason(&reason));
        }
    }

    fn take_part(&mut self, part: &Part<'_>, out: &mut Vec<ModelEvent>) {
        let signature = text_in(part.thought_signature).filter(|signature| !signature.is_empty());
        if let Some(call) = &part.function_call {
            if signature.is_none() || !self.is_thinking() {
                self.close(out);
            }
            if let Some(signature) = signature {
                self.seal(json!({ "call": signature }), out);
            }
            let name = text_in(call.name).unwrap_or_default().into_owned();
            // A name that the wire does not take was sent with a line before it.
            let own = name.strip_prefix('_').filter(|own| !self.tools.contains(&name) && self.tools.contains(*own));
            let name = own.map_or_else(|| name.clone(), str::to_owned);
            let number = self.parts.start_call(text_in(call.id).as_deref(), name, out);
            self.parts.grow(number, arguments_in(call.args), out);
            self.parts.end(number, out);
            return;
        }
        let is_thought = part.thought.is_some_and(|raw| raw.get() == "true");
        if let Some(inline) = &part.inline_data {
            // What it drew while it thought is a draft, and nothing is wanted back of it.
            let data = text_in(inline.data).filter(|_| !is_thought);
            let Some(picture) = data.and_then(|data| self.pictures.read(&data)) else { return };
            self.close(out);
            if let Some(signature) = signature {
                self.seal(json!({ "picture": picture.mark(), "signature": signature }), out);
            }
            picture.tell(out);
            return;
        }
        let kind = if is_thought { PartKind::Reasoning } else { PartKind::Text };
        if let Some(text) = text_in(part.text).filter(|text| !text.is_empty()) {
            let number = match &self.open {
                Some((number, open)) if *open == kind => *number,
                _ => {
                    self.close(out);
                    let number = self.parts.start(kind.clone(), out);
                    self.open = Some((number, kind));
                    number
                }
            };
            self.parts.grow(number, text, out);
        }
        match signature {
            // The text may go on.
            Some(signature) if self.open.is_some() && !self.is_thinking() => {
                self.signature = Some(signature.into_owned());
            }
            Some(signature) => self.seal(json!({ "text": signature }), out),
            None => {}
        }
    }

    fn is_thinking(&self) -> bool {
        matches!(self.open, Some((_, PartKind::Reasoning)))
    }

    /// Keeps a signature: with the thought that is being told, else as a thought without words.
    fn seal(&mut self, data: Value, out: &mut Vec<ModelEvent>) {
        let number = match self.open.take() {
            Some((number, PartKind::Reasoning)) => number,
            other => {
                self.open = other;
                self.close(out);
                self.parts.start(PartKind::Reasoning, out)
            }
        };
        self.parts.seal(number, Seal { wire: WIRE.to_owned(), model: self.model.clone(), data }, out);
        self.parts.end(number, out);
    }

    fn close(&mut self, out: &mut Vec<ModelEvent>) {
        if let Some((number, _)) = self.open.take() {
            self.parts.end(number, out);
        }
        if let Some(signature) = self.signature.take() {
            self.seal(json!({ "text": signature }), out);
        }
    }
}

impl crate::wire::Decoder for Decoder {
    fn push(&mut self, event: &sse::Event<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if event.name == "error" {
            let fault = serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned()));
            return Err(Fault::from_value(&fault).into_error_in_stream());
        }
        // A server that was not understood to be asked for events sends a list of responses.
        let responses: Result<Vec<Response<'_>>, _> = if data.starts_with('[') {
            serde_json::from_str(data)
        } else {
            serde_json::from_str(data).map(|response| vec![response])
        };
        let responses = match responses {
            Ok(responses) => responses,
            Err(_) if !matches!(event.name, "" | "message") => return Ok(()),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                return Err(ModelError::Malformed(format!("not a response, line {line}, column {column}")));
            }
        };
        for response in responses {
            if response.error.is_some() {
                let error: Value = read_in(response.error);
                return Err(Fault::from_value(&error).into_error_in_stream());
            }
            self.take_response(&response, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.has_begun {
            return Err(ModelError::Malformed("it ended before the answer began".to_owned()));
        }
        self.close(out);
        if let (0, true, Some(FinishReason::Other(word))) = (self.parts.count(), self.pictures.is_empty(), &self.reason)
        {
            return Err(ModelError::Provider(format!("it gave no answer: {word}")));
        }
        let called = self.parts.has_calls();
        out.push(ModelEvent::Finish(match self.reason.take().unwrap_or(FinishReason::Truncated) {
            FinishReason::Stop | FinishReason::Other(_) if called => FinishReason::ToolCalls,
            reason => reason,
        }));
        Ok(())
    }

    fn progress(&self) -> Progress {
        if self.reason.is_some() { Progress::Answered } else { Progress::Open }
    }
}

fn finish_reason(word: &str) -> FinishReason {
    match word {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" => {
            FinishReason::ContentFilter
        }
        other => FinishReason::Other(other.to_owned()),
    }
}
