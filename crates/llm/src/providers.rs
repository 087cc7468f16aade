//! Provider APIs: how each encodes a request and decodes a response. Nothing here does I/O.

mod adjustments;
pub mod anthropic;
mod endpoint;
pub(crate) mod files;
pub mod gemini;
mod lenient_json;
pub mod openai_chat;
pub mod openai_responses;
mod part_tracker;
mod request_encoding;
mod stream_decoder;

use std::borrow::Cow;

use domain::model::{ModelError, ModelEvent, Request};
use serde::Serialize;

pub(crate) use adjustments::drops_parameters;
pub use adjustments::{ReasoningMode, RequestAdjustments};
pub use domain::provider::{Provider, ProviderApi};
pub(crate) use endpoint::endpoint_url;
pub use stream_decoder::StreamDecoder;

use crate::sse::SseEvent;

/// A request in the format of one [`ProviderApi`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRequest {
    /// Path below the provider's base URL, without a leading slash; may include a query.
    pub path: Cow<'static, str>,
    /// JSON body.
    pub body: Vec<u8>,
}

impl EncodedRequest {
    fn new(path: impl Into<Cow<'static, str>>, body: &impl Serialize) -> Result<Self, ModelError> {
        let body = serde_json::to_vec(body)
            .map_err(|error| ModelError::Refused(format!("the request cannot be written as JSON: {error}")))?;
        Ok(Self { path: path.into(), body })
    }
}

/// Headers of an API's requests, apart from the content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestHeaders {
    /// Name of the header that holds the API key.
    pub key_name: &'static str,
    /// Text before the API key in that header.
    pub key_prefix: &'static str,
    /// Names and values of further headers.
    pub others: &'static [(&'static str, &'static str)],
}

/// Progress of a response stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamProgress {
    /// The model is still generating.
    Generating,
    /// The model has finished; at most the usage and the end marker are missing.
    Finished,
    /// The end marker was received: nothing follows.
    Closed,
}

/// Decoder for the events of one response.
pub trait EventDecoder: Send {
    /// Decodes the next event of the stream and appends what it says to `out`.
    fn push(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// Ends the stream: closes the open parts and appends [`ModelEvent::Finish`], or returns why there is no response.
    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// Returns how far the response has progressed.
    fn progress(&self) -> StreamProgress;
}

/// Wire format of a [`ProviderApi`]: one pure encoder and decoder each.
pub(crate) trait WireFormat: Copy {
    /// Encodes a request in the format of this API, with the adjustments that earlier refusals asked for.
    fn encode(self, request: &Request, adjustments: RequestAdjustments) -> Result<EncodedRequest, ModelError>;

    /// Returns a decoder for the response to `request`.
    fn decoder(self, request: &Request) -> Box<dyn EventDecoder>;

    /// Returns the headers of every request.
    fn request_headers(self) -> RequestHeaders;

    /// Returns the adjustments to retry with after a refusal; `None` when no adjustment would help.
    fn adjust_after_refusal(self, refusal: &str, current: RequestAdjustments) -> Option<RequestAdjustments>;

    /// Returns the path of the model list; may include a query.
    fn models_path(self) -> &'static str;

    /// Parses the names in a model list.
    fn parse_model_names(self, body: &[u8]) -> Result<Vec<String>, ModelError>;
}

impl WireFormat for ProviderApi {
    fn encode(self, request: &Request, adjustments: RequestAdjustments) -> Result<EncodedRequest, ModelError> {
        let without_tools = adjustments.omit_tools.then(|| request_encoding::without_tools(request));
        let request = without_tools.as_ref().unwrap_or(request);
        let without_files = files::replace_unsupported_files(request, adjustments);
        let request = without_files.as_ref().unwrap_or(request);
        match self {
            Self::OpenAiChat => openai_chat::encode(request, adjustments),
            Self::OpenAiResponses => openai_responses::encode(request, adjustments),
            Self::Anthropic => anthropic::encode(request, adjustments),
            Self::Gemini => gemini::encode(request, adjustments),
        }
    }

    fn decoder(self, request: &Request) -> Box<dyn EventDecoder> {
        match self {
            Self::OpenAiChat => Box::new(openai_chat::ChatDecoder::new(request)),
            Self::OpenAiResponses => Box::new(openai_responses::ResponsesDecoder::new(request)),
            Self::Anthropic => Box::new(anthropic::AnthropicDecoder::new(request)),
            Self::Gemini => Box::new(gemini::GeminiDecoder::new(request)),
        }
    }

    fn request_headers(self) -> RequestHeaders {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => {
                RequestHeaders { key_name: "authorization", key_prefix: "Bearer ", others: &[] }
            }
            Self::Anthropic => anthropic::REQUEST_HEADERS,
            Self::Gemini => gemini::REQUEST_HEADERS,
        }
    }

    fn adjust_after_refusal(self, refusal: &str, current: RequestAdjustments) -> Option<RequestAdjustments> {
        if !current.omit_tools && adjustments::refuses_tools(refusal) {
            return Some(RequestAdjustments { omit_tools: true, ..current });
        }
        if let Some(adjusted) = adjustments::omit_refused_parameter(refusal, current) {
            return Some(adjusted);
        }
        match self {
            Self::OpenAiChat => openai_chat::adjust_after_refusal(refusal, current),
            Self::OpenAiResponses => openai_responses::adjust_after_refusal(refusal, current),
            Self::Anthropic => anthropic::adjust_after_refusal(refusal, current),
            Self::Gemini => gemini::adjust_after_refusal(refusal, current),
        }
    }

    fn models_path(self) -> &'static str {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => openai_chat::MODELS_PATH,
            Self::Anthropic => anthropic::MODELS_PATH,
            Self::Gemini => gemini::MODELS_PATH,
        }
    }

    fn parse_model_names(self, body: &[u8]) -> Result<Vec<String>, ModelError> {
        match self {
            // Anthropic's list has the shape of OpenAI's, with further fields.
            Self::OpenAiChat | Self::Anthropic => openai_chat::parse_model_names(body),
            Self::OpenAiResponses => openai_responses::parse_model_names(body),
            Self::Gemini => gemini::parse_model_names(body),
        }
    }
}

#[cfg(test)]
mod tests;
