//! Where a model lives.

use secrecy::SecretString;
use url::Url;

use crate::wire::Wire;

/// A place that serves models, as the administrator configured it.
#[derive(Debug, Clone)]
pub struct Provider {
    /// What it is called in logs and in front of its models' names, such as `openai`.
    pub name: String,
    /// The wire it speaks.
    pub wire: Wire,
    /// The address below which the wire's paths lie, such as `https://api.openai.com/v1`, with or without a slash
    /// at its end. A query is kept: some hosts carry the version of their API in it.
    pub base_url: Url,
    /// The key, sent as the wire wants it; `None` for a server that wants none.
    pub key: Option<SecretString>,
}

impl Provider {
    /// The address of `path` (such as `chat/completions`, or `models?limit=9`) at this provider.
    pub fn address(&self, path: &str) -> Url {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut address = self.base_url.clone();
        let mut base = self.base_url.path().trim_end_matches('/');
        // Some write the version of the API into the base address, as it is the custom with other wires.
        if let Some((version, _)) = path.split_once('/').filter(|_| self.wire != Wire::OpenAiChat)
            && let Some(shorter) = base.strip_suffix(version)
            && shorter.ends_with('/')
        {
            base = shorter.trim_end_matches('/');
        }
        address.set_path(&format!("{base}/{path}"));
        let queries: Vec<&str> =
            [self.base_url.query().unwrap_or_default(), query].into_iter().filter(|query| !query.is_empty()).collect();
        address.set_query((!queries.is_empty()).then(|| queries.join("&")).as_deref());
        address.set_fragment(None);
        address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_at_the_end_of_the_base_makes_no_difference() {
        for (base, want) in [
            ("https://host/v1", "https://host/v1/models"),
            ("https://host/v1/", "https://host/v1/models"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/models"),
            ("https://host/openai/v1?api-version=2", "https://host/openai/v1/models?api-version=2"),
        ] {
            let provider = Provider {
                name: "test".to_owned(),
                wire: Wire::OpenAiChat,
                base_url: base.parse().unwrap(),
                key: None,
            };
            assert_eq!(provider.address("models").as_str(), want);
        }
    }

    #[test]
    fn a_version_is_not_said_twice_and_queries_are_joined() {
        for (base, want) in [
            ("https://host", "https://host/v1/models?limit=9"),
            ("https://host/v1/", "https://host/v1/models?limit=9"),
            ("https://host/proxy/v1?tenant=a", "https://host/proxy/v1/models?tenant=a&limit=9"),
            ("https://host/apiv1", "https://host/apiv1/v1/models?limit=9"),
        ] {
            let (wire, base_url) = (Wire::Anthropic, base.parse().unwrap());
            let provider = Provider { name: "test".to_owned(), wire, base_url, key: None };
            assert_eq!(provider.address("v1/models?limit=9").as_str(), want);
        }
    }
}
