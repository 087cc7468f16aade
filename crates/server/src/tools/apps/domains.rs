//! The places that an app says it needs. They come from a stranger and end up in a header, so each is read as an address and
//! written anew; what is anything else is left out.

use serde_json::Value;
use url::{Host, Url};

/// Places of one kind, at most.
const MOST: usize = 20;
/// Characters of one, at most.
const LONGEST: usize = 200;

/// The places of one list that `may` be named, each as `scheme://host[:port]`, where the first label of the host may be `*`.
/// `may` is told whether it is.
pub fn read(list: Option<&Value>, schemes: &[&str], may: impl Fn(&Url, bool) -> bool) -> Vec<String> {
    let places = list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut known = Vec::new();
    for place in places.filter_map(|text| source(text, schemes, &may)).take(MOST) {
        if !known.contains(&place) {
            known.push(place);
        }
    }
    known
}

fn source(text: &str, schemes: &[&str], may: impl Fn(&Url, bool) -> bool) -> Option<String> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    let (star, rest) = match rest.strip_prefix("*.") {
        Some(rest) => ("*.", rest),
        None => ("", rest),
    };
    let url = Url::parse(&format!("{scheme}://{rest}")).ok()?;
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let nameless = url.username().is_empty() && url.password().is_none();
    // The parser lets more into a name than a header can take. A star stands in front of a name with a dot at least: not of
    // all that end in `com`.
    let fits = match url.host()? {
        Host::Domain(name) => name.bytes().all(is_in_names) && (star.is_empty() || name.contains('.')),
        Host::Ipv4(_) | Host::Ipv6(_) => star.is_empty(),
    };
    if !bare || !nameless || !fits || !schemes.contains(&url.scheme()) || !may(&url, !star.is_empty()) {
        return None;
    }
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{star}{}{port}", url.scheme(), url.host_str()?))
}

fn is_in_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(list: Value) -> Vec<String> {
        read(Some(&list), &["https", "http"], |url, _| url.host_str() != Some("own.example"))
    }

    #[test]
    fn places_are_written_anew() {
        let list =
            json!(["https://Api.Example.com/", "http://a.example:8080", "https://*.cdn.example", "https://b:443"]);
        let want = ["https://api.example.com", "http://a.example:8080", "https://*.cdn.example", "https://b"];
        assert_eq!(of(list), want);
        assert_eq!(of(json!(["https://a.example", "https://a.example/"])), ["https://a.example"]);
    }

    #[test]
    fn what_is_no_place_is_left_out() {
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
            assert_eq!(of(json!([text])), Vec::<String>::new(), "{text}");
        }
        assert_eq!(of(json!("https://a.example")), Vec::<String>::new());
        assert_eq!(of(json!([1, null, {}])), Vec::<String>::new());
    }

    #[test]
    fn a_list_has_an_end() {
        let many: Vec<String> = (0..MOST + 5).map(|number| format!("https://a{number}.example")).collect();
        assert_eq!(of(json!(many)).len(), MOST);
    }
}
