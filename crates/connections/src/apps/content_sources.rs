//! Content sources that an app requests. They come from an untrusted server and become part of a header, so each is parsed
//! as a URL and serialized again. Anything else is dropped.

use serde_json::Value;
use url::{Host, Url};

/// Maximum number of sources of one kind.
const MAX_SOURCES: usize = 20;
/// Maximum length of a source, in bytes.
const MAX_SOURCE_BYTES: usize = 200;

/// Returns the permitted sources of a list, each as `scheme://host[:port]`, where the first label of the host may be `*`.
///
/// `is_allowed` decides on a URL, and whether it stands for all subdomains of its host, too.
pub fn parse_sources(list: Option<&Value>, schemes: &[&str], is_allowed: impl Fn(&Url, bool) -> bool) -> Vec<String> {
    let texts = list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut sources = Vec::new();
    for source in texts.filter_map(|text| parse_source(text, schemes, &is_allowed)).take(MAX_SOURCES) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}

/// Parses one source. Returns `None` if it is invalid or not permitted.
fn parse_source(text: &str, schemes: &[&str], is_allowed: impl Fn(&Url, bool) -> bool) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_SOURCE_BYTES {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    let (wildcard, rest) = match rest.strip_prefix("*.") {
        Some(rest) => ("*.", rest),
        None => ("", rest),
    };
    let url = Url::parse(&format!("{scheme}://{rest}")).ok()?;
    let has_only_host = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let has_no_credentials = url.username().is_empty() && url.password().is_none();
    // The URL parser accepts host names that are not valid in a header. A wildcard needs a domain with a dot, so that it
    // cannot cover a whole top-level domain.
    let is_valid_host = match url.host()? {
        Host::Domain(name) => name.bytes().all(is_host_byte) && (wildcard.is_empty() || name.contains('.')),
        Host::Ipv4(_) | Host::Ipv6(_) => wildcard.is_empty(),
    };
    let is_url = has_only_host && has_no_credentials && is_valid_host && schemes.contains(&url.scheme());
    if !is_url || !is_allowed(&url, !wildcard.is_empty()) {
        return None;
    }
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{wildcard}{}{port}", url.scheme(), url.host_str()?))
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(list: Value) -> Vec<String> {
        parse_sources(Some(&list), &["https", "http"], |url, _| url.host_str() != Some("own.example"))
    }

    #[test]
    fn serializes_sources_canonically() {
        let list =
            json!(["https://Api.Example.com/", "http://a.example:8080", "https://*.cdn.example", "https://b:443"]);
        let want = ["https://api.example.com", "http://a.example:8080", "https://*.cdn.example", "https://b"];
        assert_eq!(parse(list), want);
        assert_eq!(parse(json!(["https://a.example", "https://a.example/"])), ["https://a.example"]);
    }

    #[test]
    fn drops_invalid_sources() {
        for text in [
            "*",
            "https:",
            "https://*",
            "https://*.com",
            "'self'",
            "'unsafe-eval'",
            "data:",
            "blob:",
            "a.example",
            "https://a.example/path",
            "https://a.example?x",
            "https://user@a.example",
            "https://a.example; script-src *",
            "https://a.example https://b.example",
            "https://a.example,https://b.example",
            "https://a.*.example",
            "https://a;b.example",
            "https://a'b.example",
            "https://*.10.0.0.1",
            "https://*.[::1]",
            "https://a.example\nset-cookie: x=1",
            "javascript://a.example",
            "file:///etc/passwd",
            "wss://a.example",
            "https://own.example",
        ] {
            assert_eq!(parse(json!([text])), Vec::<String>::new(), "{text}");
        }
        assert_eq!(parse(json!("https://a.example")), Vec::<String>::new());
        assert_eq!(parse(json!([1, null, {}])), Vec::<String>::new());
    }

    #[test]
    fn limits_number_of_sources() {
        let many: Vec<String> = (0..MAX_SOURCES + 5).map(|number| format!("https://a{number}.example")).collect();
        assert_eq!(parse(json!(many)).len(), MAX_SOURCES);
    }
}
