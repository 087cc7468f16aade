//! Target of a connection.

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::Error;
use crate::oauth::TokenSource;

/// Address of a server, with the headers and the tokens for every request to it.
#[derive(Debug, Clone)]
pub struct ConnectionTarget {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    token_source: Option<TokenSource>,
}

impl ConnectionTarget {
    /// Creates a target without headers. `ws` and `wss` mean WebSocket; for `http` and `https` the transport is
    /// negotiated.
    pub fn new(mut url: Url) -> Self {
        // A fragment is for browsers; no server receives it.
        url.set_fragment(None);
        Self { url, headers: HeaderMap::new(), token_source: None }
    }

    /// Adds a header, such as `Authorization`. Its value does not appear in logs and errors.
    ///
    /// # Errors
    ///
    /// [`Error::Header`] if the name or the value is invalid, or if the protocol uses the name itself.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let invalid = |why: &str| Error::Header(why.to_owned());
        let name = HeaderName::try_from(name.trim()).map_err(|_| invalid("a header name is not valid"))?;
        if is_protocol_header(name.as_str()) {
            return Err(invalid(&format!("the header {name} belongs to the protocol and cannot be set")));
        }
        let mut value = HeaderValue::try_from(value.trim())
            .map_err(|_| invalid(&format!("the value of the header {name} is not valid")))?;
        // Keeps the value out of `Debug` output and out of the header tables of HTTP/2.
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Adds the access token of a sign-in to every request, unless the target has an `Authorization` header.
    pub fn with_token_source(self, token_source: TokenSource) -> Self {
        Self { token_source: Some(token_source), ..self }
    }

    /// Returns the address.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the token source; `None` if an `Authorization` header takes its place.
    pub(crate) fn token_source(&self) -> Option<&TokenSource> {
        self.token_source.as_ref().filter(|_| !self.headers.contains_key(AUTHORIZATION))
    }
}

fn is_protocol_header(name: &str) -> bool {
    name.starts_with("mcp-")
        || name.starts_with("sec-websocket-")
        || matches!(
            name,
            "accept"
                | "connection"
                | "content-encoding"
                | "content-length"
                | "content-type"
                | "expect"
                | "host"
                | "last-event-id"
                | "te"
                | "trailer"
                | "transfer-encoding"
                | "upgrade"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_show_header_values() {
        let target = ConnectionTarget::new("https://a.example/mcp#part".parse().unwrap());
        let target = target.with_header("Authorization", "Bearer s3cret").unwrap();
        assert!(!format!("{target:?}").contains("s3cret"));
        assert_eq!(target.url.as_str(), "https://a.example/mcp");
    }

    #[test]
    fn header_error_names_header_without_its_value() {
        let target = ConnectionTarget::new("https://a.example/mcp".parse().unwrap());
        let error = target.clone().with_header("X-Key", "s3cret\r\nHost: b").unwrap_err();
        assert_eq!(error.to_string(), "cannot be used: the value of the header x-key is not valid");
        for name in ["Mcp-Session-Id", "HOST", "Content-Length", "bad name", ""] {
            assert!(target.clone().with_header(name, "v").is_err(), "{name}");
        }
    }
}
