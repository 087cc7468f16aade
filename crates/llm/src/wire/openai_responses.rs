//! OpenAI responses, as OpenAI and the servers that imitate it really send them.
//!
//! Nothing is stored at the provider, so a thought comes back in its cipher as a seal, and is sent with the call that it
//! led to. Items are known by their place in the output.

mod encode;
mod event;

use domain::model::{FinishReason, ModelError, ModelEvent, PartKind, Request, Seal, Usage};
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::sse;
use crate::wire::files::Pictures;
use crate::wire::leaf::{arguments_in, number_in, read_in, text_in};
use crate::wire::parts::Parts;
use crate::wire::{Progress, openai_chat};

pub(crate) use encode::concede;
pub use encode::encode;

use event::{Event, Item, Outcome};

/// The name of this wire on a seal.
const WIRE: &str = "openai-responses";

/// How the names of OpenAI's models begin that do not talk. Other servers' names are their own: "instruct" and "image" stand
/// in those of models that do.
const SILENT: [&str; 11] = [
    "text-embedding",
    "whisper",
    "tts-",
    "dall-e",
    "gpt-image",
    "chatgpt-image",
    "omni-moderation",
    "text-moderation",
    "sora",
    "davinci",
    "babbage",
];

/// What the names of those have in them that begin like those that talk.
const SILENT_GPT: [&str; 5] = ["-realtime", "-audio", "-transcribe", "-tts", "-turbo-instruct"];

/// The names in a list of models, without those that only embed, draw, listen or speak.
pub(super) fn model_names(body: &[u8]) -> Result<Vec<String>, ModelError> {
    let mut names = openai_chat::model_names(body)?;
    names.retain(|name| {
        let is_silent_gpt = name.starts_with("gpt-") && SILENT_GPT.iter().any(|word| name.contains(word));
        !is_silent_gpt && !SILENT.iter().any(|word| name.starts_with(word))
    });
    Ok(names)
}

/// Reads one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    model: String,
    parts: Parts,
    items: Vec<Open>,
    pictures: Pictures,
    usage: Usage,
    reason: Option<FinishReason>,
    has_begun: bool,
    closed: bool,
}

/// An item that has begun and not ended.
#[derive(Debug)]
struct Open {
    place: u64,
    part: u32,
    kind: PartKind,
    /// Something of it has been told, so that its repetition at the end is not.
    has_words: bool,
    /// The piece of the item (of the summary of a thought, of a message) that grows now.
    piece: u64,
}

impl Decoder {
    /// A decoder for the answer to `request`.
    pub fn new(request: &Request) -> Self {
        Self { model: request.model.clone(), parts: Parts::new(request), ..Self::default() }
    }

    /// Opens an item, if it is one that speaks to us.
    fn start(&mut self, place: u64, item: &Item<'_>, out: &mut Vec<ModelEvent>) {
        let part = match text_in(item.r#type).unwrap_or_default().as_ref() {
            "message" => return self.open(place, PartKind::Text, out),
            "reasoning" => return self.open(place, PartKind::Reasoning, out),
            "function_call" => {
                let id = text_in(item.call_id).or_else(|| text_in(item.id));
                let name = text_in(item.name).unwrap_or_default().into_owned();
                self.parts.start_call(id.as_deref(), name, out)
            }
            _ => return,
        };
        // What the call is stands in the event that opened it.
        let kind = PartKind::ToolCall { id: String::new(), name: String::new() };
        self.items.push(Open { place, part, kind, has_words: false, piece: 0 });
    }

    fn open(&mut self, place: u64, kind: PartKind, out: &mut Vec<ModelEvent>) {
        let part = self.parts.start(kind.clone(), out);
        self.items.push(Open { place, part, kind, has_words: false, piece: 0 });
    }

    /// Adds words to the item at `place`, which is opened when nobody said that it begins.
    fn grow(&mut self, place: u64, piece: u64, kind: &PartKind, text: &str, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        if !self.items.iter().any(|item| item.place == place) {
            self.open(place, kind.clone(), out);
        }
        let Some(item) = self.items.iter_mut().find(|item| item.place == place) else { return };
        if std::mem::replace(&mut item.piece, piece) != piece && item.has_words {
            self.parts.grow(item.part, "\n\n", out);
        }
        item.has_words = true;
        self.parts.grow(item.part, text, out);
    }

    fn grow_call(&mut self, place: u64, text: &str, out: &mut Vec<ModelEvent>) {
        let call = self.items.iter_mut().find(|item| item.place == place);
        let Some(item) = call.filter(|item| matches!(item.kind, PartKind::ToolCall { .. })) else { return };
        item.has_words |= !text.is_empty();
        self.parts.grow(item.part, text, out);
    }

    /// Closes an item; `item` is the whole of it, which some servers send without any pieces before.
    fn stop(&mut self, place: u64, item: &Item<'_>, out: &mut Vec<ModelEvent>) {
        if text_in(item.r#type).as_deref() == Some("image_generation_call") {
            let picture = text_in(item.result).and_then(|data| self.pictures.read(&data));
            return picture.into_iter().for_each(|picture| picture.tell(out));
        }
        if !self.items.iter().any(|open| open.place == place) {
            self.start(place, item, out);
        }
        let Some(at) = self.items.iter().position(|open| open.place == place) else { return };
        let open = self.items.remove(at);
        if !open.has_words {
            let words = match &open.kind {
                PartKind::ToolCall { .. } => arguments_in(item.arguments).into_owned(),
                PartKind::Text | PartKind::Reasoning => item.words(),
            };
            self.parts.grow(open.part, words, out);
        }
        if let (PartKind::Reasoning, Some(cipher)) = (&open.kind, text_in(item.encrypted_content))
            && !cipher.is_empty()
        {
            let data = json!({ "encrypted_content": cipher });
            self.parts.seal(open.part, Seal { wire: WIRE.to_owned(), model: self.model.clone(), data }, out);
        }
        self.parts.end(open.part, out);
    }

    /// The end of the answer, or all of it from a server that does not stream.
    fn end(&mut self, outcome: &Outcome<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.has_begun = true;
        if let Some(error) = outcome.error {
            let error: Value = read_in(Some(error));
            return Err(Fault::from_value(&error).into_error_in_stream());
        }
        if self.parts.count() == 0 && self.pictures.is_empty() {
            for (place, item) in (0..).zip(outcome.output.iter().flatten()) {
                self.stop(place, item, out);
            }
        }
        let usage = event::usage(outcome.usage);
        if usage != Usage::default() && usage != self.usage {
            self.usage = usage;
            out.push(ModelEvent::Usage(usage));
        }
        let cut = outcome.incomplete_details.as_ref().and_then(|details| text_in(details.reason));
        let status = text_in(outcome.status).unwrap_or_default();
        self.reason.get_or_insert_with(|| match (cut.as_deref(), status.as_ref()) {
            (Some("content_filter"), _) => FinishReason::ContentFilter,
            (Some("max_output_tokens" | "max_tokens"), _) | (None, "incomplete") => FinishReason::Length,
            (Some(other), _) => FinishReason::Other(other.to_owned()),
            (None, "failed" | "cancelled") => FinishReason::Truncated,
            (None, _) => FinishReason::Stop,
        });
        self.closed = true;
        Ok(())
    }
}

impl crate::wire::Decoder for Decoder {
    fn push(&mut self, event: &sse::Event<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" || self.closed {
            return Ok(());
        }
        let told: Event<'_> = match serde_json::from_str(data) {
            Ok(told) => told,
            Err(_) if event.name == "error" => {
                return Err(Fault::from_value(&Value::String(data.to_owned())).into_error_in_stream());
            }
            Err(_) if !(event.name.is_empty() || event.name.starts_with("response.")) => return Ok(()),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                return Err(ModelError::Malformed(format!("not a response, line {line}, column {column}")));
            }
        };
        let kind = text_in(told.r#type).unwrap_or_default();
        if kind == "error" || event.name == "error" || (kind.is_empty() && told.error.is_some()) {
            return Err(Fault::from_value(&serde_json::from_str(data).unwrap_or_default()).into_error_in_stream());
        }
        if kind.is_empty() && told.output.is_some() {
            return self.end(&read_in(serde_json::from_str(data).ok()), out);
        }
        self.has_begun |= kind.starts_with("response.");
        let place = number_in(told.output_index).unwrap_or_else(|| self.items.last().map_or(0, |item| item.place));
        let piece = number_in(told.summary_index).or_else(|| number_in(told.content_index)).unwrap_or(0);
        let delta = text_in(told.delta).unwrap_or_default();
        match kind.as_ref() {
            "response.output_item.added" => self.start(place, &told.item.unwrap_or_default(), out),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.grow(place, piece, &PartKind::Text, &delta, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.grow(place, piece, &PartKind::Reasoning, &delta, out);
            }
            "response.function_call_arguments.delta" => self.grow_call(place, &delta, out),
            "response.output_item.done" => self.stop(place, &told.item.unwrap_or_default(), out),
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => {
                let outcome = told.response.unwrap_or_default();
                if kind == "response.failed" && outcome.error.is_none() {
                    return Err(ModelError::Provider("the answer ended with an error".to_owned()));
                }
                self.end(&outcome, out)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.has_begun {
            return Err(ModelError::Malformed("it ended before the answer began".to_owned()));
        }
        self.items.clear();
        self.parts.end_all(out);
        let reason = self.reason.take().unwrap_or(FinishReason::Truncated);
        let called = self.parts.has_calls();
        out.push(ModelEvent::Finish(match reason {
            FinishReason::Stop | FinishReason::Other(_) if called => FinishReason::ToolCalls,
            reason => reason,
        }));
        Ok(())
    }

    fn progress(&self) -> Progress {
        if self.closed { Progress::Closed } else { Progress::Open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_models_that_talk_are_listed() {
        let talks = ["gpt-a", "o-b", "smol-135m-instruct.gguf", "maker/image-reader"];
        let silent =
            ["text-embedding-3-large", "gpt-image-1", "gpt-realtime", "gpt-4o-mini-tts", "gpt-3.5-turbo-instruct"];
        let data: Vec<_> = talks.iter().chain(&silent).map(|id| serde_json::json!({ "id": id })).collect();
        let body = serde_json::json!({ "data": data }).to_string();
        assert_eq!(model_names(body.as_bytes()).unwrap(), talks);
    }
}
