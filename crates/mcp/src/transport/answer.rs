//! Reading HTTP answers: what they are, and never more than the limit.

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, StatusCode};

use crate::Error;
use crate::oauth::Challenge;

/// What a body is, by its content type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Json,
    Events,
    /// Anything else, as it is told to people.
    Other(&'static str),
}

pub(super) fn content(headers: &HeaderMap) -> Content {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mime = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match mime.as_str() {
        "application/json" => Content::Json,
        "text/event-stream" => Content::Events,
        "text/html" | "application/xhtml+xml" => Content::Other("it answered an HTML page"),
        "" => Content::Other("it answered nothing that can be read"),
        mime if mime.ends_with("+json") => Content::Json,
        mime if mime.starts_with("text/") => Content::Other("it answered plain text"),
        mime if mime.starts_with("image/") => Content::Other("it answered a picture"),
        _ => Content::Other("it answered something other than JSON"),
    }
}

/// The error for a status that is not a success.
pub(super) fn refusal(status: StatusCode, headers: &HeaderMap) -> Error {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    match status.as_u16() {
        401 => Error::Unauthorized { challenge: Challenge::read(headers) },
        403 => match Challenge::read(headers) {
            challenge if challenge.wants_more_scope() => Error::InsufficientScope { challenge },
            _ => Error::Forbidden,
        },
        300..=399 => Error::Redirected(text(LOCATION).map(|to| destination(&to)).unwrap_or_default()),
        status => Error::Status { status },
    }
}

/// Where a redirect leads, without the query, which may hold secrets.
fn destination(location: &str) -> String {
    match url::Url::parse(location) {
        Ok(url) => format!(": {}{}", url.origin().ascii_serialization(), crate::error::quote(url.path())),
        Err(_) => String::new(),
    }
}

/// The whole body, or [`Error::TooLarge`] as soon as it is more than `limit` bytes.
pub(crate) async fn body(response: reqwest::Response, limit: usize) -> Result<Bytes, Error> {
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
    fn a_redirect_tells_where_it_leads_but_no_query() {
        let to = headers(LOCATION, "https://b.example/mcp?token=s3cret");
        let said = refusal(StatusCode::FOUND, &to).to_string();
        assert_eq!(said, "redirects elsewhere; use the address that it redirects to: https://b.example/mcp");
    }

    #[test]
    fn content_types_are_told_apart() {
        let of = |value: &str| content(&headers(CONTENT_TYPE, value));
        assert_eq!(of("application/json; charset=utf-8"), Content::Json);
        assert_eq!(of("Text/Event-Stream"), Content::Events);
        assert_eq!(of("application/problem+json"), Content::Json);
        assert_eq!(of("text/html;charset=utf-8"), Content::Other("it answered an HTML page"));
        assert_eq!(content(&HeaderMap::new()), Content::Other("it answered nothing that can be read"));
    }
}
