//! A configured provider and its URLs.

use secrecy::SecretString;
use url::Url;

use crate::providers::ProviderApi;

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

impl Provider {
    /// Returns the URL of `path` (such as `chat/completions`, or `models?limit=9`) at this provider.
    pub fn endpoint_url(&self, path: &str) -> Url {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut url = self.base_url.clone();
        let mut base = self.base_url.path().trim_end_matches('/');
        // Users often include the API version in the base URL, as OpenAI's documentation does; it must not occur twice.
        if let Some((version, _)) = path.split_once('/').filter(|_| self.api != ProviderApi::OpenAiChat)
            && let Some(shorter) = base.strip_suffix(version)
            && shorter.ends_with('/')
        {
            base = shorter.trim_end_matches('/');
        }
        url.set_path(&format!("{base}/{path}"));
        let queries: Vec<&str> =
            [self.base_url.query().unwrap_or_default(), query].into_iter().filter(|query| !query.is_empty()).collect();
        url.set_query((!queries.is_empty()).then(|| queries.join("&")).as_deref());
        url.set_fragment(None);
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_base_url_with_and_without_trailing_slash() {
        for (base, want) in [
            ("https://host/v1", "https://host/v1/models"),
            ("https://host/v1/", "https://host/v1/models"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/models"),
            ("https://host/openai/v1?api-version=2", "https://host/openai/v1/models?api-version=2"),
        ] {
            let provider = Provider {
                name: "test".to_owned(),
                api: ProviderApi::OpenAiChat,
                base_url: base.parse().unwrap(),
                key: None,
            };
            assert_eq!(provider.endpoint_url("models").as_str(), want);
        }
    }

    #[test]
    fn omits_repeated_version_and_joins_queries() {
        for (base, want) in [
            ("https://host", "https://host/v1/models?limit=9"),
            ("https://host/v1/", "https://host/v1/models?limit=9"),
            ("https://host/proxy/v1?tenant=a", "https://host/proxy/v1/models?tenant=a&limit=9"),
            ("https://host/apiv1", "https://host/apiv1/v1/models?limit=9"),
        ] {
            let (api, base_url) = (ProviderApi::Anthropic, base.parse().unwrap());
            let provider = Provider { name: "test".to_owned(), api, base_url, key: None };
            assert_eq!(provider.endpoint_url("v1/models?limit=9").as_str(), want);
        }
    }
}
