//! OpenAI's responses API, as OpenAI and its imitators really implement it.
//!
//! Nothing is stored at the provider, so reasoning is received encrypted, kept as a [`Signature`], and sent back with the
//! call that it led to. Items are identified by their index in the output.

mod encode;
mod event;

use domain::model::{FinishReason, ModelError, ModelEvent, PartKind, Request, Signature, Usage};
use serde_json::{Value, json};

use crate::error_mapping::ProviderErrorBody;
use crate::providers::files::GeneratedPictures;
use crate::providers::lenient_json::{arguments_text, as_number, as_text, parse_or_default};
use crate::providers::part_tracker::PartTracker;
use crate::providers::{StreamProgress, openai_chat};
use crate::sse::SseEvent;

pub(crate) use encode::adjust_after_refusal;
pub use encode::encode;

use event::{OutputItem, ResponseEvent, ResponseOutcome};

/// Name of this API in a [`Signature`].
const API_NAME: &str = "openai-responses";

/// Prefixes of the names of OpenAI's models that do not chat. Only prefixes, because other servers use "instruct" and
/// "image" in the names of chat models.
const NON_CHAT_PREFIXES: [&str; 11] = [
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

/// Fragments of the names of `gpt-` models that do not chat.
const NON_CHAT_GPT_FRAGMENTS: [&str; 5] = ["-realtime", "-audio", "-transcribe", "-tts", "-turbo-instruct"];

/// Parses the names in a model list, without models that only embed, generate pictures, transcribe or speak.
pub(super) fn parse_model_names(body: &[u8]) -> Result<Vec<String>, ModelError> {
    let mut names = openai_chat::parse_model_names(body)?;
    names.retain(|name| {
        let is_non_chat_gpt =
            name.starts_with("gpt-") && NON_CHAT_GPT_FRAGMENTS.iter().any(|fragment| name.contains(fragment));
        !is_non_chat_gpt && !NON_CHAT_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    });
    Ok(names)
}

/// Decoder for one response.
#[derive(Debug, Default)]
pub struct ResponsesDecoder {
    model: String,
    parts: PartTracker,
    open_items: Vec<OpenItem>,
    pictures: GeneratedPictures,
    usage: Usage,
    reason: Option<FinishReason>,
    has_begun: bool,
    closed: bool,
}

/// An output item that has started and not ended, identified by its index; see [`ResponsesDecoder`].
#[derive(Debug)]
struct OpenItem {
    index: u64,
    part: u32,
    kind: PartKind,
    /// Whether a delta was emitted, so that the whole item at its end only repeats it.
    has_content: bool,
    /// Index of the section (of a reasoning summary or of a message) that the last delta belongs to.
    section: u64,
}

impl ResponsesDecoder {
    /// Creates a decoder for the response to `request`.
    pub fn new(request: &Request) -> Self {
        Self { model: request.model.clone(), parts: PartTracker::new(request), ..Self::default() }
    }

    /// Starts the part of an item, if it is a message, reasoning or a tool call.
    fn start_item(&mut self, index: u64, item: &OutputItem<'_>, out: &mut Vec<ModelEvent>) {
        let part = match as_text(item.r#type).unwrap_or_default().as_ref() {
            "message" => return self.open_part(index, PartKind::Text, out),
            "reasoning" => return self.open_part(index, PartKind::Reasoning, out),
            "function_call" => {
                // `call_id` is what a result has to name; `id` identifies the item only.
                let id = as_text(item.call_id).or_else(|| as_text(item.id));
                let name = as_text(item.name).unwrap_or_default().into_owned();
                self.parts.start_call(id.as_deref(), name, out)
            }
            // Items of the provider's own tools; pictures count when they end.
            _ => return,
        };
        // Id and name are in the event that started the part, so the kind is all that is needed here.
        let kind = PartKind::ToolCall { id: String::new(), name: String::new() };
        self.open_items.push(OpenItem { index, part, kind, has_content: false, section: 0 });
    }

    fn open_part(&mut self, index: u64, kind: PartKind, out: &mut Vec<ModelEvent>) {
        let part = self.parts.start_part(kind.clone(), out);
        self.open_items.push(OpenItem { index, part, kind, has_content: false, section: 0 });
    }

    /// Appends text to the item at `index`, which is started first if its start event is missing.
    fn append_text(&mut self, index: u64, section: u64, kind: &PartKind, text: &str, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        if !self.open_items.iter().any(|item| item.index == index) {
            self.open_part(index, kind.clone(), out);
        }
        let Some(item) = self.open_items.iter_mut().find(|item| item.index == index) else { return };
        // Sections are paragraphs; without the separator their texts would run together.
        if std::mem::replace(&mut item.section, section) != section && item.has_content {
            self.parts.append(item.part, "\n\n", out);
        }
        item.has_content = true;
        self.parts.append(item.part, text, out);
    }

    fn append_arguments(&mut self, index: u64, text: &str, out: &mut Vec<ModelEvent>) {
        let call = self.open_items.iter_mut().find(|item| item.index == index);
        let Some(item) = call.filter(|item| matches!(item.kind, PartKind::ToolCall { .. })) else { return };
        item.has_content |= !text.is_empty();
        self.parts.append(item.part, text, out);
    }

    /// Ends an item. `item` is the whole item, which some servers send without any delta before.
    fn end_item(&mut self, index: u64, item: &OutputItem<'_>, out: &mut Vec<ModelEvent>) {
        if as_text(item.r#type).as_deref() == Some("image_generation_call") {
            let picture = as_text(item.result).and_then(|data| self.pictures.decode_base64(&data));
            return picture.into_iter().for_each(|picture| picture.emit(out));
        }
        if !self.open_items.iter().any(|open| open.index == index) {
            self.start_item(index, item, out);
        }
        let Some(position) = self.open_items.iter().position(|open| open.index == index) else { return };
        let open = self.open_items.remove(position);
        if !open.has_content {
            let text = match &open.kind {
                PartKind::ToolCall { .. } => arguments_text(item.arguments).into_owned(),
                PartKind::Text | PartKind::Reasoning => item.text(),
            };
            self.parts.append(open.part, text, out);
        }
        if let (PartKind::Reasoning, Some(encrypted)) = (&open.kind, as_text(item.encrypted_content))
            && !encrypted.is_empty()
        {
            let data = json!({ "encrypted_content": encrypted });
            self.parts.signature(
                open.part,
                Signature { wire: API_NAME.to_owned(), model: self.model.clone(), data },
                out,
            );
        }
        self.parts.end_part(open.part, out);
    }

    /// Ends the response. `outcome` is the whole response, whose items count when a server has streamed none of them.
    fn end_response(&mut self, outcome: &ResponseOutcome<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.has_begun = true;
        if let Some(error) = outcome.error {
            let error: Value = parse_or_default(Some(error));
            return Err(ProviderErrorBody::from_json(&error).into_stream_error());
        }
        // The final event repeats all items. They are read only if nothing was streamed.
        if self.parts.count() == 0 && self.pictures.is_empty() {
            for (index, item) in (0..).zip(outcome.output.iter().flatten()) {
                self.end_item(index, item, out);
            }
        }
        let usage = event::parse_usage(outcome.usage);
        if usage != Usage::default() && usage != self.usage {
            self.usage = usage;
            out.push(ModelEvent::Usage(usage));
        }
        let incomplete_reason = outcome.incomplete_details.as_ref().and_then(|details| as_text(details.reason));
        let status = as_text(outcome.status).unwrap_or_default();
        self.reason.get_or_insert_with(|| match (incomplete_reason.as_deref(), status.as_ref()) {
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

impl crate::providers::EventDecoder for ResponsesDecoder {
    fn push(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" || self.closed {
            return Ok(());
        }
        let payload: ResponseEvent<'_> = match serde_json::from_str(data) {
            Ok(payload) => payload,
            Err(_) if event.name == "error" => {
                return Err(ProviderErrorBody::from_json(&Value::String(data.to_owned())).into_stream_error());
            }
            Err(_) if !(event.name.is_empty() || event.name.starts_with("response.")) => return Ok(()),
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                return Err(ModelError::Malformed(format!("not a response (line {line}, column {column})")));
            }
        };
        let kind = as_text(payload.r#type).unwrap_or_default();
        if kind == "error" || event.name == "error" || (kind.is_empty() && payload.error.is_some()) {
            return Err(
                ProviderErrorBody::from_json(&serde_json::from_str(data).unwrap_or_default()).into_stream_error()
            );
        }
        // A whole response, from a server that does not stream.
        if kind.is_empty() && payload.output.is_some() {
            return self.end_response(&parse_or_default(serde_json::from_str(data).ok()), out);
        }
        self.has_begun |= kind.starts_with("response.");
        let index =
            as_number(payload.output_index).unwrap_or_else(|| self.open_items.last().map_or(0, |item| item.index));
        let section = as_number(payload.summary_index).or_else(|| as_number(payload.content_index)).unwrap_or(0);
        let delta = as_text(payload.delta).unwrap_or_default();
        match kind.as_ref() {
            "response.output_item.added" => self.start_item(index, &payload.item.unwrap_or_default(), out),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.append_text(index, section, &PartKind::Text, &delta, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.append_text(index, section, &PartKind::Reasoning, &delta, out);
            }
            "response.function_call_arguments.delta" => self.append_arguments(index, &delta, out),
            "response.output_item.done" => self.end_item(index, &payload.item.unwrap_or_default(), out),
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => {
                let outcome = payload.response.unwrap_or_default();
                if kind == "response.failed" && outcome.error.is_none() {
                    return Err(ModelError::Provider("the response ended with an error".to_owned()));
                }
                self.end_response(&outcome, out)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.has_begun {
            return Err(ModelError::Malformed("the stream ended before the response began".to_owned()));
        }
        // Their encrypted reasoning comes with the end of an item, so an unfinished one has nothing to keep.
        self.open_items.clear();
        self.parts.end_all(out);
        let reason = self.reason.take().unwrap_or(FinishReason::Truncated);
        let has_calls = self.parts.has_calls();
        out.push(ModelEvent::Finish(match reason {
            FinishReason::Stop | FinishReason::Other(_) if has_calls => FinishReason::ToolCalls,
            reason => reason,
        }));
        Ok(())
    }

    fn progress(&self) -> StreamProgress {
        if self.closed { StreamProgress::Closed } else { StreamProgress::Generating }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_only_chat_models() {
        let chat = ["gpt-a", "o-b", "smol-135m-instruct.gguf", "maker/image-reader"];
        let others =
            ["text-embedding-3-large", "gpt-image-1", "gpt-realtime", "gpt-4o-mini-tts", "gpt-3.5-turbo-instruct"];
        let data: Vec<_> = chat.iter().chain(&others).map(|id| serde_json::json!({ "id": id })).collect();
        let body = serde_json::json!({ "data": data }).to_string();
        assert_eq!(parse_model_names(body.as_bytes()).unwrap(), chat);
    }
}
