//! Which web pages may call. Foreign names of this server are refused before, on every route.

use axum::http::header;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use url::{Host, Url};

use super::refusal::Refusal;
use crate::app::App;

/// Refuses what a browser sends for a page that is not ours.
pub fn check(app: &App, parts: &Parts) -> Result<(), Refusal> {
    let header = |name| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    // HTTP/2 has the host in the address.
    let host = parts.uri.authority().map(Authority::as_str).or_else(|| header(header::HOST));
    let host = host.unwrap_or_default();
    match header(header::ORIGIN) {
        Some(origin) if !is_ours(origin, host, &app.site_url) => {
            Err(Refusal::forbidden("pages of other origins may not call this server"))
        }
        _ => Ok(()),
    }
}

fn is_ours(origin: &str, host: &str, site: &Url) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    url.origin() == site.origin()
        || (is_fixed(host) && is_host_of(host, &url) && matches!(url.scheme(), "http" | "https"))
}

/// Whether a `host[:port]` is an address or `localhost`: what no name server can point elsewhere.
fn is_fixed(host: &str) -> bool {
    let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(_) => true,
        None => false,
    }
}

fn is_host_of(host: &str, url: &Url) -> bool {
    let Ok(said) = Url::parse(&format!("{}://{host}/", url.scheme())) else { return false };
    said.host() == url.host() && said.port_or_known_default() == url.port_or_known_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_are_ours() {
        let site: Url = "https://chat.example".parse().unwrap();
        for (origin, host, expected) in [
            ("https://chat.example", "chat.example", true),
            ("https://chat.example", "127.0.0.1:3000", true),
            ("http://localhost:3000", "localhost:3000", true),
            ("http://[::1]:3000", "[::1]:3000", true),
            ("http://127.0.0.1:8080", "127.0.0.1:3000", false),
            ("http://chat.example", "chat.example", false),
            ("http://evil.example:3000", "evil.example:3000", false),
            ("http://localhost.evil.example", "localhost.evil.example", false),
            ("null", "localhost:3000", false),
            ("", "localhost:3000", false),
        ] {
            assert_eq!(is_ours(origin, host, &site), expected, "{origin} at {host}");
        }
    }
}
