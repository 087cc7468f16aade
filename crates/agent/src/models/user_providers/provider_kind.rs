//! Kinds of model providers that a user can add.

use llm::ProviderApi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use platform::config::OPENAI_HOST;

/// Kind of a provider, which determines its [API](ProviderApi) and its usual address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// OpenAI itself.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Ollama.
    Ollama,
    /// A server that imitates OpenAI.
    Compatible,
}

impl ProviderKind {
    const ALL: [Self; 5] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama, Self::Compatible];

    /// Returns the name in the database and in the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Compatible => "compatible",
        }
    }

    /// Parses the name that [`word`](Self::word) returns.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the default address of the provider, or `None` if the user has to enter one.
    pub fn usual_address(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::Ollama => Some("http://127.0.0.1:11434"),
            Self::Compatible => None,
        }
    }

    /// Returns the base URL of the API for an entered address. Ollama has its OpenAI-compatible API below `/v1`.
    pub fn base_url(self, mut entered: Url) -> Url {
        if self == Self::Ollama && !entered.path().trim_end_matches('/').ends_with("/v1") {
            entered.set_path(&format!("{}/v1", entered.path().trim_end_matches('/')));
        }
        entered
    }

    /// Returns the API that the provider has at an address. Only OpenAI itself is assumed to have the responses API.
    pub fn api(self, base_url: &Url) -> ProviderApi {
        match self {
            Self::OpenAi if base_url.host_str() == Some(OPENAI_HOST) => ProviderApi::OpenAiResponses,
            Self::OpenAi | Self::Ollama | Self::Compatible => ProviderApi::OpenAiChat,
            Self::Anthropic => ProviderApi::Anthropic,
            Self::Gemini => ProviderApi::Gemini,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_stored_as_it_is_told() {
        for kind in ProviderKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
            assert_eq!(ProviderKind::from_word(kind.word()), Some(kind));
            if let Some(address) = kind.usual_address() {
                assert!(address.parse::<Url>().is_ok());
            }
        }
        assert_eq!(ProviderKind::from_word("other"), None);
    }

    #[test]
    fn the_address_says_which_wire_it_is() {
        let at = |address: &str| address.parse::<Url>().unwrap();
        assert_eq!(ProviderKind::OpenAi.api(&at("https://api.openai.com/v1")), ProviderApi::OpenAiResponses);
        assert_eq!(ProviderKind::OpenAi.api(&at("https://proxy.example/v1")), ProviderApi::OpenAiChat);
        assert_eq!(ProviderKind::Ollama.base_url(at("http://box:11434")).as_str(), "http://box:11434/v1");
        assert_eq!(ProviderKind::Ollama.base_url(at("http://box/v1/")).as_str(), "http://box/v1/");
        assert_eq!(ProviderKind::Compatible.base_url(at("http://box/api")).as_str(), "http://box/api");
    }
}
