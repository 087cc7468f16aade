//! Configuration of the model providers, with the environment variables that are customary for each.

use domain::provider::{Provider, ProviderApi};
use url::Url;

use super::source::{ConfigError, Source, parse_url};

/// Host of OpenAI's own API.
pub const OPENAI_HOST: &str = "api.openai.com";
/// Default port of Ollama.
const OLLAMA_PORT: u16 = 11_434;

/// A provider that is configured by a key, a base URL, or both.
struct Known {
    name: &'static str,
    api: ProviderApi,
    /// Setting of the key.
    key: &'static str,
    /// Setting of the base URL.
    base: &'static str,
    default_base: &'static str,
}

/// Providers, in the order in which a default model is looked for.
const KNOWN_PROVIDERS: [Known; 3] = [
    Known {
        name: "openai",
        api: ProviderApi::OpenAiChat,
        key: "OPENAI_API_KEY",
        base: "OPENAI_BASE_URL",
        default_base: "https://api.openai.com/v1",
    },
    Known {
        name: "anthropic",
        api: ProviderApi::Anthropic,
        key: "ANTHROPIC_API_KEY",
        base: "ANTHROPIC_BASE_URL",
        default_base: "https://api.anthropic.com",
    },
    Known {
        name: "gemini",
        api: ProviderApi::Gemini,
        key: "GEMINI_API_KEY",
        base: "GEMINI_BASE_URL",
        default_base: "https://generativelanguage.googleapis.com",
    },
];

/// Reads the configured [providers](Provider).
pub(super) fn read(source: &mut Source) -> Result<Vec<Provider>, ConfigError> {
    let openai_apis = [("responses", ProviderApi::OpenAiResponses), ("chat", ProviderApi::OpenAiChat)];
    let openai_api = source.choice("CHAT_OPENAI_WIRE", &openai_apis)?;
    let mut providers = Vec::new();
    for known in KNOWN_PROVIDERS {
        let (key, base) = (source.secret(known.key)?, source.url(known.base)?);
        // A base URL alone is enough: local servers need no key.
        if key.is_none() && base.is_none() {
            continue;
        }
        let base_url = base.map_or_else(|| parse_url(known.base, known.default_base), Ok)?;
        let api = match known.api {
            // Compatible servers only have chat completions. OpenAI's own reasoning models need the responses API.
            ProviderApi::OpenAiChat if base_url.host_str() == Some(OPENAI_HOST) => {
                openai_api.unwrap_or(ProviderApi::OpenAiResponses)
            }
            ProviderApi::OpenAiChat => openai_api.unwrap_or(ProviderApi::OpenAiChat),
            api => api,
        };
        providers.push(Provider { name: known.name.to_owned(), api, base_url, key });
    }
    if let Some(host) = source.text("OLLAMA_HOST") {
        let (name, api) = ("ollama".to_owned(), ProviderApi::OpenAiChat);
        providers.push(Provider { name, api, base_url: ollama_base(&host)?, key: None });
    }
    Ok(providers)
}

/// Returns the base URL of Ollama's OpenAI-compatible API. `host` has the forms that Ollama itself accepts: `host`,
/// `host:port`, `:port` or a URL. The wildcard address `0.0.0.0` is replaced by loopback.
fn ollama_base(host: &str) -> Result<Url, ConfigError> {
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let has_scheme = rest.len() < host.len();
    // As Ollama's own client reads it: without a host it is this machine.
    let rest = if rest.starts_with(':') { format!("127.0.0.1{rest}") } else { rest.to_owned() };
    let bad = || ConfigError::Bad {
        name: "OLLAMA_HOST".to_owned(),
        reason: "it must be an address such as 127.0.0.1:11434 or https://host".to_owned(),
    };
    let mut url = parse_url("OLLAMA_HOST", &format!("{scheme}://{rest}")).map_err(|_| bad())?;
    if url.host_str() == Some("0.0.0.0") {
        url.set_host(Some("127.0.0.1")).map_err(|_| bad())?;
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !has_port && !has_scheme {
        url.set_port(Some(OLLAMA_PORT)).map_err(|()| bad())?;
    }
    if !url.path().trim_end_matches('/').ends_with("/v1") {
        url.set_path(&format!("{}/v1", url.path().trim_end_matches('/')));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn providers(settings: &[(&str, &str)]) -> Vec<String> {
        let source = settings.iter().fold(Source::default(), |source, (name, value)| source.with(name, *value));
        let told = |provider: &Provider| {
            let key = if provider.key.is_some() { " with a key" } else { "" };
            format!("{} {:?} {}{key}", provider.name, provider.api, provider.base_url)
        };
        Config::from_source(source).unwrap().providers.iter().map(told).collect()
    }

    #[test]
    fn a_key_or_a_base_url_is_a_provider() {
        assert_eq!(
            providers(&[
                ("GEMINI_API_KEY", "g"),
                ("OLLAMA_HOST", "0.0.0.0"),
                ("ANTHROPIC_API_KEY", "sk"),
                ("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"),
            ]),
            [
                "openai OpenAiChat http://127.0.0.1:8000/v1",
                "anthropic Anthropic https://api.anthropic.com/ with a key",
                "gemini Gemini https://generativelanguage.googleapis.com/ with a key",
                "ollama OpenAiChat http://127.0.0.1:11434/v1",
            ]
        );
        assert_eq!(providers(&[]), [""; 0]);
    }

    #[test]
    fn openai_itself_is_asked_over_its_newer_wire() {
        let openai = "openai OpenAiResponses https://api.openai.com/v1 with a key";
        assert_eq!(providers(&[("OPENAI_API_KEY", "sk")]), [openai]);
        let chat = providers(&[("OPENAI_API_KEY", "sk"), ("CHAT_OPENAI_WIRE", "chat")]);
        assert_eq!(chat, ["openai OpenAiChat https://api.openai.com/v1 with a key"]);
        let own = [("OPENAI_BASE_URL", "http://host/v1"), ("CHAT_OPENAI_WIRE", "responses")];
        assert_eq!(providers(&own), ["openai OpenAiResponses http://host/v1"]);
    }

    #[test]
    fn ollamas_address_is_read_as_ollama_reads_it() {
        for (host, want) in [
            ("127.0.0.1", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
            (":9000", "http://127.0.0.1:9000/v1"),
            ("box.example", "http://box.example:11434/v1"),
            ("https://ollama.example", "https://ollama.example/v1"),
            ("https://ollama.example/deep/v1/", "https://ollama.example/deep/v1/"),
            ("http://box:11434/", "http://box:11434/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
        ] {
            assert_eq!(ollama_base(host).unwrap().as_str(), want, "{host}");
        }
        assert!(ollama_base("ftp://x").is_err());
    }
}
