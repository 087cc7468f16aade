//! What an event holds.

use domain::model::Usage;
use serde::Deserialize;

use crate::wire::leaf::{Raw, number_in, read_in};

/// The events that an answer is made of; what goes under another name may be anything.
pub(super) const NAMES: [&str; 8] = [
    "",
    "message",
    "message_start",
    "message_delta",
    "message_stop",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
];

/// An event of a stream, or the message of a server that does not stream.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default)]
    pub r#type: Raw<'a>,
    #[serde(borrow, default)]
    pub index: Raw<'a>,
    #[serde(borrow, default)]
    pub content_block: Option<Block<'a>>,
    #[serde(borrow, default)]
    pub delta: Raw<'a>,
    #[serde(borrow, default)]
    pub message: Option<Start<'a>>,
    #[serde(borrow, default)]
    pub usage: Raw<'a>,
    #[serde(borrow, default)]
    pub error: Raw<'a>,
    #[serde(borrow, default)]
    pub content: Option<Vec<Block<'a>>>,
    #[serde(borrow, default)]
    pub stop_reason: Raw<'a>,
}

/// The message as it begins.
#[derive(Debug, Deserialize)]
pub(super) struct Start<'a> {
    #[serde(borrow, default)]
    pub usage: Raw<'a>,
}

/// A block as it begins, or a whole one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, default)]
    pub r#type: Raw<'a>,
    #[serde(borrow, default)]
    pub id: Raw<'a>,
    #[serde(borrow, default)]
    pub name: Raw<'a>,
    #[serde(borrow, default)]
    pub input: Raw<'a>,
    #[serde(borrow, default)]
    pub text: Raw<'a>,
    #[serde(borrow, default)]
    pub thinking: Raw<'a>,
    #[serde(borrow, default)]
    pub signature: Raw<'a>,
    #[serde(borrow, default)]
    pub data: Raw<'a>,
}

/// What is added to a block, or to the message.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub r#type: Raw<'a>,
    #[serde(borrow, default)]
    pub text: Raw<'a>,
    #[serde(borrow, default)]
    pub thinking: Raw<'a>,
    #[serde(borrow, default)]
    pub signature: Raw<'a>,
    #[serde(borrow, default)]
    pub partial_json: Raw<'a>,
    #[serde(borrow, default)]
    pub stop_reason: Raw<'a>,
}

/// Takes over what a usage tells; the counts are totals, and what is missing stays as it was. The wire counts tokens
/// that came from or went to the cache apart from the others that were read.
pub(super) fn add_usage(raw: Raw<'_>, usage: &mut Usage) {
    #[derive(Default, Deserialize)]
    struct Counts<'a> {
        #[serde(borrow, default, rename = "input_tokens")]
        input: Raw<'a>,
        #[serde(borrow, default, rename = "output_tokens")]
        output: Raw<'a>,
        #[serde(borrow, default, rename = "cache_read_input_tokens")]
        cache_read: Raw<'a>,
        #[serde(borrow, default, rename = "cache_creation_input_tokens")]
        cache_creation: Raw<'a>,
    }
    let counts: Counts<'_> = read_in(raw);
    let cached = number_in(counts.cache_read);
    let created = number_in(counts.cache_creation);
    if let Some(cached) = cached {
        usage.cached_input_tokens = cached;
    }
    // The last event repeats the tokens that were read, in some versions of the wire without those of the cache.
    let input = number_in(counts.input).map(|read| read + cached.unwrap_or(0) + created.unwrap_or(0));
    if let Some(input) = input {
        usage.input_tokens = usage.input_tokens.max(input);
    }
    if let Some(output) = number_in(counts.output) {
        usage.output_tokens = output;
    }
}
