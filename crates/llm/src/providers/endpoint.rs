//! URLs of a provider's API.

use domain::provider::{Provider, ProviderApi};
use url::Url;

/// Returns the URL of `path` (such as `chat/completions`, or `models?limit=9`) at a provider.
pub(crate) fn endpoint_url(provider: &Provider, path: &str) -> Url {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut url = provider.base_url.clone();
    let mut base = provider.base_url.path().trim_end_matches('/');
    // Users often include the API version in the base URL, as OpenAI's documentation does; it must not occur twice.
    if let Some((version, _)) = path.split_once('/').filter(|_| provider.api != ProviderApi::OpenAiChat)
        && let Some(shorter) = base.strip_suffix(version)
        && shorter.ends_with('/')
    {
        base = shorter.trim_end_matches('/');
    }
    url.set_path(&format!("{base}/{path}"));
    let queries: Vec<&str> =
        [provider.base_url.query().unwrap_or_default(), query].into_iter().filter(|query| !query.is_empty()).collect();
    // A configured query is kept: Azure's API requires `api-version` in it.
    url.set_query((!queries.is_empty()).then(|| queries.join("&")).as_deref());
    url.set_fragment(None);
    url
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
            assert_eq!(endpoint_url(&provider, "models").as_str(), want);
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
            assert_eq!(endpoint_url(&provider, "v1/models?limit=9").as_str(), want);
        }
    }
}
