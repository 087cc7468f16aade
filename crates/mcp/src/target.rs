//! Where to connect and what to show there.

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::Error;
use crate::oauth::Session;

/// An address, and the headers that go with every request to it.
#[derive(Debug, Clone)]
pub struct Target {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    session: Option<Session>,
}

impl Target {
    /// Only the address. `ws` and `wss` mean WebSocket; with `http` and `https` the transport is found by trying.
    pub fn new(mut url: Url) -> Self {
        url.set_fragment(None);
        Self { url, headers: HeaderMap::new(), session: None }
    }

    /// Adds a header, such as `Authorization`. Its value is kept out of logs and errors.
    ///
    /// Fails with [`Error::Header`] if the name or the value is not one, or if the name belongs to the protocol.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Header(why.to_owned());
        let name = HeaderName::try_from(name.trim()).map_err(|_| wrong("a header name is not valid"))?;
        if belongs_to_the_protocol(name.as_str()) {
            return Err(wrong(&format!("the header {name} belongs to the protocol and cannot be set")));
        }
        let mut value = HeaderValue::try_from(value.trim())
            .map_err(|_| wrong(&format!("the value of the header {name} is not valid")))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Puts the token of a sign-in on every request, unless there is an `Authorization` header already.
    pub fn with_session(self, session: Session) -> Self {
        Self { session: Some(session), ..self }
    }

    /// Where it leads.
    pub fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref().filter(|_| !self.headers.contains_key(AUTHORIZATION))
    }
}

fn belongs_to_the_protocol(name: &str) -> bool {
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
    fn header_values_are_not_shown() {
        let target = Target::new("https://a.example/mcp#part".parse().unwrap());
        let target = target.with_header("Authorization", "Bearer s3cret").unwrap();
        assert!(!format!("{target:?}").contains("s3cret"));
        assert_eq!(target.url.as_str(), "https://a.example/mcp");
    }

    #[test]
    fn a_header_error_names_the_header_and_not_its_value() {
        let target = Target::new("https://a.example/mcp".parse().unwrap());
        let error = target.clone().with_header("X-Key", "s3cret\r\nHost: b").unwrap_err();
        assert_eq!(error.to_string(), "cannot be asked: the value of the header x-key is not valid");
        for name in ["Mcp-Session-Id", "HOST", "Content-Length", "bad name", ""] {
            assert!(target.clone().with_header(name, "v").is_err(), "{name}");
        }
    }
}
