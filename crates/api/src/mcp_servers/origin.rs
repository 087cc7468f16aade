//! Origin check. Unknown hosts are rejected earlier, by the middleware for all routes.

use axum::http::header;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use http_server::host_check::is_fixed;
use url::Url;

use super::refusal::RpcError;
use crate::state::SiteUrl;

/// Rejects requests that a browser sends on behalf of a page of another origin. Requests without an `Origin` are not
/// from a page.
pub fn check(site_url: &SiteUrl, parts: &Parts) -> Result<(), RpcError> {
    let header = |name| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    // HTTP/2 has the host in the request target.
    let host = parts.uri.authority().map(Authority::as_str).or_else(|| header(header::HOST));
    let host = host.unwrap_or_default();
    match header(header::ORIGIN) {
        Some(origin) if !is_ours(origin, host, &site_url.0) => {
            Err(RpcError::forbidden("pages of other origins may not call this server"))
        }
        _ => Ok(()),
    }
}

/// Returns whether an origin is the configured site, or the host of this request if that cannot be spoofed by DNS.
fn is_ours(origin: &str, host: &str, site: &Url) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    url.origin() == site.origin()
        || (is_host_of(host, &url)
            && url.host().is_some_and(|host| is_fixed(&host))
            && matches!(url.scheme(), "http" | "https"))
}

/// Returns whether host and port are those of `url`.
fn is_host_of(host: &str, url: &Url) -> bool {
    let Ok(host_url) = Url::parse(&format!("{}://{host}/", url.scheme())) else { return false };
    host_url.host() == url.host() && host_url.port_or_known_default() == url.port_or_known_default()
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
