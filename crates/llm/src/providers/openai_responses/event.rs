//! Events of the responses API's stream.

use domain::model::Usage;
use serde::Deserialize;

use crate::providers::lenient_json::{RawField, as_text, number_or_zero, parse_or_default};

/// An event of the stream. With `output`, it is the whole response of a server that does not stream.
#[derive(Debug, Deserialize)]
pub(super) struct ResponseEvent<'a> {
    #[serde(borrow, default)]
    pub r#type: RawField<'a>,
    #[serde(borrow, default)]
    pub output_index: RawField<'a>,
    #[serde(borrow, default)]
    pub summary_index: RawField<'a>,
    #[serde(borrow, default)]
    pub content_index: RawField<'a>,
    #[serde(borrow, default)]
    pub delta: RawField<'a>,
    #[serde(borrow, default)]
    pub item: Option<OutputItem<'a>>,
    #[serde(borrow, default)]
    pub response: Option<ResponseOutcome<'a>>,
    #[serde(borrow, default)]
    pub error: RawField<'a>,
    #[serde(borrow, default)]
    pub output: RawField<'a>,
}

/// An item of the output: a message, reasoning, a tool call or a generated picture.
#[derive(Debug, Default, Deserialize)]
pub(super) struct OutputItem<'a> {
    #[serde(borrow, default)]
    pub r#type: RawField<'a>,
    #[serde(borrow, default)]
    pub id: RawField<'a>,
    #[serde(borrow, default)]
    pub call_id: RawField<'a>,
    #[serde(borrow, default)]
    pub name: RawField<'a>,
    #[serde(borrow, default)]
    pub arguments: RawField<'a>,
    #[serde(borrow, default)]
    pub encrypted_content: RawField<'a>,
    /// Generated picture in base64.
    #[serde(borrow, default)]
    pub result: RawField<'a>,
    #[serde(borrow, default)]
    summary: RawField<'a>,
    #[serde(borrow, default)]
    content: RawField<'a>,
}

impl OutputItem<'_> {
    /// Returns the text of a message, or the summary of reasoning.
    pub fn text(&self) -> String {
        #[derive(Deserialize)]
        struct Section<'a> {
            #[serde(borrow, default)]
            text: RawField<'a>,
            #[serde(borrow, default)]
            refusal: RawField<'a>,
        }
        let summary: Vec<Section<'_>> = parse_or_default(self.summary);
        let content: Vec<Section<'_>> = parse_or_default(self.content);
        let sections = if summary.is_empty() { content } else { summary };
        let texts = sections.iter().filter_map(|section| as_text(section.text).or_else(|| as_text(section.refusal)));
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

/// State of a response at its end.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ResponseOutcome<'a> {
    #[serde(borrow, default)]
    pub status: RawField<'a>,
    #[serde(borrow, default)]
    pub output: Option<Vec<OutputItem<'a>>>,
    #[serde(borrow, default)]
    pub usage: RawField<'a>,
    #[serde(borrow, default)]
    pub error: RawField<'a>,
    #[serde(borrow, default)]
    pub incomplete_details: Option<IncompleteDetails<'a>>,
}

/// Reason why a response is incomplete.
#[derive(Debug, Deserialize)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(borrow, default)]
    pub reason: RawField<'a>,
}

/// Parses the token counts; missing ones are 0.
pub(super) fn parse_usage(raw: RawField<'_>) -> Usage {
    #[derive(Default, Deserialize)]
    struct TokenCounts<'a> {
        #[serde(borrow, default)]
        input_tokens: RawField<'a>,
        #[serde(borrow, default)]
        output_tokens: RawField<'a>,
        #[serde(borrow, default)]
        input_tokens_details: RawField<'a>,
    }
    #[derive(Default, Deserialize)]
    struct InputTokenDetails<'a> {
        #[serde(borrow, default)]
        cached_tokens: RawField<'a>,
    }
    let counts: TokenCounts<'_> = parse_or_default(raw);
    Usage {
        input_tokens: number_or_zero(counts.input_tokens),
        output_tokens: number_or_zero(counts.output_tokens),
        cached_input_tokens: number_or_zero(
            parse_or_default::<InputTokenDetails<'_>>(counts.input_tokens_details).cached_tokens,
        ),
    }
}
