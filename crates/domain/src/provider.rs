//! Model providers as they are configured.

use secrecy::SecretString;
use url::Url;

/// API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProviderApi {
    /// OpenAI chat completions, which most other hosts and local servers implement too.
    #[default]
    OpenAiChat,
    /// OpenAI responses, which OpenAI's own models need to combine reasoning with tools.
    OpenAiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Google Gemini.
    Gemini,
}

/// A server of models, as an administrator or a user configured it.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Name in logs and before the names of its models, such as `openai`.
    pub name: String,
    /// API that the server implements.
    pub api: ProviderApi,
    /// URL that the API's paths are appended to, such as `https://api.openai.com/v1`, with or without a trailing slash.
    /// A query is kept: some hosts expect the version of their API in it.
    pub base_url: Url,
    /// API key; `None` for a server that needs none.
    pub key: Option<SecretString>,
}
