//! Reading what a server has besides tools.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ClientRequest, ReadResourceRequest, ReadResourceRequestParams, ServerResult};
use rmcp::service::PeerRequestOptions;
use serde_json::Value;

use crate::Error;
use crate::client::explain_request;
use crate::connection::Inner;

/// One piece of a resource, in the protocol's own shape: `uri`, `mimeType`, and `text` or `blob` (base64).
#[derive(Debug, Clone, PartialEq)]
pub struct Resource(pub Value);

impl Resource {
    /// Its address.
    pub fn uri(&self) -> &str {
        self.field("uri")
    }

    /// Its kind, as the server names it; empty if it does not.
    pub fn mime_type(&self) -> &str {
        self.field("mimeType")
    }

    /// Its text, whichever way it came; `None` where it is no text.
    pub fn text(&self) -> Option<String> {
        if let Some(text) = self.0.get("text").and_then(Value::as_str) {
            return Some(text.to_owned());
        }
        let bytes = STANDARD.decode(self.0.get("blob")?.as_str()?).ok()?;
        String::from_utf8(bytes).ok()
    }

    fn field(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// The pieces of a resource.
pub(crate) async fn read(connection: &Inner, uri: &str) -> Result<Vec<Resource>, Error> {
    let params = ReadResourceRequestParams::new(uri);
    let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
    let options = PeerRequestOptions::with_timeout(connection.limits.page);
    let handle = connection
        .peer
        .send_request_with_option(request, options)
        .await
        .map_err(|error| explain_request(&error, &connection.fault))?;
    let result = match handle.await_response().await {
        Ok(result) => result,
        Err(rmcp::ServiceError::Timeout { timeout }) => return Err(Error::Timeout(timeout)),
        Err(error) => return Err(explain_request(&error, &connection.fault)),
    };
    let unreadable = || Error::Protocol("its resource cannot be read".to_owned());
    let mut raw = match result {
        ServerResult::ReadResourceResult(result) => serde_json::to_value(result).map_err(|_| unreadable())?,
        // The library gives what it cannot read as it came.
        ServerResult::CustomResult(raw) => raw.0,
        _ => return Err(unreadable()),
    };
    match raw.get_mut("contents").map(Value::take) {
        Some(Value::Array(pieces)) => Ok(pieces.into_iter().map(Resource).collect()),
        _ => Err(unreadable()),
    }
}
