//! Cookies that tie something which leads away from the page and back to the browser in which it was begun, so that nobody
//! can end it in another person's.

use axum::http::{HeaderMap, header};

use crate::app::App;

/// One such cookie.
pub struct BrowserCookie {
    /// Its name.
    pub name: &'static str,
    /// The path below which the browser shows it.
    pub path: &'static str,
}

impl BrowserCookie {
    /// The value of a `Set-Cookie` header that lasts for so many seconds; none end it.
    pub fn set(&self, app: &App, value: &str, seconds: i64) -> String {
        let Self { name, path } = self;
        let secure = if app.site_url.scheme() == "https" { "; Secure" } else { "" };
        format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
    }

    /// The value that the browser shows.
    pub fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = cookies.flat_map(|line| line.split(';'));
        pairs.find_map(|pair| pair.trim().strip_prefix(self.name)?.strip_prefix('='))
    }
}
