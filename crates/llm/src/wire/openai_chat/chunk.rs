//! What a chunk holds.

use std::borrow::Cow;

use domain::model::{PartKind, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wire::leaf::{Raw, number_in, read_in, text_in};

#[derive(Debug, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    object: Raw<'a>,
    #[serde(borrow, default)]
    pub choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
    #[serde(borrow, default)]
    error: Raw<'a>,
    /// Where Groq put the usage before it followed the rest.
    #[serde(borrow, default)]
    x_groq: Option<Extra<'a>>,
}

#[derive(Debug, Deserialize)]
struct Extra<'a> {
    #[serde(borrow, default)]
    usage: Raw<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub index: Raw<'a>,
    #[serde(borrow, default)]
    pub delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub message: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: Raw<'a>,
    /// Where Moonshot puts the usage.
    #[serde(borrow, default)]
    pub usage: Raw<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub content: Raw<'a>,
    #[serde(borrow, default)]
    pub reasoning_content: Raw<'a>,
    #[serde(borrow, default)]
    pub reasoning: Raw<'a>,
    #[serde(borrow, default)]
    pub refusal: Raw<'a>,
    /// Where OpenRouter and those like it put pictures.
    #[serde(borrow, default)]
    pub images: Raw<'a>,
    #[serde(borrow, default)]
    pub tool_calls: Option<Vec<Piece<'a>>>,
}

/// A piece of a tool call.
#[derive(Debug, Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow, default)]
    pub index: Raw<'a>,
    #[serde(borrow, default)]
    pub id: Raw<'a>,
    #[serde(borrow, default)]
    pub function: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub name: Raw<'a>,
    #[serde(borrow, default)]
    pub arguments: Raw<'a>,
}

impl<'a> Chunk<'a> {
    /// The error that the chunk tells, if it tells one; `data` is the chunk's text.
    pub fn error(&self, data: &str) -> Option<Value> {
        match self.error {
            Some(error) => serde_json::from_str(error.get()).ok(),
            // The error itself stands in place of a chunk.
            None if text_in(self.object).is_some_and(|object| object == "error") => serde_json::from_str(data).ok(),
            None => None,
        }
    }

    pub fn usages(&self) -> impl Iterator<Item = &'a RawValue> {
        [self.usage, self.x_groq.as_ref().and_then(|extra| extra.usage)].into_iter().flatten()
    }
}

/// The words in `content`: a string, or Mistral's list of parts.
pub(super) fn content(raw: &RawValue) -> Vec<(PartKind, Cow<'_, str>)> {
    if let Some(text) = text_in(Some(raw)) {
        return vec![(PartKind::Text, text)];
    }
    let parts: Vec<ContentPart<'_>> = serde_json::from_str(raw.get()).unwrap_or_default();
    let mut words = Vec::new();
    for part in parts {
        words.extend(text_in(part.text).map(|text| (PartKind::Text, text)));
        for thought in part.thinking.iter().flatten() {
            words.extend(text_in(thought.text).map(|text| (PartKind::Reasoning, text)));
        }
    }
    words
}

/// The addresses of pictures in a list of parts; most hold the picture themselves.
pub(super) fn picture_addresses(raw: Raw<'_>) -> Vec<String> {
    #[derive(Default, Deserialize)]
    struct Part<'a> {
        #[serde(borrow, default)]
        image_url: Raw<'a>,
    }
    #[derive(Default, Deserialize)]
    struct Address<'a> {
        #[serde(borrow, default)]
        url: Raw<'a>,
    }
    // Nearly every content is a string, and this is asked for every word.
    let Some(list) = raw.filter(|raw| raw.get().starts_with('[')) else { return Vec::new() };
    let parts: Vec<Raw<'_>> = read_in(Some(list));
    let parts: Vec<Part<'_>> = parts.into_iter().map(read_in).collect();
    let addresses = parts
        .iter()
        .filter_map(|part| text_in(part.image_url).or_else(|| text_in(read_in::<Address<'_>>(part.image_url).url)));
    addresses.map(Cow::into_owned).collect()
}

#[derive(Debug, Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(borrow, default)]
    thinking: Option<Vec<Thought<'a>>>,
}

#[derive(Debug, Deserialize)]
struct Thought<'a> {
    #[serde(borrow, default)]
    text: Raw<'a>,
}

/// The tokens in a usage; what is missing is 0.
pub(super) fn usage(raw: &RawValue) -> Usage {
    #[derive(Default, Deserialize)]
    struct Counts<'a> {
        #[serde(borrow, default)]
        prompt_tokens: Raw<'a>,
        #[serde(borrow, default)]
        completion_tokens: Raw<'a>,
        #[serde(borrow, default)]
        prompt_tokens_details: Option<Details<'a>>,
        /// DeepSeek's name.
        #[serde(borrow, default)]
        prompt_cache_hit_tokens: Raw<'a>,
    }
    #[derive(Deserialize)]
    struct Details<'a> {
        #[serde(borrow, default)]
        cached_tokens: Raw<'a>,
    }
    let tokens: Counts<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    let cached = tokens.prompt_tokens_details.and_then(|details| number_in(details.cached_tokens));
    Usage {
        input_tokens: number_in(tokens.prompt_tokens).unwrap_or(0),
        output_tokens: number_in(tokens.completion_tokens).unwrap_or(0),
        cached_input_tokens: cached.or_else(|| number_in(tokens.prompt_cache_hit_tokens)).unwrap_or(0),
    }
}
