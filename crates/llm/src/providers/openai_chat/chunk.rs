//! Chunks of the chat completions stream.

use std::borrow::Cow;

use domain::model::{PartKind, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::providers::lenient_json::{RawField, as_number, as_text, parse_or_default};

/// An event of the stream, or the whole completion of a server that does not stream.
#[derive(Debug, Deserialize)]
pub(super) struct CompletionChunk<'a> {
    #[serde(borrow, default)]
    object: RawField<'a>,
    #[serde(borrow, default)]
    pub choices: Option<Vec<CompletionChoice<'a>>>,
    #[serde(borrow, default)]
    usage: RawField<'a>,
    #[serde(borrow, default)]
    error: RawField<'a>,
    /// Groq's former place for the usage.
    #[serde(borrow, default)]
    x_groq: Option<GroqExtension<'a>>,
}

#[derive(Debug, Deserialize)]
struct GroqExtension<'a> {
    #[serde(borrow, default)]
    usage: RawField<'a>,
}

/// One of the alternative completions.
#[derive(Debug, Deserialize)]
pub(super) struct CompletionChoice<'a> {
    #[serde(borrow, default)]
    pub index: RawField<'a>,
    #[serde(borrow, default)]
    pub delta: Option<MessageDelta<'a>>,
    #[serde(borrow, default)]
    pub message: Option<MessageDelta<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: RawField<'a>,
    /// Moonshot's place for the usage.
    #[serde(borrow, default)]
    pub usage: RawField<'a>,
}

/// An addition to the message, or the whole message.
#[derive(Debug, Deserialize)]
pub(super) struct MessageDelta<'a> {
    #[serde(borrow, default)]
    pub content: RawField<'a>,
    #[serde(borrow, default)]
    pub reasoning_content: RawField<'a>,
    #[serde(borrow, default)]
    pub reasoning: RawField<'a>,
    #[serde(borrow, default)]
    pub refusal: RawField<'a>,
    /// Generated pictures, from OpenRouter and similar gateways.
    #[serde(borrow, default)]
    pub images: RawField<'a>,
    #[serde(borrow, default)]
    pub tool_calls: Option<Vec<ToolCallDelta<'a>>>,
}

/// An addition to a tool call.
#[derive(Debug, Deserialize)]
pub(super) struct ToolCallDelta<'a> {
    #[serde(borrow, default)]
    pub index: RawField<'a>,
    #[serde(borrow, default)]
    pub id: RawField<'a>,
    #[serde(borrow, default)]
    pub function: Option<FunctionDelta<'a>>,
}

/// An addition to the name and arguments of a tool call.
#[derive(Debug, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    pub name: RawField<'a>,
    #[serde(borrow, default)]
    pub arguments: RawField<'a>,
}

impl<'a> CompletionChunk<'a> {
    /// Returns the error in the chunk, if there is one. `data` is the JSON of the chunk.
    pub fn error(&self, data: &str) -> Option<Value> {
        match self.error {
            Some(error) => serde_json::from_str(error.get()).ok(),
            // Some servers send the error object itself instead of a chunk.
            None if as_text(self.object).is_some_and(|object| object == "error") => serde_json::from_str(data).ok(),
            None => None,
        }
    }

    /// Returns the usage from every place where servers put it.
    pub fn usages(&self) -> impl Iterator<Item = &'a RawValue> {
        [self.usage, self.x_groq.as_ref().and_then(|extra| extra.usage)].into_iter().flatten()
    }
}

/// Parses the text in `content`: a string, or Mistral's list of parts.
pub(super) fn parse_content(raw: &RawValue) -> Vec<(PartKind, Cow<'_, str>)> {
    if let Some(text) = as_text(Some(raw)) {
        return vec![(PartKind::Text, text)];
    }
    let parts: Vec<ContentPart<'_>> = serde_json::from_str(raw.get()).unwrap_or_default();
    let mut texts = Vec::new();
    for part in parts {
        texts.extend(as_text(part.text).map(|text| (PartKind::Text, text)));
        for thought in part.thinking.iter().flatten() {
            texts.extend(as_text(thought.text).map(|text| (PartKind::Reasoning, text)));
        }
    }
    texts
}

/// Returns the URLs of the pictures in a list of parts, most of them `data:` URLs.
pub(super) fn picture_urls(raw: RawField<'_>) -> Vec<String> {
    #[derive(Default, Deserialize)]
    struct PicturePart<'a> {
        #[serde(borrow, default)]
        image_url: RawField<'a>,
    }
    #[derive(Default, Deserialize)]
    struct PictureUrl<'a> {
        #[serde(borrow, default)]
        url: RawField<'a>,
    }
    // Nearly every content is a string, and this function runs for every token.
    let Some(list) = raw.filter(|raw| raw.get().starts_with('[')) else { return Vec::new() };
    let parts: Vec<RawField<'_>> = parse_or_default(Some(list));
    let parts: Vec<PicturePart<'_>> = parts.into_iter().map(parse_or_default).collect();
    let urls = parts.iter().filter_map(|part| {
        as_text(part.image_url).or_else(|| as_text(parse_or_default::<PictureUrl<'_>>(part.image_url).url))
    });
    urls.map(Cow::into_owned).collect()
}

#[derive(Debug, Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow, default)]
    text: RawField<'a>,
    #[serde(borrow, default)]
    thinking: Option<Vec<ThinkingBlock<'a>>>,
}

#[derive(Debug, Deserialize)]
struct ThinkingBlock<'a> {
    #[serde(borrow, default)]
    text: RawField<'a>,
}

/// Parses the token counts; missing ones are 0.
pub(super) fn parse_usage(raw: &RawValue) -> Usage {
    #[derive(Default, Deserialize)]
    struct TokenCounts<'a> {
        #[serde(borrow, default)]
        prompt_tokens: RawField<'a>,
        #[serde(borrow, default)]
        completion_tokens: RawField<'a>,
        #[serde(borrow, default)]
        prompt_tokens_details: Option<PromptTokenDetails<'a>>,
        /// DeepSeek's name for the cached tokens.
        #[serde(borrow, default)]
        prompt_cache_hit_tokens: RawField<'a>,
    }
    #[derive(Deserialize)]
    struct PromptTokenDetails<'a> {
        #[serde(borrow, default)]
        cached_tokens: RawField<'a>,
    }
    let tokens: TokenCounts<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let cached = tokens.prompt_tokens_details.and_then(|details| as_number(details.cached_tokens));
    Usage {
        input_tokens: as_number(tokens.prompt_tokens).unwrap_or(0),
        output_tokens: as_number(tokens.completion_tokens).unwrap_or(0),
        cached_input_tokens: cached.or_else(|| as_number(tokens.prompt_cache_hit_tokens)).unwrap_or(0),
    }
}
