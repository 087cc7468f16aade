//! Responses of Gemini's stream, and its model list.

use domain::model::{ModelError, Usage};
use serde::Deserialize;

use crate::providers::lenient_json::{RawField, as_text, number_or_zero, parse_or_default};

/// One response of the stream, with some further parts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseChunk<'a> {
    #[serde(borrow, default)]
    pub candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, default)]
    pub prompt_feedback: Option<PromptFeedback<'a>>,
    #[serde(borrow, default)]
    pub usage_metadata: RawField<'a>,
    #[serde(borrow, default)]
    pub error: RawField<'a>,
}

impl ResponseChunk<'_> {
    /// Returns whether the JSON has any field of a response.
    pub fn is_response(&self) -> bool {
        self.candidates.is_some() || self.prompt_feedback.is_some() || self.usage_metadata.is_some()
    }
}

/// Reason why the prompt was blocked.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow, default)]
    pub block_reason: RawField<'a>,
}

/// One of the alternative responses.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(borrow, default)]
    pub content: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: RawField<'a>,
}

/// Content of a [`Candidate`].
#[derive(Debug, Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow, default)]
    pub parts: Option<Vec<ResponsePart<'a>>>,
}

/// A text, reasoning, a tool call or a picture.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponsePart<'a> {
    #[serde(borrow, default)]
    pub text: RawField<'a>,
    #[serde(borrow, default)]
    pub thought: RawField<'a>,
    #[serde(borrow, default)]
    pub thought_signature: RawField<'a>,
    #[serde(borrow, default)]
    pub function_call: Option<FunctionCall<'a>>,
    #[serde(borrow, default)]
    pub inline_data: Option<InlineData<'a>>,
}

/// Binary data: a picture or sound.
#[derive(Debug, Deserialize)]
pub(super) struct InlineData<'a> {
    #[serde(borrow, default)]
    pub data: RawField<'a>,
}

/// A whole tool call.
#[derive(Debug, Deserialize)]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow, default)]
    pub id: RawField<'a>,
    #[serde(borrow, default)]
    pub name: RawField<'a>,
    #[serde(borrow, default)]
    pub args: RawField<'a>,
}

/// Parses the token counts; missing ones are 0. This API counts reasoning separately; [`Usage::output_tokens`]
/// includes it.
pub(super) fn parse_usage(raw: RawField<'_>) -> Usage {
    #[derive(Default, Deserialize)]
    struct TokenCounts<'a> {
        #[serde(borrow, default, rename = "promptTokenCount")]
        prompt: RawField<'a>,
        #[serde(borrow, default, rename = "candidatesTokenCount")]
        candidates: RawField<'a>,
        #[serde(borrow, default, rename = "thoughtsTokenCount")]
        thoughts: RawField<'a>,
        #[serde(borrow, default, rename = "cachedContentTokenCount")]
        cached: RawField<'a>,
    }
    let counts: TokenCounts<'_> = parse_or_default(raw);
    Usage {
        input_tokens: number_or_zero(counts.prompt),
        output_tokens: number_or_zero(counts.candidates) + number_or_zero(counts.thoughts),
        cached_input_tokens: number_or_zero(counts.cached),
    }
}

/// Parses the names in a model list, without models that only embed or generate pictures.
pub(in crate::providers) fn parse_model_names(body: &[u8]) -> Result<Vec<String>, ModelError> {
    #[derive(Deserialize)]
    struct ModelList<'a> {
        #[serde(borrow)]
        models: Vec<Model<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Model<'a> {
        #[serde(borrow, default)]
        name: RawField<'a>,
        #[serde(default)]
        supported_generation_methods: Option<Vec<String>>,
    }
    let list: ModelList<'_> = serde_json::from_slice(body)
        .map_err(|_| ModelError::Malformed("not a model list, check the base URL".to_owned()))?;
    let can_chat = |model: &&Model<'_>| {
        let methods = model.supported_generation_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
    };
    let names = list.models.iter().filter(can_chat).filter_map(|model| as_text(model.name));
    Ok(names.map(|name| name.strip_prefix("models/").unwrap_or(&name).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_chat_models_by_short_name() {
        let body = br#"{"models":[
            {"name":"models/gemini-a","supportedGenerationMethods":["generateContent","countTokens"]},
            {"name":"models/embedding","supportedGenerationMethods":["embedContent"]},
            {"name":"b"}
        ],"nextPageToken":"x"}"#;
        assert_eq!(parse_model_names(body).unwrap(), ["gemini-a", "b"]);
        assert!(matches!(parse_model_names(b"<html>"), Err(ModelError::Malformed(_))));
    }
}
