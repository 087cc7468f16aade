//! Events of the messages API's stream.

use domain::model::Usage;
use serde::Deserialize;

use crate::providers::lenient_json::{RawField, as_number, parse_or_default};

/// Names of the events that must be JSON of this API. Events of other names are skipped when they are not.
pub(super) const EVENT_NAMES: [&str; 8] = [
    "",
    "message",
    "message_start",
    "message_delta",
    "message_stop",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
];

/// An event of the stream, or the whole message of a server that does not stream.
#[derive(Debug, Deserialize)]
pub(super) struct MessageEvent<'a> {
    #[serde(borrow, default)]
    pub r#type: RawField<'a>,
    #[serde(borrow, default)]
    pub index: RawField<'a>,
    #[serde(borrow, default)]
    pub content_block: Option<ContentBlock<'a>>,
    #[serde(borrow, default)]
    pub delta: RawField<'a>,
    #[serde(borrow, default)]
    pub message: Option<MessageStart<'a>>,
    #[serde(borrow, default)]
    pub usage: RawField<'a>,
    #[serde(borrow, default)]
    pub error: RawField<'a>,
    #[serde(borrow, default)]
    pub content: Option<Vec<ContentBlock<'a>>>,
    #[serde(borrow, default)]
    pub stop_reason: RawField<'a>,
}

/// The message at the start of the stream, of which only the usage is read.
#[derive(Debug, Deserialize)]
pub(super) struct MessageStart<'a> {
    #[serde(borrow, default)]
    pub usage: RawField<'a>,
}

/// A content block at its start, or a whole one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ContentBlock<'a> {
    #[serde(borrow, default)]
    pub r#type: RawField<'a>,
    #[serde(borrow, default)]
    pub id: RawField<'a>,
    #[serde(borrow, default)]
    pub name: RawField<'a>,
    #[serde(borrow, default)]
    pub input: RawField<'a>,
    #[serde(borrow, default)]
    pub text: RawField<'a>,
    #[serde(borrow, default)]
    pub thinking: RawField<'a>,
    #[serde(borrow, default)]
    pub signature: RawField<'a>,
    #[serde(borrow, default)]
    pub data: RawField<'a>,
}

/// An addition to a content block, or to the message.
#[derive(Debug, Default, Deserialize)]
pub(super) struct BlockDelta<'a> {
    #[serde(borrow, default)]
    pub r#type: RawField<'a>,
    #[serde(borrow, default)]
    pub text: RawField<'a>,
    #[serde(borrow, default)]
    pub thinking: RawField<'a>,
    #[serde(borrow, default)]
    pub signature: RawField<'a>,
    #[serde(borrow, default)]
    pub partial_json: RawField<'a>,
    #[serde(borrow, default)]
    pub stop_reason: RawField<'a>,
}

/// Merges the counts of an event into `usage`. Counts are totals; missing ones stay unchanged.
///
/// This API counts input tokens read from or written to the cache separately from the others; [`Usage`] includes them.
pub(super) fn merge_usage(raw: RawField<'_>, usage: &mut Usage) {
    #[derive(Default, Deserialize)]
    struct TokenCounts<'a> {
        #[serde(borrow, default, rename = "input_tokens")]
        input: RawField<'a>,
        #[serde(borrow, default, rename = "output_tokens")]
        output: RawField<'a>,
        #[serde(borrow, default, rename = "cache_read_input_tokens")]
        cache_read: RawField<'a>,
        #[serde(borrow, default, rename = "cache_creation_input_tokens")]
        cache_creation: RawField<'a>,
    }
    let counts: TokenCounts<'_> = parse_or_default(raw);
    let cached = as_number(counts.cache_read);
    let created = as_number(counts.cache_creation);
    if let Some(cached) = cached {
        usage.cached_input_tokens = cached;
    }
    // The last event repeats the input tokens, in some versions of the API without those of the cache.
    let input = as_number(counts.input).map(|uncached| uncached + cached.unwrap_or(0) + created.unwrap_or(0));
    if let Some(input) = input {
        usage.input_tokens = usage.input_tokens.max(input);
    }
    // Not the maximum, as for the input: each event has the total so far.
    if let Some(output) = as_number(counts.output) {
        usage.output_tokens = output;
    }
}
