//! Origins of web pages in settings.

use std::str::FromStr;

use url::Url;

/// Scheme, host and port of a page, as browsers send them in the `Origin` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Returns the origin, such as `https://app.example.com`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Error of a text that is not an [origin](Origin).
#[derive(Debug, thiserror::Error)]
#[error("not an origin")]
pub struct NotAnOrigin;

impl FromStr for Origin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        let url = Url::parse(text).map_err(|_| NotAnOrigin)?;
        let bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if bare && matches!(url.scheme(), "http" | "https") {
            // In the form that browsers send: lower case, Punycode, without the default port.
            Ok(Self(url.origin().ascii_serialization()))
        } else {
            Err(NotAnOrigin)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_as_browsers_write_them() {
        for (text, want) in [
            ("https://app.example.com", "https://app.example.com"),
            ("https://App.Example.com:443/", "https://app.example.com"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://[::1]:80", "http://[::1]"),
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().as_str(), want);
        }
        for text in [
            "",
            "*",
            "null",
            "app.example.com",
            "https://*.example.com/x",
            "https://a/b",
            "https://a?b",
            "https://u@a",
            "ws://a",
            "file:///a",
        ] {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
    }
}
