//! Reading of HTTP responses, bounded in size.

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, StatusCode};

use crate::Error;
use crate::oauth::AuthChallenge;

/// Type of a body, by its `Content-Type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContentType {
    Json,
    Events,
    /// Another type, described as a clause for error messages.
    Other(&'static str),
}

/// Returns the type of the body.
pub(super) fn content_type(headers: &HeaderMap) -> ContentType {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mime = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match mime.as_str() {
        "application/json" => ContentType::Json,
        "text/event-stream" => ContentType::Events,
        "text/html" | "application/xhtml+xml" => ContentType::Other("it answered an HTML page"),
        "" => ContentType::Other("it answered nothing that can be read"),
        mime if mime.ends_with("+json") => ContentType::Json,
        mime if mime.starts_with("text/") => ContentType::Other("it answered plain text"),
        mime if mime.starts_with("image/") => ContentType::Other("it answered a picture"),
        _ => ContentType::Other("it answered something other than JSON"),
    }
}

/// Returns the error for a status that is not a success.
pub(super) fn status_error(status: StatusCode, headers: &HeaderMap) -> Error {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    match status.as_u16() {
        401 => Error::Unauthorized { challenge: AuthChallenge::from_headers(headers) },
        403 => match AuthChallenge::from_headers(headers) {
            challenge if challenge.requires_more_scopes() => Error::InsufficientScope { challenge },
            _ => Error::Forbidden,
        },
        300..=399 => Error::Redirected(text(LOCATION).map(|to| describe_destination(&to)).unwrap_or_default()),
        status => Error::Status { status },
    }
}

/// Formats the destination of a redirect, without the query, which may hold secrets.
fn describe_destination(location: &str) -> String {
    match url::Url::parse(location) {
        Ok(url) => format!(": {}{}", url.origin().ascii_serialization(), crate::error::sanitize_text(url.path())),
        Err(_) => String::new(),
    }
}

/// Reads the whole body of a successful response to a GET request.
///
/// # Errors
///
/// [`Error::Redirected`], [`Error::Status`], and the errors of [`read_body`].
pub(crate) async fn read_success(response: reqwest::Response, limit: usize) -> Result<Bytes, Error> {
    let status = response.status();
    // The client has followed the redirects that its policy permits.
    if status.is_redirection() {
        return Err(Error::Redirected(String::new()));
    }
    if !status.is_success() {
        return Err(Error::Status { status: status.as_u16() });
    }
    read_body(response, limit).await
}

/// Reads the whole body.
///
/// # Errors
///
/// [`Error::TooLarge`] as soon as the body exceeds `limit` bytes, declared or read.
pub(crate) async fn read_body(response: reqwest::Response, limit: usize) -> Result<Bytes, Error> {
    // Before anything is read. The header may be absent or wrong, so the loop counts as well.
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(Error::TooLarge(limit));
    }
    let mut chunks = response.bytes_stream();
    let mut body = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| Error::from_http(&error))?;
        if body.len() + chunk.len() > limit {
            return Err(Error::TooLarge(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn redirect_error_names_destination_without_query() {
        let to = headers(LOCATION, "https://b.example/mcp?token=s3cret");
        let said = status_error(StatusCode::FOUND, &to).to_string();
        assert_eq!(said, "redirects to another URL; use that one: https://b.example/mcp");
    }

    #[test]
    fn reads_content_types() {
        let of = |value: &str| content_type(&headers(CONTENT_TYPE, value));
        assert_eq!(of("application/json; charset=utf-8"), ContentType::Json);
        assert_eq!(of("Text/Event-Stream"), ContentType::Events);
        assert_eq!(of("application/problem+json"), ContentType::Json);
        assert_eq!(of("text/html;charset=utf-8"), ContentType::Other("it answered an HTML page"));
        assert_eq!(content_type(&HeaderMap::new()), ContentType::Other("it answered nothing that can be read"));
    }
}
