//! Cookies that bind a redirect flow (signing in to an MCP server, linking Google Drive) to the browser that began
//! it, so that an attacker cannot complete their own flow in another user's browser.

use axum::http::{HeaderMap, header};

use crate::state::SiteUrl;

/// A cookie of one redirect flow.
pub struct BrowserCookie {
    /// Name of the cookie.
    pub name: &'static str,
    /// Path prefix of the requests that carry the cookie.
    pub path: &'static str,
}

impl BrowserCookie {
    /// Returns a `Set-Cookie` header value that lasts for `seconds`; zero deletes the cookie.
    pub fn set(&self, site_url: &SiteUrl, value: &str, seconds: i64) -> String {
        let Self { name, path } = self;
        // Over plain HTTP browsers would not store a `Secure` cookie.
        let secure = if site_url.is_https() { "; Secure" } else { "" };
        // `Lax`, not `Strict`: the flow ends with a navigation that comes from another site.
        format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
    }

    /// Returns the cookie's value in a request.
    pub fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = cookies.flat_map(|line| line.split(';'));
        pairs.find_map(|pair| pair.trim().strip_prefix(self.name)?.strip_prefix('='))
    }
}
