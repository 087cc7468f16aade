//! What an event holds.

use domain::model::Usage;
use serde::Deserialize;

use crate::wire::leaf::{Raw, count_in, read_in, text_in};

/// An event of a stream; with `output`, the response of a server that does not stream.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default)]
    pub r#type: Raw<'a>,
    #[serde(borrow, default)]
    pub output_index: Raw<'a>,
    #[serde(borrow, default)]
    pub summary_index: Raw<'a>,
    #[serde(borrow, default)]
    pub content_index: Raw<'a>,
    #[serde(borrow, default)]
    pub delta: Raw<'a>,
    #[serde(borrow, default)]
    pub item: Option<Item<'a>>,
    #[serde(borrow, default)]
    pub response: Option<Outcome<'a>>,
    #[serde(borrow, default)]
    pub error: Raw<'a>,
    #[serde(borrow, default)]
    pub output: Raw<'a>,
}

/// An item of the output.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Item<'a> {
    #[serde(borrow, default)]
    pub r#type: Raw<'a>,
    #[serde(borrow, default)]
    pub id: Raw<'a>,
    #[serde(borrow, default)]
    pub call_id: Raw<'a>,
    #[serde(borrow, default)]
    pub name: Raw<'a>,
    #[serde(borrow, default)]
    pub arguments: Raw<'a>,
    #[serde(borrow, default)]
    pub encrypted_content: Raw<'a>,
    /// A picture that was drawn.
    #[serde(borrow, default)]
    pub result: Raw<'a>,
    #[serde(borrow, default)]
    summary: Raw<'a>,
    #[serde(borrow, default)]
    content: Raw<'a>,
}

impl Item<'_> {
    /// The words of a message, or what is shown of a thought.
    pub fn words(&self) -> String {
        #[derive(Deserialize)]
        struct Piece<'a> {
            #[serde(borrow, default)]
            text: Raw<'a>,
            #[serde(borrow, default)]
            refusal: Raw<'a>,
        }
        let summary: Vec<Piece<'_>> = read_in(self.summary);
        let content: Vec<Piece<'_>> = read_in(self.content);
        let pieces = if summary.is_empty() { content } else { summary };
        let words = pieces.iter().filter_map(|piece| text_in(piece.text).or_else(|| text_in(piece.refusal)));
        words.collect::<Vec<_>>().join("\n\n")
    }
}

/// How a response stands.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Outcome<'a> {
    #[serde(borrow, default)]
    pub status: Raw<'a>,
    #[serde(borrow, default)]
    pub output: Option<Vec<Item<'a>>>,
    #[serde(borrow, default)]
    pub usage: Raw<'a>,
    #[serde(borrow, default)]
    pub error: Raw<'a>,
    #[serde(borrow, default)]
    pub incomplete_details: Option<Details<'a>>,
}

/// Why a response is not whole.
#[derive(Debug, Deserialize)]
pub(super) struct Details<'a> {
    #[serde(borrow, default)]
    pub reason: Raw<'a>,
}

/// The tokens in a usage; what is missing is 0.
pub(super) fn usage(raw: Raw<'_>) -> Usage {
    #[derive(Default, Deserialize)]
    struct Counts<'a> {
        #[serde(borrow, default)]
        input_tokens: Raw<'a>,
        #[serde(borrow, default)]
        output_tokens: Raw<'a>,
        #[serde(borrow, default)]
        input_tokens_details: Raw<'a>,
    }
    #[derive(Default, Deserialize)]
    struct Cached<'a> {
        #[serde(borrow, default)]
        cached_tokens: Raw<'a>,
    }
    let counts: Counts<'_> = read_in(raw);
    Usage {
        input_tokens: count_in(counts.input_tokens),
        output_tokens: count_in(counts.output_tokens),
        cached_input_tokens: count_in(read_in::<Cached<'_>>(counts.input_tokens_details).cached_tokens),
    }
}
