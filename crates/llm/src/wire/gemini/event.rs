//! What a response holds, and the list of models.

use domain::model::{ModelError, Usage};
use serde::Deserialize;

use crate::wire::leaf::{Raw, count_in, read_in, text_in};

/// A piece of an answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response<'a> {
    #[serde(borrow, default)]
    pub candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, default)]
    pub prompt_feedback: Option<Feedback<'a>>,
    #[serde(borrow, default)]
    pub usage_metadata: Raw<'a>,
    #[serde(borrow, default)]
    pub error: Raw<'a>,
}

impl Response<'_> {
    /// Whether it is a response at all.
    pub fn is_one(&self) -> bool {
        self.candidates.is_some() || self.prompt_feedback.is_some() || self.usage_metadata.is_some()
    }
}

/// Why a question was not answered.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback<'a> {
    #[serde(borrow, default)]
    pub block_reason: Raw<'a>,
}

/// An answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(borrow, default)]
    pub content: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: Raw<'a>,
}

/// What is said.
#[derive(Debug, Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow, default)]
    pub parts: Option<Vec<Part<'a>>>,
}

/// Text, a thought, a call or a picture.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub text: Raw<'a>,
    #[serde(borrow, default)]
    pub thought: Raw<'a>,
    #[serde(borrow, default)]
    pub thought_signature: Raw<'a>,
    #[serde(borrow, default)]
    pub function_call: Option<Call<'a>>,
    #[serde(borrow, default)]
    pub inline_data: Option<Inline<'a>>,
}

/// A picture, or sound.
#[derive(Debug, Deserialize)]
pub(super) struct Inline<'a> {
    #[serde(borrow, default)]
    pub data: Raw<'a>,
}

/// A whole call.
#[derive(Debug, Deserialize)]
pub(super) struct Call<'a> {
    #[serde(borrow, default)]
    pub id: Raw<'a>,
    #[serde(borrow, default)]
    pub name: Raw<'a>,
    #[serde(borrow, default)]
    pub args: Raw<'a>,
}

/// The tokens in a usage; what is missing is 0. Thoughts are counted apart from the rest of what was written.
pub(super) fn usage(raw: Raw<'_>) -> Usage {
    #[derive(Default, Deserialize)]
    struct Counts<'a> {
        #[serde(borrow, default, rename = "promptTokenCount")]
        prompt: Raw<'a>,
        #[serde(borrow, default, rename = "candidatesTokenCount")]
        candidates: Raw<'a>,
        #[serde(borrow, default, rename = "thoughtsTokenCount")]
        thoughts: Raw<'a>,
        #[serde(borrow, default, rename = "cachedContentTokenCount")]
        cached: Raw<'a>,
    }
    let counts: Counts<'_> = read_in(raw);
    Usage {
        input_tokens: count_in(counts.prompt),
        output_tokens: count_in(counts.candidates) + count_in(counts.thoughts),
        cached_input_tokens: count_in(counts.cached),
    }
}

/// The names in a list of models, without those that only embed or draw.
pub(in crate::wire) fn model_names(body: &[u8]) -> Result<Vec<String>, ModelError> {
    #[derive(Deserialize)]
    struct Listing<'a> {
        #[serde(borrow)]
        models: Vec<Model<'a>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Model<'a> {
        #[serde(borrow, default)]
        name: Raw<'a>,
        #[serde(default)]
        supported_generation_methods: Option<Vec<String>>,
    }
    let listing: Listing<'_> = serde_json::from_slice(body)
        .map_err(|_| ModelError::Malformed("not a list of models; check the base URL".to_owned()))?;
    let talks = |model: &&Model<'_>| {
        let methods = model.supported_generation_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
    };
    let names = listing.models.iter().filter(talks).filter_map(|model| text_in(model.name));
    Ok(names.map(|name| name.strip_prefix("models/").unwrap_or(&name).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_talk_are_listed_by_their_short_names() {
        let body = br#"{"models":[
            {"name":"models/gemini-a","supportedGenerationMethods":["generateContent","countTokens"]},
            {"name":"models/embedding","supportedGenerationMethods":["embedContent"]},
            {"name":"b"}
        ],"nextPageToken":"x"}"#;
        assert_eq!(model_names(body).unwrap(), ["gemini-a", "b"]);
        assert!(matches!(model_names(b"<html>"), Err(ModelError::Malformed(_))));
    }
}
